/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of the cluster: what is taken, and what is not, in a simulated
 * cluster. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/lu/parts/volumes.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(cluster_params, .init = setup, .fini = teardown, .timeout = 60);

static json_t *set_cluster(const char *key, json_t *value STEALS)
{
	json_t *op = json_make("{s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS");

	json_object_set_new(op, key, value);
	return op;
}

Test(cluster_params, nodes_say_whether_they_take_parameters_of_the_cluster)
{
	json_t *hv = json_make("{s:{s:s}}", "fake", "migration_mode", "live");

	s.nodes[2].fail_on = "hypervisor_validate_params";
	expect(set_cluster("hvparams", json_incref(hv)),
	       "validation failed on node " NODE3);
	s.nodes[2].fail_on = NULL;
	expect(set_cluster("hvparams", hv), "success");
}

Test(cluster_params, a_hypervisor_is_enabled_where_all_nodes_have_it)
{
	json_t *op = set_cluster("enabled_hypervisors",
				 json_make("[s, s]", "fake", "kvm"));

	s.nodes[2].fail_on = "hypervisor_validate_params";
	expect(json_incref(op), "Hypervisor kvm: Hypervisor parameter "
				"validation failed on node " NODE3);
	cr_expect_eq(json_array_size(json_get(config_cluster(s.master->config),
					      "enabled_hypervisors")),
		     1);
	/* What is enabled already need not work everywhere. */
	expect(set_cluster("enabled_hypervisors", json_make("[s]", "fake")),
	       "success");
	s.nodes[2].fail_on = NULL;
	expect(op, "success");
}

Test(cluster_params, values_of_the_cluster_are_checked)
{
	expect(set_cluster("master_netmask", json_integer(99)), "not valid");
	expect(set_cluster("master_netdev", json_string("")),
	       "cannot be empty");
	expect(set_cluster("max_running_jobs", json_integer(1LL << 32)),
	       "max_running_jobs is too large");
	expect(set_cluster("max_tracked_jobs", json_integer(1LL << 32)),
	       "max_tracked_jobs is too large");
	expect(set_cluster("install_image", json_string("relative")),
	       "absolute path or a URL");
	expect(set_cluster("install_image", json_string("http://x/y")),
	       "success");
	expect(set_cluster("install_image", json_string("")), "success");
	expect(set_cluster("shared_file_storage_dir", json_string("a")),
	       "no absolute path");
	expect(set_cluster("shared_file_storage_dir", json_string("")),
	       "'sharedfile' is enabled");
	expect(set_cluster("file_storage_dir", json_string("")), "success");
	expect(set_cluster("enabled_disk_templates",
			   json_make("[s, s, s]", "diskless", "sharedfile",
				     "file")),
	       "'file' is enabled");
	expect(set_cluster("zeroing_image", json_string("")),
	       "absolute path or a URL");
	expect(set_cluster("compression_tools", json_make("[s]", "/bin/gzip")),
	       "wrong_input");
}

Test(cluster_params, cluster_parameters_that_would_be_ignored_are_refused)
{
	json_t *op;

	expect(set_cluster("enabled_data_collectors", json_object()),
	       "success");
	expect(set_cluster("enabled_data_collectors",
			   json_make("{s:b}", "moon", 1)),
	       "no data collector 'moon'");
	expect(set_cluster("data_collector_interval",
			   json_make("{s:i}", "lv", 0)),
	       "above zero");
	expect(set_cluster("remove_uids", json_make("[[i, i]]", 1, 2)),
	       "not in the pool");
	expect(set_cluster("vg_name", json_string("")), "success");
	cr_assert(json_is_null(json_object_get(config_cluster(s.master->config),
					       "volume_group_name")));
	expect(set_cluster("mac_prefix", json_string("zz")), "wrong_input");
	expect(set_cluster("mac_prefix", json_string("AA:0b:0C")), "success");
	cr_assert_str_eq(
		json_str(config_cluster(s.master->config), "mac_prefix", ""),
		"aa:0b:0c");
	expect(set_cluster("enabled_disk_templates",
			   json_make("[s]", "diskless")),
	       "allowed by the ipolicy, but not enabled");
	op = set_cluster("enabled_disk_templates",
			 json_make("[s]", "diskless"));
	json_object_set_new(op, "ipolicy",
			    json_make("{s:[s]}", "disk-templates", "diskless"));
	expect(op, "success");
	expect(set_cluster("ipolicy", json_make("{s:[s, s]}", "disk-templates",
						"diskless", "plain")),
	       "not enabled on the cluster: plain");
}

