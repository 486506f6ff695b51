/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks, in a simulated cluster whose nodes have 192.0.2.1 and up. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(networks, .init = setup, .fini = teardown, .timeout = 60);

static json_t *op(const char *id)
{
	return json_make("{s:s, s:s}", "OP_ID", id, "network_name", "net1");
}

static json_t *with(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
	return object;
}

static json_t *add(const char *subnet)
{
	return with(op("OP_NETWORK_ADD"), "network", json_string(subnet));
}

static json_t *connect_op(void)
{
	return json_make("{s:s, s:s, s:s, s:s, s:s}", "OP_ID",
			 "OP_NETWORK_CONNECT", "network_name", "net1",
			 "group_name", "default", "network_mode", "bridged",
			 "network_link", "br0");
}

static json_t *with_vlan(json_t *op STEALS, const char *vlan)
{
	json_object_set_new(op, "network_vlan", json_string(vlan));
	return op;
}

static json_t *disconnect_op(void)
{
	return with(op("OP_NETWORK_DISCONNECT"), "group_name",
		    json_string("default"));
}

static const json_t *net(void)
{
	return config_find(s.master->config, CONFIG_NETWORK, "net1");
}

static const json_t *connections(void)
{
	return json_get(config_find(s.master->config, CONFIG_GROUP, "default"),
			"networks");
}

Test(networks, a_new_one_keeps_addresses_that_are_in_use)
{
	expect(with(add("192.0.2.0/28"), "gateway", json_string("192.0.2.14")),
	       "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""),
			 "1111000000000011");
	cr_expect_str_eq(json_str(net(), "gateway", ""), "192.0.2.14");
	expect(add("198.51.100.0/24"), "already exists");
}

Test(networks, wrong_values_are_refused)
{
	expect(with(add("198.51.100.0/24"), "gateway",
		    json_string("203.0.113.1")),
	       "is not in network");
	expect(with(add("198.51.100.0/24"), "mac_prefix", json_string("zz:00")),
	       "Invalid MAC");
	expect(with(add("198.51.100.0/24"), "network6",
		    json_string("2001:db8::1/64")),
	       "host bits");
	expect(with(add("198.51.100.0/24"), "tags", json_make("[s]", "a b")),
	       "TagError");
	expect(with(with(add("198.51.100.0/24"), "network6",
			 json_string("2001:db8::/64")),
		    "gateway6", json_string("2001:db9::1")),
	       "IPv6 gateway");
	cr_expect_null(net());
}

/* Names are looked up before UUIDs. */
Test(networks, a_name_that_looks_like_a_uuid_is_refused)
{
	static const char uuid[] = "11111111-2222-4333-8444-555555555555";

	expect(with(add("198.51.100.0/29"), "network_name", json_string(uuid)),
	       "looks like a UUID");
	expect(add("198.51.100.0/29"), "success");
	expect(with(op("OP_NETWORK_RENAME"), "new_name", json_string(uuid)),
	       "looks like a UUID");
	cr_expect_not_null(net());
}

Test(networks, a_router_may_have_a_link_local_address)
{
	expect(with(with(add("198.51.100.0/24"), "network6",
			 json_string("2001:db8::/64")),
		    "gateway6", json_string("fe80::1")),
	       "success");
	cr_expect_str_eq(json_str(net(), "gateway6", ""), "fe80::1");
}

Test(networks, reserved_addresses_come_and_go)
{
	expect(add("198.51.100.0/29"), "success");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "add_reserved_ips",
		    json_make("[s]", "198.51.100.3")),
	       "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10010001");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "remove_reserved_ips",
		    json_make("[s]", "198.51.100.3")),
	       "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10000001");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "gateway",
		    json_string("198.51.100.1")),
	       "success");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "gateway",
		    json_string("198.51.100.2")),
	       "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10100001");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "remove_reserved_ips",
		    json_make("[s, s]", "198.51.100.2", "203.0.113.1")),
	       "success"); /* two warnings */
	expect(with(op("OP_NETWORK_SET_PARAMS"), "add_reserved_ips",
		    json_make("[s, s]", "203.0.113.1", "198.51.100.5")),
	       "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10100101");
}

