/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/cluster.h"
#include "masterd/config.h"
#include "queue/locks.h"
#include "queue/queue.h"

#define START_OF_TIME_US ((int64_t)1700000000 * 1000000)
#define HOUR_MS (3600 * 1000)
#define CONNECT_FAILS_MS 5000

static int64_t now_us;
static uv_loop_t loop;

static int64_t virtual_now(void)
{
	return now_us;
}

/* --- the network --- */

struct flight {
	struct timer timer;
	struct sim *sim;
	char *procedure;
	char *address;
	char *body;
	size_t len;
	bool lost; /* the reply is */
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

static void trace(struct sim *s, const char *text)
{
	for (; *text != '\0'; text++)
		s->trace = (s->trace ^ (unsigned char)*text) * 1099511628211u;
	s->trace = (s->trace ^ (uint64_t)now_us) * 1099511628211u;
}

static struct sim_node *find_node(struct sim *s, const char *address)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (strcmp(s->nodes[i].address, address) == 0)
			return &s->nodes[i];
	return NULL;
}

static void flight_free(struct flight *f)
{
	free(f->procedure);
	free(f->address);
	free(f->body);
	free(f);
}

static void fail_flight(struct flight *f, const char *why)
{
	struct error err;

	error_set(&err, ERR_RPC, NULL, "%s", why);
	f->on_reply(f->arg, NULL, 0, &err);
	flight_free(f);
}

static void on_timeout(struct timer *t)
{
	fail_flight(container_of(t, struct flight, timer), "timed out");
}

static void on_arrival(struct timer *t)
{
	struct flight *f = container_of(t, struct flight, timer);
	struct sim_node *node = find_node(f->sim, f->address);
	struct error err;
	auto_json json_t *args = json_parse(f->body, f->len, &err);
	auto_json json_t *answer = NULL;
	auto_free char *text = NULL;

	assert(args != NULL);
	trace(f->sim, f->procedure);
	if (node == NULL || node->down) {
		fail_flight(f, "connection refused");
		return;
	}
	answer = sim_node_answer(node, f->procedure, args);
	if (f->lost) {
		f->timer.fired = on_timeout;
		timer_start(&f->timer, now_us + 60000000);
		return;
	}
	text = json_text(answer);
	f->on_reply(f->arg, text, strlen(text), NULL);
	flight_free(f);
}

static bool chance(unsigned per_mille)
{
	return per_mille > 0 && random_below(1000) < per_mille;
}

static void send_call(void *arg, const struct noderpc_call *call)
{
	struct sim *s = arg;
	struct sim_node *node = find_node(s, call->address);
	struct flight *f = xalloc(sizeof(*f));
	int64_t delay_us =
		100 +
		(int64_t)random_below(1000 * (uint64_t)(s->max_delay_ms + 1));

	f->sim = s;
	f->procedure = xstrdup(call->procedure);
	f->address = xstrdup(call->address);
	f->body = call->body;
	f->len = call->len;
	f->on_reply = call->on_reply;
	f->arg = call->arg;
	f->timer.fired = on_arrival;
	if (node == NULL || node->down)
		delay_us = CONNECT_FAILS_MS * 1000;
	if (chance(s->lose_call) || (node != NULL && node->silent)) {
		f->timer.fired = on_timeout;
		delay_us = (int64_t)call->timeout_ms * 1000;
	}
	f->lost = chance(s->lose_reply);
	timer_start(&f->timer, now_us + delay_us);
}

/* --- the cluster --- */

