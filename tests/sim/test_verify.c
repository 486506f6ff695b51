/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster verify, in a simulated cluster: for each of its codes a fault
 * that brings it about.  tests/daemon/186-verify.t has those that real daemons
 * show. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "masterd/config/config.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

/* What was broken stays so. */
static void leave_broken(void)
{
	sim_done(&s);
}

TestSuite(verify, .init = setup, .fini = teardown, .timeout = 60);
TestSuite(verify_broken, .init = setup, .fini = leave_broken, .timeout = 60);

/* Answers of nodes that have LVM and DRBD, all in order. */
#define STORAGE                                                                \
	"{\"vglist\": {\"xenvg\": 99999}, \"lvlist\": {}, "                    \
	"\"pvlist\": [{\"name\": \"/dev/sda\", \"size\": 99999}], "            \
	"\"drbd-helper\": [true, \"/bin/true\"], \"drbd-list\": [], "          \
	"\"drbd-version\": \"8.4.11\"}"

static void set_member(const char *key, json_t *value STEALS)
{
	json_t *cluster = config_edit(config_cluster(s.master->config));

	json_object_set_new(cluster, key, value);
	config_put_cluster(s.master->config, cluster);
}

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

static void say(size_t node, const char *text)
{
	json_t **says = &s.nodes[node].verify_says;
	auto_json json_t *more = parse(text);

	if (*says == NULL)
		*says = json_object();
	json_object_update(*says, more);
}

static void with_storage(void)
{
	const json_t *policy =
		json_get(config_cluster(s.master->config), "ipolicy");
	json_t *wide = json_copy(json_unconst(policy));

	json_object_set_new(wide, "disk-templates",
			    parse("[\"plain\", \"drbd\", \"sharedfile\"]"));
	set_member("ipolicy", wide);
	set_member("volume_group_name", json_string("xenvg"));
	set_member("drbd_usermode_helper", json_string("/bin/true"));
	set_member(
		"enabled_disk_templates",
		parse("[\"plain\", \"drbd\", \"sharedfile\", \"diskless\"]"));
	for (size_t i = 0; i < 3; i++)
		say(i, STORAGE);
}

/* Run a verification; its log, to be freed, and whether all was well. */
static char *verify(json_t *op STEALS, bool *ret_well)
{
	uint64_t id = sim_submit(&s, op, NULL);
	const struct job *j;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	*ret_well = strcmp(j->ops[0].result, "true") == 0;
	return xmemdup(j->ops[0].log.data, j->ops[0].log.len + 1);
}

static json_t *group_op(void)
{
	return json_make("{s:s, s:s, s:b}", "OP_ID", "OP_CLUSTER_VERIFY_GROUP",
			 "group_name", "default", "error_codes", 1);
}

static json_t *config_op(void)
{
	return json_make("{s:s, s:b}", "OP_ID", "OP_CLUSTER_VERIFY_CONFIG",
			 "error_codes", 1);
}

/* The log has that line, "ERROR:CODE:kind:name:...". */
static void expect_line(json_t *op STEALS, const char *line)
{
	bool well;
	auto_free char *log = verify(op, &well);

	cr_expect_not_null(strstr(log, line), "%s is not in %s", line, log);
	cr_expect_eq(well, *line == 'W', "%s", log);
}

static void expect_well(void)
{
	bool well;
	auto_free char *log = verify(group_op(), &well);

	cr_expect(well, "%s", log);
	cr_expect_null(strstr(log, "WARNING:E"), "%s", log);
}

/* In the order of Ganeti's, also where the master is in the group. */
Test(verify, says_that_it_looks_beyond_the_group)
{
	bool well;
	auto_free char *all = verify(group_op(), &well), *part = NULL;
	const char *master = "information about the master node", *said;

	cr_expect_null(strstr(all, master), "%s", all);
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_GROUP_ADD", "group_name",
			 "g2"),
	       "success");
	expect(json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_GROUP_ASSIGN_NODES",
			 "group_name", "g2", "nodes", NODE3),
	       "success");
	part = verify(group_op(), &well);
	said = strstr(part, master);
	cr_assert_not_null(said, "%s", part);
	cr_expect_not_null(strstr(said, "disk information"), "%s", part);
}