Test(networks, a_connected_one_stays)
{
	expect(add("198.51.100.0/24"), "success");
	expect(connect_op(), "success");
	cr_expect_str_eq(
		json_str(json_get(connections(), json_str(net(), "uuid", "")),
			 "link", ""),
		"br0");
	expect(connect_op(), "success"); /* again: a warning */
	expect(op("OP_NETWORK_REMOVE"), "connected to these groups: default");
	expect(disconnect_op(), "success");
	cr_expect_eq(json_object_size(connections()), 0);
	expect(disconnect_op(), "success");
	expect(with(op("OP_NETWORK_RENAME"), "new_name", json_string("net2")),
	       "success");
	expect(op("OP_NETWORK_REMOVE"), "not known");
}

static json_t *add_instance(const char *name, json_t *nic STEALS)
{
	return with(op_add(name, "node1.example.com", false), "nics",
		    json_make("[o]", nic));
}

static const json_t *first_nic(const char *name)
{
	const json_t *inst =
		config_find(s.master->config, CONFIG_INSTANCE, name);

	return json_array_get(json_get(inst, "nics"), 0);
}

Test(networks, instances_take_addresses_and_give_them_back)
{
	json_t *pool = json_make("{s:s, s:s}", "network", "net1", "ip", "pool");

	expect(with(add("198.51.100.0/29"), "mac_prefix",
		    json_string("aa:bb:cc")),
	       "success");
	expect(add_instance("web1", json_incref(pool)), "is not connected");
	expect(connect_op(), "success");
	expect(add_instance("web1", json_incref(pool)), "success");
	cr_expect_str_eq(json_str(first_nic("web1"), "ip", ""), "198.51.100.1");
	cr_expect_str_eq(
		json_str(json_get(first_nic("web1"), "nicparams"), "link", ""),
		"br0");
	cr_expect(str_starts(json_str(first_nic("web1"), "mac", ""),
			     "aa:bb:cc:"));
	cr_expect_str_eq(json_str(net(), "reservations", ""), "01000000");
	expect(add_instance("web2", json_make("{s:s, s:s}", "network", "net1",
					      "ip", "198.51.100.1")),
	       "already in use");
	expect(add_instance("web2", json_make("{s:s, s:s}", "network", "net1",
					      "ip", "203.0.113.1")),
	       "IP address 203.0.113.1 does not belong to network net1");
	expect(add_instance("web2", json_make("{s:s}", "ip", "pool")),
	       "needs the parameter network");
	expect(add_instance("web2", json_make("{s:s}", "ip", "198.51.100.4")),
	       "belongs to network net1, but the target NIC does not");
	expect(add_instance("web2", json_make("{s:s, s:s}", "network", "net1",
					      "link", "br1")),
	       "can't be given with it");
	expect(add_instance("web2", pool), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "01100000");
	expect(disconnect_op(), "in the way: web1");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00100000");
}

