/* SPDX-License-Identifier: BSD-2-Clause */
/* A client that submits to the master that was started last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/core/master.h"
#include "queue/queue.h"
#include "tests/sim/sim.h"

#define HOUR_MS (3600 * 1000)

/* Runs in the master, which may be killed meanwhile. */
static void submit_task(void *arg)
{
	struct sim_submission *sub = arg;
	uint64_t id;

	if (queue_submit(sub->node->master->queue, sub->ops, false, &id,
			 &sub->err) < 0)
		sub->refused = true;
	else
		sub->id = id;
}

bool sim_submission_over(const struct sim_submission *sub)
{
	const struct sim_proc *p = &sub->node->masterd;

	return sub->refused || sub->id != 0 || !p->alive ||
	       p->life != sub->life;
}

void sim_submission_begin(struct sim_submission *sub, struct sim_node *n,
			  json_t *op STEALS)
{
	*sub = (struct sim_submission){.node = n,
				       .life = n->masterd.life,
				       .term = n->master->role.term};
	sub->ops = json_make("[o]", op);
	task_set_owner(&n->masterd);
	task_spawn("submit", submit_task, sub);
	task_set_owner(NULL);
}

static bool submitted(struct sim *s, void *arg)
{
	(void)s;
	return sim_submission_over(arg);
}

uint64_t sim_submit(struct sim *s, json_t *op STEALS, char **ret_error)
{
	struct sim_submission *sub = xalloc(sizeof(*sub));
	uint64_t id;

	sim_submission_begin(sub, s->master->daemon, op);
	if (!sim_run(s, HOUR_MS, submitted, sub)) {
		fprintf(stderr, "a submission does not end\n");
		abort();
	}
	id = sub->id;
	if (id == 0 && ret_error != NULL)
		*ret_error = xstrdup(sub->refused ? sub->err.text
						  : "the master is gone");
	json_decref(sub->ops);
	free(sub);
	return id;
}

static bool job_done(struct sim *s, void *arg)
{
	const struct job *j = queue_job(s->master->queue, *(uint64_t *)arg);

	return j == NULL || job_is_final(j);
}

const char *sim_wait(struct sim *s, uint64_t id)
{
	const struct job *j;

	sim_run(s, HOUR_MS, job_done, &id);
	j = queue_job(s->master->queue, id);
	return j == NULL ? "lost" : job_state_name(job_status(j));
}

struct killing {
	struct sim *s;
	uint64_t id;
	bool over;
};

static void kill_task(void *arg)
{
	struct killing *k = arg;
	auto_free char *text = NULL;
	struct error err;
	bool ok;

	queue_cancel(k->s->master->queue, k->id, true, &ok, &text, &err);
	k->over = true;
}

static bool is_over(struct sim *s, void *arg)
{
	(void)s;
	return ((struct killing *)arg)->over;
}

const char *sim_kill_job(struct sim *s, uint64_t id)
{
	struct killing k = {.s = s, .id = id};

	task_set_owner(s);
	task_spawn("kill", kill_task, &k);
	task_set_owner(NULL);
	sim_run(s, HOUR_MS, is_over, &k);
	return sim_wait(s, id);
}

char *sim_job_log(struct sim *s, uint64_t id)
{
	auto_json json_t *log =
		job_field(queue_job(s->master->queue, id), "oplog");

	return json_text(log);
}

char *sim_do(struct sim *s, json_t *op STEALS)
{
	char *error = NULL;
	uint64_t id = sim_submit(s, op, &error);
	const char *status;
	const struct job *j;

	if (id == 0)
		return error;
	status = sim_wait(s, id);
	j = queue_job(s->master->queue, id);
	if (strcmp(status, "success") == 0 || j == NULL)
		return xstrdup(status);
	return xstrdup(j->ops[0].result == NULL ? status : j->ops[0].result);
}