/* What node2 says, and what it shows. */
static const struct fault {
	const char *says, *line;
} faults[] = {
	{"{\"version\": [1, \"3.0.2\"]}", "ERROR:ENODEVERSION:node:node2"},
	{"{\"version\": [3000000, \"2.0\"]}",
	 "WARNING:ENODEVERSION:node:node2"},
	{"{\"version\": 3}", "ERROR:ENODERPC:node:node2"},
	{"{\"time\": [1000, 0]}", "ERROR:ENODETIME:node:node2"},
	{"{\"time\": \"noon\"}", "ERROR:ENODETIME:node:node2"},
	{"{\"nodesetup\": [\"no /proc\"]}", "ERROR:ENODESETUP:node:node2"},
	{"{\"hypervisor\": {\"fake\": \"broken\"}}",
	 "ERROR:ENODEHV:node:node2"},
	{"{\"hvparms\": [[\"cluster\", \"fake\", \"bad\"]]}",
	 "ERROR:ENODEHV:node:node2"},
	{"{\"hvinfo\": null}", "ERROR:ENODEHV:node:node2"},
	{"{\"instancelist\": \"no socket\"}", "ERROR:ENODEHV:node:node2"},
	{"{\"instancelist\": [\"stranger\"]}",
	 "ERROR:ENODEORPHANINSTANCE:node:node2"},
	{"{\"nodelist\": {\"node1\": \"refused\"}}",
	 "ERROR:ENODESSH:node:node2"},
	{"{\"ssh-setup\": [\"no key\"]}", "ERROR:ENODESSH:node:node2"},
	{"{\"node-net-test\": {\"node1\": \"refused\"}}",
	 "ERROR:ENODENET:node:node2"},
	{"{\"master-ip\": false}", "ERROR:ENODENET:node:node2"},
	{"{\"bridges\": [\"br7\"]}", "ERROR:ENODENET:node:node2"},
	{"{\"user-scripts\": [\"/etc/x\"]}",
	 "ERROR:ENODEUSERSCRIPTS:node:node2"},
	{"{\"oob-paths\": [null, \"no program\"]}",
	 "ERROR:ENODEOOBPATH:node:node2"},
	{"{\"allowed-file-storage-paths\": [\"/bin\"]}",
	 "ERROR:ENODEFILESTORAGEPATHS:node:node2"},
	{"{\"file-storage-path\": \"gone\"}",
	 "ERROR:ENODEFILESTORAGEPATHUNUSABLE:node:node2"},
	{"{\"shared-file-storage-path\": \"gone\"}",
	 "ERROR:ENODESHAREDFILESTORAGEPATHUNUSABLE:node:node2"},
	{"{\"gluster-storage-path\": \"gone\"}",
	 "ERROR:ENODEGLUSTERSTORAGEPATHUNUSABLE:node:node2"},
	{"{\"filelist\": null}", "ERROR:ENODEFILECHECK:node:node2"},
	{"{\"filelist\": {\"/var/lib/ganeti/server.pem\": \"x\"}}",
	 "ERROR:ECLUSTERFILECHECK:cluster:None:File "
	 "/var/lib/ganeti/server.pem found with 2"},
	{"{\"client-cert\": [\"ERROR\", \"expired\"]}",
	 "ERROR:ECLUSTERCLIENTCERT:cluster:None"},
	{"{\"client-cert\": [null, \"11:22\"]}",
	 "ERROR:ECLUSTERCLIENTCERT:cluster:None"},
	{"{\"client-cert\": [null, \"AA:BB\"], \"renewal\": true}",
	 "ERROR:ECLUSTERCERT:cluster:None:a renewal"},
	{"{\"oslist\": 5}", "ERROR:ENODEOS:node:node2"},
	{"{\"oslist\": [[\"a\", \"/a\", true, \"\", [], [], [20], true]]}",
	 "ERROR:ENODEOS:node:node2.example.com:Extra OS a"},
	{"{\"vglist\": {}}", "ERROR:ENODELVM:node:node2"},
	{"{\"vglist\": {\"other\": 99999}}", "ERROR:ENODELVM:node:node2"},
	{"{\"vglist\": {\"xenvg\": 5}}", "ERROR:ENODELVM:node:node2"},
	{"{\"pvlist\": null}", "ERROR:ENODELVM:node:node2"},
	{"{\"pvlist\": [{\"name\": \"/dev/a:b\", \"size\": 1}]}",
	 "ERROR:ENODELVM:node:node2"},
	{"{\"lvlist\": \"no lvm\"}", "ERROR:ENODELVM:node:node2"},
	{"{\"lvlist\": {\"xenvg/lost\": [4, false, true]}}",
	 "WARNING:ENODEORPHANLV:node:node2.example.com:volume xenvg/lost"},
	{"{\"file-storage-files\": [\"/srv/ganeti/file-storage/web9/lost\"]}",
	 "WARNING:ENODEORPHANFILE:node:node2.example.com:file "
	 "/srv/ganeti/file-storage/web9/lost is no instance's disk"},
	{"{\"drbd-helper\": null}", "ERROR:ENODEDRBDHELPER:node:node2"},
	{"{\"drbd-helper\": [false, \"x\"]}",
	 "ERROR:ENODEDRBDHELPER:node:node2"},
	{"{\"drbd-helper\": [true, \"/bin/false\"]}",
	 "ERROR:ENODEDRBDHELPER:node:node2"},
	{"{\"drbd-list\": \"no /proc/drbd\"}", "ERROR:ENODEDRBD:node:node2"},
	{"{\"drbd-list\": [7]}", "ERROR:ENODEDRBD:node:node2"},
	{"{\"drbd-version\": \"9.1\"}", "WARNING:ENODEDRBDVERSION:node:node2"},
};

