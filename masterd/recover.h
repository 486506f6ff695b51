/* SPDX-License-Identifier: BSD-2-Clause */
/* What a master that died left unfinished. */
#ifndef MASTERD_RECOVER_H
#define MASTERD_RECOVER_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

struct master;

/* Instances whose creation was cut off (they still carry reserved_by_job) are
 * removed, each with a job.  To be called once, before jobs run: the jobs that
 * made them have ended as errors. */
WAITS void recover_reservations(struct master *m);

/* Submit the job that removes what is left of such an instance. */
WAITS int recover_remove(struct master *m, const char *name, uint64_t *ret_id,
			 struct error *err);

#endif
