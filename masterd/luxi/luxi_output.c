/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of the LUXI server, whole or in pieces.
 *
 * A connection sends one text at a time.  The next piece of an answer is made
 * when the client has read the one before, so a client that does not read costs
 * two pieces.  All unread texts together may take output_max bytes; beyond that
 * the client that has not read for the longest time is closed. */
#include <poll.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "masterd/luxi/luxi_conn.h"

/* A client that was told that its message is too long may go on sending it for
 * so long: if the connection were closed at once, the client might never see
 * the answer. */
#define DISCARD_S 10

/* When the daemon ends it waits so long for clients to read. */
#define STOP_WRITE_S 10

/* --- sending --- */

static void sent(struct luxi_conn *conn)
{
	timer_stop(&conn->write_limit);
	list_remove(&conn->writing);
	conn->server->output -= conn->out_len;
	conn->out_len = 0;
}

void luxi_output_drop(struct luxi_conn *conn)
{
	sent(conn); /* libuv uses the text until it is written */
}

static void on_written(uv_write_t *write, int status)
{
	struct luxi_conn *conn = container_of(write, struct luxi_conn, write);

	free(steal(&conn->out));
	if (conn->closing)
		return;
	sent(conn);
	if (status < 0 || (conn->close_after_write && !conn->discards))
		luxi_conn_close(conn);
	else if (conn->discards)
		timer_start(&conn->write_limit,
			    clock_mono_us() + DISCARD_S * SECOND_US);
	else if (conn->request != NULL)
		cond_signal(&conn->request->written);
	else
		luxi_conn_next(conn);
}

static void on_write_limit(struct timer *t)
{
	struct luxi_conn *conn = container_of(t, struct luxi_conn, write_limit);

	if (conn->out != NULL)
		luxi_conn_log(conn, "did not read its answer in time");
	luxi_conn_close(conn);
}

/* Free memory by closing the clients that have not read for the longest
 * time. */
static void limit_output(struct luxi_server *s)
{
	while (s->output > s->output_max) {
		struct luxi_conn *oldest =
			list_first(&s->writers, struct luxi_conn, writing);

		if (s->writers.next == s->writers.prev)
			return; /* one alone may be longer */
		luxi_conn_log(oldest, "did not read its answer while the "
				      "memory for answers was used up");
		luxi_conn_close(oldest);
	}
}

void luxi_output_hurry(struct luxi_conn *conn)
{
	int64_t limit_s = conn->server->stopping ? STOP_WRITE_S : LUXI_WRITE_S;

	timer_start(&conn->write_limit, clock_mono_us() + limit_s * SECOND_US);
}

static void conn_send(struct luxi_conn *conn, struct buf *text)
{
	struct luxi_server *s = conn->server;
	uv_buf_t piece = uv_buf_init(text->data, (unsigned)text->len);

	conn->out_len = text->len;
	conn->out = buf_steal(text);
	s->output += conn->out_len;
	list_append(&s->writers, &conn->writing);
	if (uv_write(&conn->write, (uv_stream_t *)&conn->pipe, &piece, 1,
		     on_written) < 0) {
		luxi_conn_close(conn);
		return;
	}
	conn->write_limit.fired = on_write_limit;
	luxi_output_hurry(conn);
	limit_output(s);
}

static void send_result(struct luxi_conn *conn, bool success,
			const json_t *result)
{
	auto_free char *value = json_text(result);
	auto_buf struct buf text = {0};

	buf_adds(&text, success ? "{\"success\":true,\"result\":"
				: "{\"success\":false,\"result\":");
	buf_adds(&text, value);
	buf_addc(&text, '}');
	buf_addc(&text, LUXI_ETX);
	conn_send(conn, &text);
}

void luxi_conn_reject(struct luxi_conn *conn, const char *reason)
{
	auto_free char *text = xprintf(LUXI_REFUSAL ": %.2000s", reason);
	auto_json json_t *value = json_string(text);

	if (value == NULL) /* the reason may have been cut inside a character */
		value = json_string(LUXI_REFUSAL);
	conn->close_after_write = true;
	send_result(conn, false, value);
}

/* --- the end of a request --- */

struct leftover {
	struct luxi_server *server;
	json_t *message;
};

static WAITS void free_beside(void *arg)
{
	auto_free struct leftover *l = arg;

	task_leave(); /* nobody else has the message any more */
	json_decref(l->message);
	task_enter();
	luxi_user_gone(l->server);
}

static void drop_message(struct luxi_request *r)
{
	struct leftover *l;

	if (r->len <= JSON_INLINE_MAX) {
		json_decref(r->message);
		return;
	}
	l = xalloc(sizeof(*l));
	l->server = r->server;
	l->message = r->message;
	r->server->users++;
	task_spawn("luxi-free", free_beside, l);
}

/* End the request; returns its connection, NULL if that is closed. */
static struct luxi_conn *request_end(struct luxi_request *r)
{
	struct luxi_server *s = r->server;
	struct luxi_conn *conn = r->conn;

	if (conn != NULL)
		conn->request = NULL;
	s->input -= r->len;
	drop_message(r);
	free(r->text);
	free(r);
	luxi_user_gone(s); /* a connection is a user of its own */
	return conn;
}

void luxi_answer(struct luxi_request *r, json_t *result STEALS,
		 const struct error *err)
{
	auto_json json_t *value =
		result != NULL ? result : luxi_error_pack(err);
	struct luxi_conn *conn = request_end(r);

	if (conn != NULL)
		send_result(conn, result != NULL, value);
}

void luxi_reject(struct luxi_request *r, const char *reason)
{
	struct luxi_conn *conn = request_end(r);

	if (conn != NULL)
		luxi_conn_reject(conn, reason);
}

/* --- in pieces --- */

static WAITS void await_written(struct luxi_request *r)
{
	while (r->conn != NULL && r->conn->out != NULL)
		cond_wait(&r->written);
}

bool luxi_sending(const struct luxi_request *r)
{
	return r->conn != NULL && r->conn->out != NULL;
}

int luxi_answer_piece(struct luxi_request *r, struct buf *text)
{
	await_written(r);
	if (r->conn == NULL)
		return -1;
	conn_send(r->conn, text);
	return r->conn == NULL ? -1 : 0;
}

void luxi_answer_end(struct luxi_request *r, struct buf *text)
{
	struct luxi_conn *conn;

	await_written(r);
	conn = request_end(r);
	if (conn == NULL)
		return;
	buf_addc(text, LUXI_ETX);
	conn_send(conn, text);
}

void luxi_answer_cut(struct luxi_request *r)
{
	struct luxi_conn *conn = request_end(r);

	if (conn != NULL)
		luxi_conn_close(conn);
}

bool luxi_client_gone(struct luxi_request *r)
{
	struct pollfd look = {.events = 0};
	uv_os_fd_t fd;

	if (r->conn == NULL)
		return true;
	if (uv_fileno((uv_handle_t *)&r->conn->pipe, &fd) < 0)
		return false;
	look.fd = fd;
	if (poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0)
		luxi_conn_close(r->conn);
	return r->conn == NULL;
}
