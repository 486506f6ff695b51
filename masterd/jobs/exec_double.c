/* SPDX-License-Identifier: BSD-2-Clause */
/* The setting is read anew for each opcode, as the cluster is made quickly
 * before it is set. */
#include "masterd/jobs/exec_double.h"

#include "lib/base/clock.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/test_double.h"
#include "masterd/core/master.h"
#include "masterd/lu/frame/lu_private.h"

void exec_take_time(const struct lu *lu, int64_t begun_us)
{
	struct test_double d;
	int64_t left_us;

	/* On a host not even a file is looked for. */
	if (lu_plans(lu) || lu->m->paths == NULL || *lu->m->paths->root == '\0')
		return;
	test_double_read(lu->m->paths, &d);
	left_us =
		(int64_t)d.jobs_take_ms * 1000 / (int64_t)lu->run->job->n_ops -
		(clock_mono_us() - begun_us);
	test_double_done(&d);
	if (left_us > 0)
		task_sleep((unsigned)(left_us / 1000));
}
