/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the log become events: the same on each server that has them. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/store/store.h"
#include "masterd/state/config_image.h"
#include "masterd/state/events_private.h"
#include "masterd/state/glance.h"

TestSuite(events, .init = mem_init);

#define PLACE(log_index, n) ((uint64_t)(log_index) << EVENTS_PLACE_BITS | (n))

static void add(struct buf *record, enum journal_kind kind, const char *name,
		const char *content)
{
	journal_add(record, &(struct journal_entry){.kind = kind,
						    .name = name,
						    .content = content,
						    .len = strlen(content)});
}

static const char job_text[] =
	"{\"id\": 7, \"ops\": [{\"input\": {\"x\": [{\"OP_ID\": \"no\"}], "
	"\"reason\": [[\"gnt:client:gnt-instance\", \"start\", 5], "
	"[\"b\", \"c\", 6]], \"OP_ID\": \"OP_INSTANCE_STARTUP\"}, "
	"\"status\": \"%s\", \"result\": {\"status\": \"error\"}, "
	"\"log\": [[3, [20, 0], \"message\", \"a ] \\\" } b\"],"
	"[4, [30, 500000], \"message\", \"c\"]], \"priority\": 0, "
	"\"start_timestamp\": [10, 0], \"exec_timestamp\": null, "
	"\"end_timestamp\": null}], \"received_timestamp\": [9, 0], "
	"\"start_timestamp\": null, \"end_timestamp\": null}";

static void expect_event(const json_t *list, size_t i, uint64_t index,
			 const char *topic, const char *name, const char *type)
{
	const json_t *e = json_array_get(list, i);

	cr_expect_eq(json_int(e, "index", 0), (int64_t)index, "%zu: %jx", i,
		     (intmax_t)json_int(e, "index", 0));
	cr_expect_str_eq(json_str(e, "topic", ""), topic);
	cr_expect_str_eq(json_str(e, "name", ""), name);
	cr_expect_str_eq(json_str(e, "type", ""), type);
}

Test(events, a_job_s_file_tells_what_became_of_it)
{
	struct events *e = events_create();
	auto_free char *text = xprintf(job_text, "running");
	auto_buf struct buf record = {0};
	auto_json json_t *list = NULL;
	const json_t *job;

	events_begin(e, 5);
	add(&record, JOURNAL_WRITE, "serial", "7\n");
	add(&record, JOURNAL_WRITE, "job-7", text);
	add(&record, JOURNAL_MOVE, "archive/0/job-3", "job-3");
	events_of_queue(e, 6, record.data, record.len);
	cr_expect_eq(events_last(e), PLACE(5, 0), "not shown yet");
	events_show(e);
	list = events_above(e, 0, 10);
	cr_assert_eq(json_array_size(list), 2);
	expect_event(list, 0, PLACE(6, 3), "job", "7", "running");
	expect_event(list, 1, PLACE(6, 5), "job", "3", "archived");
	job = json_array_get(list, 0);
	cr_expect_eq(json_int(job, "log", 0), 4);
	cr_expect_str_eq(json_str(job, "user", ""), "gnt:client:gnt-instance");
	cr_expect_str_eq(json_str(job, "opcode", ""), "OP_INSTANCE_STARTUP");
	cr_expect_eq(json_num(job, "time", 0), 30.5);
	events_free(e);
}

Test(events, who_submitted_a_job_is_told_once)
{
	static const char fresh[] =
		"{\"id\": 1, \"ops\": [{\"input\": {\"OP_ID\": \"OP_X\", "
		"\"reason\": [[\"joe\", \"\", 1]]}, \"status\": \"queued\", "
		"\"log\": []}, {\"input\": {\"OP_ID\": \"OP_Y\"}, \"status\": "
		"\"queued\", \"log\": []}]}";
	struct events *e = events_create();
	auto_buf struct buf record = {0};
	auto_json json_t *list = NULL;

	add(&record, JOURNAL_WRITE, "job-1", fresh);
	events_of_queue(e, 2, record.data, record.len);
	events_show(e);
	list = events_above(e, 0, 10);
	cr_assert_eq(json_array_size(list), 2);
	expect_event(list, 0, PLACE(2, 1), "job", "1", "queued");
	expect_event(list, 1, PLACE(2, 2), "audit", "joe", "submit");
	events_free(e);
}

static json_t *about(const char *name, const char *content)
{
	struct events *e = events_create();
	auto_buf struct buf record = {0};
	json_t *list;

	add(&record, JOURNAL_WRITE, name, content);
	events_of_queue(e, 2, record.data, record.len);
	events_show(e);
	list = events_above(e, 0, 10);
	events_free(e);
	return list;
}

static void expect_object(const json_t *list, size_t i, const char *kind,
			  const char *name)
{
	const json_t *object = json_get(json_array_get(list, i), "object");

	cr_expect_str_eq(json_str(object, "kind", ""), kind);
	cr_expect_str_eq(json_str(object, "name", ""), name);
}

