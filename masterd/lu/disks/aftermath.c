/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls after the job has been killed.  The task owns all that it uses, or
 * copies of it, as the job may be gone when it runs.  It does nothing when the
 * master is stopping. */
#include "masterd/lu/disks/aftermath.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/rpc/noderpc.h"

struct step {
	json_t *node; /* NULL: it is gone */
	struct rpc_request request;
	bool may_fail;
};

struct aftermath {
	struct master *m;
	size_t n;
	struct step *steps;
};

static WAITS int make_call(struct aftermath *a, struct step *s)
{
	struct rpc_request request = s->request;
	auto_json json_t *done = NULL;
	struct error err;

	if (s->node == NULL || a->m->stopping)
		return -1;
	s->request.args = NULL;
	done = noderpc_call(a->m->rpc, s->node, request, &err);
	if (done != NULL)
		return 0;
	log_warning("What a killed job left cannot be taken back: %s",
		    err.text);
	return -1;
}

static WAITS void run(void *arg)
{
	auto_free struct aftermath *a = arg;
	auto_free struct step *steps = a->steps;
	bool goes_on = true;

	for (size_t i = 0; i < a->n; i++) {
		if (goes_on && make_call(a, &steps[i]) < 0)
			goes_on = steps[i].may_fail;
		json_decref(steps[i].node);
		json_decref(steps[i].request.args);
	}
}

void aftermath_calls(struct master *m, const struct aftermath_step *steps,
		     size_t n)
{
	struct aftermath *a = xalloc(sizeof(*a));

	*a = (struct aftermath){
		.m = m, .n = n, .steps = xcalloc(n, sizeof(*a->steps))};
	for (size_t i = 0; i < n; i++) {
		const json_t *node =
			config_get(m->config, CONFIG_NODE, steps[i].node_uuid);

		a->steps[i] = (struct step){.node = json_ref(node),
					    .request = steps[i].request,
					    .may_fail = steps[i].may_fail};
	}
	task_spawn("aftermath", run, a);
}

void aftermath_call(struct master *m, const char *node_uuid,
		    struct rpc_request request)
{
	const struct aftermath_step step = {.node_uuid = node_uuid,
					    .request = request};

	aftermath_calls(m, &step, 1);
}

/* Belongs to the job's task until the job is killed or the call is done; then
 * to the other task. */
struct start {
	struct master *m;
	json_t *node;
	struct rpc_request request;
	struct rpc_request (*end)(const char *name);
	struct cond changed;
	bool forsaken, done;
	json_t *name; /* NULL: err says why */
	struct error err;
};

static void start_free(struct start *s)
{
	json_decref(s->node);
	json_decref(s->request.args);
	json_decref(s->name);
	free(s);
}

static WAITS void start_task(void *arg)
{
	struct start *s = arg;

	struct rpc_request request = s->request;

	s->request.args = NULL;
	s->name = noderpc_call(s->m->rpc, s->node, request, &s->err);
	s->done = true;
	if (!s->forsaken) {
		cond_signal(&s->changed);
		return;
	}
	if (json_is_string(s->name) && !s->m->stopping)
		aftermath_call(s->m, node_uuid(s->node),
			       s->end(json_string_value(s->name)));
	start_free(s);
}

static struct start *start_new(struct master *m, const json_t *node,
			       struct rpc_request request,
			       struct rpc_request (*end)(const char *name))
{
	struct start *s = xalloc(sizeof(*s));

	*s = (struct start){
		.m = m, .node = json_ref(node), .request = request, .end = end};
	cond_init(&s->changed);
	return s;
}

/* The name from the answer to the call. */
static char *name_of(const struct start *s, struct error *err)
{
	if (json_is_string(s->name))
		return xstrdup(json_string_value(s->name));
	if (s->name == NULL)
		*err = s->err;
	else
		error_set(err, ERR_RPC, NULL, "%s answered without a name",
			  s->request.procedure->name);
	return NULL;
}

WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    struct rpc_request start,
			    struct rpc_request (*end)(const char *name),
			    struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	struct start *s;
	char *name;

	/* The call itself reports an error of this kind. */
	if (node == NULL || task_interrupted()) {
		json_decref(lu_call(lu, node_uuid, start, err));
		return NULL;
	}
	s = start_new(lu->m, node, start, end);
	task_spawn("start", start_task, s);
	while (!s->done && !task_interrupted())
		cond_wait(&s->changed);
	if (!s->done) {
		s->forsaken = true;
		error_set(err, ERR_CANCELED, NULL, "Job was killed");
		return NULL;
	}
	name = name_of(s, err);
	start_free(s);
	return name;
}
