/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's birth and end, and the time. */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/cluster.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "tests/sim/seeds.h"

#define START_OF_TIME_US ((int64_t)1700000000 * 1000000)
#define HOUR_MS (3600 * 1000)
/* A candidate starts a daemon and gets all files within this. */
#define JOIN_MS 5000

/* There is one time for all nodes, and one loop. */
static int64_t now_us;
static uv_loop_t loop;

static int64_t virtual_now(void)
{
	return now_us;
}

/* A process sees the clock of its node, which may be set. */
static int64_t wall_now(void)
{
	const struct sim_proc *p = task_owner();

	return now_us + (p == NULL ? 0 : p->node->clock_us);
}

void sim_violation(struct sim *s, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	strv_add_unique(&s->violations, text);
}

/* --- the cluster --- */

static json_t *node_object(const struct sim_node *n, const char *group,
			   bool candidate)
{
	return json_make("{s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:b, s:b, s:{}, "
			 "s:b, s:f, s:f, s:s, s:i, s:[]}",
			 "name", n->name, "primary_ip", n->address,
			 "secondary_ip", n->address, "master_candidate",
			 candidate, "offline", 0, "drained", 0, "group", group,
			 "master_capable", 1, "vm_capable", 1, "ndparams",
			 "powered", 1, "ctime", 1.0, "mtime", 1.0, "uuid",
			 n->uuid, "serial_no", 1, "tags");
}

static const char small_instances[] =
	"{\"minmax\": [{\"min\": {\"memory-size\": 1, \"disk-size\": 1,"
	" \"disk-count\": 0, \"cpu-count\": 1, \"nic-count\": 0,"
	" \"spindle-use\": 0}, \"max\": {\"memory-size\": 65536,"
	" \"disk-size\": 65536, \"disk-count\": 16, \"cpu-count\": 64,"
	" \"nic-count\": 8, \"spindle-use\": 64}}]}";

static json_t *document(struct sim *s, size_t n_candidates, bool volumes)
{
	static const char *const hypervisors[] = {"fake", NULL};
	static const char *const templates[] = {"sharedfile", "diskless", NULL};
	static const char *const more[] = {"sharedfile", "diskless", "file",
					   "plain",	 "drbd",     NULL};
	struct cluster_init init = {
		.cluster_name = "cluster.example.com",
		.master_name = s->nodes[0].name,
		.primary_ip = s->nodes[0].address,
		.master_ip = s->nodes[0].address,
		.master_netdev = "lo",
		.hypervisors = hypervisors,
		.disk_templates = volumes ? more : templates,
		.volume_group_name = volumes ? "xenvg" : NULL,
		.default_iallocator = "any",
	};
	auto_json json_t *policy = NULL;
	struct error err;
	const char *key, *group = NULL;
	json_t *doc, *value, *certs = json_object();

	policy = json_parse(small_instances, strlen(small_instances), &err);
	if (policy != NULL)
		init.ipolicy = policy;
	doc = cluster_new_config(&init, &err);
	if (doc == NULL) {
		fprintf(stderr, "cluster_new_config: %s\n", err.text);
		abort();
	}
	json_object_foreach (json_unconst(json_get(doc, "nodegroups")), key,
			     value)
		group = key;
	json_object_foreach (json_unconst(json_get(doc, "nodes")), key, value)
		s->nodes[0].uuid = xstrdup(key);
	for (size_t i = 1; i < s->n_nodes; i++) {
		char uuid[37];

		uuid_new(uuid);
		s->nodes[i].uuid = xstrdup(uuid);
		json_object_set_new(
			json_object_get(doc, "nodes"), uuid,
			node_object(&s->nodes[i], group, i < n_candidates));
	}
	for (size_t i = 0; i < n_candidates && i < s->n_nodes; i++)
		json_set_str(certs, s->nodes[i].uuid, "AA:BB");
	json_object_set_new(json_object_get(doc, "cluster"), "candidate_certs",
			    certs);
	return doc;
}

void sim_set_candidate(struct config *c, const struct sim_node *n,
		       bool candidate)
{
	json_t *node = config_edit(config_get(c, CONFIG_NODE, n->uuid));
	json_t *cluster, *certs;

	json_set_bool(node, "master_candidate", candidate);
	config_put(c, CONFIG_NODE, node);
	if (!candidate)
		return;
	cluster = config_edit(config_cluster(c));
	certs = json_overlay(cluster_candidate_certs(config_cluster(c)), NULL);
	json_set_str(certs, n->uuid, "AA:BB");
	cluster_set_candidate_certs(cluster, certs);
	config_put_cluster(c, cluster);
}

