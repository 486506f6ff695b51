/* SPDX-License-Identifier: BSD-2-Clause */
/* How many are planning is counted without a lock: requests run in threads. */
#include "rapi/planning/planning.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "iallocators/input/build.h"
#include "iallocators/live/live.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"

/* Of which only what is used takes memory. */
#define STACK ((size_t)64 * 1024 * 1024)

static atomic_int running;

static int read_cluster(struct request *q, struct planning *p,
			struct error *err)
{
	if (q->luxi == NULL &&
	    (q->luxi = request_connect(q->way, NULL, err)) == NULL)
		return -1;
	if (live_read(&p->c, q->luxi, KVM_NODE_MEMORY, &p->text, err) < 0)
		return -1;
	cluster_finish(&p->c, &p->loads);
	return 0;
}

/* One call of planning_run(). */
struct run {
	struct request *q;
	planning_fn *fn;
	void *arg;
	struct error *err;
	int rc;
};

static void *work(void *arg)
{
	struct run *r = arg;
	struct planning p = {.loads = {.max_cpu_ratio = -1}};

	r->rc = read_cluster(r->q, &p, r->err);
	if (r->rc == 0)
		r->rc = r->fn(r->q, &p, r->arg, r->err);
	cluster_done(&p.c);
	buf_done(&p.text);
	return NULL;
}

/* Tiers of sizes are tried by recursion, a level for each size. */
static int run_on_large_stack(struct run *r)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(&thread, &attr, work, r);
	pthread_attr_destroy(&attr);
	if (rc != 0)
		return error_set(r->err, ERR_PREREQ, REPLY_UNAVAILABLE,
				 "Cannot plan: %s", strerror(rc));
	pthread_join(thread, NULL);
	return r->rc;
}

int planning_run(struct request *q, planning_fn *fn, void *arg,
		 struct error *err)
{
	struct run r = {.q = q, .fn = fn, .arg = arg, .err = err};
	int rc = -1;

	if (atomic_fetch_add(&running, 1) < PLANNING_MAX)
		rc = run_on_large_stack(&r);
	else
		error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE,
			  "Others are planning; try again");
	atomic_fetch_sub(&running, 1);
	return rc;
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
