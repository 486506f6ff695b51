/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a master daemon, as in masterd/main.c: it takes part in the log,
 * serves when it leads, and ends.  Also what a node daemon does to start and
 * stop it, and to hand it what comes from other servers. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "masterd/config/config.h"
#include "masterd/master.h"
#include "masterd/role.h"
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

/* It ends at once: nothing of it runs any more. */
static void on_end(void *arg, int status, const struct error *err)
{
	struct sim_node *n = arg;
	struct cond never;

	(void)status;
	log_info("%s: the master daemon ends: %s", n->name, err->text);
	n->masterd.ending = true;
	tasks_freeze(&n->masterd);
	timers_freeze(&n->masterd);
	if (task_name() == NULL)
		return;
	cond_init(&never);
	for (;;)
		cond_wait(&never);
}

static int on_listen(void *arg, struct error *err)
{
	struct sim_node *n = arg;

	(void)err;
	n->listening = true;
	return 0;
}

static WAITS int on_serve(void *arg, struct master *m, struct error *err)
{
	struct sim_node *n = arg;

	(void)err;
	m->daemon = n;
	n->master = m;
	n->sim->master = m;
	n->sim->n_masters++;
	return 0;
}

static void forget_master(struct sim_node *n)
{
	if (n->sim->master == n->master)
		n->sim->master = NULL;
	n->master = NULL;
}

static void on_close(void *arg)
{
	forget_master(arg);
}

/* As the daemon does it: what has not begun yet is waited for. */
static WAITS void stop_task(void *arg)
{
	struct sim_node *n = arg;

	while (!n->begun) {
		if (n->role != NULL)
			role_stop_promotion(n->role);
		if (!n->begun)
			task_sleep(POLL_MS);
	}
	forget_master(n);
	role_stop(n->role);
	if (n->n_requests == 0) /* else it goes with the process */
		role_free(steal(&n->role));
	n->masterd.ending = true;
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

/* The answer to the one that asked for the role is under way. */
static void on_quit(void *arg, bool again)
{
	struct sim_node *n = arg;

	(void)again; /* its node daemon starts it */
	if (n->masterd.stopping)
		return;
	n->masterd.stopping = true;
	spawn_in(n, "stop", stop_task, n);
}

static void on_cut(void *arg)
{
	struct error err;

	error_set(&err, ERR_SYSTEM, ECODE_FENCED, "it has handed over");
	on_end(arg, 0, &err);
}

struct attempt {
	struct sim_node *node;
	enum role_mode mode;
};

static void masterd_task(void *arg)
{
	auto_free struct attempt *a = arg;
	struct sim_node *n = a->node;
	struct error err;
	int rc;

	n->call_number = 0; /* a new daemon begins with the time */
	n->transport = sim_transport(n);
	n->role = role_create(&(struct role_config){
		.disk = &n->disk.disk,
		.paths = n->paths,
		.transport = &n->transport,
		.mode = a->mode,
		.no_voting = n->no_voting,
		.drop = n->drop,
		.arg = n,
		.listen = on_listen,
		.serve = on_serve,
		.close = on_close,
		.end = on_end,
		.quit = on_quit,
		.cut = on_cut,
	});
	if (n->masterd.stopping)
		role_hurry(n->role);
	rc = role_begin(n->role, &err);
	n->begun = true;
	if (rc < 0)
		log_info("%s does not become master: %s", n->name, err.text);
	if (n->masterd.stopping || rc == 0)
		return; /* who told it to stop has begun stop_task() */
	n->masterd.stopping = true;
	stop_task(n);
}

static void start_masterd(struct sim_node *n, enum role_mode mode)
{
	struct attempt *a = xalloc(sizeof(*a));

	*a = (struct attempt){.node = n, .mode = mode};
	sim_start_proc(&n->masterd);
	n->role = NULL;
	n->n_requests = 0;
	n->begun = n->listening = false;
	spawn_in(n, "masterd", masterd_task, a);
}

void sim_take_over(struct sim_node *n, bool failover)
{
	if (n->down || (!failover && !sim_is_home(n)))
		return;
	if (n->masterd.alive) { /* one that stands by makes way */
		if (n->master != NULL || !n->begun || n->masterd.paused)
			return;
		sim_kill(&n->masterd);
	}
	start_masterd(n, failover ? ROLE_FAILOVER : ROLE_HOME);
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

/* --- what other servers send --- */

/* An order that a task of the master daemon answers. */
struct request {
	struct sim_node *node;
	char *data, *answer;
	size_t len;
	bool done;
};

static void request_task(void *arg)
{
	struct request *r = arg;

	struct sim_node *n = r->node;

	if (n->role == NULL)
		return;
	n->n_requests++;
	r->answer = role_order(n->role, r->data, r->len);
	r->done = true;
	n->n_requests--;
}

/* A daemon that dies meanwhile never answers. */
static WAITS char *ask(struct sim_node *n, const void *data, size_t len,
		       struct error *err)
{
	struct request *r = xalloc(sizeof(*r));
	uint64_t life = n->masterd.life;
	char *answer;

	*r = (struct request){
		.node = n, .data = xmemdup(data, len), .len = len};
	spawn_in(n, "request", request_task, r);
	task_yield();
	while (!r->done && n->masterd.alive && n->masterd.life == life)
		task_sleep(POLL_MS);
	if (!r->done) {
		error_set(err, ERR_EXEC, NULL, "connection closed");
		return NULL;
	}
	answer = r->answer;
	free(r->data);
	free(r);
	return answer;
}

static bool takes_part(struct sim_node *n)
{
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));

	return n->disk.disk.exists(&n->disk.disk, file);
}

