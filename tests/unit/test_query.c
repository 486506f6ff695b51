/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "tests/lib/compat.h"
#include "tests/lib/query_fixture.h"

static struct query_fixture f;

static void begin(void)
{
	fixture_begin(&f, NULL);
}

static void end(void)
{
	fixture_end(&f);
}

TestSuite(query, .init = begin, .fini = end);

/* [[name, title, kind], ...] of {"fields": [...]}. */
static json_t *without_docs(const json_t *answer)
{
	const json_t *fields = json_object_get(answer, "fields");
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(fields); i++) {
		const json_t *one = json_array_get(fields, i);

		cr_assert_gt(strlen(json_str(one, "doc", "")), 3, "%s",
			     json_str(one, "name", ""));
		json_array_append_new(
			list, json_make("[s, s, s]", json_str(one, "name", ""),
					json_str(one, "title", ""),
					json_str(one, "kind", "")));
	}
	return list;
}

Test(query, fields_are_those_of_ganeti_in_its_order)
{
	auto_json json_t *cases = compat_read("fields.json");
	const char *what;
	json_t *want;

	json_object_foreach (cases, what, want) {
		struct error err;
		auto_json json_t *answer =
			query_fields(what, NULL, false, &err);
		auto_json json_t *got = NULL;

		cr_assert_not_null(answer, "%s", err.text);
		got = without_docs(answer);
		compat_assert_same(got, want);
	}
}

static size_t count_fields(const char *what, bool own)
{
	struct error err;
	auto_json json_t *answer = query_fields(what, NULL, own, &err);

	return json_array_size(json_get(answer, "fields"));
}

/* Clients compare lists: our own are told of only where they are asked for. */
Test(query, each_kind_has_ganetis_number_of_fields_and_ours_on_request)
{
	static const struct {
		const char *what;
		size_t n; /* in Ganeti 3.0.2 */
	} rows[] = {{"node", 46},  {"group", 25},   {"job", 16},
		    {"lock", 4},   {"network", 19}, {"instance", 292},
		    {"export", 2}, {"filter", 6}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t n = count_fields(rows[i].what, false);

		cr_expect_eq(n, rows[i].n,
			     "Ganeti's clients are told of %zu fields of %s, "
			     "which has %zu: a field of ours needs .own = true "
			     "in its row",
			     n, rows[i].what, rows[i].n);
		cr_expect_geq(count_fields(rows[i].what, true), n, "%s",
			      rows[i].what);
	}
}

Test(query, our_own_fields_are_known_by_name)
{
	struct error err;
	auto_json json_t *names = json_make("[s]", "mem_free");
	auto_json json_t *answer = query_fields("node", names, false, &err);

	cr_assert_str_eq(json_str(json_array_get(json_get(answer, "fields"), 0),
				  "title", ""),
			 "RecMFree");
}

/* The row of ours with the same first value. */
static const json_t *row_like(const json_t *ours, const json_t *theirs)
{
	for (size_t i = 0; i < json_array_size(ours); i++)
		if (json_same(json_array_get(json_array_get(ours, i), 0),
			      json_array_get(theirs, 0)))
			return json_array_get(ours, i);
	return NULL;
}

Test(query, recorded_queries_have_the_recorded_answers)
{
	auto_json json_t *cases = compat_read("queries.json");

	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *one = json_array_get(cases, i);
		const json_t *args = json_get(one, "args");
		const json_t *rows = json_get(one, "data");
		struct error err;
		auto_json json_t *answer = query_run(
			&f.m, json_string_value(json_array_get(args, 0)),
			json_array_get(args, 1), json_array_get(args, 2), &err);
		auto_json json_t *fields = NULL;

		cr_assert_not_null(answer, "%s", err.text);
		fields = without_docs(answer);
		compat_assert_same(fields, json_get(one, "fields"));
		cr_assert_gt(json_array_size(rows), 0);
		for (size_t j = 0; j < json_array_size(rows); j++) {
			const json_t *theirs = json_array_get(rows, j);
			const json_t *ours =
				row_like(json_get(answer, "data"), theirs);

			cr_assert_not_null(ours);
			compat_assert_same(ours, theirs);
		}
	}
}

