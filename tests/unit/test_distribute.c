/* SPDX-License-Identifier: BSD-2-Clause */
/* A master with scripted nodes: who gets which files, and that a dead node
 * costs nobody but itself. */
#include "masterd/distribute.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "masterd/config.h"
#include "masterd/master.h"
#include "queue/queue.h"
#include "tests/lib/root.h"

#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"
#define NODE3 "92ae36ee-0dda-420f-8fa8-6707b30a77c8"

static struct test_root root;
static struct master *master;
static struct buf trace; /* "node2 upload_file_single; " */
static bool dead[4];	 /* by the digit in the node's name */
static int64_t now_us = 1000000;

static int64_t test_clock(void)
{
	return now_us;
}

/* --- nodes --- */

struct answer {
	uv_idle_t idle;
	bool dead;
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

static void on_closed(uv_handle_t *handle)
{
	free(container_of((uv_idle_t *)handle, struct answer, idle));
}

static void on_idle(uv_idle_t *idle)
{
	struct answer *a = container_of(idle, struct answer, idle);
	struct error err;

	error_set(&err, ERR_RPC, NULL, "no route");
	if (a->dead)
		a->on_reply(a->arg, NULL, 0, &err);
	else
		a->on_reply(a->arg, "[true, null]", 12, NULL);
	uv_close((uv_handle_t *)idle, on_closed);
}

static void scripted_send(void *arg, const struct noderpc_call *call)
{
	struct answer *a = xalloc(sizeof(*a));

	(void)arg;
	buf_addf(&trace, "%.5s %s; ", call->node_name, call->procedure);
	cr_expect_leq(call->timeout_ms, DISTRIBUTE_MS);
	free(call->body);
	a->dead = dead[call->node_name[4] - '0'];
	a->on_reply = call->on_reply;
	a->arg = call->arg;
	uv_idle_init(uv_default_loop(), &a->idle);
	uv_idle_start(&a->idle, on_idle);
}

static void setup(void)
{
	struct noderpc_transport transport = {.send = scripted_send};
	struct error err;

	mem_init();
	test_root_create(&root);
	test_root_add_config(&root);
	clock_replace(test_clock);
	test_loop_start();
	timers_set_simulated(true);
	tasks_set_simulated(true);
	master = master_create(
		disk_real(),
		paths_create(root.paths->root, root.paths->hostname),
		&transport, NULL, &err);
	cr_assert_not_null(master, "%s", err.text);
}

static void stop_master(void *arg)
{
	(void)arg;
	master_stop(master);
}

/* Until nothing moves any more but by the clock. */
static void settle(void)
{
	for (int i = 0; i < 200; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

static void pass_ms(int64_t ms)
{
	now_us += ms * 1000;
	while (timers_fire_one())
		settle();
	settle();
}

static void teardown(void)
{
	task_spawn("stop", stop_master, NULL);
	for (int i = 0; i < 100 && tasks_count() > 0; i++)
		pass_ms(1000);
	cr_assert_eq(tasks_count(), 0);
	master_free(master);
	timers_set_simulated(false);
	test_loop_stop();
	test_root_destroy(&root);
	buf_done(&trace);
	clock_replace(NULL);
}

TestSuite(distribute, .init = setup, .fini = teardown, .timeout = 60);

static void commit(void *arg)
{
	bool *done = arg;
	struct error err;

	cr_expect_eq(config_commit(master->config, &err), 0);
	*done = true;
}

/* Change a node that matters to ssconf, and bring it out. */
static void change(void)
{
	bool done = false;

	config_put(master->config, CONFIG_NODE,
		   config_edit(config_get(master->config, CONFIG_NODE, NODE2)));
	task_spawn("commit", commit, &done);
	settle();
	cr_assert(done, "nobody waits for the dead");
}

static void set_member(const char *uuid, const char *key, bool value)
{
	json_t *node =
		config_edit(config_get(master->config, CONFIG_NODE, uuid));

	json_set_bool(node, key, value);
	config_put(master->config, CONFIG_NODE, node);
}

static bool traced(const char *text)
{
	return trace.data != NULL && strstr(trace.data, text) != NULL;
}

static void forget(void)
{
	buf_done(&trace);
}

Test(distribute, candidates_get_the_configuration_and_all_get_ssconf)
{
	auto_free char *ssconf = paths_ssconf(root.paths, "cluster_name");

	set_member(NODE3, "master_candidate", false);
	change();
	cr_assert(traced("node2 upload_file_single"));
	cr_assert_not(traced("node3 upload_file_single"));
	cr_assert(traced("node2 write_ssconf_files"));
	cr_assert(traced("node3 write_ssconf_files"));
	cr_assert_not(traced("node1"), "the master has it itself");
	cr_assert(fs_exists(ssconf));
	forget();
	change();
	cr_assert(traced("node2 upload_file_single"));
	cr_assert_not(traced("write_ssconf_files"), "it did not change");
}

Test(distribute, offline_nodes_get_nothing)
{
	set_member(NODE3, "master_candidate", false);
	set_member(NODE3, "offline", true);
	change();
	cr_assert_not(traced("node3"));
}

Test(distribute, a_dead_node_is_asked_once_and_then_in_the_background)
{
	auto_strv struct strv away = {0};

	dead[2] = true;
	change();
	cr_assert(traced("node2 upload_file_single"));
	forget();
	change();
	cr_assert_not(traced("node2"));
	cr_assert(traced("node3 upload_file_single"));
	distribute_away(master->distribute, &away);
	cr_assert_eq(away.n, 1);
	cr_assert_str_eq(away.items[0], "node2.example.com");
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 upload_file_single"), "asked again");
	cr_assert_not(traced("write_ssconf_files"), "it is still dead");
}

Test(distribute, who_comes_back_gets_everything)
{
	auto_strv struct strv away = {0};

	dead[2] = true;
	change();
	dead[2] = false;
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 upload_file_single; "
			 "node2 write_ssconf_files; "
			 "node2 jobqueue_update_many; "),
		  "%s", trace.data);
	distribute_away(master->distribute, &away);
	cr_assert_eq(away.n, 0);
	forget();
	change();
	cr_assert(traced("node2 upload_file_single"));
}

static void submit(void *arg)
{
	uint64_t *id = arg;
	auto_json json_t *ops =
		json_make("[{s:s, s:f, s:[]}]", "OP_ID", "OP_TEST_DELAY",
			  "duration", 1.0, "reason");
	struct error err;

	cr_expect_eq(queue_submit(master->queue, ops, false, id, &err), 0);
}

static uint64_t submit_one(void)
{
	uint64_t id = 0;

	task_spawn("submit", submit, &id);
	for (int i = 0; i < 50 && id == 0; i++)
		pass_ms(1);
	cr_assert_neq(id, 0);
	return id;
}

Test(distribute, candidates_have_a_job_before_it_is_acknowledged)
{
	set_member(NODE3, "master_candidate", false);
	change();
	settle();
	forget();
	submit_one();
	cr_assert(traced("node2 jobqueue_update_many"));
	cr_assert_not(traced("node3"));
}

Test(distribute, jobs_do_not_wait_for_the_dead)
{
	change();
	settle();
	dead[2] = true;
	submit_one();
	forget();
	submit_one();
	cr_assert_not(traced("node2"));
	cr_assert(traced("node3 jobqueue_update_many"));
	dead[2] = false;
	forget();
	pass_ms(DISTRIBUTE_RETRY_MS);
	cr_assert(traced("node2 jobqueue_update_many"));
}

Test(distribute, a_new_candidate_gets_the_jobs)
{
	set_member(NODE3, "master_candidate", false);
	change();
	submit_one();
	forget();
	set_member(NODE3, "master_candidate", true);
	change();
	settle();
	cr_assert(traced("node3 upload_file_single"));
	cr_assert(traced("node3 jobqueue_update_many"));
}
