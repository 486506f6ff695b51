/* SPDX-License-Identifier: BSD-2-Clause */
/* One write() a line, as in the access log. */
#include "rapi/record.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/event/https_server.h"
#include "lib/json/json.h"
#include "lib/model/files/test_double.h"

#define HIDDEN "<redacted>"

/* What is hidden: names that contain one of these. */
static const char *const secret_words[] = {
	"password", "passwd", "secret",	   "private",  "token",	 "ticket",
	"csrf",	    "cookie", "handshake", "x509_key", "api_key"};

/* What else there is says who asks. */
static const char *const shown_headers[] = {
	"Accept",   "Content-Type",    "Gantry-Plan",	"Idempotency-Key",
	"If-Match", "If-None-Match",   "Last-Event-ID", "Prefer",
	"Range",    "X-Forwarded-For", "User-Agent"};

int record_open(struct record *r, const struct paths *p, struct error *err)
{
	struct test_double d;

	record_close(r);
	test_double_read(p, &d);
	r->latency_ms = d.latency_ms;
	if (d.record_file != NULL)
		r->fd = open(d.record_file,
			     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (d.record_file != NULL && r->fd < 0)
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "Cannot open %s: %s",
			  d.record_file, strerror(errno));
	else
		err = NULL;
	test_double_done(&d);
	return err == NULL ? 0 : -1;
}

void record_close(struct record *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* --- no secrets --- */

static bool is_secret(const char *name, size_t len)
{
	auto_free char *copy = xstrndup(name, len);

	for (size_t i = 0; i < ARRAY_SIZE(secret_words); i++)
		if (strcasestr(copy, secret_words[i]) != NULL)
			return true;
	return false;
}

/* Depth is limited by the parser. */
static void hide(json_t *value)
{
	const char *key;
	json_t *member;
	size_t i;

	json_object_foreach (value, key, member) {
		if (!is_secret(key, strlen(key)))
			hide(member);
		else if (!json_is_null(member))
			json_object_set_new(value, key, json_string(HIDDEN));
	}
	json_array_foreach (value, i, member)
		hide(member);
}

/* What a client sends may be any bytes. */
static json_t *shown_text(const char *text)
{
	if (text == NULL)
		return json_null();
	return json_string(str_valid_utf8(text, strlen(text)) ? text : HIDDEN);
}

/* What is no JSON may be anything, so it is told only where it is ours. */
static json_t *shown_body(const char *text, bool ours)
{
	size_t len = text == NULL ? 0 : strlen(text);
	struct error err;
	json_t *value;

	if (len == 0)
		return json_null();
	value = json_parse(text, len, &err);
	if (value != NULL) {
		hide(value);
		return value;
	}
	return ours ? shown_text(text) : json_string(HIDDEN);
}

/* "/2/nodes?token=abc&bulk=1" without abc. */
static json_t *shown_target(const char *target)
{
	size_t n = strcspn(target, "?");
	auto_buf struct buf b = {0};

	buf_add(&b, target, n);
	for (const char *s = target + n; *s != '\0';) {
		size_t name = 1 + strcspn(s + 1, "=&");
		size_t whole = 1 + strcspn(s + 1, "&");

		if (name < whole && is_secret(s, name)) {
			buf_add(&b, s, name + 1);
			buf_adds(&b, HIDDEN);
		} else {
			buf_add(&b, s, whole);
		}
		s += whole;
	}
	return shown_text(b.data);
}

static void set_header(json_t *all, const char *name, const char *value)
{
	if (value != NULL)
		json_object_set_new(all, name, shown_text(value));
}

static json_t *request_headers(const struct https_request *http)
{
	json_t *all = json_object();

	for (size_t i = 0; http != NULL && i < ARRAY_SIZE(shown_headers); i++)
		set_header(all, shown_headers[i],
			   https_header(http, shown_headers[i]));
	return all;
}

static json_t *answer_headers(const char *text)
{
	json_t *all = json_object();
	auto_strv struct strv lines = {0};

	str_split(&lines, text == NULL ? "" : text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *colon = strstr(lines.items[i], ": ");

		if (colon == NULL ||
		    is_secret(lines.items[i], (size_t)(colon - lines.items[i])))
			continue;
		*colon = '\0';
		set_header(all, lines.items[i], colon + 2);
	}
	return all;
}

void record_write(const struct record *r, const struct record_entry *e)
{
	auto_buf struct buf line = {0};
	auto_json json_t *all = NULL;

	if (r->fd < 0)
		return;
	all = json_make(
		"{s:f, s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:o, "
		"s:o}",
		"time", (double)clock_wall_us() / 1e6, "ms",
		(double)(clock_mono_us() - e->begin_us) / 1e3, "address",
		e->address, "user", shown_text(e->user), "method",
		shown_text(e->method), "target", shown_target(e->target),
		"headers", request_headers(e->http), "body",
		shown_body(e->http == NULL ? NULL : e->http->body, false),
		"status", e->status, "answer_headers",
		answer_headers(e->headers), "answer",
		shown_body(e->answer, true));
	json_write(&line, all);
	buf_addc(&line, '\n');
	if (write(r->fd, line.data, line.len) < 0)
		return; /* a full disk; nobody is left to be told */
}