Test(verify, each_fault_of_a_node_is_told)
{
	with_storage();
	expect_well();
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		auto_json json_t *before =
			json_deep_copy(s.nodes[1].verify_says);

		say(1, faults[i].says);
		expect_line(group_op(), faults[i].line);
		json_decref(s.nodes[1].verify_says);
		s.nodes[1].verify_says = json_incref(before);
	}
	expect_well();
}

Test(verify, a_code_that_is_ignored_is_a_warning)
{
	json_t *op = group_op();

	say(1, "{\"time\": [1000, 0]}");
	json_object_set_new(op, "ignore_errors", json_make("[s]", "ENODETIME"));
	expect_line(op, "WARNING:ENODETIME:node:node2");
}

Test(verify, simulated_errors_are_as_many_as_there_are_checks)
{
	json_t *op = group_op();
	bool well;

	json_set_bool(op, "debug_simulate_errors", true);
	auto_free char *log = verify(op, &well);
	static const char *const some[] = {
		"ENODEVERSION",	  "ENODETIME", "ENODENET", "ENODEOS",
		"ENODEFILECHECK", "ENODERPC",  "ENODESSH", "ENODEHOOKS"};

	cr_expect_not(well);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		cr_expect_not_null(strstr(log, some[i]), "%s", some[i]);
	cr_expect_null(strstr(log, "(null)"), "%s", log);
}

static bool has_asked(struct sim *sim, void *arg)
{
	return strv_has(sim->calls, arg);
}

