/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the parts of a master together; the same for the daemon and the
 * simulation. */
#include "masterd/master.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/paths.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/config/config.h"
#include "masterd/config/reserve.h"
#include "masterd/core/balloon_turns.h"
#include "masterd/core/master.h"
#include "masterd/core/slices.h"
#include "masterd/core/ssh_keys.h"
#include "masterd/core/tokens.h"
#include "masterd/core/turns.h"
#include "masterd/distribute/distribute.h"
#include "masterd/failover/leftovers.h"
#include "masterd/failover/old_calls.h"
#include "masterd/failover/recover.h"
#include "masterd/jobs/job_filters.h"
#include "masterd/jobs/job_views.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/quorum/quorum.h"
#include "masterd/state/state.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"

#define MAX_RUNNING_JOBS 20

/* As many problems of the configuration are named in the log at start. */
#define PROBLEMS_MAX 20

/* Nodes that are there have the ssconf files in milliseconds. */
#define ANNOUNCE_US 3000000

/* A write failed: nothing can be promised any more. */
static void on_fatal(void *arg, const struct error *err)
{
	struct master *m = arg;

	if (m->end != NULL)
		m->end(m, MASTER_EXIT_FATAL, err);
	else
		log_error("%s", err->text);
}

/* A node obeys another master: this one is none any more. */
static void on_fenced(void *arg, const struct error *err)
{
	struct master *m = arg;

	if (m->end != NULL)
		m->end(m, MASTER_EXIT_FENCED, err);
	else
		log_error("%s", err->text);
}

static struct queue_gate *gate(void *arg, const struct job *j)
{
	struct master *m = arg;

	return job_filters_gate(m->filters, j);
}

static int is_safe(void *arg, struct error *err)
{
	struct master *m = arg;

	return m->quorum == NULL ? 0 : quorum_safe(m->quorum, err);
}

static void ended(void *arg, const struct job *j)
{
	struct master *m = arg;

	config_unbook_job(m->config, j->id);
	recover_unstarted(m->recover, j);
}

/* How many jobs may run at once.  A configuration that was written by others
 * may say more than the queue counts with; with none the queue would stop for
 * good, also for the command that corrects it. */
static unsigned places(const json_t *cluster)
{
	int64_t n = cluster_max_running_jobs_or(cluster, MAX_RUNNING_JOBS);

	if (n < 1)
		return MAX_RUNNING_JOBS;
	return n > INT32_MAX ? INT32_MAX : (unsigned)n;
}

static WAITS struct queue *open_queue(struct master *m, struct error *err)
{
	const json_t *cluster = config_cluster(m->config);
	struct queue_config config = {
		.disk = m->disk,
		.dir = path(m->paths, PATH_QUEUE_DIR),
		.history = m->disk == disk_real(), /* SQLite wants files */
		.hooks = {.arg = m,
			  .check_op = exec_check_op,
			  .run_op = exec_run_op,
			  .safe = is_safe,
			  .gate = gate,
			  .ended = ended,
			  .fatal = on_fatal},
		.store = m->quorum == NULL
				 ? NULL
				 : state_store(quorum_state(m->quorum)),
		.max_running = places(cluster),
	};

	return queue_open(&config, err);
}

static void name_problems(const struct config *c)
{
	auto_strv struct strv problems = {0};

	config_verify(c, &problems);
	for (size_t i = 0; i < problems.n && i < PROBLEMS_MAX; i++)
		log_warning("configuration: %s", problems.items[i]);
	if (problems.n > PROBLEMS_MAX)
		log_warning("configuration: and %zu more problems",
			    problems.n - PROBLEMS_MAX);
}

static struct config *load_config(struct master *m, struct error *err)
{
	if (m->quorum == NULL)
		return config_load(m->disk, m->paths, err);
	return config_of_state(m->disk, m->paths, quorum_state(m->quorum), err);
}

struct master *master_create(struct disk *disk, struct paths *paths STEALS,
			     const struct noderpc_transport *transport,
			     const struct master_role *role,
			     struct quorum *quorum, struct error *err)
{
	struct master *m = xalloc(sizeof(*m));

