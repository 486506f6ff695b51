/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors become statuses by a table: those of a code first, then those of a
 * kind.  The names and explanations are those that clients of Ganeti know. */
#include "rapi/frame/reply.h"

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"

static const struct {
	const char *ecode;
	int status;
} by_code[] = {
	{ECODE_NOENT, 404},	  {REPLY_FORBIDDEN, 403},
	{REPLY_MEDIA, 415},	  {REPLY_METHOD, 501},
	{REPLY_UNAVAILABLE, 503}, {REPLY_UNAUTHORIZED, 401},
	{REPLY_TOO_MANY, 429},	  {LUXI_TIMED_OUT, 504},
	{REPLY_CHANGED, 412},	  {ECODE_UNDERWAY, 409},
	{ECODE_MOVED, 409},	  {ECODE_REUSED, 422},
};

static const struct {
	enum error_kind kind;
	int status;
} by_kind[] = {
	{ERR_PREREQ, 400},     {ERR_REQUEST, 400},	 {ERR_FILTER, 400},
	{ERR_OPCODE, 400},     {ERR_PARAMETER, 400},	 {ERR_JOB_LOST, 404},
	{ERR_QUEUE_FULL, 503}, {ERR_QUEUE_DRAINED, 503}, {ERR_LUXI, 502},
};

static const struct {
	int status;
	const char *phrase, *explain;
} words[] = {
	{400, "Bad Request", "Bad request syntax or unsupported method"},
	{401, "Unauthorized", "No permission -- see authorization schemes"},
	{403, "Forbidden", "Request forbidden -- authorization will not help"},
	{404, "Not Found", "Nothing matches the given URI"},
	{405, "Method Not Allowed",
	 "Specified method is invalid for this resource"},
	{409, "Conflict", "Another request, or a change, is in the way"},
	{411, "Length Required", "Client must specify Content-Length"},
	{412, "Precondition Failed", "Precondition in headers is false"},
	{413, "Request Entity Too Large", "Entity is too large"},
	{414, "Request-URI Too Long", "URI is too long"},
	{415, "Unsupported Media Type", "Entity body in unsupported format"},
	{422, "Unprocessable Content",
	 "The request contradicts an earlier one"},
	{429, "Too Many Requests", "Too many wrong passwords came from there"},
	{431, "Request Header Fields Too Large", "The headers are too large"},
	{500, "Internal Server Error", "Server got itself in trouble"},
	{501, "Not Implemented", "Server does not support this operation"},
	{502, "Bad Gateway", "Invalid responses from another server/proxy"},
	{503, "Service Unavailable",
	 "The server cannot process the request due to a high load"},
	{504, "Gateway Timeout",
	 "The gateway server did not receive a timely response"},
};

int reply_bare(struct error *err, const char *ecode)
{
	return error_set(err, ERR_PREREQ, ecode, "%s", "");
}

int reply_status(const struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_code); i++)
		if (error_is(err, by_code[i].ecode))
			return by_code[i].status;
	for (size_t i = 0; i < ARRAY_SIZE(by_kind); i++)
		if (err->kind == by_kind[i].kind)
			return by_kind[i].status;
	return 500;
}

char *reply_text(const json_t *value)
{
	struct buf b = {0};

	json_write_spaced(&b, value);
	buf_addc(&b, '\n');
	return buf_steal(&b);
}

static char *escape(const char *text)
{
	struct buf b = {0};

	for (; *text != '\0'; text++)
		switch (*text) {
		case '&':
			buf_adds(&b, "&amp;");
			break;
		case '<':
			buf_adds(&b, "&lt;");
			break;
		case '>':
			buf_adds(&b, "&gt;");
			break;
		case '"':
			buf_adds(&b, "&quot;");
			break;
		case '\'':
			buf_adds(&b, "&#x27;");
			break;
		default:
			buf_addc(&b, *text);
		}
	return buf_steal(&b);
}

static size_t find_words(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].status == status)
			return i;
	return find_words(500);
}

const char *reply_phrase(int status)
{
	return words[find_words(status)].phrase;
}

char *reply_error_text(int status, const char *message)
{
	size_t i = find_words(status);
	auto_free char *escaped =
		escape(str_empty(message) ? words[i].phrase : message);
	auto_json json_t *body =
		json_make("{s:i, s:s, s:s}", "code", status, "message", escaped,
			  "explain", words[i].explain);

	return reply_text(body);
}
