/* SPDX-License-Identifier: BSD-2-Clause */
/* The wait for calls is a task of its own, which owns all that it uses.  A
 * master that ends meanwhile leaves the instance to the watcher, as it is
 * marked up. */
#include "masterd/lu/instance/start_again.h"

#include "lib/base/log.h"
#include "masterd/failover/recover.h"

struct later {
	struct master *m;
	uint64_t task; /* of the job */
	char *name;
};

static WAITS void start_later(void *arg)
{
	struct later *l = arg;
	struct error err;
	uint64_t id;

	noderpc_settle(l->m->rpc, l->task);
	if (!l->m->stopping &&
	    recover_startup(l->m->queue, l->name, &id, &err) < 0)
		log_warning("Instance %s, which a killed job has stopped, "
			    "cannot be started: %s",
			    l->name, err.text);
	free(l->name);
	free(l);
}

static void wait_for_calls(struct lu *lu, const char *name)
{
	struct later *l = xalloc(sizeof(*l));

	*l = (struct later){
		.m = lu->m, .task = task_number(), .name = xstrdup(name)};
	task_spawn("start again", start_later, l);
	lu_warn(lu,
		"The job was killed; another one starts instance %s when its "
		"node has done what this one asked for",
		name);
}

void start_again(struct lu *lu, const char *name)
{
	struct error err;
	uint64_t id;

	if (noderpc_gave_up(lu->m->rpc, task_number()))
		wait_for_calls(lu, name);
	else if (recover_startup(lu->m->queue, name, &id, &err) < 0)
		lu_warn(lu,
			"Instance %s stays down, start it with gnt-instance "
			"startup: %s",
			name, err.text);
	else
		lu_warn(lu, "The job was killed; job %ju starts instance %s",
			(uintmax_t)id, name);
}