	if (role != NULL)
		m->role = *role;
	cond_init(&m->on_announced);
	cond_init(&m->on_paused);
	list_init(&m->aftermaths);
	cond_init(&m->on_aftermath);
	m->slices = xalloc(sizeof(*m->slices));
	slices_init(m->slices);
	m->views = job_views_create();
	m->turns = balloon_turns_create();
	m->arrivals = xalloc(sizeof(*m->arrivals));
	turns_init(m->arrivals);
	m->disk = disk;
	m->paths = paths;
	m->quorum = quorum;
	if (quorum != NULL)
		m->events = state_events(quorum_state(quorum));
	m->config = load_config(m, err);
	if (m->config == NULL) {
		master_free(m);
		return NULL;
	}
	m->locks = locks_create();
	m->rpc = noderpc_create(transport);
	noderpc_set_term(m->rpc, m->role.term);
	noderpc_set_fenced(m->rpc, on_fenced, m);
	noderpc_set_fill(m->rpc, config_fill_devices, m->config);
	m->ssh_keys = ssh_keys_create(disk, paths, m->config, m->rpc);
	m->reserve = reserve_create(m->config);
	m->kept = iallocator_kept_create();
	m->distribute = distribute_create(m);
	config_set_distribute(m->config, distribute_config, m->distribute);
	config_set_fatal(m->config, on_fatal, m);
	m->filters = job_filters_create(config_all(m->config, CONFIG_FILTER));
	m->queue = open_queue(m, err);
	if (m->queue == NULL) {
		master_free(m);
		return NULL;
	}
	if (quorum != NULL)
		m->tokens = tokens_create(state_store(quorum_state(quorum)));
	m->recover = recover_create(m->config, m->queue);
	m->leftovers = leftovers_create(m->config, m->queue, m->recover);
	m->old_calls = old_calls_create(m->config, m->rpc);
	config_set_lost(m->config, leftovers_begin, m->leftovers);
	recover_set_failed(m->recover, leftovers_begin, m->leftovers);
	return m;
}

/* Who takes over is there to be used: what a former master refused for (an
 * upgrade that it did not survive, for example) is over. */
static WAITS void lift_drain(struct master *m)
{
	struct error err;

	if (!m->role.failover || !queue_drained(m->queue))
		return;
	log_info("Undraining the job queue");
	if (queue_set_drained(m->queue, false, &err) < 0)
		log_error("The job queue stays drained (gnt-cluster queue "
			  "undrain ends that): %s",
			  err.text);
}

/* The first things a master does.  Whoever was not there when something
 * changed gets it now. */
static WAITS void take_up(void *arg)
{
	struct master *m = arg;
	struct error err;

	if (m->role.term != 0)
		old_calls_begin(m->old_calls, m->role.term);
	recover_reservations(m->recover);
	recover_copies(m->recover);
	queue_start(m->queue);
	if (config_redistribute(m->config, &err) < 0)
		log_error("%s", err.text); /* leftovers.c tries again */
	lift_drain(m);
	m->announced = true;
	cond_signal(&m->on_announced);
	ssh_keys_begin(m->ssh_keys);
}

void master_wait_announced(struct master *m)
{
	int64_t deadline_us = clock_mono_us() + ANNOUNCE_US;

	while (!m->announced && !m->stopping)
		if (!cond_wait_until(&m->on_announced, deadline_us))
			return;
}

void master_start(struct master *m)
{
	name_problems(m->config);
	distribute_start(m->distribute);
	task_spawn("start", take_up, m);
}

void master_hurry(struct master *m)
{
	distribute_hurry(m->distribute);
	ssh_keys_hurry(m->ssh_keys);
}

WAITS void master_stop(struct master *m)
{
	struct error err;

	m->stopping = true;
	ssh_keys_end(m->ssh_keys);
	recover_end(m->recover);
	leftovers_end(m->leftovers);
	queue_stop(m->queue);
	old_calls_end(m->old_calls); /* no job waits for them any more */
	if (config_commit(m->config, &err) < 0)
		log_error("%s", err.text);
	distribute_stop(m->distribute);
}

void master_free(struct master *m)
{
	if (m == NULL)
		return;
	if (m->queue != NULL)
		queue_close(m->queue);
	leftovers_destroy(m->leftovers);
	old_calls_destroy(m->old_calls);
	recover_destroy(m->recover);
	job_filters_destroy(m->filters);
	balloon_turns_destroy(m->turns);
	turns_done(m->arrivals);
	free(m->arrivals);
	job_views_destroy(m->views);
	tokens_free(m->tokens);
	free(m->slices);
	distribute_free(m->distribute);
	iallocator_kept_free(m->kept);
	reserve_destroy(m->reserve);
	ssh_keys_destroy(m->ssh_keys);
	noderpc_destroy(m->rpc);
	if (m->locks != NULL)
		locks_destroy(m->locks);
	config_free(m->config);
	paths_destroy(m->paths);
	free(m);
}
