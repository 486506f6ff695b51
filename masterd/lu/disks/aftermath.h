/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls that take back what a killed job began: the job itself makes none
 * any more. */
#ifndef MASTERD_LU_DISKS_AFTERMATH_H
#define MASTERD_LU_DISKS_AFTERMATH_H

#include <jansson.h>

#include "lib/base/mem.h"

struct master;

/* Call the node in a task of its own; a failure is told in the master's log.
 */
void aftermath_call(struct master *m, const char *node_uuid,
		    const char *procedure, json_t *args STEALS);

#endif