Test(query, rows_come_in_nice_order)
{
	auto_json json_t *got =
		fixture_query(&f, "instance", "[\"name\"]", "null");

	cr_assert_eq(json_array_size(json_get(got, "data")), 6);
	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)),
			 "inst5.example.com");
	cr_assert_str_eq(json_string_value(fixture_value(got, 3, 0)),
			 "inst10.example.com");
}

Test(query, names_come_as_asked_and_may_be_short)
{
	auto_json json_t *got =
		fixture_query(&f, "node", "[\"name\"]",
			      "[\"|\",[\"=\",\"name\",\"node2\"],[\"=\","
			      "\"name\",\"node1\"]]");

	cr_assert_eq(json_array_size(json_get(got, "data")), 2);
	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)),
			 "node2.example.com");
}

static void fails(const char *what, const char *fields, const char *qfilter,
		  enum error_kind kind, const char *text)
{
	auto_json json_t *wanted = fixture_parse(fields);
	auto_json json_t *filter = fixture_parse(qfilter);
	struct error err;

	cr_assert_null(query_run(&f.m, what, wanted, filter, &err), "%s", text);
	cr_assert_eq(err.kind, kind, "%s", err.text);
	cr_assert_str_eq(err.text, text);
	cr_assert_not(query_needs_wait(&f.m, what, wanted, filter));
}

Test(query, errors_read_as_recorded)
{
	fails("node", "[\"name\"]", "[\"|\",[\"=\",\"name\",\"nosuch\"]]",
	      ERR_PREREQ, "Node 'nosuch' not known");
	fails("instance", "[\"name\"]", "[\"==\",\"name\",\"nosuch\"]",
	      ERR_PREREQ, "Instance 'nosuch' not known");
	fails("node", "[\"name\"]", "[\"=\",\"zzz\",\"x\"]", ERR_PARAMETER,
	      "Can't find field named 'zzz'");
	fails("zzz", "[\"name\"]", "null", ERR_REQUEST,
	      "There is no kind 'zzz' to query");
	fails("os", "[\"name\"]", "null", ERR_SYSTEM,
	      "Query of 'os' is not supported here: submit the opcode "
	      "OP_QUERY");
	fails("node", "[5]", "null", ERR_REQUEST,
	      "The fields of a query must be strings");
	fails("node", "\"name\"", "null", ERR_REQUEST,
	      "The fields of a query must be a list");
}

Test(query, empty_or_gives_no_rows_and_no_fields_give_empty_rows)
{
	auto_json json_t *none =
		fixture_query(&f, "node", "[\"name\"]", "[\"|\"]");
	auto_json json_t *empty = fixture_query(&f, "node", "[]", "null");
	auto_json json_t *want = fixture_parse("[[],[],[]]");

	cr_assert_eq(json_array_size(json_get(none, "data")), 0);
	compat_assert_same(json_get(empty, "data"), want);
}

Test(query, numbers_compare)
{
	auto_json json_t *got = fixture_query(&f, "instance", "[\"name\"]",
					      "[\"<\",\"be/memory\",100]");
	auto_json json_t *none = fixture_query(&f, "instance", "[\"name\"]",
					       "[\">\",\"be/memory\",100]");

	cr_assert_eq(json_array_size(json_get(got, "data")), 6);
	cr_assert_eq(json_array_size(json_get(none, "data")), 0);
}

/* --- the old calls --- */

static json_t *old(const char *what, const char *names, const char *fields)
{
	auto_json json_t *list = fixture_parse(names);
	auto_json json_t *wanted = fixture_parse(fields);
	struct error err;
	json_t *result = query_old(&f.m, what, list, wanted, &err);

	cr_assert_not_null(result, "%s", err.text);
	return result;
}

static void check_old(const char *what, const char *names, const char *fields,
		      const char *expected)
{
	auto_json json_t *got = old(what, names, fields);
	auto_json json_t *want = fixture_parse(expected);

	compat_assert_same(got, want);
}

