/* SPDX-License-Identifier: BSD-2-Clause */
/* An opcode made of a request: the body's parameters under their present
 * names, those that the route sets itself, and the reason. */
#ifndef RAPI_FILL_H
#define RAPI_FILL_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

struct op_class;
struct request;
struct route;

/* The opcode as it is to be sent, to be freed.  params (NULL: none) are those
 * of the body, set those that a client cannot give.  ECODE_INVAL names what is
 * wrong with them. */
json_t *fill_opcode(const struct op_class *class, const struct route *route,
		    const json_t *params, const json_t *set, struct error *err);

/* What the route sets, with the reason; to be freed. */
json_t *fill_set(struct request *q, struct error *err);

/* Put what fill_set() gave into each of these opcodes. */
void fill_each(json_t *ops, const json_t *set);

#endif
