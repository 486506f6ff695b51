/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "tests/lib/compat.h"
#include "tests/lib/query_fixture.h"

#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"
#define NODE3 "92ae36ee-0dda-420f-8fa8-6707b30a77c8"

static struct query_fixture f;

static json_t *node_of(json_t *config, const char *uuid)
{
	return json_object_get(json_object_get(config, "nodes"), uuid);
}

/* node2 is offline, node3 does not run instances and has power control. */
static void edit(json_t *config)
{
	json_t *node2 = node_of(config, NODE2), *node3 = node_of(config, NODE3);

	json_set_bool(node2, "offline", true);
	json_set_bool(node2, "master_candidate", false);
	json_set_bool(node3, "vm_capable", false);
	json_set_bool(node3, "powered", false);
	json_set_str(json_object_get(node3, "ndparams"), "oob_program", "/x");
	json_object_set_new(node3, "hv_state_static",
			    json_make("{s:{s:i}}", "fake", "mem_total", 512));
	json_object_set_new(
		node3, "disk_state_static",
		json_make("{s:{s:{s:i}}}", "lvm", "vg", "disk_total", 7));
}

static void no_hv_state(json_t *config)
{
	json_object_set_new(json_object_get(config, "cluster"),
			    "hv_state_static", json_object());
}

static void end(void)
{
	fixture_end(&f);
}

TestSuite(query_node, .fini = end);

Test(query_node, status_says_why_there_is_no_live_data)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, edit);
	json_object_del(json_object_get(f.nodes, "node_info"),
			"node1.example.com");
	got = fixture_query(&f, "node", "[\"name\",\"mfree\",\"dtotal\"]",
			    "null");
	cr_assert_eq(fixture_status(got, 0, 1), 2); /* did not answer */
	cr_assert_eq(fixture_status(got, 1, 1), 4); /* offline */
	cr_assert_eq(fixture_status(got, 2, 2), 0); /* runs no instances */
	cr_assert_eq(json_object_size(f.calls), 2);
}

/* What a query of these fields asks node2 of its hypervisors. */
static void expect_asks(const char *wanted, const char *hypervisors)
{
	auto_free char *text =
		xprintf("[[[\"file\",\"/srv/ganeti/file-storage\",[]]],%s]",
			hypervisors);
	auto_json json_t *want = fixture_parse(text), *got = NULL;

	fixture_begin(&f, NULL);
	got = fixture_query(&f, "node", wanted, "null");
	compat_assert_same(
		json_object_get(f.calls, "node_info node2.example.com"), want);
}

Test(query_node, asks_each_node_once_as_ganeti_does)
{
	expect_asks("[\"mfree\",\"bootid\",\"ctotal\"]",
		    "[[\"fake\",{\"migration_mode\":\"live\"}]]");
	cr_assert_eq(json_object_size(f.calls), 3);
}

/* A hypervisor that does not work fails the call, and then a node that is there
 * looks as if it did not answer. */
Test(query_node, who_asks_whether_a_node_is_there_asks_no_hypervisor)
{
	expect_asks("[\"name\",\"bootid\"]", "[]");
}

Test(query_node, the_version_is_asked_for_by_those_who_want_it)
{
	expect_asks("[\"program_version\"]",
		    "[[\"fake\",{\"migration_mode\":\"live\","
		    "\"gantry_version\":true}]]");
}

Test(query_node, a_filter_on_the_record_spares_calls)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, NULL);
	got = fixture_query(&f, "node", "[\"name\",\"mfree\"]",
			    "[\"&\",[\"=~\",\"name\",\"node[23]\"],"
			    "[\"<\",\"mfree\",22900]]");
	cr_assert_eq(json_object_size(f.calls), 2);
	cr_assert_eq(json_array_size(json_get(got, "data")), 1);
	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)),
			 "node3.example.com");
}

Test(query_node, roles)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, edit);
	got = fixture_query(&f, "node", "[\"role\",\"master\",\"powered\"]",
			    "null");
	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)), "M");
	cr_assert_str_eq(json_string_value(fixture_value(got, 1, 0)), "O");
	cr_assert_str_eq(json_string_value(fixture_value(got, 2, 0)), "C");
	cr_assert(json_is_true(fixture_value(got, 0, 1)));
	cr_assert_eq(fixture_status(got, 0, 2), 3);
	cr_assert(json_is_false(fixture_value(got, 2, 2)));
}

Test(query_node, recorded_resources)
{
	auto_json json_t *got = NULL;
	auto_json json_t *hv = fixture_parse(
		"{\"fake\":{\"cpu_node\":1,\"cpu_total\":1,\"mem_hv\":0,"
		"\"mem_node\":0,\"mem_total\":512}}");

	fixture_begin(&f, edit);
	got = fixture_query(&f, "node", "[\"hv_state\",\"disk_state\"]",
			    "null");
	compat_assert_same(fixture_value(got, 2, 0), hv);
	cr_assert_eq(fixture_status(got, 0, 1), 3);
	cr_assert_eq(fixture_status(got, 2, 1), 0);
}

Test(query_node, nothing_recorded_is_unavailable)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, no_hv_state);
	got = fixture_query(&f, "node", "[\"hv_state\"]", "null");
	cr_assert_eq(fixture_status(got, 0, 0), 3);
}

Test(query_node, broken_answers_are_no_data)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, NULL);
	json_object_set_new(json_object_get(f.nodes, "node_info"),
			    "node1.example.com", json_make("[n, i, {}]", 5));
	got = fixture_query(&f, "node", "[\"mfree\",\"bootid\",\"dfree\"]",
			    "[\"==\",\"name\",\"node1\"]");
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(fixture_status(got, 0, i), 2);
}
