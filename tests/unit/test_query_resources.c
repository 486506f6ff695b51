/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cluster, its groups and nodes have, in one answer. */
#include <criterion/criterion.h>

#include "lib/json/json.h"
#include "tests/lib/query_fixture.h"

#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"

static struct query_fixture f;

/* node2 has a record of its own, and the group a policy. */
static void edit(json_t *config)
{
	json_t *node = json_object_get(json_object_get(config, "nodes"), NODE2);
	json_t *cluster = json_object_get(config, "cluster"), *group;
	const char *uuid;

	json_object_set_new(cluster, "hv_state_static", json_object());
	json_object_set_new(cluster, "enabled_disk_templates",
			    json_make("[s, s]", "diskless", "file"));
	json_set_str(cluster, "file_storage_dir", "/srv/f");
	json_object_set_new(
		node, "hv_state_static",
		json_make("{s:{s:i, s:i, s:i, s:i}}",
			  json_string_value(json_array_get(
				  json_get(cluster, "enabled_hypervisors"), 0)),
			  "mem_total", 8000, "mem_node", 500, "mem_hv", 20,
			  "cpu_total", 8));
	json_object_set_new(node, "disk_state_static",
			    json_make("{s:{s:{s:i, s:i}}}", "file", "/srv/f",
				      "disk_total", 9000, "disk_reserved", 90));
	json_object_foreach (json_object_get(config, "nodegroups"), uuid, group)
		json_object_set_new(group, "ipolicy",
				    json_make("{s:i}", "max-node-failures", 2));
}

static void begin(void)
{
	fixture_begin(&f, edit);
}

static void end(void)
{
	fixture_end(&f);
}

TestSuite(query_resources, .init = begin, .fini = end);

static int64_t number(const json_t *node, const char *part, const char *key)
{
	return json_int(json_get(node, part), key, -1);
}

Test(query_resources, a_node_has_what_is_recorded_and_booked)
{
	auto_json json_t *all = query_resources(f.m.config);
	const json_t *node =
		json_get(json_get(all, "nodes"), "node2.example.com");
	const json_t *storage = json_array_get(json_get(node, "storage"), 0);
	int64_t booked = number(node, "memory", "booked_max");

	cr_assert(json_bool(json_get(node, "memory"), "recorded", false));
	cr_assert_eq(number(node, "memory", "total"), 8000);
	cr_assert_geq(booked, 0);
	cr_assert_eq(number(node, "memory", "free"), 8000 - 500 - 20 - booked);
	cr_assert_eq(number(node, "cpus", "total"), 8);
	cr_assert_geq(number(node, "cpus", "booked"), 0);
	cr_assert_geq(number(node, "spindles", "total"), 1);
	cr_assert_eq(json_array_size(json_get(node, "storage")), 1);
	cr_assert_str_eq(json_str(storage, "name", ""), "/srv/f");
	cr_assert_eq(json_int(storage, "free", 0),
		     9000 - 90 - json_int(storage, "booked", 0));
	cr_assert_eq(f.calls == NULL ? 0 : json_array_size(f.calls), 0,
		     "nobody was asked");
}

Test(query_resources, without_a_record_there_are_no_numbers)
{
	auto_json json_t *all = query_resources(f.m.config);
	const json_t *node =
		json_get(json_get(all, "nodes"), "node1.example.com");
	const json_t *memory = json_get(node, "memory");

	cr_assert_not_null(memory);
	cr_assert_not(json_bool(memory, "recorded", true));
	cr_assert(json_is_null(json_object_get(memory, "total")));
	cr_assert(json_is_null(json_object_get(memory, "free")));
}

Test(query_resources, policies_are_in_force_on_each_level)
{
	auto_json json_t *all = query_resources(f.m.config);
	const json_t *cluster = json_get(all, "cluster");
	const json_t *group = json_get(json_get(all, "groups"), "default");

	cr_assert(
		json_is_object(json_get(json_get(cluster, "ipolicy"), "std")));
	cr_assert_eq(json_int(json_get(cluster, "ipolicy_extra"),
			      "max-node-failures", -1),
		     0);
	cr_assert(
		json_is_array(json_get(json_get(group, "ipolicy"), "minmax")));
	cr_assert_eq(json_int(json_get(group, "ipolicy_extra"),
			      "max-node-failures", -1),
		     2);
	cr_assert_float_eq(json_num(json_get(group, "ipolicy_extra"),
				    "oversubscription-ratio", 0),
			   1.0, 1e-9);
	cr_assert_null(
		json_get(json_get(group, "ipolicy"), "max-node-failures"));
}
