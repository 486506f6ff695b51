/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances are asked to shut down, which takes as long as the guest wants, up
 * to a limit: whoever waits is told so in the job's log. */
#ifndef MASTERD_LU_PARTS_LU_STOP_H
#define MASTERD_LU_PARTS_LU_STOP_H

#include "masterd/lu/parts/lu_instance.h"

/* Most guests are down by then, and nothing is said of them. */
#define STOP_SAY_AFTER_S 5
/* Said again after twice the time, and so on: a guest that has hours makes a
 * dozen lines. */
#define STOP_SAY_FACTOR 2

/* How an instance is stopped. */
struct stop {
	const json_t *inst;
	const char *node;   /* UUID */
	int64_t limit_s;    /* then it is ended by force */
	const char *option; /* that sets the limit; a literal */
};

/* Stop it and wait for that; -1 with what its node said. */
WAITS int inst_stop(struct lu *lu, const struct stop *how, struct error *err);

/* Another call that stops it on the way; as lu_call(). */
WAITS json_t *inst_stop_by(struct lu *lu, const struct stop *how,
			   const char *procedure, json_t *args STEALS,
			   struct error *err);

#endif
