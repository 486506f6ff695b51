/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls that take back what a killed job began: the job itself makes none
 * any more. */
#ifndef MASTERD_LU_DISKS_AFTERMATH_H
#define MASTERD_LU_DISKS_AFTERMATH_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

struct lu;
struct master;

/* Call the node in a task of its own; a failure is told in the master's log.
 */
void aftermath_call(struct master *m, const char *node_uuid,
		    const char *procedure, json_t *args STEALS);

/* Start something on a node that goes on there under a name: the name, which
 * the node gives and the caller frees; NULL and the reason when there is none.
 * When the job is killed before the name is known, it is waited for behind the
 * job, and `end` is called with it: [name]. */
WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    const char *start, json_t *args STEALS,
			    const char *end, struct error *err);

#endif
