/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that never get to a resource: no proper HTTP, or too much of it.
 * What is said to them, and the line about each in the logs. */
#ifndef RAPI_REFUSALS_H
#define RAPI_REFUSALS_H

#include "lib/event/https_server.h"

/* For struct https_server_config, with a struct rapi as arg: the answer that
 * the server gives, which is logged; */
char *refusals_word(void *rapi, const struct https_refusal *refusal,
		    const char **ret_type);

/* and one that libmicrohttpd has given, or none, as it did not end in time. */
void refusals_tell(void *rapi, const struct https_refusal *refusal);

#endif
