/* SPDX-License-Identifier: BSD-2-Clause */
/* --plan: what jobs would do (doc/design/plan.md). */
#ifndef CLI_FRAME_CLI_PLAN_H
#define CLI_FRAME_CLI_PLAN_H

#include "cli/frame/cli.h"

/* Show the plan of these jobs (a list of lists of opcodes) instead of
 * submitting them.  Always -1: with it the command is over.  cli.c knows by
 * cli->planned that err is none. */
int cli_plan(struct cli *cli, json_t *jobs STEALS, struct error *err);

#endif
