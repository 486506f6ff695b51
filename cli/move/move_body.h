/* SPDX-License-Identifier: BSD-2-Clause */
/* The bodies of the two requests that move an instance. */
#ifndef CLI_MOVE_BODY_H
#define CLI_MOVE_BODY_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

struct move_options;

/* For POST /2/instances on the destination.  instance and prepared are checked
 * (move_source.h); tags is a list or NULL.  To be freed; NULL with err when an
 * option is about an interface that the instance does not have. */
json_t *move_body_create(const struct move_options *o, const json_t *instance,
			 const json_t *tags, const json_t *prepared,
			 bool opportunistic, struct error *err);

/* For PUT /2/instances/NAME/export on the source; import is what the
 * destination has written into its job's log (move_log.h).  To be freed. */
json_t *move_body_export(const struct move_options *o, const json_t *prepared,
			 const json_t *import);

#endif
