/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of the history, of a master (a thread) that has many jobs: it is asked
 * for about as many as a page has. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"

#define LAST 50000
/* The others are archived. */
#define LIVE_FROM (LAST - 100)

static char folder[32], sock[64];
static int listener;
static pthread_t thread;
static size_t n_rows, n_calls; /* sent */
static int live_from, every;   /* each so many-th job passes the filter */

/* The ids between which the filter wants them. */
static void read_range(const json_t *f, json_int_t *low, json_int_t *high)
{
	const char *op = json_string_value(json_array_get(f, 0));
	json_int_t number = json_integer_value(json_array_get(f, 2));
	bool id = str_eq(json_string_value(json_array_get(f, 1)), "id");
	const json_t *part;
	size_t i;

	if (id && str_eq(op, ">") && number > *low)
		*low = number;
	if (id && str_eq(op, "<=") && number < *high)
		*high = number;
	json_array_foreach (f, i, part)
		if (json_is_array(part))
			read_range(part, low, high);
}

static json_t *row_of(const json_t *fields, json_int_t id)
{
	json_t *row = json_array();
	const json_t *field;
	size_t i;

	json_array_foreach (fields, i, field)
		json_array_append_new(row,
				      str_eq(json_string_value(field), "id")
					      ? json_make("[i, I]", 0, id)
					      : json_make("[i, s]", 0, "x"));
	return row;
}

static json_t *answer_to(const json_t *message)
{
	const json_t *args = json_get(message, "args");
	const json_t *fields = json_array_get(args, 1);
	json_int_t low = 0, high = LAST;
	json_t *data = json_array();

	cr_assert_str_eq(json_str(message, "method", ""), "Query");
	read_range(json_array_get(args, 2), &low, &high);
	if (!json_array_has_str(fields, "archived") && low < live_from - 1)
		low = live_from - 1;
	for (json_int_t id = low + 1; id <= high; id++)
		if (id % every == 0 || json_array_size(fields) == 1)
			json_array_append_new(data, row_of(fields, id));
	n_rows += json_array_size(data);
	n_calls++;
	return json_make("{s:b, s:{s:[], s:o}}", "success", 1, "result",
			 "fields", "data", data);
}

static void *serve(void *arg)
{
	int fd = accept(listener, NULL, NULL);
	auto_buf struct buf in = {0};
	char byte;

	while (recv(fd, &byte, 1, 0) == 1) {
		struct error err;

		if (byte != '\3') {
			buf_addc(&in, byte);
			continue;
		}
		auto_json json_t *message = json_parse(in.data, in.len, &err);
		auto_json json_t *answer = answer_to(message);
		auto_free char *text = json_text(answer);
		auto_free char *whole = xprintf("%s\3", text);

		buf_done(&in);
		for (size_t at = 0, len = strlen(whole); at < len;) {
			ssize_t n =
				send(fd, whole + at, len - at, MSG_NOSIGNAL);

			if (n <= 0)
				break;
			at += (size_t)n;
		}
	}
	close(fd);
	return arg;
}

static void setup(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(folder, "/tmp/rapi-XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(sock, sizeof(sock), "%s/s", folder);
	strcpy(address.sun_path, sock);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	cr_assert_eq(
		bind(listener, (struct sockaddr *)&address, sizeof(address)),
		0);
	cr_assert_eq(listen(listener, 5), 0);
	n_rows = n_calls = 0;
	live_from = LIVE_FROM;
	every = 1;
	pthread_create(&thread, NULL, serve, NULL);
}

static void teardown(void)
{
	struct error err;

	pthread_join(thread, NULL);
	close(listener);
	cr_assert_eq(fs_remove_tree(folder, &err), 0);
}

TestSuite(rapi_history, .init = setup, .fini = teardown, .timeout = 60);

/* The ids of the page, with blanks behind them, and ">" where a next one is. */
static char *page(const char *arguments)
{
	struct request_way way = {.luxi_socket = sock};
	auto_free char *target = xprintf("/gantry/1/history?%s", arguments);
	auto_free char *path = NULL;
	struct request q = {.target = target, .way = &way};
	auto_json json_t *list = NULL;
	struct error err = {0};
	struct buf ids = {0};
	const json_t *one;
	size_t i;

	args_read(&q.args, target, &path);
	q.route = route_find("GET", path, &q.items, &err);
	list = resource_history(&q, &err);
	cr_assert_not_null(list, "%s", err.text);
	buf_adds(&ids, "");
	json_array_foreach (list, i, one)
		buf_addf(&ids, "%jd ", (intmax_t)json_int(one, "id", 0));
	if (q.headers.len > 0)
		buf_addc(&ids, '>');
	luxi_close(q.luxi);
	request_done(&q);
	return buf_steal(&ids);
}

static void expect(const char *arguments, const char *wanted, size_t rows_max)
{
	auto_free char *got = page(arguments);

	cr_expect_str_eq(got, wanted, "%s: %s", arguments, got);
	cr_expect_leq(n_rows, rows_max, "%zu rows", n_rows);
	cr_expect_leq(n_calls, 20, "%zu calls", n_calls);
}

Test(rapi_history, the_first_page_asks_for_little)
{
	expect("limit=3", "1 2 3 >", 1200);
}

Test(rapi_history, nor_does_one_in_the_middle)
{
	expect("limit=3&after=20000", "20001 20002 20003 >", 1200);
}

Test(rapi_history, the_newest_are_found_at_once)
{
	expect("limit=3&sort=-id", "50000 49999 49998 ", 1200);
}

Test(rapi_history, what_is_rare_is_found)
{
	every = 9000;
	expect("limit=3&status=error", "9000 18000 27000 >", 200);
}

Test(rapi_history, also_from_its_end)
{
	every = 20000;
	expect("limit=3&status=error&sort=-id", "40000 20000 ", 200);
}

Test(rapi_history, the_last_page_ends)
{
	expect("limit=3&after=49998", "49999 50000 ", 200);
}

Test(rapi_history, without_a_live_job_all_is_asked_for_at_once)
{
	live_from = LAST + 1;
	expect("limit=2&after=49000", "49001 49002 >", 2000);
}

Test(rapi_history, another_order_needs_all)
{
	every = 10000;
	expect("limit=2&sort=-received_ts", "10000 20000 ", 200);
}