/* The cluster gets a volume group while the nodes say what they have. */
Test(verify, what_changes_meanwhile_is_not_held_against_the_nodes)
{
	auto_strv struct strv calls = {0};
	uint64_t id;

	s.calls = &calls;
	s.max_delay_ms = 500;
	id = sim_submit(&s, group_op(), NULL);
	cr_assert(sim_run(&s, 60000, has_asked,
			  (void *)"node_verify node3.example.com"));
	s.calls = NULL;
	set_member("volume_group_name", json_string("xenvg"));
	set_member("enabled_disk_templates", parse("[\"plain\"]"));
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(queue_job(s.master->queue, id)->ops[0].result, "true");
	s.max_delay_ms = 5;
	expect_line(group_op(), "ERROR:ENODELVM");
}

static bool is_there(struct sim *sim, void *arg)
{
	return config_find(sim->master->config, CONFIG_INSTANCE, arg) != NULL;
}

/* An instance came while a node said what runs there. */
Test(verify, what_comes_meanwhile_is_no_orphan)
{
	auto_strv struct strv calls = {0};
	auto_free char *log = NULL;
	const struct job *j;
	uint64_t id, other;

	expect(op_add("web1", "node1.example.com", false), "success");
	say(0, "{\"instancelist\": [\"web1\", \"web2\"]}");
	s.calls = &calls;
	s.max_delay_ms = 500;
	id = sim_submit(&s, group_op(), NULL);
	cr_assert(sim_run(&s, 60000, has_asked,
			  (void *)"node_verify node3.example.com"));
	s.calls = NULL;
	s.max_delay_ms = 0;
	sim_pause(&s.nodes[2].daemon);
	other = sim_submit(&s, op_add("web2", "node1.example.com", false),
			   NULL);
	cr_assert(sim_run(&s, 60000, is_there, (void *)"web2"));
	sim_resume(&s.nodes[2].daemon);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(sim_wait(&s, other), "success");
	j = queue_job(s.master->queue, id);
	log = xmemdup(j->ops[0].log.data, j->ops[0].log.len + 1);
	cr_expect_null(strstr(log, "web2"), "%s", log);
}

Test(verify, a_node_that_is_away_is_told)
{
	s.nodes[2].down = true;
	expect_line(group_op(), "ERROR:ENODERPC:node:node3");
	s.nodes[2].down = false;
}

Test(verify, hooks_that_fail_are_told)
{
	s.nodes[2].fail_on = "hooks_runner";
	expect_line(group_op(), "ERROR:ENODEHOOKS:node:node3");
	s.nodes[2].fail_on = NULL;
}

/* --- physical volumes of exclusive storage --- */

Test(verify, unlike_physical_volumes_are_told)
{
	const json_t *group =
		config_find(s.master->config, CONFIG_GROUP, "default");
	json_t *changed = config_edit(group);

	with_storage();
	json_object_set_new(changed, "ndparams",
			    json_make("{s:b}", "exclusive_storage", 1));
	config_put(s.master->config, CONFIG_GROUP, changed);
	expect_well();
	say(1, "{\"pvlist\": [{\"name\": \"/dev/sda\", \"size\": 500}]}");
	expect_line(group_op(), "ERROR:EGROUPDIFFERENTPVSIZE:group:default");
	say(1, "{\"pvlist\": [{\"name\": \"a\", \"size\": 99999}, "
	       "{\"name\": \"b\", \"size\": 50000}]}");
	expect_line(group_op(), "ERROR:ENODELVM:node:node2");
	say(1, STORAGE);
	say(1, "{\"exclusive-pvs\": [[\"a\", [\"v1\", \"v2\"]]]}");
	expect_line(group_op(), "ERROR:ENODELVM:node:node2.example.com:PV a");
}

/* --- instances --- */

static const char *uuid_of(size_t node)
{
	return s.nodes[node].uuid;
}

static json_t *disk_of(const char *instance)
{
	auto_json json_t *disks = config_instance_disks(
		s.master->config,
		config_find(s.master->config, CONFIG_INSTANCE, instance));

	return config_edit(json_array_get(disks, 0));
}

