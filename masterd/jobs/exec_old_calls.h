/* SPDX-License-Identifier: BSD-2-Clause */
/* For masterd/jobs/exec.c: a job does not meet what a former master has begun.
 */
#ifndef MASTERD_JOBS_EXEC_OLD_CALLS_H
#define MASTERD_JOBS_EXEC_OLD_CALLS_H

#include "masterd/lu/frame/lu.h"

/* With the locks held: wait while a node still executes calls of a former
 * master on the objects that are locked.  The job's log names them, and those
 * that are not waited for any more.  -1 when the job was killed. */
WAITS int exec_old_calls(struct lu *lu, struct error *err);

#endif