static json_t *node_object(const struct sim_node *n, const char *group)
{
	return json_make("{s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:b, s:b, s:{}, "
			 "s:b, s:f, s:f, s:s, s:i, s:[]}",
			 "name", n->name, "primary_ip", n->address,
			 "secondary_ip", n->address, "master_candidate", 1,
			 "offline", 0, "drained", 0, "group", group,
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

static json_t *document(struct sim *s)
{
	static const char *const hypervisors[] = {"fake", NULL};
	static const char *const templates[] = {"sharedfile", "diskless", NULL};
	struct cluster_init init = {
		.cluster_name = "cluster.example.com",
		.master_name = s->nodes[0].name,
		.primary_ip = s->nodes[0].address,
		.master_ip = s->nodes[0].address,
		.master_netdev = "lo",
		.hypervisors = hypervisors,
		.disk_templates = templates,
		.default_iallocator = "any",
	};
	auto_json json_t *policy = NULL;
	struct error err;
	const char *key, *group = NULL;
	json_t *doc, *value;

	policy = json_parse(small_instances, strlen(small_instances), &err);
	if (policy != NULL)
		init.ipolicy = policy;
	doc = cluster_new_config(&init, &err);
	if (doc == NULL) {
		fprintf(stderr, "cluster_new_config: %s\n", err.text);
		abort();
	}
	json_object_foreach ((json_t *)json_get(doc, "nodegroups"), key, value)
		group = key;
	json_object_foreach ((json_t *)json_get(doc, "nodes"), key, value)
		s->nodes[0].uuid = xstrdup(key);
	for (size_t i = 1; i < s->n_nodes; i++) {
		char uuid[37];

		uuid_new(uuid);
		s->nodes[i].uuid = xstrdup(uuid);
		json_object_set_new(json_object_get(doc, "nodes"), uuid,
				    node_object(&s->nodes[i], group));
	}
	return doc;
}

static void start_master(struct sim *s)
{
	struct error err;

	task_set_owner(s);
	s->master = master_create(&s->disk.disk,
				  paths_create(s->root, s->nodes[0].name),
				  &s->transport, NULL, &err);
	if (s->master == NULL) {
		fprintf(stderr, "master_create: %s\n", err.text);
		abort();
	}
	master_start(s->master);
	task_set_owner(NULL);
}

void sim_init(struct sim *s, size_t n_nodes, uint64_t seed)
{
	auto_json json_t *doc = NULL;
	auto_free char *text = NULL, *file = NULL, *data = NULL;
	struct error err;

	*s = (struct sim){.n_nodes = n_nodes, .max_delay_ms = 5};
	log_set_level(LOG_LEVEL_ERROR);
	now_us = START_OF_TIME_US;
	clock_replace(virtual_now);
	random_seed(seed);
	uv_loop_init(&loop);
	tasks_init(&loop);
	tasks_set_simulated(true);
	timers_set_simulated(true);
	fake_disk_init(&s->disk);
	s->transport = (struct noderpc_transport){.arg = s, .send = send_call};
	snprintf(s->root, sizeof(s->root), "/tmp/gantry-sim.XXXXXX");
	assert(mkdtemp(s->root) != NULL);
	data = xprintf("%s/var/lib/ganeti", s->root);
	fs_mkdirs(data, 0700, &err);
	for (size_t i = 0; i < n_nodes; i++) {
		s->nodes[i].sim = s;
		s->nodes[i].name = xprintf("node%zu.example.com", i + 1);
		s->nodes[i].address = xprintf("192.0.2.%zu", i + 1);
	}
	doc = document(s);
	text = json_text(doc);
	file = xprintf("%s/var/lib/ganeti/config.data", s->root);
	fake_disk_put(&s->disk, file, text);
	start_master(s);
}

static void stop_task(void *arg)
{
	struct sim *s = arg;

	master_stop(s->master);
	master_free(s->master);
	s->master = NULL;
}

static bool is_stopped(struct sim *s, void *arg)
{
	(void)arg;
	return s->master == NULL && tasks_count() == 0;
}

void sim_done(struct sim *s)
{
	struct error err;

	if (s->master != NULL) {
		task_set_owner(s);
		task_spawn("stop", stop_task, s);
		task_set_owner(NULL);
		if (!sim_run(s, HOUR_MS, is_stopped, NULL)) {
			fprintf(stderr, "the master does not stop\n");
			abort();
		}
	}
	for (size_t i = 0; i < s->n_nodes; i++) {
		free(s->nodes[i].name);
		free(s->nodes[i].uuid);
		free(s->nodes[i].address);
		table_done(&s->nodes[i].running, NULL);
		json_decref(s->nodes[i].hook_env);
	}
	table_done(&s->files, NULL);
	fake_disk_done(&s->disk);
	timers_kill(s);
	tasks_close();
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	tasks_set_simulated(false);
	timers_set_simulated(false);
	clock_replace(NULL);
	fs_remove_tree(s->root, &err);
}

void sim_crash(struct sim *s, uint64_t seed)
{
	tasks_kill(s);
	timers_kill(s);
	/* What it had in memory is lost, here: leaked. */
	s->master = NULL;
	fake_disk_crash(&s->disk, seed);
}

void sim_restart(struct sim *s)
{
	start_master(s);
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
	}
}

/* --- jobs --- */

struct submission {
	struct sim *sim;
	json_t *ops;
	uint64_t id;
	struct error err;
	bool over;
};

static void submit_task(void *arg)
{
	struct submission *sub = arg;

	if (queue_submit(sub->sim->master->queue, sub->ops, false, &sub->id,
			 &sub->err) < 0)
		sub->id = 0;
	sub->over = true;
}

static bool submitted(struct sim *s, void *arg)
{
	(void)s;
	return ((struct submission *)arg)->over;
}

uint64_t sim_submit(struct sim *s, json_t *op STEALS, char **ret_error)
{
	auto_json json_t *ops = json_make("[o]", op);
	struct submission *sub = xalloc(sizeof(*sub));
	uint64_t id;

	sub->sim = s;
	sub->ops = ops;
	task_set_owner(s);
	task_spawn("submit", submit_task, sub);
	task_set_owner(NULL);
	if (!sim_run(s, HOUR_MS, submitted, sub)) {
		fprintf(stderr, "a submission does not end\n");
		abort();
	}
	id = sub->id;
	if (id == 0 && ret_error != NULL)
		*ret_error = xstrdup(sub->err.text);
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

/* --- invariants --- */

struct count {
	struct strv *problems;
	struct sim *sim;
};

static void lock_problem(const struct lock_info *info, void *arg)
{
	struct count *c = arg;

	if (info->n_owners > 0 || info->n_pending > 0)
		strv_addf(c->problems, "lock %s is held or waited for",
			  info->name);
}

static bool job_problem(const struct job *j, void *arg)
{
	struct count *c = arg;

	if (!job_is_final(j))
		strv_addf(c->problems, "job %ju is %s", (uintmax_t)j->id,
			  job_state_name(job_status(j)));
	return true;
}

static void check_instance(struct sim *s, const json_t *inst, struct strv *ret)
{
	const char *name = json_str(inst, "name", "");
	bool up = strcmp(json_str(inst, "admin_state", ""), "up") == 0;

	if (json_bool(inst, "forthcoming", false))
		strv_addf(ret, "instance %s is still forthcoming", name);
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];
		bool home = strcmp(json_str(inst, "primary_node", ""),
				   n->uuid) == 0;
		bool runs = table_get(&n->running, name) != NULL;

		if (n->down)
			continue;
		if (runs && !home)
			strv_addf(ret, "%s runs on %s, not its primary", name,
				  n->name);
		if (home && up != runs)
			strv_addf(ret, "%s should be %s on %s", name,
				  up ? "up" : "down", n->name);
	}
}