static void change(const char *instance, const char *key, json_t *value STEALS)
{
	json_t *changed = config_edit(
		config_find(s.master->config, CONFIG_INSTANCE, instance));

	json_object_set_new(changed, key, value);
	config_put(s.master->config, CONFIG_INSTANCE, changed);
}

/* Make its first disk a mirror of node1 and node2, or three nodes'. */
static void mirror(const char *instance, size_t other)
{
	json_t *disk = disk_of(instance);
	json_t *parts = parse("[{\"dev_type\": \"plain\", \"logical_id\": "
			      "[\"xenvg\", \"part\"], \"size\": 64}]");

	json_set_str(disk, "dev_type", "drbd");
	json_object_set_new(disk, "children", parts);
	json_object_set_new(disk, "logical_id",
			    json_make("[s, s, i, i, i, s]", uuid_of(0),
				      uuid_of(other), 11000, 0, 0, "secret"));
	config_put(s.master->config, CONFIG_DISK, disk);
}

static const char *const with_parts =
	"{\"lvlist\": {\"xenvg/part\": [64, false, true]}, \"drbd-list\": [0]}";

static void add_mirrored(void)
{
	with_storage();
	expect(op_add("inst1", "node1.example.com", true), "success");
	mirror("inst1", 1);
	say(0, with_parts);
	say(1, with_parts);
	expect_well();
}

Test(verify_broken, parts_of_mirrors_are_looked_for)
{
	add_mirrored();
	say(1, "{\"lvlist\": {}}");
	expect_line(group_op(), "ERROR:EINSTANCEMISSINGDISK:instance:inst1");
	say(1, with_parts);
	say(1, "{\"drbd-list\": []}");
	expect_line(group_op(), "ERROR:ENODEDRBD:node:node2");
	say(1, with_parts);
	s.nodes[1].disk_says = parse("[false, \"not found\"]");
	expect_line(group_op(), "ERROR:EINSTANCEFAULTYDISK:instance:inst1");
	json_decref(s.nodes[1].disk_says);
	s.nodes[1].disk_says =
		parse("[true, {\"is_degraded\": true, \"ldisk_status\": 4}]");
	expect_line(group_op(), "ERROR:EINSTANCEFAULTYDISK:instance:inst1");
	json_decref(s.nodes[1].disk_says);
	s.nodes[1].disk_says =
		parse("[true, {\"is_degraded\": true, \"ldisk_status\": 1}]");
	expect_line(group_op(), "WARNING:EINSTANCEFAULTYDISK:instance:inst1");
	expect_line(group_op(), "WARNING:EINSTANCEFAULTYDISK:instance:inst1:"
				"disk/0 on node2.example.com is degraded; "
				"local disk state is 'ok'; do this");
	/* Of Ganeti's node daemon, which does not know the question. */
	s.nodes[1].fail_on = "drbd_advice";
	expect_line(group_op(), "WARNING:EINSTANCEFAULTYDISK:instance:inst1");
}

Test(verify_broken, a_secondary_without_memory_is_told)
{
	add_mirrored();
	say(1, "{\"hvinfo\": {\"memory_free\": 1}}");
	expect_line(group_op(), "ERROR:ENODEN1:node:node2");
	json_t *op = group_op();

	json_object_set_new(op, "skip_checks",
			    json_make("[s]", "nplusone_mem"));
	bool well;
	auto_free char *log = verify(op, &well);

	cr_expect(well, "%s", log);
}

static json_t *op_memory(const char *node, int mib)
{
	return json_make("{s:s, s:s, s:{s:{s:i, s:i, s:i}}}", "OP_ID",
			 "OP_NODE_SET_PARAMS", "node_name", node, "hv_state",
			 "fake", "mem_total", mib, "mem_node", 0, "cpu_total",
			 16);
}

