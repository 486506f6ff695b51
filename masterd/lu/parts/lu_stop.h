/* SPDX-License-Identifier: BSD-2-Clause */
/* Stopping an instance takes as long as the guest wants, up to a limit; the
 * job's log tells the user about the wait. */
#ifndef MASTERD_LU_PARTS_LU_STOP_H
#define MASTERD_LU_PARTS_LU_STOP_H

#include "masterd/lu/parts/lu_instance.h"

/* The first entry comes after this time; most guests are down by then. */
#define STOP_SAY_AFTER_S 5
/* Then after twice the time, and so on: a guest that has hours causes a dozen
 * entries. */
#define STOP_SAY_FACTOR 2

/* How an instance is stopped. */
struct stop {
	const json_t *inst;
	const char *node;   /* UUID */
	int64_t limit_s;    /* after that it is ended by force */
	const char *option; /* the parameter that sets it; a literal */
};

/* Stop it and wait; -1 with the error of its node. */
WAITS int inst_stop(struct lu *lu, const struct stop *how, struct error *err);

/* The same for another call that stops the instance as a part of its work; as
 * lu_call(). */
WAITS json_t *inst_stop_by(struct lu *lu, const struct stop *how,
			   struct rpc_request request, struct error *err);

#endif
