/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_TEST_DELAY: do nothing for a while, on the master and on nodes, under
 * their locks.  The no-op of the benchmarks.
 * OP_TEST_OS_PARAMS: whether secret parameters reach a job. */
#include <math.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/core/notify.h"
#include "masterd/lu/frame/lu.h"
#include "masterd/lu/frame/progress.h"

#define LOG_DELAY_TEST "delay-test" /* the entry with the socket's path */

/* A delay that nobody wants to wait for is a typing error. */
#define DELAY_MAX_S (24 * 3600.0)

struct test_delay {
	struct lu lu;
	struct strv nodes; /* UUIDs */
};

static int test_delay_expand(struct lu *lu, struct error *err)
{
	struct test_delay *t = container_of(lu, struct test_delay, lu);
	const struct op_test_delay *op = lu->op;

	if (!(op->duration > 0)) /* Ganeti's error has no code */
		return error_set(err, ERR_PREREQ, NULL,
				 "Duration must be greater than zero");
	strv_done(&t->nodes);
	for (size_t i = 0; i < json_array_size(op->on_nodes); i++) {
		const json_t *node = lu_node(
			lu, json_string_value(json_array_get(op->on_nodes, i)),
			err);

		if (node == NULL)
			return -1;
		strv_add_unique(&t->nodes, node_uuid(node));
	}
	for (size_t i = 0; i < t->nodes.n; i++)
		lu_want(lu, LOCK_NODE, t->nodes.items[i], true);
	if (op->on_master && !op->no_locks)
		lu_want(lu, LOCK_NODE, node_uuid(config_master(lu->m->config)),
			true);
	return 0;
}

static int test_delay_check(struct lu *lu, struct error *err)
{
	struct test_delay *t = container_of(lu, struct test_delay, lu);
	const struct op_test_delay *op = lu->op;

	if (op->duration > DELAY_MAX_S)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The duration must be at most %g seconds, "
				 "not %g",
				 DELAY_MAX_S, op->duration);
	if (op->interruptible && (!op->on_master || t->nodes.n > 0))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only a delay on the master, and on no other "
				 "node, can be interrupted");
	return 0;
}

/* Ends early when the job is killed. */
static WAITS void delay_here(struct lu *lu, double seconds)
{
	int64_t begin = clock_mono_us(), now = begin;
	int64_t deadline = begin + (int64_t)(seconds * 1e6);
	struct progress progress;
	struct cond never;

	cond_init(&never);
	progress_begin(&progress, "delay");
	while (!lu->run->killed && now < deadline) {
		int64_t next = now + PROGRESS_EVERY_US;

		cond_wait_until(&never, next < deadline ? next : deadline);
		now = clock_mono_us();
		progress_tell(&progress, lu,
			      (double)(now - begin) /
				      (double)(deadline - begin));
	}
}

static WAITS int delay_there(struct lu *lu, struct error *err)
{
	struct test_delay *t = container_of(lu, struct test_delay, lu);
	const struct op_test_delay *op = lu->op;
	struct node_result *results = node_results_new(t->nodes.n);
	int rc = 0;

	for (size_t i = 0; i < t->nodes.n; i++)
		results[i].node = json_ref(config_get(
			lu->m->config, CONFIG_NODE, t->nodes.items[i]));
	noderpc_call_many(lu->m->rpc, results, t->nodes.n,
			  rpc_test_delay(op->duration));
	for (size_t i = 0; i < t->nodes.n && rc == 0; i++)
		if (results[i].payload == NULL) {
			*err = *results[i].err;
			rc = error_wrap(err, "Failure during rpc call to node");
		}
	node_results_free(results, t->nodes.n);
	return rc;
}

/* Wait for the delay, or until a client connects to the socket that the log
 * names and closes the connection.  1: a client has ended it, -1 with err. */
static WAITS int delay_until_told(struct lu *lu, double seconds,
				  struct error *err)
{
	int64_t deadline = clock_mono_us() + (int64_t)(seconds * 1e6);
	struct notify socket = {.socket = -1};
	int connection;

	if (notify_open(&socket, err) < 0)
		return -1;
	queue_run_log(lu->run, LOG_DELAY_TEST, json_make("[s]", socket.path));
	connection = notify_accept(&socket, deadline, &lu->run->killed);
	notify_close(&socket);
	if (connection < 0)
		return 0;
	lu_feedback(lu, "Received connection, time to go is %jd",
		    (intmax_t)((deadline - clock_mono_us()) / 1000000));
	return notify_confirmed(connection, deadline, &lu->run->killed) ? 1 : 0;
}

/* One round on the master: 1 when somebody ended it, -1 with err. */
static WAITS int delay_once(struct lu *lu, struct error *err)
{
	const struct op_test_delay *op = lu->op;

	if (!op->on_master || lu_plans(lu))
		return 0;
	if (op->interruptible)
		return delay_until_told(lu, op->duration, err);
	delay_here(lu, op->duration);
	return 0;
}

static WAITS json_t *test_delay_exec(struct lu *lu, struct error *err)
{
	struct test_delay *t = container_of(lu, struct test_delay, lu);
	const struct op_test_delay *op = lu->op;
	int64_t rounds = op->repeat > 0 ? op->repeat : 1;
	int told = 0;

	for (int64_t i = 0; i < rounds && told == 0; i++) {
		if (op->repeat > 0)
			lu_info(lu, "Test delay iteration %jd/%jd", (intmax_t)i,
				(intmax_t)rounds - 1);
		told = delay_once(lu, err);
		if (told < 0)
			return NULL;
		if (t->nodes.n > 0 && delay_there(lu, err) < 0)
			return NULL;
		if (lu_check_killed(lu, err) < 0)
			return NULL;
	}
	return json_null();
}

static void test_delay_done(struct lu *lu)
{
	strv_done(&container_of(lu, struct test_delay, lu)->nodes);
}

const struct lu_class lu_test_delay = {
	.op = &op_class_test_delay,
	.size = sizeof(struct test_delay),
	.expand = test_delay_expand,
	.check = test_delay_check,
	.exec = test_delay_exec,
	.done = test_delay_done,
};

/* --- secret parameters --- */

/* Only the names; the values are secret, even in a test. */
static json_t *test_os_params_exec(struct lu *lu, struct error *err)
{
	const struct op_test_os_params *op = lu->op;
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;
	const char *name;
	json_t *value;

	if (json_object_size(op->osparams_secret) == 0) {
		error_set(err, ERR_EXEC, NULL,
			  "Opcode needs secret parameters");
		return NULL;
	}
	json_object_foreach (json_unconst(op->osparams_secret), name, value)
		strv_add(&names, name);
	strv_sort(&names);
	text = strv_join(&names, ", ");
	lu_feedback(lu, "Secret OS parameters have come: %s", text);
	return json_null();
}

const struct lu_class lu_test_os_params = {
	.op = &op_class_test_os_params,
	.size = sizeof(struct lu),
	.exec = test_os_params_exec,
};