Test(cluster_params, patterns_of_volumes_are_regular_expressions)
{
	expect(set_cluster("reserved_lvs",
			   json_make("[s, s]", "xenvg/.*", "(")),
	       "'(' in the list of reserved volumes");
	/* They are read inside of parentheses. */
	expect(set_cluster("reserved_lvs", json_make("[s]", "a)(b")),
	       "'a)(b' in the list of reserved volumes");
	expect(set_cluster("reserved_lvs", json_make("[s]", "xenvg/(a|b)")),
	       "success");
	/* As in Python. */
	expect(set_cluster("reserved_lvs",
			   json_make("[s]", "xenvg/(?:a|b)\\d")),
	       "success");
	cr_expect(volumes_match("xenvg/(?:a|b)\\d", "xenvg/b7"));
	cr_expect_not(volumes_match("xenvg/(?:a|b)\\d", "xenvg/bd"));
	cr_expect_not(volumes_match("xenvg/a|b", "xenvg/ab"));
	cr_expect_not(volumes_match("(", "("));
}

/* --- volumes and mirrors --- */

static json_t *op_storage(const char *templates, const char *group,
			  const char *helper)
{
	auto_strv struct strv names = {0};

	str_split(&names, templates, ',');
	return json_make("{s:s, s:o, s:s?, s:s?}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "enabled_disk_templates",
			 json_from_strv(&names), "vg_name", group,
			 "drbd_helper", helper);
}

#define FEW "sharedfile,diskless"

Test(cluster_params, volumes_need_a_group_that_all_nodes_have)
{
	expect(op_storage(FEW ",plain", NULL, NULL),
	       "specify a volume group when enabling");
	expect(op_storage(FEW ",plain", "other", NULL),
	       "Error on node 'node1.example.com': volume group 'other' "
	       "missing");
	s.nodes[2].fail_on = "vg_list"; /* which is ignored */
	expect(op_storage(FEW ",plain", "xenvg", NULL), "success");
	s.nodes[2].fail_on = NULL;
	expect(set_cluster("vg_name", json_string("other")), "missing");
	expect(set_cluster("vg_name", json_string("")),
	       "Cannot unset volume group");
	expect(op_storage(FEW, "", NULL), "success");
	expect(set_cluster("vg_name", json_string("other")), "success");
	expect(op_storage(FEW ",plain", NULL, NULL), "missing");
}

Test(cluster_params, mirrors_need_the_helper_that_all_nodes_have)
{
	expect(op_storage(FEW ",drbd", "xenvg", NULL),
	       "Cannot enable DRBD without a DRBD usermode helper");
	expect(op_storage(FEW ",drbd", "xenvg", "/bin/false"),
	       "Error on node 'node1.example.com': drbd helper is /bin/true");
	s.nodes[2].fail_on = "drbd_helper";
	expect(op_storage(FEW ",drbd", "xenvg", "/bin/true"),
	       "Error checking drbd helper on node 'node3.example.com'");
	s.nodes[2].fail_on = NULL;
	expect(op_storage(FEW ",drbd", "xenvg", "/bin/true"), "success");
	expect(set_cluster("drbd_helper", json_string("")),
	       "Cannot disable drbd helper while DRBD is enabled");
	expect(op_storage(FEW, "", ""), "success");
}

static const char *metavg(void)
{
	const json_t *cluster = config_cluster(s.master->config);

	return json_str(json_get(json_get(cluster, "diskparams"), "drbd"),
			"metavg", "");
}

static json_t *set_metavg(const char *value)
{
	return set_cluster("diskparams",
			   json_make("{s:{s:s}}", "drbd", "metavg", value));
}

/* Else mirrors need a group that nobody has. */
Test(cluster_params, metadata_of_mirrors_follow_the_volume_group)
{
	json_t *op;

	expect(set_cluster("vg_name", json_string("")), "success");
	cr_expect_str_eq(metavg(), "xenvg");
	expect(set_cluster("vg_name", json_string("first")), "success");
	cr_expect_str_eq(metavg(), "first");
	expect(set_cluster("vg_name", json_string("second")), "success");
	cr_expect_str_eq(metavg(), "second");
	expect(set_metavg("own"), "success");
	expect(set_cluster("vg_name", json_string("third")), "success");
	cr_expect_str_eq(metavg(), "own");
	expect(set_metavg("default"), "success");
	cr_expect_str_eq(metavg(), "third");
	op = set_metavg("third");
	json_set_str(op, "vg_name", "fourth");
	expect(op, "success");
	cr_expect_str_eq(metavg(), "third", "it was asked for");
}

/* --- what instances use --- */

static json_t *op_templates(const char *a, const char *b)
{
	return json_make("{s:s, s:[s, s], s:{s:[s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "enabled_disk_templates", a,
			 b, "ipolicy", "disk-templates", a);
}

Test(cluster_params, what_disks_use_is_not_disabled)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");
	json_t *cluster;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_templates("gluster", "diskless"), "instance web1 uses it");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	json_object_set_new(op, "disks",
			    json_make("[[s, i, {}]]", "detach", 0));
	expect(op, "success");
	expect(op_templates("gluster", "diskless"), "the detached disk");
	expect(op_templates("sharedfile", "gluster"),
	       "Cannot disable disk template 'diskless', instance web1");
	/* What is not enabled anyway is not disabled. */
	cluster = config_edit(config_cluster(s.master->config));
	json_object_set_new(cluster, "enabled_disk_templates",
			    json_make("[s]", "diskless"));
	config_put_cluster(s.master->config, cluster);
	expect(op_templates("diskless", "gluster"), "success");
}

