/* SPDX-License-Identifier: BSD-2-Clause */
/* The console of an instance as a websocket: a ticket for who has the right,
 * then the connection for who has the ticket. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/console/carrier.h"
#include "rapi/console/ticket.h"
#include "rapi/console/websocket.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"

static json_t *unavailable(struct error *err, const char *why)
{
	error_set(err, ERR_PREREQ, REPLY_UNAVAILABLE, "%s", why);
	return NULL;
}

/* The kind that is asked for; NULL with err. */
static const char *kind_of(const struct request *q, const json_t *console,
			   struct error *err)
{
	const char *kind =
		json_str(q->body, "kind", NULL) ?: args_get(&q->args, "kind");

	if (kind == NULL)
		return str_eq(json_str(console, "kind", NULL), "vnc")
			       ? "vnc"
			       : "serial";
	if (strcmp(kind, "vnc") == 0 || strcmp(kind, "serial") == 0)
		return kind;
	error_set(err, ERR_PREREQ, ECODE_INVAL,
		  "The kind of a console is vnc or serial, not '%.40s'", kind);
	return NULL;
}

/* Its name, whether it runs, and its console; to be freed. */
static json_t *look(struct request *q, struct error *err)
{
	auto_json json_t *rows =
		request_call(q, "QueryInstances",
			     json_make("[[s], [s, s, s], b]", q->items.items[0],
				       "name", "oper_state", "console", 0),
			     err);
	json_t *row = json_incref(json_array_get(rows, 0));

	if (rows == NULL)
		return NULL;
	if (row != NULL && json_is_true(json_array_get(row, 1)))
		return row;
	json_decref(row);
	return unavailable(err, "The instance does not run");
}

json_t *resource_console_ticket(struct request *q, struct error *err)
{
	auto_json json_t *row = NULL;
	auto_free char *path = NULL;
	char secret[TICKET_HEX];
	const char *name, *kind;

	if (q->tickets == NULL)
		return unavailable(err, "There are no consoles here");
	row = look(q, err);
	if (row == NULL)
		return NULL;
	name = json_string_value(json_array_get(row, 0));
	kind = kind_of(q, json_array_get(row, 2), err);
	if (kind == NULL)
		return NULL;
	tickets_give(q->tickets, name, kind, q->owner, clock_mono_us(), secret);
	path = xprintf("/gantry/1/instances/%s/console/ws?ticket=%s", name,
		       secret);
	return json_make("{s:s, s:s, s:s, s:s, s:i}", "ticket", secret,
			 "instance", name, "kind", kind, "path", path,
			 "seconds", TICKET_S);
}

static const char *header(const struct request *q, const char *name)
{
	return q->header == NULL ? NULL : q->header(q->header_arg, name);
}

static char *accept_websocket(const struct request *q, struct error *err)
{
	const struct websocket_hello hello = {
		.upgrade = header(q, "Upgrade"),
		.connection = header(q, "Connection"),
		.version = header(q, "Sec-WebSocket-Version"),
		.key = header(q, "Sec-WebSocket-Key"),
		.protocol = header(q, "Sec-WebSocket-Protocol")};

	return websocket_accept(&hello, err);
}

json_t *resource_console_ws(struct request *q, struct error *err)
{
	const char *secret = args_get(&q->args, "ticket"),
		   *name = q->items.items[0], *socket = NULL;
	auto_free char *lines = NULL, *kind = NULL, *owner = NULL;
	auto_json json_t *answer = NULL;

	if (secret != NULL && q->tickets != NULL)
		kind = tickets_take(q->tickets, secret, name, clock_mono_us(),
				    &owner);
	if (kind == NULL) {
		reply_bare(err, REPLY_UNAUTHORIZED);
		return NULL;
	}
	lines = accept_websocket(q, err);
	if (lines == NULL)
		return NULL;
	answer = request_call(q, "ConsoleOpen", json_make("[s, s]", name, kind),
			      err);
	if (answer == NULL)
		return NULL;
	luxi_close(request_connect(q->way, &socket, err));
	if (socket == NULL)
		return NULL;
	q->console = carrier_new(answer, socket, err);
	if (q->console == NULL)
		return NULL;
	q->console->owner = steal(&owner);
	q->status = 101;
	buf_adds(&q->headers, lines);
	return json_null();
}
