/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "tests/lib/compat.h"
#include "tests/lib/query_fixture.h"

static struct query_fixture f;

static void end(void)
{
	fixture_end(&f);
}

TestSuite(query_instance, .fini = end);

static json_t *by_name(json_t *config, const char *container, const char *name)
{
	const char *uuid;
	json_t *object;

	json_object_foreach (json_object_get(config, container), uuid, object)
		if (str_eq(json_str(object, "name", NULL), name))
			return object;
	cr_assert_fail("no %s", name);
	return NULL;
}

static json_t *instance(json_t *config, const char *name)
{
	return by_name(config, "instances", name);
}

/* What nodes say of one more instance. */
static void report(const char *node, const char *name, int state)
{
	json_t *answers = json_object_get(f.nodes, "all_instances_info");

	json_object_set_new(json_object_get(answers, node), name,
			    json_make("{s:i, s:i, s:i, s:i}", "memory", 64,
				      "vcpus", 1, "state", state, "time", 0));
}

static void forget(const char *node, const char *name)
{
	json_object_del(
		json_object_get(json_object_get(f.nodes, "all_instances_info"),
				node),
		name);
}

static void check_status(const char *name, const char *want)
{
	auto_free char *filter = xprintf("[\"==\",\"name\",\"%s\"]", name);
	auto_json json_t *got =
		fixture_query(&f, "instance", "[\"status\"]", filter);

	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)), want,
			 "%s", name);
}

/* inst5 is up on node3, inst10 and inst48 on node1, inst6 on node2; inst8
 * (node1) and inst20 (node2) are down. */
static void edit(json_t *config)
{
	json_set_str(instance(config, "inst20.example.com"), "admin_state",
		     "offline");
}

Test(query_instance, every_status)
{
	fixture_begin(&f, edit);
	check_status("inst10", "running");
	check_status("inst8", "ADMIN_down");
	check_status("inst20", "ADMIN_offline");
	report("node1.example.com", "inst8.example.com", 0);
	check_status("inst8", "ERROR_up");
	forget("node1.example.com", "inst10.example.com");
	check_status("inst10", "ERROR_down");
	json_object_del(json_object_get(f.nodes, "all_instances_info"),
			"node3.example.com");
	check_status("inst5", "ERROR_nodedown");
}

static void enable_two(json_t *config)
{
	json_object_set_new(json_object_get(config, "cluster"),
			    "enabled_hypervisors",
			    json_make("[s, s]", "fake", "kvm"));
	json_set_str(instance(config, "inst8.example.com"), "hypervisor",
		     "kvm");
}

Test(query_instance, a_hypervisor_that_fails_hides_only_its_own)
{
	fixture_begin(&f, enable_two);
	f.sick_hypervisor = "kvm";
	check_status("inst10", "running");
	check_status("inst8", "ERROR_nodedown");
	f.sick_hypervisor = "fake";
	check_status("inst10", "ERROR_nodedown");
}

/* "not" in front of live data waits for the data; without any, what is asked of
 * it is true, and so "not" is false. */
Test(query_instance, not_running_is_asked_of_the_nodes)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, edit);
	got = fixture_query(&f, "instance", "[\"name\"]",
			    "[\"&\",[\"=~\",\"name\",\"inst(8|10)[.]\"],"
			    "[\"!\",[\"?\",\"oper_state\"]]]");
	cr_assert_eq(json_array_size(json_get(got, "data")), 1);
	cr_assert_str_eq(json_string_value(fixture_value(got, 0, 0)),
			 "inst8.example.com");
	json_decref(steal(&got));
	json_object_del(json_object_get(f.nodes, "all_instances_info"),
			"node1.example.com");
	got = fixture_query(&f, "instance", "[\"name\"]",
			    "[\"&\",[\"=~\",\"name\",\"inst(8|10)[.]\"],"
			    "[\"!\",[\"?\",\"oper_state\"]]]");
	cr_assert_eq(json_array_size(json_get(got, "data")), 0);
}

Test(query_instance, an_instance_elsewhere_is_on_the_wrong_node)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, NULL);
	forget("node1.example.com", "inst10.example.com");
	report("node2.example.com", "inst10.example.com", 0);
	got = fixture_query(&f, "instance",
			    "[\"name\",\"status\",\"oper_state\",\"oper_ram\"]",
			    "null");
	cr_assert_str_eq(json_string_value(fixture_value(got, 3, 1)),
			 "ERROR_wrongnode");
	cr_assert(json_is_true(fixture_value(got, 3, 2)));
	cr_assert_eq(json_integer_value(fixture_value(got, 3, 3)), 64);
}

