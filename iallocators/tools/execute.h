/* SPDX-License-Identifier: BSD-2-Clause */
/* Doing what has been planned: jobs at the master. */
#ifndef IALLOCATORS_TOOLS_EXECUTE_H
#define IALLOCATORS_TOOLS_EXECUTE_H

#include <jansson.h>

#include "iallocators/balance/balance.h"
#include "iallocators/options/tool.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"

/* Balancing steps as sets of jobs, to be freed: a list of sets, a set being a
 * list of jobs that can run at once, a job a list of opcodes. */
json_t *execute_moves(const struct cluster *c, const struct balance_step *steps,
		      int n);

/* Submit the sets, one after the other, and wait for each; a job that fails
 * ends it.  An interrupt lets the present set end, a termination ends the wait
 * at once; what runs, runs on.  The opcodes get a comment ("rebalancing via
 * hbal"), which tells the version, too. */
int execute_sets(json_t *sets STEALS, const char *doing, const struct tool *t,
		 const struct jobs_opts *o, struct error *err);

#endif