/* Not what happens to be free at the moment. */
Test(verify_broken, memory_for_failovers_is_that_of_the_record)
{
	bool well;

	add_mirrored();
	expect(op_memory("node2.example.com", 128), "success");
	say(1, "{\"hvinfo\": {\"memory_free\": 1}}");
	auto_free char *log = verify(group_op(), &well);
	cr_expect_null(strstr(log, "ENODEN1"), "%s", log);
	expect(op_memory("node2.example.com", 127), "success");
	say(1, "{\"hvinfo\": {\"memory_free\": 5000}}");
	expect_line(group_op(), "ERROR:ENODEN1:node:node2");
}

Test(verify_broken, a_secondary_that_is_away_or_elsewhere_is_told)
{
	json_t *node = NULL, *group;
	const json_t *home;

	add_mirrored();
	s.nodes[1].down = true;
	expect_line(group_op(), "connection to secondary node failed");
	s.nodes[1].down = false;
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(1)));
	json_set_bool(node, "offline", true);
	json_set_bool(node, "master_candidate", false);
	config_put(s.master->config, CONFIG_NODE, node);
	expect_line(group_op(), "ERROR:EINSTANCEBADNODE:instance:inst1");
	home = config_find(s.master->config, CONFIG_GROUP, "default");
	group = config_edit(home);
	json_set_str(group, "uuid", "11111111-1111-1111-1111-111111111111");
	json_set_str(group, "name", "other");
	config_put(s.master->config, CONFIG_GROUP, group);
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(1)));
	json_set_bool(node, "offline", false);
	json_set_bool(node, "master_candidate", true);
	json_set_str(node, "group", "11111111-1111-1111-1111-111111111111");
	config_put(s.master->config, CONFIG_NODE, node);
	expect_line(group_op(), "WARNING:EINSTANCESPLITGROUPS:instance:inst1");
}

Test(verify_broken, three_nodes_are_no_pair)
{
	auto_json json_t *first = NULL;
	json_t *disk;

	add_mirrored();
	expect(op_add("inst2", "node1.example.com", true), "success");
	mirror("inst2", 2);
	disk = disk_of("inst2");
	json_object_set_new(disk, "children", json_array());
	config_put(s.master->config, CONFIG_DISK, disk);
	first = disk_of("inst1");
	change("inst1", "disks",
	       json_make("[s, s]", json_str(first, "uuid", ""),
			 json_str(disk, "uuid", "")));
	expect_line(group_op(), "EINSTANCELAYOUT:instance:inst1");
}

Test(verify_broken, an_instance_out_of_place_is_told)
{
	expect(op_add("inst1", "node1.example.com", true), "success");
	expect_well();
	say(0, "{\"instancelist\": []}");
	say(1, "{\"instancelist\": [\"inst1\"]}");
	expect_line(group_op(), "ERROR:EINSTANCEDOWN:instance:inst1");
	expect_line(group_op(), "ERROR:EINSTANCEWRONGNODE:instance:inst1");
	change("inst1", "beparams", json_make("{s:i}", "maxmem", 9999999));
	expect_line(group_op(), "EINSTANCEPOLICY:instance:inst1");
}

Test(verify_broken, instances_on_exclusive_storage_need_plain_disks)
{
	json_t *changed;

	expect(op_add("inst1", "node1.example.com", true), "success");
	changed = config_edit(
		config_find(s.master->config, CONFIG_GROUP, "default"));
	json_object_set_new(changed, "ndparams",
			    json_make("{s:b}", "exclusive_storage", 1));
	config_put(s.master->config, CONFIG_GROUP, changed);
	expect_line(group_op(), "ERROR:EINSTANCEUNSUITABLENODE:instance:inst1");
	expect_line(group_op(),
		    "ERROR:EINSTANCEMISSINGCFGPARAMETER:instance:inst1");
}