Test(query, old_calls_give_bare_values)
{
	check_old("node", "[]", "[\"ndp/ssh_port\"]", "[[22],[22],[22]]");
	check_old("group", "[]", "[\"name\",\"uuid\"]",
		  "[[\"default\",\"e4677306-5d6d-4a5b-8d6b-eee896e0db7a\"]]");
	check_old("group", "[\"e4677306-5d6d-4a5b-8d6b-eee896e0db7a\"]",
		  "[\"name\"]", "[[\"default\"]]");
	check_old("instance", "[\"inst8\",\"inst5\"]",
		  "[\"name\",\"status\",\"network_port\"]",
		  "[[\"inst8.example.com\",\"ADMIN_down\",null],"
		  "[\"inst5.example.com\",\"running\",null]]");
	check_old("node", "[\"node3\"]",
		  "[\"name\",\"pip\",\"sip\",\"pinst_list\",\"sinst_list\","
		  "\"master_candidate\",\"drained\",\"offline\",\"powered\","
		  "\"custom_ndparams\"]",
		  "[[\"node3.example.com\",\"198.51.100.13\","
		  "\"198.51.100.13\",[\"inst5.example.com\"],[],true,false,"
		  "false,null,{\"cpu_speed\":1}]]");
	check_old("network", "[]", "[\"name\"]", "[]");
}

Test(query, old_call_leaves_out_unknown_nodes)
{
	check_old("node", "[\"nosuch.example.com\"]", "[\"name\"]", "[]");
	check_old("node",
		  "[\"nosuch\",\"b0e955da-2905-45c3-9ff8-0b43b4e69d52\"]",
		  "[\"name\"]", "[[\"node1.example.com\"]]");
}

Test(query, old_call_refuses_unknown_fields_and_instances)
{
	auto_json json_t *none = fixture_parse("[]");
	auto_json json_t *names = fixture_parse("[\"nosuch\"]");
	auto_json json_t *fields = fixture_parse("[\"name\",\"zzz\",\"yyy\"]");
	auto_json json_t *good = fixture_parse("[\"name\"]");
	struct error err;

	cr_assert_null(query_old(&f.m, "node", none, fields, &err));
	cr_assert_str_eq(err.text, "Unknown output fields selected: zzz, yyy");
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert_str_eq(err.ecode, ECODE_INVAL);
	cr_assert_null(query_old(&f.m, "instance", names, good, &err));
	cr_assert_str_eq(err.ecode, ECODE_NOENT);
}

/* --- which queries wait --- */

static bool waits(const char *what, const char *fields, const char *qfilter)
{
	auto_json json_t *wanted = fixture_parse(fields);
	auto_json json_t *filter = fixture_parse(qfilter);

	return query_needs_wait(&f.m, what, wanted, filter);
}

Test(query, only_live_fields_wait)
{
	cr_assert_not(waits("node", "[\"name\",\"pinst_cnt\"]", "null"));
	cr_assert(waits("node", "[\"name\",\"mfree\"]", "null"));
	cr_assert(waits("node", "[\"name\"]", "[\">\",\"mfree\",5]"));
	cr_assert(waits("instance", "[\"status\"]", "null"));
	cr_assert_not(waits("instance", "[\"admin_state\"]", "null"));
	cr_assert_not(waits("lock", "[\"name\"]", "null"));
}

/* --- cluster --- */

Test(query, cluster_info_has_the_recorded_members)
{
	auto_json json_t *info = query_cluster_info(&f.m);

	cr_assert_eq(json_object_size(info), 55);
	cr_assert_str_eq(json_str(info, "name", ""), "cluster.example.com");
	cr_assert_str_eq(json_str(info, "master", ""), "node1.example.com");
	cr_assert_str_eq(json_str(info, "default_hypervisor", ""), "fake");
	cr_assert(json_is_null(json_object_get(info, "volume_group_name")));
	cr_assert_eq(json_int(info, "primary_ip_version", 0), 4);
	cr_assert_eq(
		json_object_size(json_get(info, "data_collector_interval")), 6);
}

