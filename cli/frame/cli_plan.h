/* SPDX-License-Identifier: BSD-2-Clause */
/* --plan: what jobs would do (doc/design/plan.md). */
#ifndef CLI_FRAME_CLI_PLAN_H
#define CLI_FRAME_CLI_PLAN_H

#include "cli/frame/cli.h"

/* Show the plan of these jobs (a list of lists of opcodes) instead of
 * submitting them.  Always returns -1, which ends the command; cli->planned
 * tells cli.c that err is not to be printed. */
int cli_plan(struct cli *cli, json_t *jobs STEALS, struct error *err);

#endif