/* As that of a NIC without a network: Xen puts the dot behind the bridge. */
Test(networks, a_vlan_that_is_a_number_gets_its_dot)
{
	const json_t *defaults;

	expect(add("198.51.100.0/29"), "success");
	expect(with_vlan(connect_op(), "5"), "success");
	expect(add_instance("web1", json_make("{s:s}", "network", "net1")),
	       "success");
	cr_expect_str_eq(
		json_str(json_get(first_nic("web1"), "nicparams"), "vlan", ""),
		".5");
	expect(json_make("{s:s, s:{s:s}}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "nicparams", "vlan", "7"),
	       "success");
	defaults = json_get(
		json_get(config_cluster(s.master->config), "nicparams"),
		"default");
	cr_expect_str_eq(json_str(defaults, "vlan", ""), ".7");
}

static json_t *nic_with(const char *ip)
{
	return json_make("{s:s, s:s}", "network", "net1", "ip", ip);
}

static json_t *reserve(const char *key, const char *ip)
{
	return with(op("OP_NETWORK_SET_PARAMS"), key, json_make("[s]", ip));
}

Test(networks, an_address_of_an_instance_can_be_kept_from_others)
{
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	expect(reserve("add_reserved_ips", "198.51.100.3"), "success");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10010001");
	expect(with(op("OP_NETWORK_SET_PARAMS"), "gateway",
		    json_string("198.51.100.3")),
	       "is an instance's");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00000000");
	cr_expect_str_eq(json_str(net(), "ext_reservations", ""), "10010001");
	expect(add_instance("web1", nic_with("198.51.100.3")),
	       "already in use");
}

static json_t *unchecked(json_t *op STEALS)
{
	return with(op, "conflicts_check", json_false());
}

Test(networks, without_the_check_reserved_addresses_can_be_had_once)
{
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(reserve("add_reserved_ips", "198.51.100.3"), "success");
	expect(unchecked(add_instance("web1", nic_with("198.51.100.3"))),
	       "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00010000");
	expect(unchecked(add_instance("web2", nic_with("198.51.100.3"))),
	       "already in use");
	expect(unchecked(add_instance("web2", nic_with("198.51.100.4"))),
	       "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00011000");
	expect(reserve("remove_reserved_ips", "198.51.100.3"), "success");
	expect(add_instance("web3", nic_with("198.51.100.3")),
	       "already in use");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00001000");
}

/* What another program, or a hand, has left of the pool of addresses. */
static void put_reservations(const char *digits)
{
	struct config *c = s.master->config;
	json_t *changed = config_edit(net());

	json_set_str(changed, "reservations", digits);
	config_put(c, CONFIG_NETWORK, changed);
}

static bool is_well(void)
{
	auto_strv struct strv problems = {0};

	config_verify(s.master->config, &problems);
	return problems.n == 0;
}

Test(networks, what_is_reserved_for_nobody_can_be_freed)
{
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	put_reservations("00011000");
	cr_expect_not(is_well());
	expect(reserve("remove_reserved_ips", "198.51.100.4"), "success");
	expect(reserve("remove_reserved_ips", "198.51.100.3"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00010000");
	cr_expect(is_well());
	expect(add_instance("web2", nic_with("198.51.100.4")), "success");
}

Test(networks, what_an_instance_has_can_be_reserved_again)
{
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	put_reservations("00000000");
	cr_expect_not(is_well());
	expect(reserve("add_reserved_ips", "198.51.100.3"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00010000");
	cr_expect(is_well());
	expect(reserve("remove_reserved_ips", "198.51.100.3"), "success");
	cr_expect(is_well());
}

/* As older versions have allowed it. */
static void give_address_of(const char *from, const char *to)
{
	struct config *c = s.master->config;
	json_t *inst = config_edit(config_find(c, CONFIG_INSTANCE, to));

	json_object_set_new(inst, "nics",
			    json_make("[O]", json_unconst(first_nic(from))));
	config_put(c, CONFIG_INSTANCE, inst);
}

Test(networks, an_address_is_free_when_the_last_who_has_it_has_gone)
{
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	expect(add_instance("web2", json_object()), "success");
	give_address_of("web1", "web2");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00010000");
	expect(op_named("OP_INSTANCE_REMOVE", "web2"), "success");
	cr_expect_str_eq(json_str(net(), "reservations", ""), "00000000");
}

/* Only one node is in a group that has it. */
Test(networks, an_allocator_knows_which_are_needed)
{
	json_t *two =
		json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_GROUP_ASSIGN_NODES",
			  "group_name", "g2", "nodes", NODE3);
	json_t *create = op_add("web1", NULL, false);

	expect(json_make("{s:s, s:s, s:s}", "OP_ID", "OP_GROUP_ADD",
			 "group_name", "g2", "alloc_policy", "last_resort"),
	       "success");
	expect(two, "success");
	expect(add("198.51.100.0/29"), "success");
	expect(with(connect_op(), "group_name", json_string("g2")), "success");
	json_object_set_new(
		create, "nics",
		json_make("[{s:s, s:s}]", "network", "net1", "ip", "pool"));
	expect(create, "success");
	cr_expect_str_eq(
		config_name(s.master->config, CONFIG_NODE,
			    json_str(config_find(s.master->config,
						 CONFIG_INSTANCE, "web1"),
				     "primary_node", "")),
		NODE3);
}

static json_t *talk_over(const char *network)
{
	return json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "instance_communication_network", network);
}

/* The jobs that a job has submitted end after it. */
static void settle(void)
{
	expect(json_make("{s:s, s:f}", "OP_ID", "OP_TEST_DELAY", "duration",
			 30.0),
	       "success");
}

static const json_t *link_in(const char *group, const char *network)
{
	const struct config *c = s.master->config;
	const json_t *object = config_find(c, CONFIG_NETWORK, network);

	return json_get(
		json_get(config_find(c, CONFIG_GROUP, group), "networks"),
		json_str(object, "uuid", ""));
}

static json_t *add_group(const char *name)
{
	return json_make("{s:s, s:s}", "OP_ID", "OP_GROUP_ADD", "group_name",
			 name);
}

Test(networks, the_one_to_talk_over_is_made_and_connected_to_all_groups)
{
	const json_t *network;

	expect(add_group("g2"), "success");
	expect(talk_over("talk"), "success");
	settle();
	network = config_find(s.master->config, CONFIG_NETWORK, "talk");
	cr_assert_not_null(network);
	cr_expect_str_eq(json_str(network, "network", ""), "169.254.0.0/16");
	cr_expect_str_eq(json_str(network, "network6", ""), "fe80::/10");
	cr_expect_str_eq(json_str(network, "mac_prefix", ""), "52:54:00");
	cr_expect_str_eq(json_str(link_in("g2", "talk"), "mode", ""), "routed");
	cr_expect_str_eq(json_str(link_in("default", "talk"), "link", ""),
			 "communication_rt");
	expect(add_group("g3"), "success");
	settle();
	cr_expect_not_null(link_in("g3", "talk"));
	expect(talk_over(""), "success");
	expect(add_group("g4"), "success");
	settle();
	cr_expect_null(link_in("g4", "talk"));
	cr_expect_not_null(link_in("g3", "talk")); /* the admin's to remove */
}

Test(networks, one_that_is_there_is_used_to_talk_over_with_warnings)
{
	expect(add("198.51.100.0/24"), "success");
	expect(talk_over("net1"), "success");
	settle();
	cr_expect_str_eq(json_str(net(), "network", ""), "198.51.100.0/24");
	cr_expect_not_null(link_in("default", "net1"));
}

Test(networks, an_instance_gets_and_loses_its_nic_to_talk_over)
{
	json_t *change =
		json_make("{s:s, s:s, s:b}", "OP_ID", "OP_INSTANCE_SET_PARAMS",
			  "instance_name", "web1", "instance_communication", 1);
	const json_t *nics;

	expect(add_instance("web1", json_object()), "success");
	expect(json_incref(change), "needs the parameter network");
	expect(talk_over("talk"), "success");
	settle();
	expect(json_incref(change), "success");
	nics = json_get(config_find(s.master->config, CONFIG_INSTANCE, "web1"),
			"nics");
	cr_assert_eq(json_array_size(nics), 2);
	nics = json_array_get(nics, 1);
	cr_expect_str_eq(json_str(nics, "name", ""),
			 "ganeti:communication:web1");
	cr_expect_str_eq(json_str(nics, "ip", ""), "169.254.0.1");
	cr_expect(str_starts(json_str(nics, "mac", ""), "52:54:00:"));
	expect(json_incref(change), "success"); /* it has one */
	json_set_bool(change, "instance_communication", false);
	expect(change, "success");
	nics = json_get(config_find(s.master->config, CONFIG_INSTANCE, "web1"),
			"nics");
	cr_expect_eq(json_array_size(nics), 1);
}

Test(networks, nobody_gets_the_address_of_the_node)
{
	json_t *op = with(
		add_instance("web1", json_make("{s:s, s:s}", "network", "talk",
					       "ip", "169.254.169.254")),
		"instance_communication", json_true());

	expect(talk_over("talk"), "success");
	settle();
	expect(op, "already in use");
}

static json_t *move_to(const char *group, const char *node)
{
	return json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_GROUP_ASSIGN_NODES",
			 "group_name", group, "nodes", node);
}

/* Its node went to a group that the network is not connected to. */
Test(networks, one_that_an_instance_uses_stays)
{
	expect(add_group("g2"), "success");
	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	expect(move_to("g2", s.nodes[0].name), "success");
	expect(disconnect_op(), "success");
	expect(op("OP_NETWORK_REMOVE"), "NICs in it: web1");
	cr_expect_not_null(net());
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect(op("OP_NETWORK_REMOVE"), "success");
}

/* The error of a job that has failed, to be freed. */
static char *error_of(uint64_t id)
{
	cr_expect_str_eq(sim_wait(&s, id), "error");
	return xstrdup(queue_job(s.master->queue, id)->ops[0].result);
}

/* Not even when the instance comes while the hooks run. */
Test(networks, one_that_an_instance_has_just_taken_stays_connected)
{
	auto_free char *why = NULL;
	uint64_t id;

	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	s.nodes[1].slow = "hooks_runner";
	id = sim_submit(&s, disconnect_op(), NULL);
	expect(add_instance("web1", nic_with("198.51.100.3")), "success");
	why = error_of(id);
	cr_expect_not_null(strstr(why, "in the way: web1"), "%s", why);
	cr_expect_eq(json_object_size(connections()), 1);
}

/* A network that is not connected reserves no addresses. */
Test(networks, an_address_that_was_just_taken_outside_stays_outside)
{
	json_t *nic = json_make("{s:s}", "ip", "198.51.100.3");
	auto_free char *why = NULL;
	uint64_t id;

	expect(add("198.51.100.0/29"), "success");
	s.nodes[1].slow = "hooks_runner";
	id = sim_submit(&s, connect_op(), NULL);
	expect(add_instance("web1", nic), "success");
	why = error_of(id);
	cr_expect_not_null(strstr(why, "in the way: web1"), "%s", why);
	cr_expect_eq(json_object_size(connections()), 0);
}

/* While the node of a creation is asked for its memory. */
Test(networks, one_that_has_gone_meanwhile_is_nobodys)
{
	auto_free char *why = NULL;
	uint64_t id;

	expect(add("198.51.100.0/29"), "success");
	expect(connect_op(), "success");
	s.nodes[0].slow = "node_info";
	id = sim_submit(&s, add_instance("web1", nic_with("198.51.100.3")),
			NULL);
	expect(disconnect_op(), "success");
	expect(op("OP_NETWORK_REMOVE"), "success");
	why = error_of(id);
	cr_expect_not_null(strstr(why, "Network"), "%s", why);
	cr_expect_null(config_find(s.master->config, CONFIG_INSTANCE, "web1"));
}

/* Also without a network. */
Test(networks, an_address_that_is_taken_is_no_accident)
{
	json_t *nic = json_make("{s:s}", "ip", "203.0.113.9");

	expect(add_instance("web1", json_incref(nic)), "success");
	expect(add_instance("web2", json_object()), "success");
	expect(add_instance("web3", json_incref(nic)), "resource_not_unique");
	expect(with(op_named("OP_INSTANCE_SET_PARAMS", "web2"), "nics",
		    json_make("[[s, i, O]]", "modify", 0, nic)),
	       "resource_not_unique");
	expect(with(op_named("OP_INSTANCE_SET_PARAMS", "web2"), "nics",
		    json_make("[[s, i, o]]", "add", -1, nic)),
	       "resource_not_unique");
}
