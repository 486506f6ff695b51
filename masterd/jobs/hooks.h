/* SPDX-License-Identifier: BSD-2-Clause */
/* Hooks: scripts that a site runs before and after opcodes (Ganeti 3.0, hooks
 * version 2). */
#ifndef MASTERD_JOBS_HOOKS_H
#define MASTERD_JOBS_HOOKS_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct lu;

enum hooks_phase { HOOKS_PRE, HOOKS_POST };

/* Run the hooks of the LU on its nodes for that phase.  A failed script of the
 * pre phase is ERR_HOOKS_ABORT with the list [[node, script, output], ...] as
 * JSON text; nodes that cannot be reached only get a warning in the job's
 * log. */
WAITS int hooks_run(struct lu *lu, enum hooks_phase phase, struct error *err);

/* The post phase: failures are warnings. class->hooks_done may
 * look at the answers (cluster verify). */
WAITS void hooks_run_post(struct lu *lu, json_t **result);

/* Run the hooks of the path "config-update", on the master only, after an
 * opcode that changed the configuration, even if it has no hooks of its own.
 * They get the environment of the hooks before; failures are warnings in the
 * log. */
WAITS void hooks_run_config_update(struct lu *lu);

#endif
