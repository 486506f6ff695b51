/* SPDX-License-Identifier: BSD-2-Clause */
/* The task owns references to or copies of all it uses, as the job may be gone
 * when it runs.  It does nothing when the master is stopping. */
#include "masterd/lu/disks/aftermath.h"

#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
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