static void offline(json_t *config)
{
	json_set_bool(by_name(config, "nodes", "node3.example.com"), "offline",
		      true);
}

Test(query_instance, on_an_offline_node)
{
	auto_json json_t *got = NULL;

	fixture_begin(&f, offline);
	check_status("inst5", "ERROR_nodeoffline");
	got = fixture_query(&f, "instance",
			    "[\"oper_state\",\"oper_ram\",\"console\"]",
			    "[\"==\",\"name\",\"inst5\"]");
	cr_assert_eq(fixture_status(got, 0, 0), 2);
	for (size_t i = 1; i < 3; i++)
		cr_assert_eq(fixture_status(got, 0, i), 4);
	cr_assert_eq(json_object_size(f.calls), 0);
}

static void user_shutdown(json_t *config)
{
	json_set_bool(json_object_get(config, "cluster"),
		      "enabled_user_shutdown", true);
	json_set_str(instance(config, "inst8.example.com"),
		     "admin_state_source", "user");
}

Test(query_instance, shut_down_by_its_user)
{
	fixture_begin(&f, user_shutdown);
	check_status("inst8", "USER_down");
	report("node1.example.com", "inst10.example.com", 1);
	check_status("inst10", "USER_down");
}

Test(query_instance, shut_down_by_its_user_where_that_is_an_error)
{
	fixture_begin(&f, NULL);
	report("node1.example.com", "inst10.example.com", 1);
	check_status("inst10", "ERROR_down");
}

Test(query_instance, asks_only_nodes_that_matter)
{
	auto_json json_t *want = fixture_parse(
		"[[\"fake\"],{\"fake\":{\"migration_mode\":\"live\"}}]");

	fixture_begin(&f, NULL);
	check_status("inst10", "running");
	cr_assert_eq(json_object_size(f.calls), 1);
	compat_assert_same(
		json_object_get(f.calls,
				"all_instances_info node1.example.com"),
		want);
}

Test(query_instance, consoles_are_asked_of_the_primary)
{
	auto_json json_t *got = NULL;
	const json_t *request;

	fixture_begin(&f, NULL);
	got = fixture_query(&f, "instance", "[\"console\"]",
			    "[\"==\",\"name\",\"inst8\"]");
	cr_assert_str_eq(json_str(fixture_value(got, 0, 0), "kind", ""), "msg");
	request = json_object_get(
		json_object_get(f.calls,
				"instance_console_info node1.example.com"),
		"inst8.example.com");
	cr_assert_eq(json_object_size(request), 5);
	cr_assert_eq(json_int(json_get(request, "beParams"), "vcpus", 0), 1);
	cr_assert_str_eq(json_str(json_get(request, "group"), "name", ""),
			 "default");
}

/* A DRBD instance on node1 and node2 with all kinds of NICs. */
static void rich(json_t *config)
{
	json_t *i = instance(config, "inst48.example.com");
	const json_t *one = by_name(config, "nodes", "node1.example.com");
	const json_t *two = by_name(config, "nodes", "node2.example.com");

	json_object_set_new(
		json_object_get(config, "disks"), "d1",
		json_make("{s:s, s:s, s:i, s:[s, s, i, i, i, s], s:[s, s], "
			  "s:s, s:s}",
			  "uuid", "d1", "dev_type", "drbd", "size", 1024,
			  "logical_id", json_str(one, "uuid", ""),
			  json_str(two, "uuid", ""), 11000, 0, 0, "secret",
			  "nodes", json_str(one, "uuid", ""),
			  json_str(two, "uuid", ""), "iv_name", "disk/0",
			  "mode", "rw"));
	json_object_set_new(i, "disks", json_make("[s]", "d1"));
	json_object_set_new(json_object_get(config, "networks"), "net",
			    json_make("{s:s, s:s, s:s, s:s, s:s}", "uuid",
				      "net", "name", "lan", "network",
				      "192.0.2.0/30", "reservations", "0100",
				      "ext_reservations", "1001"));
	json_object_set_new(
		i, "nics",
		json_make("[{s:s, s:s, s:s, s:s, s:{}}, {s:s, s:s, s:{s:s}}]",
			  "mac", "aa:00:00:00:00:01", "uuid", "n0", "ip",
			  "192.0.2.1", "network", "net", "nicparams", "mac",
			  "aa:00:00:00:00:02", "uuid", "n1", "nicparams",
			  "mode", "routed"));
	json_set_int(i, "network_port", 11001);
}