static bool listens(const struct sim_node *n)
{
	return n->masterd.alive && n->listening && !n->masterd.paused &&
	       !n->masterd.ending;
}

void sim_stand_by(struct sim_node *n)
{
	if (!n->masterd.alive && takes_part(n) && !sim_is_home(n))
		start_masterd(n, ROLE_STANDBY);
}

bool sim_parcel(struct sim_node *n, const void *data, size_t len,
		struct consensus_question *question, bool *ret_kept)
{
	void *owner = task_owner();

	*ret_kept = false;
	sim_stand_by(n);
	if (!listens(n))
		return false;
	task_set_owner(&n->masterd);
	*ret_kept = role_parcel(n->role, data, len, question);
	task_set_owner(owner);
	return true;
}

WAITS char *sim_relay(struct noded *noded, char kind, const void *data,
		      size_t len, struct error *err)
{
	struct sim_node *n = container_of(noded, struct sim_node, noded);

	(void)kind;
	if (!n->masterd.alive)
		start_masterd(n, ROLE_STANDBY);
	while (n->masterd.alive && !n->listening)
		task_sleep(POLL_MS);
	if (listens(n))
		return ask(n, data, len, err);
	error_set(err, ERR_EXEC, ECODE_STATE, "no master daemon");
	return NULL;
}

/* --- end --- */

void sim_stop_master(struct sim_node *n)
{
	sim_resume(&n->masterd);
	if (!n->masterd.alive || n->masterd.stopping)
		return;
	n->masterd.stopping = true;
	if (n->role != NULL)
		role_hurry(n->role);
	spawn_in(n, "stop", stop_task, n);
}

/* --- what the node daemon does with it --- */

bool sim_is_about_master(const char *procedure)
{
	return str_eq(procedure, "node_stop_master") ||
	       str_eq(procedure, "node_start_master_daemons") ||
	       str_eq(procedure, "node_demote_from_mc");
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

static void remove_file(struct sim_node *n, const char *file)
{
	struct error err;

	if (n->disk.disk.remove(&n->disk.disk, file, &err) < 0)
		log_info("%s", err.text);
}

/* As relay_leave() and call_node_demote_from_mc() do, which work on files. */
static WAITS bool demote(struct sim_node *n)
{
	const char *dir = path(n->paths, PATH_CONSENSUS_DIR);
	auto_strv struct strv names = {0};
	auto_free char *answer = NULL;
	struct error err;

	if (sim_is_home(n))
		return false;
	if (listens(n)) {
		answer = ask(n, "[\"leave\"]", strlen("[\"leave\"]"), &err);
		if (answer == NULL || !str_starts(answer, "[true"))
			return false;
	}
	if (!stop_and_wait(n) || n->masterd.alive) /* or another one */
		return false;
	if (n->disk.disk.exists(&n->disk.disk, dir) &&
	    n->disk.disk.list(&n->disk.disk, dir, &names, &err) == 0)
		for (size_t i = 0; i < names.n; i++) {
			auto_free char *file =
				xprintf("%s/%s", dir, names.items[i]);

			remove_file(n, file);
		}
	remove_file(n, path(n->paths, PATH_CONFIG_DATA));
	return true;
}

WAITS char *sim_answer_about_master(struct sim_node *n, const char *procedure)
{
	bool done = str_eq(procedure, "node_stop_master") ? stop_and_wait(n)
		    : str_eq(procedure, "node_demote_from_mc")
			    ? demote(n)
			    : start_and_wait(n);
	auto_json json_t *answer =
		json_make("[b, s]", done, done ? "" : "it takes too long");

	return json_text(answer);
}
