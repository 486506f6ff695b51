/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a master daemon, as in masterd/main.c: it takes the role over
 * (takeover.h), serves, and ends.  Also what a node daemon does to start and
 * stop it. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "masterd/config/config.h"
#include "masterd/failover/takeover.h"
#include "masterd/master.h"
#include "tests/sim/sim.h"

/* A node daemon waits so long for a master daemon to start or to end. */
#define WAIT_US 60000000
#define POLL_MS 20

#define START_MS 120000

/* --- start --- */

bool sim_is_home(struct sim_node *n)
{
	auto_free char *master =
		ssconf_read_on(&n->disk.disk, n->paths, "master_node");

	return str_eq(master, n->name);
}

static bool is_stopping(void *arg)
{
	const struct sim_node *n = arg;

	return n->masterd.stopping;
}

/* It ends at once: nothing of it runs any more. */
static void on_end(struct master *m, int status, const struct error *err)
{
	struct sim_node *n = m->arg;
	struct cond never;

	(void)status;
	(void)err;
	n->masterd.ending = true;
	tasks_freeze(&n->masterd);
	timers_freeze(&n->masterd);
	if (task_name() == NULL)
		return;
	cond_init(&never);
	for (;;)
		cond_wait(&never);
}

static int create(struct sim_node *n, const struct master_role *role,
		  struct error *err)
{
	struct noderpc_transport transport = sim_transport(n);
	struct master *m = master_create(&n->disk.disk,
					 paths_create(n->paths->root, n->name),
					 &transport, role, err);

	if (m == NULL)
		return -1;
	if (!config_is_master(m->config, n->uuid)) {
		master_free(m);
		return error_set(err, ERR_CONFIG, NULL, "not the master");
	}
	n->master = m;
	m->end = on_end;
	m->arg = n;
	n->sim->master = m;
	n->sim->n_masters++;
	master_start(m);
	return 0;
}

static void stop_task(void *arg)
{
	struct sim_node *n = arg;

	master_stop(n->master);
	if (n->sim->master == n->master)
		n->sim->master = NULL;
	master_free(steal(&n->master));
	n->masterd.ending = true;
}

struct attempt {
	struct sim_node *node;
	bool failover;
};

static void masterd_task(void *arg)
{
	struct attempt *a = arg;
	struct sim_node *n = a->node;
	struct takeover t = {
		.disk = &n->disk.disk,
		.paths = n->paths,
		.transport = sim_transport(n),
		.failover = a->failover,
		.stopped = is_stopping,
		.arg = n,
	};
	struct master_role role;
	struct error err;

	free(a);
	if (takeover_run(&t, &role, &err) < 0 ||
	    (!n->masterd.stopping && create(n, &role, &err) < 0)) {
		log_info("%s does not become master: %s", n->name, err.text);
		n->masterd.ending = true;
	} else if (n->master == NULL)
		n->masterd.ending = true;
	else if (n->masterd.stopping)
		stop_task(n); /* told so meanwhile */
}

/* Start a task of the master daemon there; the caller may be one of another. */
static void spawn_in(struct sim_node *n, const char *name,
		     void (*fn)(void *arg), void *arg)
{
	void *owner = task_owner();

	task_set_owner(&n->masterd);
	task_spawn(name, fn, arg);
	task_set_owner(owner);
}

void sim_take_over(struct sim_node *n, bool failover)
{
	struct attempt *a;

	if (n->down || n->masterd.alive || (!failover && !sim_is_home(n)))
		return;
	a = xalloc(sizeof(*a));
	*a = (struct attempt){.node = n, .failover = failover};
	sim_start_proc(&n->masterd);
	spawn_in(n, "masterd", masterd_task, a);
}

static bool serves(struct sim *s, void *arg)
{
	const struct sim_node *n = arg;

	(void)s;
	return n->master != NULL || !n->masterd.alive;
}

void sim_await_master(struct sim_node *n)
{
	sim_take_over(n, false);
	sim_run(n->sim, START_MS, serves, n);
	if (n->master == NULL)
		abort();
}

/* --- end --- */

void sim_stop_master(struct sim_node *n)
{
	sim_resume(&n->masterd);
	if (!n->masterd.alive || n->masterd.stopping)
		return;
	n->masterd.stopping = true;
	if (n->master == NULL)
		return; /* it looks whether it shall go on */
	spawn_in(n, "stop", stop_task, n);
}

/* --- what the node daemon does with it --- */

bool sim_is_about_master(const char *procedure)
{
	return str_eq(procedure, "node_stop_master") ||
	       str_eq(procedure, "node_start_master_daemons");
}

/* A process that is paused notices signals later. */
static WAITS bool stop_and_wait(struct sim_node *n)
{
	int64_t deadline = clock_mono_us() + WAIT_US;
	uint64_t life = n->masterd.life;

	while (n->masterd.alive && n->masterd.life == life) {
		if (clock_mono_us() > deadline)
			return false;
		if (!n->masterd.paused)
			sim_stop_master(n);
		task_sleep(POLL_MS);
	}
	return true;
}

static WAITS bool start_and_wait(struct sim_node *n)
{
	int64_t deadline = clock_mono_us() + WAIT_US;

	sim_take_over(n, false);
	while (n->masterd.alive && n->master == NULL) {
		if (clock_mono_us() > deadline)
			return false;
		task_sleep(POLL_MS);
	}
	return n->master != NULL;
}

WAITS char *sim_answer_about_master(struct sim_node *n, const char *procedure)
{
	bool stop = str_eq(procedure, "node_stop_master");
	bool done = stop ? stop_and_wait(n) : start_and_wait(n);
	auto_json json_t *answer =
		json_make("[b, s]", done, done ? "" : "it takes too long");

	return json_text(answer);
}