Test(events, a_job_says_what_it_is_about)
{
	static const char *const cases[][3] = {
		{"\"instance_name\": \"web1\", \"node_name\": \"n1\"",
		 "instance", "web1"},
		{"\"node_name\": \"n1\", \"instance_name\": \"web1\"",
		 "instance", "web1"},
		{"\"node_name\": \"n1\"", "node", "n1"},
		{"\"group_name\": \"g\", \"network_name\": \"net\"", "network",
		 "net"},
		{"\"kind\": \"nodegroup\", \"name\": \"g\"", "group", "g"},
		{"\"kind\": \"cluster\", \"name\": null", "", ""},
		{"\"node_name\": null", "", ""},
		{"\"x\": {\"node_name\": \"n1\"}", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		auto_free char *text = xprintf(
			"{\"ops\": [{\"input\": {\"OP_ID\": \"OP_X\", %s}, "
			"\"status\": \"queued\", \"log\": []}, {\"input\": "
			"{\"OP_ID\": \"OP_Y\", \"instance_name\": \"no\"}, "
			"\"status\": \"queued\", \"log\": []}]}",
			cases[i][0]);
		auto_json json_t *list = about("job-1", text);

		cr_assert_eq(json_array_size(list), 2);
		expect_object(list, 0, cases[i][1], cases[i][2]);
		expect_object(list, 1, cases[i][1], cases[i][2]);
	}
}

Test(events, tokens_and_logins_are_audited)
{
	auto_json json_t *made = about(
		"tokens", "[{\"change\": {\"id\": \"u1\", \"name\": \"ci\", "
			  "\"user\": \"joe\", \"removed\": false}}, {\"id\": "
			  "\"u1\", \"hash\": \"secret\"}]");
	auto_json json_t *out = about(
		"tokens", "[{\"change\": {\"id\": \"u1\", \"name\": "
			  "\"session\", \"user\": \"joe\", \"removed\": true, "
			  "\"session\": true}}]");
	auto_json json_t *old = about("tokens", "[{\"id\": \"u1\"}]");
	auto_json json_t *failed =
		about("logins", "{\"user\": \"joe\", \"address\": \"::1\"}");
	auto_json json_t *stranger =
		about("logins", "{\"user\": null, \"address\": \"::1\"}");

	cr_assert_eq(json_array_size(made), 2);
	expect_event(made, 0, PLACE(2, 1), "token", "u1", "created");
	expect_event(made, 1, PLACE(2, 2), "audit", "joe", "token_created");
	expect_object(made, 1, "token", "ci");
	cr_expect_str_eq(json_str(json_array_get(made, 1), "user", ""), "joe");
	expect_event(out, 1, PLACE(2, 2), "audit", "joe", "logout");
	cr_assert_eq(json_array_size(old), 1);
	expect_event(old, 0, PLACE(2, 1), "token", "", "modified");
	cr_assert_eq(json_array_size(failed), 1);
	expect_event(failed, 0, PLACE(2, 2), "audit", "joe", "login_failed");
	expect_object(failed, 0, "address", "::1");
	expect_event(stranger, 0, PLACE(2, 2), "audit", "", "login_failed");
}

static const char *state_after(const char *first, const char *second)
{
	struct events *e = events_create();
	auto_free char *text = xprintf(
		"{\"ops\": [{\"status\": \"%s\"}, {\"status\": \"%s\"}]}",
		first, second);
	auto_buf struct buf record = {0};
	auto_json json_t *list = NULL;
	static char state[20];

	add(&record, JOURNAL_WRITE, "job-1", text);
	events_of_queue(e, 1, record.data, record.len);
	events_show(e);
	list = events_above(e, 0, 1);
	snprintf(state, sizeof(state), "%s",
		 json_str(json_array_get(list, 0), "type", ""));
	events_free(e);
	return state;
}

Test(events, a_job_is_what_its_opcodes_are)
{
	cr_expect_str_eq(state_after("queued", "queued"), "queued");
	cr_expect_str_eq(state_after("success", "queued"), "queued");
	cr_expect_str_eq(state_after("success", "running"), "running");
	cr_expect_str_eq(state_after("success", "success"), "success");
	cr_expect_str_eq(state_after("error", "error"), "error");
	cr_expect_str_eq(state_after("success", "canceled"), "canceled");
	cr_expect_str_eq(state_after("running", "queued"), "running");
}

Test(events, objects_have_names)
{
	struct events *e = events_create();
	struct config_image *image = config_image_create();
	auto_buf struct buf record = {0}, second = {0};
	auto_json json_t *list = NULL;
	struct error err;
	bool nodes;

	config_image_record(&record, "instances/u1",
			    "{\"serial_no\": 1, \"nics\": [{\"name\": "
			    "\"x\"}], \"name\": \"web1\", \"mtime\": 12.5}");
	config_image_record(&record, "serial_no", "4");
	config_image_record(&record, "cluster",
			    "{\"cluster_name\": \"c\", \"serial_no\": 9}");
	events_of_config(e, 1, image, record.data, record.len);
	cr_assert_eq(
		config_image_take(image, record.data, record.len, &nodes, &err),
		0);
	config_image_record(&second, "instances/u1", NULL);
	config_image_record(&second, "nodes/u2", NULL);
	events_of_config(e, 2, image, second.data, second.len);
	events_show(e);
	list = events_above(e, 0, 10);
	cr_assert_eq(json_array_size(list), 4);
	expect_event(list, 0, PLACE(1, 1), "instance", "web1", "created");
	cr_expect_eq(json_num(json_array_get(list, 0), "time", 0), 12);
	expect_event(list, 1, PLACE(1, 3), "cluster", "c", "modified");
	expect_event(list, 2, PLACE(2, 1), "instance", "web1", "removed");
	expect_event(list, 3, PLACE(2, 2), "node", "u2", "removed");
	config_image_free(image);
	events_free(e);
}

Test(events, the_oldest_go_and_the_floor_says_so)
{
	struct events *e = events_create();
	auto_json json_t *list = NULL;

	for (uint64_t i = 1; i <= EVENTS_KEPT + 5; i++) {
		auto_buf struct buf record = {0};

		config_image_record(&record, "nodes/u", "{\"name\": \"n\"}");
		events_of_config(e, i, NULL, record.data, record.len);
	}
	events_show(e);
	cr_expect_eq(events_floor(e), PLACE(5, 1));
	cr_expect_eq(events_last(e), PLACE(EVENTS_KEPT + 5, 1));
	list = events_above(e, 0, 3);
	cr_assert_eq(json_array_size(list), 3);
	expect_event(list, 0, PLACE(6, 1), "node", "n", "created");
	events_begin(e, 99999);
	cr_expect_eq(events_floor(e), PLACE(99999, 0));
	cr_expect_eq(events_last(e), PLACE(99999, 0));
	events_free(e);
}

/* A process that ends leaves its events to the next one, whose log begins
 * before them. */
Test(events, they_outlive_the_process)
{
	struct events *e = events_create(), *next = events_create();
	auto_free char *text = xprintf(job_text, "running");
	auto_buf struct buf record = {0}, kept = {0};
	auto_json json_t *list = NULL, *again = NULL;

	events_begin(e, 5);
	add(&record, JOURNAL_WRITE, "job-7", text);
	add(&record, JOURNAL_WRITE, "job-8", "{}");
	events_of_queue(e, 6, record.data, record.len);
	events_show(e);
	list = events_above(e, 0, 10);
	events_pack(e, &kept);
	cr_assert(events_unpack(next, kept.data, kept.len));
	events_begin(next, 0);
	events_begin(next, 4);
	events_of_queue(next, 6, record.data, record.len);
	events_show(next);
	again = events_above(next, 0, 10);
	cr_expect_eq(json_array_size(again), 3);
	cr_expect(json_equal(list, again));
	cr_expect_eq(events_floor(next), PLACE(5, 0));
	events_begin(next, 7);
	cr_expect_eq(events_floor(next), PLACE(7, 0), "that was not seen");
	events_other_log(next);
	cr_expect_eq(events_last(next), 0);
	for (size_t n = 0; n < kept.len; n++) {
		events_unpack(next, kept.data, n);
		events_other_log(next);
	}
	kept.data[kept.len - 3] ^= 1;
	events_unpack(next, kept.data, kept.len);
	events_free(e);
	events_free(next);
}

/* Bytes from a log are ours, but a damaged one must not end the daemon. */
Test(events, what_is_no_json_is_no_danger)
{
	static const char *const texts[] = {
		"",
		"{",
		"{\"ops\": [",
		"{\"ops\": [{\"input\": {\"reason\": [[",
		"{\"ops\": [{\"log\": [[1, [",
		"[]",
		"{\"a\" 1}",
		"{\"a\": }",
		"{\"ops\": [{\"status\": \"\\",
		"{,,,}",
		"{\"ops\": [,,]}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct events *e = events_create();
		auto_buf struct buf record = {0};

		add(&record, JOURNAL_WRITE, "job-1", texts[i]);
		events_of_queue(e, 1, record.data, record.len);
		config_image_record(&record, "nodes/u", texts[i]);
		events_of_config(e, 2, NULL, record.data, record.len);
		events_show(e);
		events_free(e);
	}
}

Test(events, a_glance_steps_over_strings)
{
	static const char text[] = "{\"a\\\"}\": \"]\\\\\", \"b\" : [1, {}]}";
	struct glance g = {.at = text, .end = text + strlen(text)};
	struct glance_piece key, value;

	cr_assert(glance_enter(&g, '{'));
	cr_assert(glance_key(&g, &key));
	glance_skip(&g, &value);
	cr_assert(glance_key(&g, &key));
	cr_expect(glance_is(&key, "b"));
	glance_skip(&g, &value);
	cr_expect_eq(value.len, 7);
	cr_expect_not(glance_key(&g, &key));
	cr_expect_not(g.bad);
}
