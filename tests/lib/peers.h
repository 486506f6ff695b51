/* SPDX-License-Identifier: BSD-2-Clause */
/* A master whose nodes are scripted: each answers in its own manner, and a
 * trace has the calls that they get. */
#ifndef TESTS_LIB_PEERS_H
#define TESTS_LIB_PEERS_H

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/distribute/distribute.h"
#include "masterd/master.h"
#include "tests/lib/root.h"

#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"
#define NODE3 "92ae36ee-0dda-420f-8fa8-6707b30a77c8"

#define N_NODES 6 /* by the digit in the node's name */

/* GANETIS: Ganeti's node daemon, which knows no calls of ours.  PICKY answers
 * that it does not write ssconf files, FULL that it writes nothing. */
enum manner { WELL, SILENT, REFUSING, HANGING, NEWER, GANETIS, PICKY, FULL };

static struct peers {
	struct test_root root;
	struct disk disk; /* the real one, for a small journal */
	struct master *master;
	struct buf trace; /* "node2 upload_file_single; " */
	enum manner manner[N_NODES];
	size_t ssconf_values[N_NODES]; /* in the last call */
	struct list hanging;	       /* struct answer */
	struct error ended;	       /* why the master was told to end */
	int end_status;
	int64_t now_us;
} peers = {.now_us = 1000000};

static inline int64_t peers_clock(void)
{
	return peers.now_us;
}

/* --- nodes --- */

struct answer {
	struct list link;
	uv_idle_t idle;
	int node;
	char *procedure, *body;
	void (*on_reply)(void *arg, const char *text, size_t len,
			 const struct error *err);
	void *arg;
};

static inline void peers_on_closed(uv_handle_t *handle)
{
	struct answer *a =
		container_of((uv_idle_t *)handle, struct answer, idle);

	list_remove(&a->link);
	free(a->procedure);
	free(a->body);
	free(a);
}

static inline json_t *peers_answer(const struct answer *a)
{
	struct error err;
	auto_json json_t *args = json_parse(a->body, strlen(a->body), &err);

	cr_assert_not_null(args, "%s", err.text);
	buf_addf(&peers.trace, "node%d %s; ", a->node, a->procedure);
	if (strcmp(a->procedure, "write_ssconf_files") == 0)
		peers.ssconf_values[a->node] =
			json_object_size(json_array_get(args, 0));
	if (strcmp(a->procedure, "version") == 0)
		return json_integer(PROTOCOL_VERSION);
	return json_null();
}

static inline bool peers_serves(const struct answer *a)
{
	enum manner how = peers.manner[a->node];

	if (strcmp(a->procedure, "version") == 0)
		return how == GANETIS; /* asked with an argument */
	return how == WELL || how == GANETIS ||
	       (how == PICKY &&
		strcmp(a->procedure, "write_ssconf_files") != 0);
}

/* Whether the node answers with a refusal. */
static inline bool peers_says_no(const struct answer *a)
{
	enum manner how = peers.manner[a->node];

	return how == FULL || how == PICKY;
}

static inline void peers_give(struct answer *a)
{
	static const char *const ecodes[] = {[REFUSING] = ECODE_REFUSED,
					     [NEWER] = ECODE_FENCED,
					     [GANETIS] = NULL};
	enum manner how = peers.manner[a->node];
	struct error err;

	if (peers_serves(a)) {
		auto_json json_t *answer =
			json_make("[b, o]", 1, peers_answer(a));
		auto_free char *text = json_text(answer);

		a->on_reply(a->arg, text, strlen(text), NULL);
	} else if (peers_says_no(a)) {
		static const char no[] = "[false, \"disk full\"]";

		buf_addf(&peers.trace, "node%d says no; ", a->node);
		a->on_reply(a->arg, no, strlen(no), NULL);
	} else {
		buf_addf(&peers.trace, "node%d fails; ", a->node);
		error_set(&err, ERR_RPC, how == SILENT ? NULL : ecodes[how],
			  "as told");
		a->on_reply(a->arg, NULL, 0, &err);
	}
	uv_close((uv_handle_t *)&a->idle, peers_on_closed);
}

static inline void peers_on_idle(uv_idle_t *idle)
{
	struct answer *a = container_of(idle, struct answer, idle);

	uv_idle_stop(idle);
	if (peers.manner[a->node] != HANGING)
		peers_give(a);
	else
		list_append(&peers.hanging, &a->link);
}

