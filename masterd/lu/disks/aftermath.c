/* SPDX-License-Identifier: BSD-2-Clause */
/* Node calls after the job has been killed.  The task owns all that it uses, or
 * copies of it, as the job may be gone when it runs.  It does nothing when the
 * master is stopping. */
#include "masterd/lu/disks/aftermath.h"

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/rpc/noderpc.h"

struct aftermath {
	struct master *m;
	json_t *node;
	char *procedure;
	json_t *args;
};

static void run(void *arg)
{
	auto_free struct aftermath *a = arg;
	auto_json json_t *node = a->node;
	auto_json json_t *args = a->args;
	auto_free char *procedure = a->procedure;
	auto_json json_t *done = NULL;
	struct error err;

	if (a->m->stopping)
		return;
	done = noderpc_call(a->m->rpc, node, procedure, steal(&args), &err);
	if (done == NULL)
		log_warning("What a killed job left cannot be taken back: %s",
			    err.text);
}

void aftermath_call(struct master *m, const char *node_uuid,
		    const char *procedure, json_t *args STEALS)
{
	const json_t *node = config_get(m->config, CONFIG_NODE, node_uuid);
	struct aftermath *a;

	if (node == NULL) {
		json_decref(args);
		return;
	}
	a = xalloc(sizeof(*a));
	*a = (struct aftermath){.m = m,
				.node = json_incref((json_t *)node),
				.procedure = xstrdup(procedure),
				.args = args};
	task_spawn("aftermath", run, a);
}

/* Belongs to the job's task until the job is killed or the call is done; then
 * to the other task. */
struct start {
	struct master *m;
	json_t *node;
	char *procedure, *end;
	json_t *args;
	struct cond changed;
	bool forsaken, done;
	json_t *name; /* NULL: err says why */
	struct error err;
};

static void start_free(struct start *s)
{
	json_decref(s->node);
	json_decref(s->args);
	json_decref(s->name);
	free(s->procedure);
	free(s->end);
	free(s);
}

static void start_task(void *arg)
{
	struct start *s = arg;

	s->name = noderpc_call(s->m->rpc, s->node, s->procedure,
			       steal(&s->args), &s->err);
	s->done = true;
	if (!s->forsaken) {
		cond_signal(&s->changed);
		return;
	}
	if (json_is_string(s->name) && !s->m->stopping)
		aftermath_call(s->m, json_str(s->node, "uuid", ""), s->end,
			       json_make("[O]", s->name));
	start_free(s);
}

static struct start *start_new(struct master *m, const json_t *node,
			       const char *procedure, json_t *args STEALS,
			       const char *end)
{
	struct start *s = xalloc(sizeof(*s));

	*s = (struct start){.m = m,
			    .node = json_incref((json_t *)node),
			    .procedure = xstrdup(procedure),
			    .end = xstrdup(end),
			    .args = args};
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
			  s->procedure);
	return NULL;
}

WAITS char *aftermath_start(struct lu *lu, const char *node_uuid,
			    const char *start, json_t *args STEALS,
			    const char *end, struct error *err)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	struct start *s;
	char *name;

	/* The call itself reports an error of this kind. */
	if (node == NULL || task_interrupted()) {
		json_decref(lu_call(lu, node_uuid, start, args, err));
		return NULL;
	}
	s = start_new(lu->m, node, start, args, end);
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
