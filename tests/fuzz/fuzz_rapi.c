/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a request to the remote API, up to the point where the master is
 * asked: a line each for method, target and the header with the password; then
 * the body.  What comes out is an opcode that the master takes, or an error
 * with words and a status.  The whole is read as a users file as well. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "rapi/access/auth.h"
#include "rapi/access/users.h"
#include "rapi/access_log.h"
#include "rapi/frame/fill.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"
#include "rapi/frame/route.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(bool good)
{
	if (!good)
		abort();
}

static void check_error(const struct error *err)
{
	int status = reply_status(err);
	auto_free char *text = reply_error_text(status, err->text);
	auto_json json_t *body = NULL;
	struct error bad;

	need(status >= 400 && status < 600);
	body = json_parse(text, strlen(text), &bad);
	need(json_int(body, "code", 0) == status);
}

/* What a row makes of the request has to be an opcode. */
static void make_opcode(struct request *q)
{
	auto_json json_t *params = NULL, *set = NULL, *op = NULL;
	auto_json json_t *checked = NULL;
	struct error err = {0};

	if (q->route->opcode == NULL)
		return;
	if (q->route->body == BODY_NEEDED && !json_is_object(q->body))
		return;
	params = q->route->input != NULL ? q->route->input(q, &err)
					 : json_incref(q->body);
	if (params == NULL && q->route->input != NULL) {
		check_error(&err);
		return;
	}
	set = fill_set(q, &err);
	if (set != NULL)
		op = fill_opcode(q->route->opcode, q->route, params, set, &err);
	if (op == NULL) {
		check_error(&err);
		return;
	}
	checked = op_check(op, &err);
	need(checked != NULL);
}

static void handle(const char *method, const char *target, const char *body,
		   size_t len)
{
	auto_free char *path = NULL;
	struct request q = {0};
	struct error err = {0};

	args_read(&q.args, target, &path);
	q.route = route_find(method, path, &q.items, &err);
	if (q.route == NULL ||
	    request_read_body(&q, REPLY_TYPE, body, len, &err) < 0)
		check_error(&err);
	else
		make_opcode(&q);
	request_done(&q);
}

static void log_in(const char *text, const char *header)
{
	struct users users;
	struct auth auth;
	struct error err = {0};

	users_init(&users, "users");
	users_parse(&users, text);
	/* Hashes of crypt() may take as long as they like. */
	if (auth_read(&auth, &users, header, true, &err) < 0)
		check_error(&err);
	else if (auth.stored != NULL && strstr(auth.stored, "{") == NULL)
		auth_check(&auth, ROUTE_WRITE, &err);
	auth_done(&auth);
	users_done(&users);
}

static void write_log(const char *method, const char *target)
{
	const struct access_line line = {.address = "::1",
					 .user = target,
					 .method = method,
					 .target = target,
					 .version = method};
	auto_free char *text = access_log_text(&line, 0);

	for (const char *s = text; *s != '\0'; s++)
		need(*s >= ' ' && *s <= '~');
}

/* The line at *s, which moves on. */
static char *take_line(char **s)
{
	char *line = *s, *end = strchr(line, '\n');

	if (end == NULL) {
		*s = line + strlen(line);
		return line;
	}
	*end = '\0';
	*s = end + 1;
	return line;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	auto_free char *text = xalloc(size + 1);
	auto_free char *whole = xalloc(size + 1);
	char *rest = text;
	const char *method, *target, *header;

	log_set_level(LOG_LEVEL_ERROR);
	memcpy(text, data, size);
	memcpy(whole, data, size);
	method = take_line(&rest);
	target = take_line(&rest);
	header = take_line(&rest);
	handle(method, target, rest, size - (size_t)(rest - text));
	log_in(whole, header);
	write_log(method, target);
	return 0;
}
