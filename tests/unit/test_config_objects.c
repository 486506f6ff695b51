/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/model/config/config_objects.h"

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

Test(config_objects, members_are_read)
{
	auto_json json_t *node = json_make(
		"{s:s, s:b, s:[s], s:n, s:f}", "name", "node1", "offline", true,
		"tags", "a", "secondary_ip", "mtime", 2.5);
	auto_json json_t *disk =
		json_make("{s:i, s:s}", "size", 1024, "other", "kept");

	cr_assert_str_eq(node_name(node), "node1");
	cr_assert(node_offline(node));
	cr_assert_eq(node_tags(node), json_object_get(node, "tags"));
	cr_assert_float_eq(node_mtime(node), 2.5, 1e-9);
	cr_assert_eq(disk_size_mib(disk), 1024);
	cr_assert_eq(disk_size_mib_value(disk), json_object_get(disk, "size"));
}

Test(config_objects, what_is_missing_or_null_is_the_fallback)
{
	auto_json json_t *node =
		json_make("{s:n, s:n}", "secondary_ip", "vm_capable");
	auto_json json_t *empty = json_object();

	cr_assert_str_eq(node_secondary_ip(node), "");
	cr_assert_str_eq(node_secondary_ip_or(node, "10.0.0.1"), "10.0.0.1");
	cr_assert(node_vm_capable(node));
	cr_assert_not(node_vm_capable_or(node, false));
	cr_assert_not(node_has_vm_capable(node));
	cr_assert_null(node_vm_capable_value(node));
	cr_assert_str_eq(cluster_ssh_key_type(empty), "rsa");
	cr_assert_null(nic_network(empty));
	cr_assert_null(inst_nics(empty));
	cr_assert_str_eq(inst_primary_node(NULL), "");
	cr_assert_not(inst_has_uuid(NULL));
	cr_assert_float_eq(ipolicy_vcpu_ratio(empty), 1.0, 1e-9);
}

Test(config_objects, members_are_set_and_dropped)
{
	auto_json json_t *inst = json_make("{s:s}", "of_tomorrow", "kept");

	inst_set_name(inst, "web1");
	inst_set_forthcoming(inst, true);
	inst_set_network_port(inst, 11000);
	inst_set_primary_node(inst, NULL);
	inst_set_tags(inst, json_make("[s]", "a"));
	json_array_append_new(inst_own_tags(inst), json_string("b"));
	inst_set_mtime(inst, 1.5);
	cr_assert_str_eq(inst_name(inst), "web1");
	cr_assert_eq(inst_network_port(inst), 11000);
	cr_assert(json_is_null(json_object_get(inst, "primary_node")));
	cr_assert_eq(json_array_size(inst_tags(inst)), 2);
	cr_assert_float_eq(inst_mtime(inst), 1.5, 1e-9);
	inst_drop_forthcoming(inst);
	cr_assert_null(json_object_get(inst, "forthcoming"));
	cr_assert_str_eq(json_str(inst, "of_tomorrow", ""), "kept");
}

Test(config_objects, a_member_has_the_name_of_the_file)
{
	cr_assert_str_eq(CONFIG_MEMBER(cluster, os_hvp), "os_hvp");
}

/* --- parameters --- */

Test(config_objects, parameters_that_are_missing_read_as_their_defaults)
{
	auto_json json_t *be = params_default_be();
	auto_json json_t *nd = params_default_nd();

	cr_assert_eq(be_maxmem(be), be_maxmem(NULL));
	cr_assert_eq(be_minmem(be), 128);
	cr_assert(be_auto_balance(NULL));
	cr_assert_not(be_always_failover(be));
	cr_assert_eq(nd_ssh_port(nd), nd_ssh_port(NULL));
	cr_assert_float_eq(nd_cpu_speed(NULL), 1.0, 1e-9);
	cr_assert_str_eq(nicparams_mode(NULL), "bridged");
	json_set_int(be, "maxmem", 512);
	cr_assert_eq(be_maxmem(be), 512);
}

/* A parameter that may be null is the empty text then, never its default: null
 * says that there is none. */
Test(config_objects, a_parameter_that_is_null_is_no_default)
{
	auto_json json_t *nd = json_make("{s:n}", "ovs_name");

	cr_assert_str_eq(nd_ovs_name(nd), "");
}
