/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_TEST_JQUEUE: stops at certain moments of a job's life until a client has
 * looked at it.  Each stop is an entry [socket's path, moment, number] in the
 * job's log; the client connects to the socket, and closes the connection when
 * it has seen enough. */
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/core/notify.h"
#include "masterd/lu/frame/lu.h"

#define LOG_JQUEUE_TEST "jqueue-test"
#define MESSAGE_PREFIX "TESTMSG="
/* The limit of a stop, as Ganeti's: shorter than clients wait for changes. */
#define CONNECT_US (20 * (int64_t)1000000)
#define CONFIRM_US (60 * (int64_t)1000000)

/* number < 0: there is none. */
static WAITS int stop_at(struct lu *lu, const char *moment, int64_t number,
			 struct error *err)
{
	struct notify socket = {.socket = -1};
	const bool *killed = &lu->run->killed;
	int connection;

	if (lu_plans(lu))
		return 0;
	if (notify_open(&socket, err) < 0)
		return -1;
	queue_run_log(
		lu->run, LOG_JQUEUE_TEST,
		json_make("[s, s, o]", socket.path, moment,
			  number < 0 ? json_null() : json_integer(number)));
	connection =
		notify_accept(&socket, clock_mono_us() + CONNECT_US, killed);
	notify_close(&socket);
	if (connection < 0)
		return error_set(err, ERR_EXEC, NULL,
				 "Client didn't connect in time");
	if (notify_confirmed(connection, clock_mono_us() + CONFIRM_US, killed))
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "Client failed to confirm notification");
}

/* While the job is still waiting. */
static WAITS int jqueue_arguments(struct lu *lu, struct error *err)
{
	const struct op_test_jqueue *op = lu->op;

	if (op->notify_waitlock && stop_at(lu, "expandnames", -1, err) < 0)
		return -1;
	lu_info(lu, "Expanding names");
	return 0;
}

static int jqueue_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want(lu, LOCK_NODE, node_uuid(config_master(lu->m->config)), true);
	return 0;
}

static WAITS int send_messages(struct lu *lu, const json_t *messages,
			       struct error *err)
{
	int64_t n = (int64_t)json_array_size(messages);

	if (n > 0 && stop_at(lu, "startmsg", n, err) < 0)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		lu_info(lu, "Sending log message %jd", (intmax_t)i + 1);
		lu_feedback(
			lu, MESSAGE_PREFIX "%s",
			json_string_value(json_array_get(messages, (size_t)i)));
		if (stop_at(lu, "logmsg", i + 1, err) < 0)
			return -1;
	}
	return 0;
}

static WAITS json_t *jqueue_exec(struct lu *lu, struct error *err)
{
	const struct op_test_jqueue *op = lu->op;

	if (op->notify_exec && stop_at(lu, "exec", -1, err) < 0)
		return NULL;
	lu_info(lu, "Executing");
	if (send_messages(lu, op->log_messages, err) < 0)
		return NULL;
	if (!op->fail)
		return json_true();
	error_set(err, ERR_EXEC, NULL, "Opcode failure was requested");
	return NULL;
}

const struct lu_class lu_test_jqueue = {
	.op = &op_class_test_jqueue,
	.size = sizeof(struct lu),
	.arguments = jqueue_arguments,
	.expand = jqueue_expand,
	.exec = jqueue_exec,
};
