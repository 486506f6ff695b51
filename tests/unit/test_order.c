/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/replica/order.h"

static struct order order;
static struct buf trace;

static void setup(void)
{
	tasks_init(uv_default_loop());
	order_init(&order);
}

static void teardown(void)
{
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	buf_done(&trace);
}

TestSuite(order, .init = setup, .fini = teardown);

static enum order_stream stream_of(const char *procedure, const char *first)
{
	auto_json json_t *args = json_make("[s]", first);

	return order_stream(procedure, args);
}

Test(order, copies_of_the_clusters_state_have_one)
{
	cr_assert_eq(stream_of("jobqueue_purge", "x"), ORDER_QUEUE);
	cr_assert_eq(stream_of("node_demote_from_mc", "x"), ORDER_CONFIG);
	cr_assert_eq(stream_of("write_ssconf_files", "x"), ORDER_SSCONF);
	cr_assert_eq(
		stream_of("upload_file_single", "/var/lib/ganeti/config.data"),
		ORDER_CONFIG);
	cr_assert_eq(stream_of("upload_file_single", "/etc/hosts"), ORDER_NONE);
	cr_assert_eq(stream_of("instance_start", "x"), ORDER_NONE);
	cr_assert_eq(stream_of("set_watcher_pause", "x"), ORDER_PAUSE);
}

/* A call that demotes a node and comes late finds it taken in anew. */
Test(order, the_order_to_join_the_log_stands_beside_that_to_leave)
{
	auto_json json_t *join = json_make("[[s, s, s]]", "join", "1", "2");
	auto_json json_t *status = json_make("[[s]]", "status");

	cr_assert_eq(order_stream("log_order", join), ORDER_CONFIG);
	cr_assert_eq(order_stream("log_order", status), ORDER_NONE);
}

static int check(uint64_t term, uint64_t number)
{
	struct error err;

	return order_check(&order, ORDER_QUEUE, term, number, &err);
}

Test(order, what_comes_too_late_or_twice_is_refused)
{
	struct error err;

	cr_assert_eq(check(3, 7), 0);
	cr_assert_eq(check(3, 9), 0);
	cr_assert_eq(check(3, 8), -1);
	cr_assert_eq(check(3, 9), -1);
	cr_assert_eq(check(3, 0), 0, "who does not count is served");
	cr_assert_eq(check(4, 1), 0, "each term counts anew");
	cr_assert_eq(order_check(&order, ORDER_CONFIG, 4, 1, &err), 0);
	cr_assert_eq(order_check(&order, ORDER_NONE, 4, 1, &err), 0);
}

struct use {
	const char *name;
	enum order_stream stream;
};

static void use(void *arg)
{
	const struct use *u = arg;

	order_begin(&order, u->stream);
	buf_addf(&trace, "%s( ", u->name);
	task_sleep(1);
	buf_addf(&trace, "%s) ", u->name);
	order_end(&order, u->stream);
}

Test(order, one_after_the_other_in_each)
{
	static const struct use uses[] = {
		{"a", ORDER_QUEUE},
		{"b", ORDER_QUEUE},
		{"c", ORDER_CONFIG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		task_spawn(uses[i].name, use, mem_unconst(&uses[i]));
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	cr_assert(strstr(trace.data, "a) ") < strstr(trace.data, "b( "));
	cr_assert(strstr(trace.data, "c( ") < strstr(trace.data, "b( "));
}
