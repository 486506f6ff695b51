/* SPDX-License-Identifier: BSD-2-Clause */
/* How many are planning is counted without a lock: requests run in threads. */
#include "rapi/resources/planning.h"

#include <stdatomic.h>

#include "iallocators/input/build.h"
#include "iallocators/live/live.h"
#include "lib/client/luxi.h"
#include "rapi/resources/reply.h"
#include "rapi/resources/request.h"

static atomic_int running;

static int read_cluster(struct request *q, struct planning *p,
			struct error *err)
{
	if (q->luxi == NULL &&
	    (q->luxi = luxi_connect(q->luxi_socket, err)) == NULL)
		return -1;
	if (live_read(&p->c, q->luxi, KVM_NODE_MEMORY, &p->text, err) < 0)
		return -1;
	cluster_finish(&p->c, &p->loads);
	return 0;
}

int planning_begin(struct request *q, struct planning *ret, struct error *err)
{
	*ret = (struct planning){.loads = {.max_cpu_ratio = -1}};
	if (atomic_fetch_add(&running, 1) >= PLANNING_MAX) {
		atomic_fetch_sub(&running, 1);
		return error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
				 "Others are planning; try again");
	}
	if (read_cluster(q, ret, err) == 0)
		return 0;
	planning_done(ret);
	return -1;
}

void planning_done(struct planning *p)
{
	cluster_done(&p->c);
	buf_done(&p->text);
	atomic_fetch_sub(&running, 1);
}

int planning_number(const struct request *q, const char *name, int64_t max,
		    int64_t *ret, struct error *err)
{
	int64_t number;

	if (args_int(&q->args, name, -1, &number, err) < 0)
		return -1;
	if (args_get(&q->args, name) == NULL)
		return 0;
	if (number < 0 || number > max)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s is a number from 0 to %jd", name,
				 (intmax_t)max);
	*ret = number;
	return 0;
}
