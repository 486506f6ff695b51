/* SPDX-License-Identifier: BSD-2-Clause */
/* The job waits for the node call that stops the instance.  A task of its own
 * watches the clock meanwhile, and ends with the call. */
#include "masterd/lu/parts/lu_stop.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/rpc/noderpc.h"

/* Node daemons give a guest no more than a day. */
#define LIMIT_MAX_S 86400
/* Additional time for ending it by force, and for a slow node. */
#define FORCE_S 120

/* Shared by the job, which waits for the call, and the task that writes the
 * log. */
struct teller {
	int owners;
	struct lu *lu;	 /* not touched once ended is set */
	struct stop how; /* nor are these */
	struct cond changed;
	bool ended;
};

static void teller_leave(struct teller **at)
{
	struct teller *t = *at;

	if (t != NULL && --t->owners == 0)
		free(t);
}
#define auto_teller __attribute__((cleanup(teller_leave)))

static void say(const struct teller *t, int64_t after_s)
{
	const char *name = inst_name(t->how.inst);
	const char *node = lu_node_name(t->lu, t->how.node);

	if (after_s < t->how.limit_s)
		lu_feedback(t->lu,
			    "* instance %s has not shut down on node %s after "
			    "%jd seconds; after %jd it is ended by force "
			    "(sooner with %s)",
			    name, node, (intmax_t)after_s,
			    (intmax_t)t->how.limit_s, t->how.option);
	else
		lu_feedback(t->lu,
			    "* instance %s has not ended on node %s after %jd "
			    "seconds; its time to shut down was %jd, and it is "
			    "ended by force",
			    name, node, (intmax_t)after_s,
			    (intmax_t)t->how.limit_s);
}

static WAITS void tell(void *arg)
{
	auto_teller struct teller *t = arg;
	int64_t begin_us = clock_mono_us();
	int64_t after_s = STOP_SAY_AFTER_S;

	while (!t->ended) {
		if (cond_wait_until(&t->changed, begin_us + after_s * 1000000))
			continue;
		if (t->ended || t->lu->run->killed)
			return;
		say(t, after_s);
		after_s *= STOP_SAY_FACTOR;
	}
}

/* NULL in a plan, where no time passes. */
static struct teller *teller_start(struct lu *lu, const struct stop *how)
{
	struct teller *t;

	if (lu_plans(lu))
		return NULL;
	t = xalloc(sizeof(*t));
	*t = (struct teller){.owners = 2, .lu = lu, .how = *how};
	cond_init(&t->changed);
	task_spawn("stop", tell, t);
	return t;
}

static void teller_end(struct teller *t)
{
	if (t == NULL)
		return;
	t->ended = true;
	cond_signal(&t->changed);
}

/* If the guest gets more time than the call has, the call gets that time. */
static unsigned call_ms(unsigned usual_ms, int64_t limit_s)
{
	int64_t most_s = limit_s < LIMIT_MAX_S ? limit_s : LIMIT_MAX_S;
	int64_t need_ms = (most_s + FORCE_S) * 1000;

	return need_ms > usual_ms ? (unsigned)need_ms : usual_ms;
}

json_t *inst_stop_by(struct lu *lu, const struct stop *how,
		     struct rpc_request request, struct error *err)
{
	auto_teller struct teller *t = teller_start(lu, how);
	json_t *done = lu_call(
		lu, how->node,
		rpc_within(request, call_ms(request.timeout_ms, how->limit_s)),
		err);

	teller_end(t);
	return done;
}

int inst_stop(struct lu *lu, const struct stop *how, struct error *err)
{
	auto_json json_t *done = inst_stop_by(
		lu, how,
		rpc_instance_shutdown(inst_rpc(lu, how->inst, NULL, NULL),
				      how->limit_s, lu_reason(lu)),
		err);

	return done == NULL ? -1 : 0;
}