/* Work beside the loop takes some virtual time. */
static WAITS void disk_takes_time(void)
{
	const struct sim_proc *p = task_owner();
	unsigned max = p == NULL ? 0 : p->node->sim->max_disk_us;
	struct cond never;
	int64_t until;

	if (max == 0)
		return;
	until = now_us + (int64_t)random_below(max);
	cond_init(&never);
	while (cond_wait_until(&never, until))
		;
}

/* In the log: on which node, in which process, in which task. */
static const char *context(void)
{
	static char text[100];
	const struct sim_proc *p = task_owner();
	const char *task = task_name();

	snprintf(text, sizeof(text), "n%zu/%s %s",
		 p == NULL ? 0 : p->node->index + 1,
		 p == NULL		  ? ""
		 : p == &p->node->masterd ? "masterd"
					  : "noded",
		 task == NULL ? "" : task);
	return text;
}

static void start_time(uint64_t seed)
{
	log_set_level(getenv("SIM_LOG") == NULL ? LOG_LEVEL_ERROR + 1
						: LOG_LEVEL_DEBUG);
	now_us = START_OF_TIME_US;
	clock_replace(virtual_now);
	clock_replace_wall(wall_now);
	random_seed(seed);
	uv_loop_init(&loop);
	tasks_init(&loop);
	log_set_context(context);
	tasks_set_simulated(true);
	tasks_set_came_in(disk_takes_time);
	timers_set_simulated(true);
}

static void end_time(void)
{
	tasks_close();
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	tasks_set_simulated(false);
	timers_set_simulated(false);
	clock_replace(NULL);
	clock_replace_wall(NULL);
}

static void init(struct sim *s, size_t n_nodes, size_t n_candidates,
		 bool volumes, uint64_t seed)
{
	auto_json json_t *doc = NULL;
	auto_free char *text = NULL;

	*s = (struct sim){.n_nodes = n_nodes, .max_delay_ms = 5};
	seeds_pin((unsigned)getpid());
	sim_network_init(s);
	start_time(seed);
	for (size_t i = 0; i < n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];

		n->sim = s;
		n->index = i;
		n->name = xprintf("node%zu.example.com", i + 1);
		n->address = xprintf("192.0.2.%zu", i + 1);
		sim_machine_init(n);
	}
	doc = document(s, n_candidates, volumes);
	text = json_text(doc);
	for (size_t i = 0; i < n_nodes; i++)
		sim_give_config(&s->nodes[i], text);
}

void sim_init_idle(struct sim *s, size_t n_nodes, uint64_t seed)
{
	init(s, n_nodes, n_nodes, false, seed);
}

void sim_init_some(struct sim *s, size_t n_nodes, size_t n_candidates,
		   uint64_t seed)
{
	init(s, n_nodes, n_candidates, false, seed);
}

/* The first node is master, and the other candidates take part in its log. */
static void begin(struct sim *s)
{
	sim_await_master(&s->nodes[0]);
	sim_run(s, JOIN_MS, NULL, NULL);
}

void sim_init(struct sim *s, size_t n_nodes, uint64_t seed)
{
	sim_init_idle(s, n_nodes, seed);
	begin(s);
}

void sim_init_big(struct sim *s, size_t n_nodes, size_t n_candidates,
		  uint64_t seed)
{
	init(s, n_nodes, n_candidates, true, seed);
	begin(s);
}

/* Some are only about to be started, by a failover that has failed. */
static bool all_stopped(struct sim *s, void *arg)
{
	bool stopped = true;

	(void)arg;
	for (size_t i = 0; i < s->n_nodes; i++) {
		sim_stop_master(&s->nodes[i]);
		stopped &= !s->nodes[i].masterd.alive;
	}
	return stopped;
}

void sim_done(struct sim *s)
{
	if (!sim_run(s, HOUR_MS, all_stopped, NULL)) {
		fprintf(stderr, "a master does not stop\n");
		abort();
	}
	for (size_t i = 0; i < s->n_nodes; i++)
		sim_machine_done(&s->nodes[i]);
	sim_network_done(s);
	table_done(&s->files, NULL);
	strv_done(&s->violations);
	end_time();
}

/* --- time --- */

static void run_ready(void)
{
	do
		uv_run(&loop, UV_RUN_NOWAIT);
	while (tasks_ready());
}

bool sim_run(struct sim *s, int64_t ms, bool (*done)(struct sim *s, void *arg),
	     void *arg)
{
	int64_t deadline = now_us + ms * 1000;

	for (;;) {
		int64_t next;

		run_ready();
		sim_reap(s);
		if (s->watch != NULL)
			s->watch(s);
		if (done != NULL && done(s, arg))
			return true;
		next = timers_next();
		if (next < 0 || next > deadline) {
			now_us = deadline;
			return done == NULL;
		}
		if (next > now_us)
			now_us = next;
		timers_fire_one();
		sim_reap(s);
	}
}
