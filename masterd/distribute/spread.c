/* SPDX-License-Identifier: BSD-2-Clause */
/* The candidates are listed at once, by the configuration at the time of the
 * request.  The calls are made later in a task, which owns the arguments and
 * results and frees them. */
#include "masterd/distribute/spread.h"

#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/rpc/noderpc.h"

struct spread {
	struct master *m;
	struct rpc_request request;
	struct node_result *results;
	size_t n;
};

static void add_candidates(struct spread *s)
{
	const struct config *c = s->m->config;
	const json_t *nodes = config_all(c, CONFIG_NODE);
	const char *uuid;
	json_t *node;

	s->results = node_results_new(json_object_size(nodes));
	json_object_foreach (json_unconst(nodes), uuid, node)
		if (node_master_candidate(node) && !node_offline(node) &&
		    !config_is_master(c, uuid))
			s->results[s->n++].node = json_incref(node);
}

static WAITS void run(void *arg)
{
	struct spread *s = arg;

	noderpc_call_many(s->m->rpc, s->results, s->n, s->request);
	for (size_t i = 0; i < s->n; i++)
		if (s->results[i].err != NULL)
			log_warning("%s", s->results[i].err->text);
	node_results_free(s->results, s->n);
	free(s);
}

void spread_call(struct master *m, struct rpc_request request)
{
	struct spread *s = xalloc(sizeof(*s));

	s->m = m;
	s->request = request;
	add_candidates(s);
	task_spawn(request.procedure->name, run, s);
}