static void check(const char *fields, const char *expected)
{
	auto_json json_t *got = fixture_query(&f, "instance", fields,
					      "[\"==\",\"name\",\"inst48\"]");
	auto_json json_t *want = fixture_parse(expected);

	compat_assert_same(json_array_get(json_get(got, "data"), 0), want);
}

Test(query_instance, disks_and_secondaries)
{
	fixture_begin(&f, rich);
	check("[\"disk_template\",\"disk_usage\",\"disk.count\",\"disk.sizes\","
	      "\"disk.size/0\",\"disk.size/1\",\"disk.name/0\",\"sda_size\","
	      "\"disk.uuids\",\"network_port\"]",
	      "[[0,\"drbd\"],[0,1152],[0,1],[0,[1024]],[0,1024],[3,null],"
	      "[3,null],[0,1024],[0,[\"d1\"]],[0,11001]]");
	check("[\"snodes\",\"snodes.group\",\"snodes.group.uuid\",\"pnode\"]",
	      "[[0,[\"node2.example.com\"]],[0,[\"default\"]],"
	      "[0,[\"e4677306-5d6d-4a5b-8d6b-eee896e0db7a\"]],"
	      "[0,\"node1.example.com\"]]");
}

Test(query_instance, nics)
{
	fixture_begin(&f, rich);
	check("[\"nic.count\",\"nic.ips\",\"nic.modes\",\"nic.bridges\","
	      "\"nic.networks.names\",\"nic.networks\",\"nic.links\"]",
	      "[[0,2],[0,[\"192.0.2.1\",null]],[0,[\"bridged\",\"routed\"]],"
	      "[0,[\"br0\",null]],[0,[\"lan\",null]],[0,[\"net\",null]],"
	      "[0,[\"br0\",\"br0\"]]]");
	check("[\"nic.mac/1\",\"nic.ip/1\",\"nic.bridge/0\",\"nic.bridge/1\","
	      "\"nic.network.name/0\",\"nic.mode/7\",\"ip\",\"nic_network\"]",
	      "[[0,\"aa:00:00:00:00:02\"],[3,null],[0,\"br0\"],[3,null],"
	      "[0,\"lan\"],[3,null],[0,\"192.0.2.1\"],[0,\"net\"]]");
	check("[\"custom_nicparams\"]", "[[0,[{},{\"mode\":\"routed\"}]]]");
}

Test(query_instance, parameters)
{
	fixture_begin(&f, rich);
	check("[\"be/memory\",\"be/minmem\",\"be/auto_balance\",\"vcpus\","
	      "\"hv/acpi\",\"custom_hvparams\",\"hvparams\"]",
	      "[[0,64],[0,64],[0,true],[0,1],[3,null],[0,{}],"
	      "[0,{}]]");
}

Test(query_instance, networks_count_addresses)
{
	auto_json json_t *got = NULL;
	auto_json json_t *want = fixture_parse(
		"[[0,\"lan\"],[0,\"XX.X\"],[0,1],[0,3],"
		"[0,\"192.0.2.0, 192.0.2.3\"],[0,[\"inst48.example.com\"]],"
		"[0,1],[0,[[\"default\",\"bridged\",\"br0\",\"\"]]],[0,1],"
		"[3,null]]");

	fixture_begin(&f, rich);
	json_object_set_new(
		json_object_get(
			config_find(f.m.config, CONFIG_GROUP, "default"),
			"networks"),
		"net",
		json_make("{s:s, s:s, s:s}", "mode", "bridged", "link", "br0",
			  "vlan", ""));
	got = fixture_query(
		&f, "network",
		"[\"name\",\"map\",\"free_count\",\"reserved_count\","
		"\"external_reservations\",\"inst_list\",\"inst_cnt\","
		"\"group_list\",\"group_cnt\",\"gateway6\"]",
		"null");
	compat_assert_same(json_array_get(json_get(got, "data"), 0), want);
}
