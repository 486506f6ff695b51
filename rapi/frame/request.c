/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the body, and asking the master. */
#include "rapi/frame/request.h"

#include <string.h>
#include <strings.h>

#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/console/carrier.h"
#include "rapi/frame/reply.h"

/* What the values of a body may take in memory; the longest one that a client
 * has reason to send makes a tenth of it. */
#define BODY_VALUES_MAX (64u * 1024 * 1024)

/* The field of instances that says how to get at their consoles. */
#define CONSOLE "console"

void request_done(struct request *q)
{
	strv_done(&q->items);
	args_done(&q->args);
	json_decref(q->body);
	buf_done(&q->headers);
	free(q->text);
	free(q->owner);
	carrier_free(q->console);
}

/* "application/json", also with parameters behind it. */
static bool is_json(const char *type)
{
	size_t n = strlen(REPLY_TYPE);

	if (type == NULL || strncasecmp(type, REPLY_TYPE, n) != 0)
		return false;
	return type[n + strspn(type + n, " \t")] == '\0' ||
	       type[n + strspn(type + n, " \t")] == ';';
}

int request_read_body(struct request *q, const char *type, const char *text,
		      size_t len, struct error *err)
{
	auto_json json_t *body = NULL;

	if (len == 0)
		return 0;
	if (!is_json(type))
		return reply_bare(err, REPLY_MEDIA);
	body = json_parse_within(text, len, BODY_VALUES_MAX, err);
	if (body == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Unable to parse JSON data");
	if (!json_is_null(body))
		q->body = steal(&body);
	return 0;
}

struct luxi *request_connect(const struct request_way *way,
			     const char **ret_socket, struct error *err)
{
	const char *socket = way->luxi_socket;
	struct luxi *luxi = luxi_connect(socket, err);
	struct error ignored;

	if (luxi == NULL && way->relay_socket != NULL) {
		socket = way->relay_socket;
		luxi = luxi_connect(socket, &ignored);
	}
	if (luxi != NULL && ret_socket != NULL)
		*ret_socket = socket;
	return luxi;
}

/* Where the connection has ended, the master may be elsewhere by now. */
static int be_connected(const struct request_way *way, struct luxi **luxi,
			struct error *err)
{
	if (*luxi != NULL && !luxi_alive(*luxi))
		luxi_close(steal(luxi));
	if (*luxi == NULL)
		*luxi = request_connect(way, NULL, err);
	return *luxi == NULL ? -1 : 0;
}

json_t *request_way_call(const struct request_way *way, struct luxi **luxi,
			 const char *method, json_t *args STEALS,
			 struct error *err)
{
	json_t *result;

	if (be_connected(way, luxi, err) < 0) {
		json_decref(args);
		return NULL;
	}
	result = luxi_call(*luxi, method, args, err);
	if (result == NULL && err->kind == ERR_LUXI)
		luxi_close(steal(luxi));
	return result;
}

json_t *request_relay(struct request *q, const char *method,
		      json_t *args STEALS, struct error *err)
{
	struct luxi *luxi = q->way->relay_socket == NULL
				    ? NULL
				    : luxi_connect(q->way->relay_socket, err);
	json_t *result;

	if (luxi == NULL) {
		json_decref(args);
		if (q->way->relay_socket == NULL)
			error_set(err, ERR_LUXI, NULL, "There is no relay");
		return NULL;
	}
	result = luxi_call(luxi, method, args, err);
	luxi_close(luxi);
	return result;
}

/* What only looks need not be awaited when the client has gone; the end of what
 * changes something is. */
static bool only_looks(const char *method)
{
	return str_starts(method, "Query") || strcmp(method, "PlanJobs") == 0;
}

static int begin_call(struct request *q, const char *method, struct error *err)
{
	if (be_connected(q->way, &q->luxi, err) < 0)
		return -1;
	if (only_looks(method))
		luxi_watch(q->luxi, q->gone, q->gone_arg);
	return 0;
}

/* What the master does not understand of the arguments it has from the
 * client. */
static void tell_client(const char *method, struct error *err)
{
	auto_free char *begin = xprintf(LUXI_REFUSAL ": %s: ", method);
	auto_free char *why = NULL;

	if (!str_starts(err->text, begin))
		return;
	why = xstrdup(err->text + strlen(begin));
	error_set(err, ERR_PREREQ, ECODE_INVAL, "%s", why);
}

/* Others will use the connection, if it is still there. */
static void end_call(struct request *q, const char *method, bool failed,
		     struct error *err)
{
	if (!failed || err->kind != ERR_LUXI) {
		luxi_watch(q->luxi, NULL, NULL);
		return;
	}
	luxi_close(steal(&q->luxi));
	tell_client(method, err);
}

json_t *request_call(struct request *q, const char *method, json_t *args STEALS,
		     struct error *err)
{
	json_t *result;

	if (begin_call(q, method, err) < 0) {
		json_decref(args);
		return NULL;
	}
	result = luxi_call(q->luxi, method, args, err);
	end_call(q, method, result == NULL, err);
	return result;
}

int request_call_text(struct request *q, const char *method,
		      json_t *args STEALS, struct buf *ret, struct error *err)
{
	int rc;

	if (begin_call(q, method, err) < 0) {
		json_decref(args);
		return -1;
	}
	rc = luxi_call_text(q->luxi, method, args, ret, err);
	end_call(q, method, rc < 0, err);
	return rc;
}

json_t *request_submit(struct request *q, json_t *ops STEALS, struct error *err)
{
	return request_call(q, "SubmitJob", json_make("[o]", ops), err);
}

const char *request_type_name(const json_t *value)
{
	if (value == NULL)
		return "NoneType";
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "dict";
	case JSON_ARRAY:
		return "list";
	case JSON_STRING:
		return "str";
	case JSON_INTEGER:
		return "int";
	case JSON_REAL:
		return "float";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	case JSON_NULL:
		break;
	}
	return "NoneType";
}

int request_check_dict(const json_t *value, const char *what, struct error *err)
{
	if (json_is_object(value))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%s: Type is '%s', but 'dict' is expected", what,
			 request_type_name(value));
}

/* A filter is [operator, field, ...], or [operator, filters...]. */
static bool reads_field(const json_t *qfilter, const char *name)
{
	const json_t *part;
	size_t i;

	json_array_foreach (qfilter, i, part)
		if (json_is_array(part)
			    ? reads_field(part, name)
			    : i == 1 && str_eq(json_string_value(part), name))
			return true;
	return false;
}

int request_check_fields(struct request *q, const json_t *fields,
			 const json_t *qfilter, struct error *err)
{
	if (!json_array_has_str(fields, CONSOLE) &&
	    !reads_field(qfilter, CONSOLE))
		return 0;
	q->guarded = true;
	if (q->may_console)
		return 0;
	return reply_bare(err, q->user == NULL ? REPLY_UNAUTHORIZED
					       : REPLY_FORBIDDEN);
}

json_t *request_words(const char *text)
{
	auto_strv struct strv parts = {0};
	json_t *list = json_array();

	str_split(&parts, text, ',');
	for (size_t i = 0; i < parts.n; i++) {
		const char *s = parts.items[i] + strspn(parts.items[i], " \t");
		size_t n = strlen(s);

		while (n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'))
			n--;
		json_array_append_new(list, json_stringn(s, n));
	}
	return list;
}
