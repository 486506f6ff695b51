/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request says, and what an answer looks like. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/access_log.h"
#include "rapi/frame/args.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/request.h"

TestSuite(rapi_request, .init = mem_init);

Test(rapi_request, arguments_are_read_as_in_python)
{
	auto_free char *path = NULL;
	auto_strv struct strv tags = {0};
	struct args a;

	args_read(&a, "/2/x%2fy?tag=a&tag=b+c&n=%31%4&&empty=&=z&flag&tag=%ff",
		  &path);
	cr_expect_str_eq(path, "/2/x%2fy");
	cr_expect_str_eq(args_get(&a, "tag"), "a");
	cr_expect_str_eq(args_get(&a, "n"), "1%4");
	cr_expect_null(args_get(&a, "empty"));
	cr_expect_null(args_get(&a, "flag"));
	cr_expect_str_eq(args_get(&a, ""), "z");
	args_all(&a, "tag", &tags);
	cr_expect_eq(tags.n, 3);
	cr_expect_str_eq(tags.items[1], "b c");
	cr_expect_str_eq(tags.items[2], "?");
	args_done(&a);
}

Test(rapi_request, numbers_are_numbers)
{
	auto_free char *path = NULL;
	struct error err;
	struct args a;
	int64_t n = 7;
	bool flag;

	args_read(&a, "/?a=0&b=-1&c=x&d=99999999999999999999", &path);
	cr_expect_eq(args_flag(&a, "a", &flag, &err), 0);
	cr_expect_not(flag);
	cr_expect_eq(args_flag(&a, "b", &flag, &err), 0);
	cr_expect(flag);
	cr_expect_eq(args_flag(&a, "none", &flag, &err), 0);
	cr_expect_not(flag);
	cr_expect_eq(args_int(&a, "c", 1, &n, &err), -1);
	cr_expect_str_eq(err.text, "Invalid value for the 'c' parameter");
	cr_expect_eq(args_int(&a, "d", 1, &n, &err), -1);
	cr_expect_eq(n, 7);
	cr_expect_eq(reply_status(&err), 400);
	args_done(&a);
}

static int body_status(const char *type, const char *text)
{
	struct request q = {0};
	struct error err;
	int rc = request_read_body(&q, type, text, strlen(text), &err);

	request_done(&q);
	return rc == 0 ? 200 : reply_status(&err);
}

Test(rapi_request, a_body_is_json_and_says_so)
{
	cr_expect_eq(body_status(NULL, ""), 200);
	cr_expect_eq(body_status(NULL, "{}"), 415);
	cr_expect_eq(body_status("text/plain", "{}"), 415);
	cr_expect_eq(body_status("application/jsonx", "{}"), 415);
	cr_expect_eq(body_status("Application/JSON", "{}"), 200);
	cr_expect_eq(body_status("application/json ; charset=utf-8", "{}"),
		     200);
	cr_expect_eq(body_status("application/json", "\"regular\""), 200);
	cr_expect_eq(body_status("application/json", "{\"a\":1,\"a\":2}"), 400);
	cr_expect_eq(body_status("application/json", "{} {}"), 400);
	cr_expect_eq(body_status("application/json", "\"\xff\""), 400);
}

Test(rapi_request, deep_json_is_refused)
{
	char text[100001];

	memset(text, '[', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(body_status("application/json", text), 400);
}

Test(rapi_request, errors_are_escaped_and_explained)
{
	auto_free char *one = reply_error_text(400, "Can't <set> \"a\" & b");
	auto_free char *bare = reply_error_text(404, "");

	cr_expect_str_eq(
		one, "{\"code\": 400, \"message\": \"Can&#x27;t &lt;set&gt; "
		     "&quot;a&quot; &amp; b\", \"explain\": \"Bad request "
		     "syntax or unsupported method\"}\n");
	cr_expect_str_eq(bare, "{\"code\": 404, \"message\": \"Not Found\", "
			       "\"explain\": \"Nothing matches the given "
			       "URI\"}\n");
}

Test(rapi_request, each_error_has_its_status)
{
	static const struct {
		enum error_kind kind;
		const char *ecode;
		int status;
	} cases[] = {
		{ERR_PREREQ, ECODE_INVAL, 400},
		{ERR_PREREQ, ECODE_NOENT, 404},
		{ERR_PREREQ, REPLY_FORBIDDEN, 403},
		{ERR_PREREQ, REPLY_METHOD, 501},
		{ERR_JOB_LOST, NULL, 404},
		{ERR_QUEUE_FULL, NULL, 503},
		{ERR_QUEUE_DRAINED, NULL, 503},
		{ERR_LUXI, NULL, 502},
		{ERR_LUXI, LUXI_TIMED_OUT, 504},
		{ERR_SYSTEM, NULL, 500},
		{ERR_EXEC, NULL, 500},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;

		error_set(&err, cases[i].kind, cases[i].ecode, "x");
		cr_expect_eq(reply_status(&err), cases[i].status, "%zu", i);
	}
}

Test(rapi_request, what_is_not_known_is_a_dash_in_the_access_log)
{
	const struct access_line line = {.address = "::1", .status = 505};
	auto_free char *text = access_log_text(&line, 86399);

	cr_expect_str_eq(text, "::1 - - [01/Jan/1970:23:59:59 +0000] "
			       "\"- - -\" 505 0");
}

Test(rapi_request, nobody_forges_a_line_of_the_access_log)
{
	const struct access_line line = {
		.address = "127.0.0.1",
		.user = "a\" b\n",
		.method = "GET",
		.target = "/x\"\n\\\x1b[31m HTTP/1.1\" 200",
		.version = "HTTP/1.1",
		.status = 404,
		.bytes = 12,
	};
	auto_free char *text = access_log_text(&line, 86399);

	cr_expect_str_eq(text,
			 "127.0.0.1 - a\\x22\\x20b\\x0a [01/Jan/1970:23:59:59 "
			 "+0000] \"GET /x\\x22\\x0a\\x5c\\x1b[31m\\x20HTTP/1.1"
			 "\\x22\\x20200 HTTP/1.1\" 404 12");
}
