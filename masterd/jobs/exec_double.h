/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs that take as long as those of a real cluster, for tests of programs that
 * wait for jobs (gnt-vcluster create --jobs-take). */
#ifndef MASTERD_JOBS_EXEC_DOUBLE_H
#define MASTERD_JOBS_EXEC_DOUBLE_H

#include <stdint.h>

#include "lib/event/task.h"

struct lu;

/* Wait, with the locks held, until the opcode, which has had them since then,
 * has taken its share of the time that the cluster's jobs take; not on a real
 * cluster, and not when it only plans. */
WAITS void exec_take_time(const struct lu *lu, int64_t begun_us);

#endif
