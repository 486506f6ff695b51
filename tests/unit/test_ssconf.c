/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/model/config/ssconf.h"
#include "tests/lib/compat.h"

#define STATE "state/node1/var-lib-ganeti/"

static void check_text(const json_t *values, const char *key, const char *want)
{
	auto_free char *text = ssconf_text(json_object_get(values, key));

	cr_assert_str_eq(text, want, "%s", key);
}

Test(ssconf, has_all_34_keys)
{
	auto_json json_t *config = compat_read("config.data");
	auto_json json_t *values = ssconf_values(config);
	const char *key;
	json_t *value;

	cr_assert_eq(json_object_size(values), 34);
	json_object_foreach (values, key, value)
		cr_assert(ssconf_is_key(key), "%s", key);
	cr_assert_not(ssconf_is_key("../../etc/passwd"));
	cr_assert_not(ssconf_is_key("hvparams_vmware"));
}

Test(ssconf, values_of_a_real_cluster)
{
	auto_json json_t *config = compat_read("config.data");
	auto_json json_t *values = ssconf_values(config);

	check_text(values, "cluster_tags", "owner:me");
	check_text(values, "maintain_node_health", "False");
	check_text(values, "master_node", "node1.example.com");
	check_text(values, "master_netmask", "32");
	check_text(values, "offline_nodes", "");
	check_text(values, "master_candidates",
		   "node3.example.com\nnode1.example.com\nnode2.example.com");
	check_text(values, "node_vm_capable",
		   "node1.example.com=True\nnode2.example.com=True\n"
		   "node3.example.com=True");
	check_text(values, "instance_list",
		   "inst5.example.com\ninst6.example.com\ninst8.example.com\n"
		   "inst10.example.com\ninst20.example.com\n"
		   "inst48.example.com");
	check_text(values, "hvparams_lxc",
		   "cpu_mask=\ndevices=c 1:3 rw,c 1:5 rw,c 1:7 rw,c 1:8 rw,"
		   "c 1:9 rw,c 1:10 rw,c 5:0 rw,c 5:1 rw,c 5:2 rw,c 136:* rw\n"
		   "drop_capabilities=mac_override,sys_boot,sys_module,"
		   "sys_time,sys_admin\nextra_cgroups=\nextra_config=\n"
		   "num_ttys=6\nstartup_timeout=30");
}

Test(ssconf, offline_nodes_and_own_ports_show)
{
	auto_json json_t *config = compat_read("config.data");
	json_t *node3 = json_object_get(json_object_get(config, "nodes"),
					"92ae36ee-0dda-420f-8fa8-6707b30a77c8");
	auto_json json_t *values = NULL;

	json_set_bool(node3, "offline", true);
	json_set_bool(node3, "master_candidate", false);
	json_set_bool(node3, "vm_capable", false);
	json_set_int(json_object_get(node3, "ndparams"), "ssh_port", 2222);
	json_object_set_new(json_object_get(config, "cluster"), "uid_pool",
			    json_make("[[i, i], [i, i]]", 5, 5, 7, 9));
	values = ssconf_values(config);
	check_text(values, "offline_nodes", "node3.example.com");
	check_text(values, "online_nodes",
		   "node1.example.com\nnode2.example.com");
	check_text(values, "master_candidates_ips",
		   "198.51.100.11\n198.51.100.12");
	check_text(values, "ssh_ports",
		   "node1.example.com=22\nnode2.example.com=22\n"
		   "node3.example.com=2222");
	check_text(values, "uid_pool", "5\n7-9");
}

Test(ssconf, no_name_makes_lines_of_its_own)
{
	auto_json json_t *config = compat_read("config.data");
	json_t *groups = json_object_get(config, "nodegroups");
	auto_json json_t *values = NULL;
	auto_free char *text = NULL;

	json_set_str(json_object_iter_value(json_object_iter(groups)), "name",
		     "a\nforged default");
	values = ssconf_values(config);
	text = ssconf_text(json_object_get(values, "nodegroups"));
	cr_assert_null(strchr(text, '\n'));
	cr_assert_not_null(strstr(text, " a?forged default"));
}

/* All files that Ganeti wrote from the recorded configuration. */
Test(ssconf, equals_the_recorded_files_byte_for_byte)
{
	auto_json json_t *config = compat_read_shared(STATE "config.data");
	auto_json json_t *values = NULL;
	const char *key;
	json_t *value;

	values = ssconf_values(config);
	json_object_foreach (values, key, value) {
		auto_free char *file =
			xprintf(COMPAT_SHARED STATE "ssconf_%s", key);
		auto_free char *ours = ssconf_text(value);
		struct error err;
		size_t len;
		auto_free char *theirs =
			fs_read(file, SSCONF_READ_MAX, &len, &err);

		cr_assert_not_null(theirs, "%s", err.text);
		if (len > 0)
			theirs[len - 1] = '\0';
		cr_assert_str_eq(ours, theirs, "%s", key);
	}
}

/* A cluster of n nodes: node1, node2 ... */
static json_t *big_config(int n)
{
	json_t *nodes = json_object();

	for (int i = n; i > 0; i--) {
		auto_free char *uuid = xprintf("uuid-%d", i);
		auto_free char *name = xprintf("node%d", i);
		auto_free char *ip = xprintf("ip-%d", i);

		json_object_set_new(nodes, uuid,
				    json_make("{s:s, s:s, s:s, s:b}", "name",
					      name, "primary_ip", ip,
					      "secondary_ip", ip, "vm_capable",
					      i != 10));
	}
	return json_make("{s:{}, s:o}", "cluster", "nodes", nodes);
}

Test(ssconf, nodes_are_in_the_order_of_their_names)
{
	auto_json json_t *config = big_config(10);
	auto_json json_t *values = ssconf_values(config);

	check_text(values, "node_list",
		   "node1\nnode2\nnode3\nnode4\nnode5\nnode6\nnode7\nnode8\n"
		   "node9\nnode10");
	check_text(values, "node_primary_ips",
		   "node1 ip-1\nnode2 ip-2\nnode3 ip-3\nnode4 ip-4\n"
		   "node5 ip-5\nnode6 ip-6\nnode7 ip-7\nnode8 ip-8\n"
		   "node9 ip-9\nnode10 ip-10");
	check_text(values, "node_vm_capable",
		   "node1=True\nnode2=True\nnode3=True\nnode4=True\n"
		   "node5=True\nnode6=True\nnode7=True\nnode8=True\n"
		   "node9=True\nnode10=False");
}

#define MANY 8000

Test(ssconf, of_many_nodes_none_is_missing)
{
	auto_json json_t *config = big_config(MANY);
	auto_json json_t *values = ssconf_values(config);

	cr_assert_eq(json_array_size(json_object_get(values, "online_nodes")),
		     MANY);
}