static json_t *bounds(int spindle_use)
{
	return json_make("{s:i, s:i, s:i, s:i, s:i, s:i}", "memory-size",
			 spindle_use * 65536, "disk-size",
			 spindle_use * 1048576, "disk-count", spindle_use,
			 "cpu-count", spindle_use, "nic-count", spindle_use,
			 "spindle-use", spindle_use);
}

/* There an instance uses the spindles of its disks. */
Test(verify_broken, spindles_of_exclusive_storage_are_what_the_policy_limits)
{
	const char *policy = "EINSTANCEPOLICY:instance:inst1:spindle-use value "
			     "4 is not in range [0, 3]";
	const char *unknown = "EINSTANCEPOLICY:instance:inst1:the spindles "
			      "of its disks are not recorded";
	json_t *group, *disk;

	expect(op_add("inst1", "node1.example.com", true), "success");
	group = config_edit(
		config_find(s.master->config, CONFIG_GROUP, "default"));
	json_object_set_new(group, "ndparams",
			    json_make("{s:b}", "exclusive_storage", 1));
	json_object_set_new(group, "ipolicy",
			    json_make("{s:[{s:o, s:o}]}", "minmax", "min",
				      bounds(0), "max", bounds(3)));
	config_put(s.master->config, CONFIG_GROUP, group);
	expect_line(group_op(), unknown);
	disk = config_edit(json_object_iter_value(json_object_iter(
		json_unconst(config_all(s.master->config, CONFIG_DISK)))));
	json_set_int(disk, "spindles", 4);
	config_put(s.master->config, CONFIG_DISK, disk);
	expect_line(group_op(), policy);
}

Test(verify_broken, a_node_that_may_not_run_instances_has_none)
{
	json_t *node;

	expect(op_add("inst1", "node2.example.com", true), "success");
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(1)));
	json_set_bool(node, "vm_capable", false);
	config_put(s.master->config, CONFIG_NODE, node);
	expect_line(group_op(), "ERROR:EINSTANCEBADNODE:instance:inst1");
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(1)));
	json_set_bool(node, "vm_capable", true);
	config_put(s.master->config, CONFIG_NODE, node);
}

Test(verify_broken, tags_that_exclude_each_other_are_told)
{
	expect(op_add("inst1", "node1.example.com", true), "success");
	expect(op_add("inst2", "node1.example.com", true), "success");
	set_member("tags", json_make("[s]", "htools:iextags:dns"));
	change("inst1", "tags", json_make("[s]", "dns:a"));
	change("inst2", "tags", json_make("[s]", "dns:a"));
	expect_line(group_op(), "WARNING:EEXTAGS:node:node1");
}

/* --- the configuration --- */

Test(verify_broken, what_hangs_in_the_air_is_told)
{
	json_t *node;
	const char *group;

	expect(op_add("inst1", "node1.example.com", true), "success");
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(2)));
	group = json_str(node, "group", "");
	auto_free char *kept = xstrdup(group);

	json_set_str(node, "group", "22222222-2222-2222-2222-222222222222");
	config_put(s.master->config, CONFIG_NODE, node);
	expect_line(config_op(), "ERROR:ECLUSTERDANGLINGNODES:node:None:");
	node = config_edit(
		config_get(s.master->config, CONFIG_NODE, uuid_of(2)));
	json_set_str(node, "group", kept);
	config_put(s.master->config, CONFIG_NODE, node);
	change("inst1", "primary_node",
	       json_string("33333333-3333-3333-3333-333333333333"));
	expect_line(config_op(), "ERROR:ECLUSTERDANGLINGINST:node:None:");
	expect_line(config_op(),
		    "ERROR:ECLUSTERCFG:cluster:None:instance inst1");
	change("inst1", "primary_node", json_string(uuid_of(0)));
}

Test(verify_broken, parameters_of_hypervisors_are_checked)
{
	set_member("hvparams", json_make("{s:{s:s}}", "fake", "migration_mode",
					 "teleport"));
	expect_line(config_op(), "ERROR:ECLUSTERCFG:cluster:None:hypervisor");
}
