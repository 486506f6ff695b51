/* SPDX-License-Identifier: BSD-2-Clause */
/* Doing what has been planned: jobs at the master. */
#ifndef IALLOCATORS_EXECUTE_H
#define IALLOCATORS_EXECUTE_H

#include "iallocators/balance.h"
#include "iallocators/tool.h"
#include "lib/base/error.h"

/* Submit the steps, one set of jobs after the other, and wait for each set; a
 * job that fails ends it.  An interrupt lets the present set end, a
 * termination ends the wait at once; what runs, runs on. */
int execute_steps(const struct cluster *c, const struct balance_step *steps,
		  int n, const struct tool_options *o, struct error *err);

#endif
