/* SPDX-License-Identifier: BSD-2-Clause */
/* Hooks: the scripts that a site puts into the folders <path>-pre.d and
 * <path>-post.d below /etc/ganeti/hooks. */
#ifndef NODED_SCRIPTS_HOOKS_H
#define NODED_SCRIPTS_HOOKS_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

enum hook_status { HOOK_SKIPPED, HOOK_FAILED, HOOK_SUCCEEDED };

/* Run those of a path and a phase ("pre" or "post") one after the other, with
 * the environment of an object.  [[script, status, output], ...], to be freed;
 * NULL with err when path or phase are none. */
WAITS json_t *hooks_run_scripts(const struct paths *p, const char *hpath,
				const char *phase, const json_t *values,
				struct error *err);

#endif