static void unknown_running(const char *name, void *value, void *arg)
{
	struct count *c = arg;

	(void)value;
	if (config_find(c->sim->master->config, CONFIG_INSTANCE, name) == NULL)
		strv_addf(c->problems, "%s runs and is unknown", name);
}

static void known_files(struct sim *s, struct table *ret)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (
		(json_t *)config_all(s->master->config, CONFIG_DISK), uuid,
		disk)
		table_put(ret,
			  json_string_value(json_array_get(
				  json_get(disk, "logical_id"), 1)),
			  s);
}

struct file_check {
	struct count *c;
	const struct table *other;
	const char *text;
};

static void file_problem(const char *path, void *value, void *arg)
{
	struct file_check *f = arg;

	(void)value;
	if (table_get(f->other, path) == NULL)
		strv_addf(f->c->problems, "%s: %s", path, f->text);
}

void sim_check(struct sim *s, struct strv *ret_problems)
{
	struct count c = {.problems = ret_problems, .sim = s};
	struct table known = {0};
	const char *uuid;
	json_t *inst;

	locks_describe(s->master->locks, lock_problem, &c);
	queue_each(s->master->queue, job_problem, &c);
	json_object_foreach (
		(json_t *)config_all(s->master->config, CONFIG_INSTANCE), uuid,
		inst)
		check_instance(s, inst, ret_problems);
	for (size_t i = 0; i < s->n_nodes; i++)
		table_each(&s->nodes[i].running, unknown_running, &c);
	known_files(s, &known);
	table_each(&s->files, file_problem,
		   &(struct file_check){&c, &known, "an orphan disk"});
	table_each(&known, file_problem,
		   &(struct file_check){&c, &s->files, "the disk is missing"});
	table_done(&known, NULL);
}
