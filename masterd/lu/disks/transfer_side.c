/* SPDX-License-Identifier: BSD-2-Clause */
/* Polled less and less often, up to a second apart. */
#include "masterd/lu/disks/transfer_side.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/parts/lu_instance.h"

/* Until the process on the node listens. */
#define LISTEN_TIMEOUT_US 20000000
#define POLL_MAX_MS 1000
/* A node daemon that is started anew answers again within this time. */
#define SILENCE_MAX_US 60000000

int transfer_side_start(struct transfer_side *s, struct rpc_request request,
			const char *what, struct error *err)
{
	s->began_us = clock_mono_us();
	s->name = aftermath_start(s->lu, s->node, request, rpc_impexp_cleanup,
				  err);
	return s->name == NULL ? error_wrap(err, "Failed to start %s on %s",
					    what, lu_node_name(s->lu, s->node))
			       : 0;
}

char *transfer_side_component(const struct transfer_side *s)
{
	return xprintf("disk%zu", s->index);
}

/* Whether to ask again later, after a call that failed. */
static bool may_answer_yet(struct transfer_side *s, const struct error *err)
{
	int64_t now_us = clock_mono_us();

	if (err->kind != ERR_RPC || noderpc_is_fenced(s->lu->m->rpc))
		return false;
	if (s->silent_us == 0)
		s->silent_us = now_us;
	return now_us - s->silent_us < SILENCE_MAX_US;
}

/* The node knows no such transfer: it is only just beginning, or it is gone. */
static int look_at_none(const struct transfer_side *s, struct error *err)
{
	if (s->status == NULL &&
	    clock_mono_us() - s->began_us < LISTEN_TIMEOUT_US)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "disk/%zu: %s knows nothing of %s data any more; has "
			 "it been started anew?",
			 s->index, lu_node_name(s->lu, s->node), s->verb);
}

int transfer_side_look(struct transfer_side *s, struct error *err)
{
	auto_json json_t *answer =
		lu_call(s->lu, s->node,
			rpc_impexp_status(json_make("[s]", s->name)), err);
	const json_t *status = json_array_get(answer, 0);
	int64_t exit_status;

	if (answer == NULL)
		return may_answer_yet(s, err) ? 0 : -1;
	s->silent_us = 0;
	if (status == NULL || json_is_null(status))
		return look_at_none(s, err);
	json_decref(s->status);
	s->status = json_ref(status);
	exit_status = json_int(status, "exit_status", -1);
	s->connected = json_bool(status, "connected", false);
	s->finished = exit_status == 0;
	if (exit_status <= 0)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "disk/%zu failed %s data on %s: %s", s->index, s->verb,
			 lu_node_name(s->lu, s->node),
			 json_str(status, "error_message", "unknown error"));
}

int transfer_side_follow(struct transfer_side *s, struct error *err)
{
	if (s->finished)
		return 0;
	if (transfer_side_look(s, err) < 0)
		return -1;
	if (s->finished)
		lu_feedback(s->lu, "disk/%zu finished %s data", s->index,
			    s->verb);
	return 0;
}

bool transfer_side_lost_peer(const struct transfer_side *s)
{
	return json_int(s->status, "exit_status", 0) == IMPEXP_LOST_PEER;
}

/* The end is noticed when an eighth of the time has gone by once more: a copy
 * of a second is not one of two. */
int transfer_side_pause(struct lu *lu, unsigned *pause_ms, struct error *err)
{
	unsigned next_ms = *pause_ms + *pause_ms / 8;

	task_sleep(*pause_ms);
	*pause_ms = next_ms > POLL_MAX_MS ? POLL_MAX_MS : next_ms;
	return lu_check_killed(lu, err);
}

int64_t transfer_side_await_port(struct transfer_side *s, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + LISTEN_TIMEOUT_US;
	unsigned pause_ms = TRANSFER_POLL_MIN_MS;

	for (;;) {
		int64_t port;

		if (transfer_side_look(s, err) < 0)
			return -1;
		port = json_int(s->status, "listen_port", 0);
		if (port > 0)
			return port;
		if (s->silent_us == 0 && clock_mono_us() > deadline_us)
			return error_set(err, ERR_EXEC, NULL,
					 "disk/%zu: the import on %s does not "
					 "listen",
					 s->index,
					 lu_node_name(s->lu, s->node));
		if (transfer_side_pause(s->lu, &pause_ms, err) < 0)
			return -1;
	}
}

void transfer_side_tell_output(const struct transfer_side *s)
{
	const json_t *lines = json_get(s->status, "recent_output");

	if (json_int(s->status, "exit_status", 0) <= 0)
		return;
	for (size_t i = 0; i < json_array_size(lines); i++)
		lu_feedback(s->lu, "%s: %s", lu_node_name(s->lu, s->node),
			    json_string_value(json_array_get(lines, i)));
}

/* The process ends, or another task ends it. */
static WAITS void end(struct transfer_side *s)
{
	while (!s->lu->run->killed) {
		struct error err;
		auto_json json_t *done = lu_call(
			s->lu, s->node, rpc_impexp_cleanup(s->name), &err);

		if (done != NULL || s->lu->run->killed)
			return; /* the call is over, or on its way */
		if (!may_answer_yet(s, &err)) {
			lu_warn(s->lu, "Cannot clean up after disk/%zu: %s",
				s->index, err.text);
			return;
		}
		task_sleep(POLL_MAX_MS);
	}
	aftermath_call(s->lu->m, s->node, rpc_impexp_cleanup(s->name));
}

void transfer_side_clean(struct transfer_side *s)
{
	if (s->name == NULL)
		return;
	end(s);
	free(s->name);
	json_decref(s->status);
}