Test(cluster_params, nics_without_addresses_are_not_routed)
{
	json_t *op = op_add("web1", NODE2, true);

	json_object_set_new(op, "nics",
			    json_make("[{s:s}, {}]", "ip", "192.0.2.9"));
	expect(op, "success");
	expect(set_cluster("nicparams", json_make("{s:s}", "mode", "routed")),
	       "Instance web1, nic/1: routed NIC with no ip address");
	expect(set_cluster("nicparams", json_make("{s:s}", "link", "br7")),
	       "success");
}

Test(cluster_params, nics_that_are_not_routed_need_a_link)
{
	json_t *op = op_add("web1", NODE2, true);
	json_t *no_link = json_make("{s:s, s:s}", "mode", "routed", "link", "");

	json_object_set_new(op, "nics",
			    json_make("[{s:s}, {s:s, s:s}]", "ip", "192.0.2.9",
				      "mode", "bridged", "ip", "192.0.2.10"));
	expect(op, "success");
	expect(set_cluster("nicparams", json_incref(no_link)),
	       "Instance web1, nic/1: a bridged NIC needs the name of a link");
	op = op_named("OP_INSTANCE_SET_PARAMS", "web1");
	json_object_set_new(
		op, "nics",
		json_make("[[s, i, {s:s}]]", "modify", 1, "link", "br7"));
	expect(op, "success");
	expect(set_cluster("nicparams", no_link), "success");
}

static json_t *op_nics(const char *name)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", name);

	json_object_set_new(op, "nics", json_make("[[s, i, {}]]", "add", -1));
	return op;
}

/* It may be changed in everything else, and is named when it happens. */
Test(cluster_params, more_least_memory_than_an_instance_may_have)
{
	json_t *op = op_add("web1", NODE2, true);
	const struct job *j;
	uint64_t id;

	json_object_set_new(op, "beparams", json_make("{s:i}", "maxmem", 256));
	expect(op, "success");
	id = sim_submit(
		&s,
		set_cluster("beparams", json_make("{s:i, s:i}", "minmem", 512,
						  "maxmem", 512)),
		NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	cr_expect_not_null(strstr(j->ops[0].log.data ?: "", "web1"));
	expect(op_nics("web1"), "success");
	op = op_named("OP_INSTANCE_SET_PARAMS", "web1");
	json_object_set_new(op, "beparams", json_make("{s:i}", "vcpus", 2));
	expect(op, "minmem (512 MiB) is more than maxmem (256 MiB)");
}

static json_t *in_userspace(void)
{
	return json_make("{s:{s:s}}", "gluster", "access", "userspace");
}

static json_t *op_group(void)
{
	return json_make("{s:s, s:s, s:o}", "OP_ID", "OP_GROUP_SET_PARAMS",
			 "group_name", "default", "diskparams", in_userspace());
}

Test(cluster_params, disks_are_reached_as_their_hypervisor_can)
{
	static const char why[] =
		"Instance web1: cannot use 'userspace' access setting with "
		"fake hypervisor and gluster disk type";
	json_t *op = op_add("web1", NODE2, true);

	expect(op_templates("gluster", "sharedfile"), "success");
	json_set_str(op, "disk_template", "gluster");
	expect(op, "success");
	expect(set_cluster("diskparams", in_userspace()), why);
	expect(op_group(), why);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	expect(op_group(), "success");
	expect(set_cluster("diskparams", in_userspace()), "success");
}

Test(cluster_params, what_the_cluster_resets_has_the_built_in_value)
{
	const json_t *cluster;

	expect(set_cluster("ndparams", json_make("{s:f}", "cpu_speed", 1.5)),
	       "success");
	expect(set_cluster("ndparams",
			   json_make("{s:s}", "cpu_speed", "default")),
	       "success");
	expect(set_cluster("beparams", json_make("{s:s}", "vcpus", "default")),
	       "success");
	expect(set_cluster("diskparams", json_make("{s:{s:s}}", "plain",
						   "stripes", "default")),
	       "success");
	expect(set_cluster("ipolicy",
			   json_make("{s:{s:i}}", "std", "memory-size", 64)),
	       "success"); /* the other sizes stay */
	expect(set_cluster("ipolicy",
			   json_make("{s:{s:i}}", "std", "moons", 1)),
	       "Unknown parameter 'moons'");
	cluster = config_cluster(s.master->config);
	cr_expect_eq(json_int(json_get(cluster, "ndparams"), "cpu_speed", 0),
		     1);
	cr_expect_eq(
		json_int(json_get(json_get(cluster, "beparams"), "default"),
			 "vcpus", 0),
		1);
	cr_expect_eq(
		json_int(json_get(json_get(cluster, "diskparams"), "plain"),
			 "stripes", 0),
		1);
}