Test(query, cluster_info_has_the_members_that_ganeti_sends)
{
	auto_json json_t *recorded =
		compat_read_shared("luxi/cluster-version.json");
	auto_json json_t *info = query_cluster_info(&f.m);
	const json_t *theirs;
	const char *key;
	json_t *value;

	theirs = json_get(
		json_get(json_array_get(json_get(recorded, "exchanges"), 0),
			 "response"),
		"result");
	cr_assert_eq(json_object_size(theirs), 55);
	json_object_foreach (json_unconst(theirs), key, value)
		cr_assert_not_null(json_object_get(info, key), "%s", key);
}

Test(query, config_values)
{
	auto_json json_t *fields =
		fixture_parse("[\"cluster_name\",\"master_node\",\"nosuch\","
			      "\"drain_flag\",\"watcher_pause\","
			      "\"ssh_key_bits\",\"modify_ssh_setup\"]");
	auto_json json_t *want =
		fixture_parse("[\"cluster.example.com\",\"node1.example.com\","
			      "null,false,null,2048,true]");
	auto_json json_t *got = query_config_values(&f.m, fields);

	compat_assert_same(got, want);
}

/* --- locks --- */

static void on_granted(struct lock_request *r)
{
	(void)r;
}

Test(query, locks_name_jobs_by_strings)
{
	struct lock_want shared = {LOCK_NODE, "n1", false};
	struct lock_want exclusive = {LOCK_NODE, "n1", true};
	struct lock_request holder = {.wants = &shared,
				      .n_wants = 1,
				      .owner = 17,
				      .granted = on_granted};
	struct lock_request waiter = {.wants = &exclusive,
				      .n_wants = 1,
				      .owner = 18,
				      .granted = on_granted};
	struct error err;
	auto_json json_t *got = NULL;
	auto_json json_t *want =
		fixture_parse("[[0,\"node/n1\"],[0,\"shared\"],[0,[\"17\"]],"
			      "[0,[[\"exclusive\",[\"18\"]]]]]");

	cr_assert_eq(locks_request(f.m.locks, &holder, &err), 0);
	cr_assert_eq(locks_request(f.m.locks, &waiter, &err), 0);
	got = fixture_query(&f, "lock",
			    "[\"name\",\"mode\",\"owner\",\"pending\"]",
			    "[\"==\",\"name\",\"node/n1\"]");
	locks_release(f.m.locks, &waiter);
	locks_release(f.m.locks, &holder);
	cr_assert_eq(json_array_size(json_get(got, "data")), 1);
	compat_assert_same(json_array_get(json_get(got, "data"), 0), want);
}

/* Their strings are shorter than the subnet is large, and one is longer. */
static void add_networks(json_t *config)
{
	static const char text[] =
		"{\"n1\": {\"name\": \"net1\", \"uuid\": \"n1\", \"network\": "
		"\"192.0.2.0/29\", \"reservations\": \"01\", "
		"\"ext_reservations\": \"1\", \"tags\": [], \"serial_no\": 1}, "
		"\"n2\": {\"name\": \"net2\", \"uuid\": \"n2\", \"network\": "
		"\"192.0.2.8/30\", \"reservations\": \"0100000\", "
		"\"ext_reservations\": \"1001111\", \"tags\": [], "
		"\"serial_no\": 1}}";

	json_object_set_new(config, "networks", fixture_parse(text));
}

Test(query, a_network_has_as_many_addresses_as_its_subnet)
{
	fixture_end(&f);
	fixture_begin(&f, add_networks);
	check_old("network", "[]",
		  "[\"name\",\"free_count\",\"reserved_count\",\"map\","
		  "\"external_reservations\"]",
		  "[[\"net1\",6,2,\"XX......\",\"192.0.2.0\"],"
		  "[\"net2\",1,3,\"XX.X\",\"192.0.2.8, 192.0.2.11\"]]");
}
