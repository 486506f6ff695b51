/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines: their disks, and the two processes on each. */
#include <stdlib.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "tests/sim/sim.h"

/* Small, so that its halves are turned in a random life. */
#define MASTER_JOURNAL (512 * 1024)
#define DAEMON_JOURNAL (128 * 1024)

/* --- the lock of the queue --- */

static int take_lock(struct sim_node *n, struct sim_proc *p, struct error *err)
{
	if (n->queue_lock != NULL && n->queue_lock != p)
		return error_set(err, ERR_SYSTEM, ECODE_STATE,
				 "the queue's lock is held by process %s",
				 n->queue_lock == &n->masterd ? "masterd"
							      : "noded");
	n->queue_lock = p;
	return 0;
}

static int daemon_lock(void *arg, struct error *err)
{
	struct sim_node *n = arg;

	return take_lock(n, &n->daemon, err);
}

static void daemon_unlock(void *arg, int handle)
{
	struct sim_node *n = arg;

	(void)handle;
	if (n->queue_lock == &n->daemon)
		n->queue_lock = NULL;
}

static bool master_owns(void *arg)
{
	const struct sim_node *n = arg;

	return n->masterd.alive;
}

static int master_lock(struct disk *d, const char *file, struct error *err)
{
	struct sim_node *n = container_of(d, struct sim_node, disk.disk);

	(void)file;
	return take_lock(n, &n->masterd, err);
}

static void master_unlock(struct disk *d, int handle)
{
	struct sim_node *n = container_of(d, struct sim_node, disk.disk);

	(void)handle;
	if (n->queue_lock == &n->masterd)
		n->queue_lock = NULL;
}

/* --- processes --- */

static void proc_init(struct sim_node *n, struct sim_proc *p)
{
	p->node = n;
	list_init(&p->held);
}

/* Memory of a process that was killed is nobody's: whoever would have freed it
 * runs no more.  So the leak check of a build with sanitizers, which asks this
 * when a test ends, says nothing behind the first kill. */
static bool memory_lost;

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return memory_lost;
}

void sim_start_proc(struct sim_proc *p)
{
	p->alive = true;
	p->paused = p->ending = p->stopping = false;
	p->life++;
}

void sim_kill(struct sim_proc *p)
{
	struct sim_node *n = p->node;
	size_t n_tasks = tasks_count();

	if (!p->alive)
		return;
	if (p == &n->daemon)
		sim_end_long_calls(n);
	tasks_kill(p);
	if (tasks_count() < n_tasks)
		memory_lost = true;
	timers_kill(p);
	p->alive = p->paused = p->ending = false;
	sim_forget_held(p);
	if (n->queue_lock == p)
		n->queue_lock = NULL;
	if (p != &n->masterd)
		return;
	if (n->role != NULL)
		memory_lost = true;
	n->role = NULL;
	if (n->sim->master == n->master)
		n->sim->master = NULL;
	n->master = NULL;
}

void sim_pause(struct sim_proc *p)
{
	if (!p->alive || p->paused)
		return;
	p->paused = true;
	tasks_freeze(p);
	timers_freeze(p);
}

void sim_resume(struct sim_proc *p)
{
	if (!p->paused)
		return;
	p->paused = false;
	tasks_thaw(p);
	timers_thaw(p);
	sim_deliver_held(p);
}

void sim_reap(struct sim *s)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->nodes[i].masterd.ending)
			sim_kill(&s->nodes[i].masterd);
}

static bool master_runs(const struct noded *noded)
{
	return container_of(mem_unconst(noded), struct sim_node, noded)
		->masterd.alive;
}

/* As noded/main.c does. */
static void tidy(void *arg)
{
	struct sim_node *n = arg;

	if (!sim_is_home(n))
		replica_tidy(n->noded.candidate.queue);
	sim_stand_by(n);
}

void sim_start_daemon(struct sim_node *n)
{
	sim_start_proc(&n->daemon);
	if (n->noded.candidate.queue != NULL) /* the one before was killed */
		memory_lost = true;
	n->noded = (struct noded){.paths = n->paths,
				  .masterd_runs = master_runs,
				  .relay = sim_relay};
	order_init(&n->noded.order);
	list_init(&n->noded.calls);
	candidate_init(&n->noded.candidate, &n->disk.disk, n->paths,
		       (struct replica_config){
			       .journal_size = DAEMON_JOURNAL,
			       .owner_runs = master_owns,
			       .lock = daemon_lock,
			       .unlock = daemon_unlock,
			       .arg = n,
		       });
	task_set_owner(&n->daemon);
	task_spawn("tidy", tidy, n);
	task_set_owner(NULL);
}

/* --- the machine --- */

void sim_machine_init(struct sim_node *n)
{
	auto_free char *root = xprintf("/nonexistent/sim/%s", n->name);

	n->paths = paths_create(root, n->name);
	fake_disk_init(&n->disk);
	n->disk.disk.journal_size = MASTER_JOURNAL;
	n->disk.disk.lock = master_lock;
	n->disk.disk.unlock = master_unlock;
	proc_init(n, &n->masterd);
	proc_init(n, &n->daemon);
	list_init(&n->long_calls);
	sim_start_daemon(n);
}

void sim_give_config(struct sim_node *n, const char *text)
{
	struct error err;
	auto_json json_t *doc = json_parse(text, strlen(text), &err);
	auto_json json_t *values = ssconf_values(doc);

	fake_disk_put(&n->disk, path(n->paths, PATH_CONFIG_DATA), text);
	if (ssconf_write(&n->disk.disk, n->paths, values, &err) < 0)
		abort();
}

void sim_machine_done(struct sim_node *n)
{
	sim_kill(&n->masterd);
	sim_kill(&n->daemon);
	fake_disk_done(&n->disk);
	paths_destroy(n->paths);
	free(n->name);
	free(n->uuid);
	free(n->address);
	table_done(&n->running, NULL);
	table_done(&n->stopped, NULL);
	table_done(&n->devices, NULL);
	table_done(&n->held, NULL);
	table_done(&n->done, free);
	free(n->expects);
	table_done(&n->sent, NULL);
	json_decref(n->hook_env);
	json_decref(n->hooks_say);
	json_decref(n->asked);
	json_decref(n->told);
	json_decref(n->made);
	json_decref(n->image);
	json_decref(n->transfer);
	free(n->sends_to);
	json_decref(n->finalized);
	json_decref(n->described);
	free(n->ssh_authorized);
	json_decref(n->verify_says);
	json_decref(n->disk_says);
	json_decref(n->dimensions);
	json_decref(n->wiped);
	json_decref(n->volumes);
}

void sim_power_cut(struct sim_node *n, uint64_t seed)
{
	sim_kill(&n->masterd);
	sim_kill(&n->daemon);
	fake_disk_crash(&n->disk, seed);
}

void sim_crash(struct sim *s, uint64_t seed)
{
	sim_power_cut(&s->nodes[0], seed);
}

void sim_restart(struct sim *s)
{
	struct sim_node *n = &s->nodes[0];

	sim_start_daemon(n);
	sim_await_master(n);
}