static inline void peers_release(void)
{
	while (!list_empty(&peers.hanging)) {
		struct answer *a =
			list_first(&peers.hanging, struct answer, link);

		list_remove(&a->link);
		peers_give(a);
	}
}

static inline void peers_send(void *arg, const struct noderpc_call *call)
{
	struct answer *a = xalloc(sizeof(*a));

	(void)arg;
	cr_expect_leq(call->timeout_ms, DISTRIBUTE_MS);
	list_init(&a->link);
	a->procedure = xstrdup(call->procedure);
	a->body = call->body;
	a->node = call->node_name[4] - '0';
	a->on_reply = call->on_reply;
	a->arg = call->arg;
	uv_idle_init(uv_default_loop(), &a->idle);
	uv_idle_start(&a->idle, peers_on_idle);
}

static inline void peers_on_end(struct master *m, int status,
				const struct error *err)
{
	cr_assert_eq(m, peers.master);
	peers.ended = *err;
	peers.end_status = status;
}

static inline void peers_create_master(const struct master_role *role)
{
	struct noderpc_transport transport = {.send = peers_send};
	struct error err;

	peers.disk = *disk_real();
	peers.disk.journal_size = 1024 * 1024;
	peers.master = master_create(&peers.disk,
				     paths_create(peers.root.paths->root,
						  peers.root.paths->hostname),
				     &transport, role, NULL, &err);
	cr_assert_not_null(peers.master, "%s", err.text);
	peers.master->end = peers_on_end;
	distribute_start(peers.master->distribute);
}

static inline void peers_setup(void)
{
	mem_init();
	list_init(&peers.hanging);
	test_root_create(&peers.root);
	test_root_add_config(&peers.root);
	clock_replace(peers_clock);
	test_loop_start();
	timers_set_simulated(true);
	tasks_set_simulated(true);
	peers_create_master(NULL);
}

static inline void peers_do_stop(void *arg)
{
	(void)arg;
	master_stop(peers.master);
}

/* Run until nothing happens any more unless the clock moves. */
static inline void peers_settle(void)
{
	while (uv_backend_timeout(uv_default_loop()) == 0)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

static inline void peers_pass_ms(int64_t ms)
{
	peers.now_us += ms * 1000;
	while (timers_fire_one())
		peers_settle();
	peers_settle();
}

static inline void peers_end_master(void)
{
	task_spawn("stop", peers_do_stop, NULL);
	for (int i = 0; i < 100 && tasks_count() > 0; i++)
		peers_pass_ms(1000);
	cr_assert_eq(tasks_count(), 0);
	master_free(peers.master);
	peers.master = NULL;
}

static inline void peers_teardown(void)
{
	for (int i = 0; i < N_NODES; i++)
		if (peers.manner[i] == HANGING)
			peers.manner[i] = SILENT;
	peers_release();
	peers_end_master();
	timers_set_simulated(false);
	test_loop_stop();
	test_root_destroy(&peers.root);
	buf_done(&peers.trace);
	clock_replace(NULL);
}

struct commit {
	bool done;
	int rc;
	struct error err;
};

static inline void peers_commit(void *arg)
{
	struct commit *c = arg;

	c->rc = config_commit(peers.master->config, &c->err);
	c->done = true;
}

/* Change a node, and begin to bring it out. */
static inline void peers_begin_change(struct commit *c)
{
	*c = (struct commit){0};
	config_put(peers.master->config, CONFIG_NODE,
		   config_edit(config_get(peers.master->config, CONFIG_NODE,
					  NODE2)));
	task_spawn("commit", peers_commit, c);
	peers_settle();
}

static inline void peers_change(void)
{
	struct commit c;

	peers_begin_change(&c);
	cr_assert(c.done, "nobody waits for the dead");
	cr_assert_eq(c.rc, 0);
}

static inline void peers_set(const char *uuid, const char *key, bool value)
{
	json_t *node = config_edit(
		config_get(peers.master->config, CONFIG_NODE, uuid));

	json_set_bool(node, key, value);
	config_put(peers.master->config, CONFIG_NODE, node);
}

static inline bool peers_traced(const char *text)
{
	return peers.trace.data != NULL &&
	       strstr(peers.trace.data, text) != NULL;
}

static inline void peers_forget(void)
{
	buf_done(&peers.trace);
}

static inline void peers_mark(const char *uuid, const char *key, bool value)
{
	peers_set(uuid, key, value);
	peers_change();
}

static inline void peers_restart(const struct master_role *role)
{
	peers_end_master();
	peers_create_master(role);
}

#endif
