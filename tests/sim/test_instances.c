/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances in a simulated cluster: requests that are refused, changes that are
 * undone, data that must not be lost. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(instances, .init = setup, .fini = teardown, .timeout = 60);

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

/* An op_add() with one more parameter. */
static json_t *add_with(const char *key, json_t *value STEALS)
{
	json_t *op = op_add("web1", NODE2, true);

	json_object_set_new(op, key, value);
	return op;
}

static json_t *add_named_down(const char *name)
{
	json_t *op = op_add(name, NODE2, true);

	json_set_bool(op, "start", false);
	return op;
}

static json_t *disks_with(const char *key, json_t *value STEALS)
{
	json_t *disk = json_make("{s:i}", "size", 64);

	json_object_set_new(disk, key, value);
	return add_with("disks", json_make("[o]", disk));
}

static json_t *set_cluster(const char *key, json_t *value STEALS)
{
	json_t *op = json_make("{s:s}", "OP_ID", "OP_CLUSTER_SET_PARAMS");

	json_object_set_new(op, key, value);
	return op;
}

static json_t *forthcoming(const char *flag, int size)
{
	json_t *op = add_with(flag, json_true());

	json_object_set_new(op, "disks", json_make("[{s:i}]", "size", size));
	return op;
}

/* Without word of disks and NICs. */
static json_t *bare(const char *name, const char *template)
{
	json_t *op = op_add(name, NODE2, true);

	json_object_del(op, "disks");
	json_object_del(op, "nics");
	json_object_del(op, "disk_template");
	if (template != NULL)
		json_set_str(op, "disk_template", template);
	return op;
}

static int64_t disk_size(const char *name, size_t i)
{
	auto_json json_t *disks =
		config_instance_disks(s.master->config, instance(name));

	return json_int(json_array_get(disks, i), "size", -1);
}

static size_t n_of(const char *name, const char *devices)
{
	return json_array_size(json_get(instance(name), devices));
}

Test(instances, standard_sizes_and_counts_fill_in)
{
	json_t *sized = op_add("web3", NODE2, true);

	expect(bare("web1", NULL), "success");
	cr_assert_eq(n_of("web1", "disks"), 1);
	cr_assert_eq(disk_size("web1", 0), 1024);
	cr_assert_eq(n_of("web1", "nics"), 1);
	expect(set_cluster("ipolicy",
			   json_make("{s:{s:i, s:i, s:i}}", "std", "disk-count",
				     2, "disk-size", 2048, "nic-count", 3)),
	       "success");
	expect(bare("web2", "sharedfile"), "success");
	cr_assert_eq(n_of("web2", "disks"), 2);
	cr_assert_eq(disk_size("web2", 1), 2048);
	cr_assert_eq(n_of("web2", "nics"), 3);
	/* What is said counts, and a disk without a size has the standard's. */
	json_object_set_new(
		sized, "disks",
		json_make("[{s:i}, {s:s}]", "size", 64, "mode", "ro"));
	expect(sized, "success");
	cr_assert_eq(n_of("web3", "disks"), 2);
	cr_assert_eq(disk_size("web3", 0), 64);
	cr_assert_eq(disk_size("web3", 1), 2048);
	cr_assert_eq(n_of("web3", "nics"), 1);
	expect(bare("web4", "diskless"), "success");
	cr_assert_eq(n_of("web4", "disks"), 0);
	cr_assert_eq(n_of("web4", "nics"), 3);
	expect(set_cluster("ipolicy", json_make("{s:s}", "std", "default")),
	       "success");
	expect(bare("web5", NULL), "success");
	cr_assert_eq(n_of("web5", "disks"), 1);
}

Test(instances, a_forthcoming_one_keeps_its_disks_without_word_of_them)
{
	json_t *op = bare("web1", "sharedfile");

	expect(forthcoming("forthcoming", 64), "success");
	json_set_bool(op, "commit", true);
	expect(op, "success");
	cr_assert_eq(disk_size("web1", 0), 64);
}

Test(instances, what_is_not_supported_is_refused)
{
	static const char *const of_disk[] = {"adopt", "access", "provider",
					      "spindles"};

	for (size_t i = 0; i < ARRAY_SIZE(of_disk); i++)
		expect(disks_with(of_disk[i], json_string("x")), "wrong_input");
	expect(add_with("nics", json_make("[{s:s}]", "speed", "9")),
	       "wrong_input");
	expect(add_with("mode", json_string("import")), "wrong_input");
	expect(add_with("ip_check", json_true()), "name check");
	cr_assert_null(instance("web1"));
}

Test(instances, a_forthcoming_one_has_its_place_until_it_is_made)
{
	auto_free char *uuid = NULL;

	expect(forthcoming("forthcoming", 64), "success");
	uuid = xstrdup(json_str(instance("web1"), "uuid", ""));
	cr_assert(json_bool(instance("web1"), "forthcoming", false));
	cr_assert_eq(s.files.n, 0);
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "is forthcoming");
	/* Only jobs about the instance itself have to wait for it. */
	expect(json_make("{s:s, s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET",
			 "kind", "instance", "name", "web1", "tags", "x"),
	       "success");
	expect(json_make("{s:s, s:s}", "OP_ID", "OP_CLUSTER_VERIFY_GROUP",
			 "group_name", "default"),
	       "success");
	expect(op_add("web1", NODE3, true), "already_exists");
	expect(forthcoming("commit", 128), "with other disks");
	s.nodes[1].fail_on = "blockdev_create";
	expect(forthcoming("commit", 64), "told to fail");
	s.nodes[1].fail_on = NULL;
	cr_assert(json_bool(instance("web1"), "forthcoming", false));
	expect(forthcoming("commit", 64), "success");
	cr_assert_str_eq(json_str(instance("web1"), "uuid", ""), uuid);
	cr_assert_not(json_bool(instance("web1"), "forthcoming", false));
	cr_assert_eq(s.files.n, 1);
	expect(forthcoming("commit", 64), "not forthcoming");
}

Test(instances, a_forthcoming_one_may_be_given_up)
{
	expect(forthcoming("commit", 64), "Instance web1 unknown");
	expect(forthcoming("forthcoming", 64), "success");
	sim_restart(&s);
	cr_assert(json_bool(instance("web1"), "forthcoming", false));
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
	cr_assert_null(instance("web1"));
}

Test(instances, what_is_as_the_cluster_has_it_is_not_the_instances_own)
{
	json_t *op = add_with("identify_defaults", json_true());

	json_object_set_new(
		op, "beparams",
		json_make("{s:i, s:i}", "vcpus", 1, "spindle_use", 7));
	expect(op, "success");
	cr_assert_null(json_object_get(json_get(instance("web1"), "beparams"),
				       "vcpus"));
	cr_assert_eq(json_int(json_get(instance("web1"), "beparams"),
			      "spindle_use", 0),
		     7);
}

Test(instances, new_tags_are_checked_as_later_ones)
{
	expect(add_with("tags", json_make("[s]", "two words")), "TagError");
	expect(add_with("tags", json_make("[s, s, s]", "b", "a", "b")),
	       "success");
	cr_assert_eq(json_array_size(json_get(instance("web1"), "tags")), 2);
}

static json_t *op_tags(const char *id, const char *tag)
{
	return json_make("{s:s, s:s, s:s, s:[s]}", "OP_ID", id, "kind",
			 "instance", "name", "web1", "tags", tag);
}

Test(instances, tags_are_of_letters_and_digits_of_all_scripts)
{
	auto_free char *most = xalloc(2 * 128 + 1);
	auto_free char *longer = NULL;

	for (int i = 0; i < 128; i++)
		memcpy(most + 2 * i, "ü", 2);
	longer = xprintf("%sü", most);
	expect(op_add("web1", NODE2, false), "success");
	expect(op_tags("OP_TAGS_SET", "größe:東京-٣"), "success");
	expect(op_tags("OP_TAGS_SET", most), "success");
	expect(op_tags("OP_TAGS_SET", longer), "TagError");
	expect(op_tags("OP_TAGS_SET", "a€"), "TagError");
	expect(op_tags("OP_TAGS_SET", "a\u00a0b"), "TagError");
	expect(op_tags("OP_TAGS_SET", ""), "TagError");
	expect(op_tags("OP_TAGS_DEL", "größe:東京-٣"), "success");
	cr_assert_eq(json_array_size(json_get(instance("web1"), "tags")), 1);
}

Test(instances, whatever_tag_is_there_can_be_removed)
{
	json_t *inst;

	expect(op_add("web1", NODE2, false), "success");
	expect(op_tags("OP_TAGS_DEL", "two words"), "TagError");
	inst = config_edit(instance("web1"));
	json_object_set_new(inst, "tags", json_make("[s]", "two words"));
	config_put(s.master->config, CONFIG_INSTANCE, inst);
	expect(op_tags("OP_TAGS_DEL", "two words"), "success");
	cr_assert_eq(json_array_size(json_get(instance("web1"), "tags")), 0);
}

static json_t *op_search(const char *pattern)
{
	return json_make("{s:s, s:s}", "OP_ID", "OP_TAGS_SEARCH", "pattern",
			 pattern);
}

Test(instances, a_search_of_tags_has_a_limit)
{
	expect(op_add("web1", NODE2, false), "success");
	expect(op_tags("OP_TAGS_SET",
		       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
	       "success");
	expect(op_search("^a+$"), "success");
	expect(op_search("^(a|aa)+[^a]"), "takes too much work");
	expect(op_search("("), "Invalid search pattern");
}

Test(instances, a_mac_is_taken_once_however_it_is_written)
{
	json_t *op = op_add("web2", NODE2, false);

	expect(add_with("nics",
			json_make("[{s:s}]", "mac", "AA:00:00:12:34:56")),
	       "success");
	json_object_set_new(op, "nics",
			    json_make("[{s:s}]", "mac", "aa:00:00:12:34:56"));
	expect(op, "resource_not_unique");
	cr_assert_null(instance("web2"));
}

static json_t *op_rename(const char *name, const char *new_name)
{
	return json_make("{s:s, s:s, s:s, s:b, s:b}", "OP_ID",
			 "OP_INSTANCE_RENAME", "instance_name", name,
			 "new_name", new_name, "name_check", 0, "ip_check", 0);
}

Test(instances, names_have_no_case)
{
	expect(op_add("Web1", NODE2, false), "success");
	cr_assert_str_eq(json_str(instance("web1"), "name", ""), "web1");
	expect(op_add("WEB1", NODE2, false), "already_exists");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "Web1"), "success");
	expect(op_rename("web1", "WEB2"), "success");
	expect(op_add("web2", NODE2, false), "already_exists");
	cr_expect_not_null(instance("web2"));
}

/* Who asks for one by its UUID gets that one. */
Test(instances, the_uuid_of_one_is_no_name_of_another)
{
	const char *uuid;

	expect(op_add("web1", NODE2, false), "success");
	uuid = json_str(instance("web1"), "uuid", "");
	expect(op_add(uuid, NODE2, false), "already_exists");
	expect(op_add("web2", NODE2, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web2"), "success");
	expect(op_rename("web2", uuid), "already_exists");
}

Test(instances, the_beginning_of_a_name_is_another_name)
{
	expect(op_add("web1.example.com", NODE2, false), "success");
	expect(op_add("web2", NODE2, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web2"), "success");
	expect(op_rename("web2", "WEB1.example.com"), "already_exists");
	expect(op_rename("web2", "web1"), "success");
	cr_expect_not_null(instance("web1"));
}

/* What an administrator can do with gnt-instance modify --offline. */
static void mark_offline(const char *name)
{
	json_t *inst = config_edit(instance(name));

	json_set_str(inst, "admin_state", "offline");
	config_put(s.master->config, CONFIG_INSTANCE, inst);
}

Test(instances, a_forced_stop_keeps_the_offline_mark)
{
	json_t *op = op_named("OP_INSTANCE_SHUTDOWN", "web1");

	expect(op_add("web1", NODE2, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	mark_offline("web1");
	json_set_bool(op, "force", true);
	expect(op, "success");
	cr_assert_str_eq(json_str(instance("web1"), "admin_state", ""),
			 "offline");
}

Test(instances, a_silent_node_is_a_prerequisite_that_fails)
{
	expect(op_add("web1", NODE2, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[1].down = true;
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "environment_error");
	s.nodes[1].down = false;
	s.nodes[1].fail_on = "instance_info";
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "environment_error");
	s.nodes[1].fail_on = NULL;
}

static json_t *set_node(const char *node, const char *key, bool value)
{
	return json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", node, key, value);
}

/* A migration asks its node, and says what to do when that is not there. */
Test(instances, where_a_node_is_lost_nothing_is_wrong_with_what_was_asked_for)
{
	s.nodes[1].down = true;
	expect(op_add("web1", NODE2, false), "environment_error");
	cr_assert_null(instance("web1"));
}

Test(instances, one_whose_node_is_lost_fails_over)
{
	json_t *op = op_move("OP_INSTANCE_MIGRATE", "web1", NODE3);

	expect(op_add("web1", NODE2, true), "success");
	s.nodes[1].down = true;
	expect(json_deep_copy(op), "please use failover");
	expect(json_deep_copy(op), "wrong_state");
	expect(set_node(NODE2, "offline", true), "success");
	expect(json_deep_copy(op), "please use failover");
	json_set_bool(op, "allow_failover", true);
	expect(op, "success");
	cr_expect_str_eq(
		config_name(s.master->config, CONFIG_NODE,
			    json_str(instance("web1"), "primary_node", "")),
		NODE3);
}

static void expect_run_state(const char *state)
{
	json_t *op = json_make("{s:s, s:[s], s:b}", "OP_ID",
			       "OP_INSTANCE_QUERY_DATA", "instances", "web1",
			       "use_locking", 1);
	uint64_t id = sim_submit(&s, op, NULL);
	auto_free char *text = xprintf("\"run_state\":\"%s\"", state);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_not_null(
		strstr(queue_job(s.master->queue, id)->ops[0].result, text),
		"not %s", state);
}

Test(instances, the_report_says_how_one_came_to_be_down)
{
	expect(op_add("web1", NODE2, false), "success");
	expect_run_state("up");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect_run_state("down");
	mark_offline("web1");
	expect_run_state("offline");
}

Test(instances, a_disk_grows_and_does_not_shrink)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");
	uint64_t id;

	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", 1536);
	json_set_bool(op, "absolute", true);
	expect(op_add("web1", NODE2, true), "success");
	id = sim_submit(&s, json_deep_copy(op), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_not_null(
		strstr(queue_job(s.master->queue, id)->ops[0].log.data,
		       "'web1' by 1.4G to 1.5G"));
	json_set_int(op, "amount", 100);
	expect(op, "Requested size (100M) is smaller than current disk size "
		   "(1.5G)");
}

/* The guest sees all of the last extent of a volume. */
Test(instances, wiping_ends_where_the_node_says)
{
	struct sim_node *n = &s.nodes[1];

	expect(set_cluster("prealloc_wipe_disks", json_true()), "success");
	n->dimensions = json_make("[I, n]", (json_int_t)100 * 1048576 + 512);
	expect(op_add("web1", NODE2, true), "success");
	cr_expect_eq(n->wiped_mib, 100);
	json_array_set_new(n->dimensions, 0, json_null());
	expect(op_add("web2", NODE2, true), "success");
	cr_expect_eq(n->wiped_mib, disk_size("web2", 0));
}

/* A volume has whole extents, and an earlier growth may have come so far: the
 * guest may use all that is there. */
Test(instances, growing_wipes_only_what_was_not_there)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");
	struct sim_node *n = &s.nodes[1];

	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", 16);
	expect(op_add("web1", NODE2, true), "success");
	expect(set_cluster("prealloc_wipe_disks", json_true()), "success");
	n->dimensions = json_make("[I, n]", (json_int_t)67 * 1048576 + 512);
	expect(json_incref(op), "success");
	cr_assert_not_null(n->wiped);
	cr_expect_eq(json_integer_value(json_array_get(n->wiped, 1)), 68);
	json_decref(n->wiped);
	n->wiped = NULL;
	json_array_set_new(n->dimensions, 0,
			   json_integer((json_int_t)96 * 1048576));
	expect(json_incref(op), "success");
	cr_expect_null(n->wiped);
	cr_expect_eq(disk_size("web1", 0), 96);
	json_array_set_new(n->dimensions, 0, json_null());
	expect(op, "does not tell the size of disk 0");
	cr_expect_eq(disk_size("web1", 0), 96);
}

static void expect_stops(json_t *op STEALS, bool wanted)
{
	auto_strv struct strv calls = {0};

	s.calls = &calls;
	expect(op, "success");
	s.calls = NULL;
	cr_expect_eq(strv_has(&calls, "blockdev_shutdown " NODE2), wanted);
}

Test(instances, a_disk_whose_copy_nobody_waits_for_stays_on)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", "web1");
	json_t *other;

	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", 8);
	other = json_deep_copy(op);
	json_set_bool(other, "wait_for_sync", false);
	expect(add_named_down("web1"), "success");
	expect_stops(op, true);
	expect_stops(other, false);
}

/* Programs look for the members of disks whether they are set or not. */
Test(instances, an_allocator_is_told_all_of_new_disks)
{
	auto_json json_t *want =
		json_make("[{s:i, s:s, s:n, s:n, s:s}]", "size", 64, "mode",
			  "rw", "vg", "name", "dev_type", "sharedfile");
	auto_free char *got = NULL;

	expect(op_add("web1", NULL, true), "success");
	got = json_text(json_get(s.nodes[0].asked, "disks"));
	cr_expect(json_equal(json_get(s.nodes[0].asked, "disks"), want), "%s",
		  got);
}

Test(instances, a_cleanup_needs_every_node)
{
	json_t *op = op_named("OP_INSTANCE_MIGRATE", "web1");

	json_set_bool(op, "cleanup", true);
	expect(op_add("web1", NODE2, true), "success");
	s.nodes[2].down = true;
	expect(json_deep_copy(op), "OpExecError");
	s.nodes[2].down = false;
	expect(op, "success");
	op = op_named("OP_INSTANCE_FAILOVER", "web1");
	json_set_bool(op, "cleanup", true);
	expect(op, "wrong_input");
}

Test(instances, a_dry_run_asks_the_hooks)
{
	s.nodes[0].fail_on = "hooks_runner";
	expect(add_with("dry_run", json_true()), "success");
	cr_assert_null(instance("web1"));
	s.nodes[0].fail_on = NULL;
	s.nodes[0].hook_fails = true;
	expect(add_with("dry_run", json_true()), "HooksAbort");
	s.nodes[0].hook_fails = false;
}

Test(instances, the_steps_of_a_creation_count_as_one)
{
	expect(op_add("web1", NODE2, true), "success");
	cr_expect_eq(json_int(instance("web1"), "serial_no", 0), 2);
	expect(add_named_down("web2"), "success");
	cr_expect_eq(json_int(instance("web2"), "serial_no", 0), 1);
}

Test(instances, parameters_of_the_cluster_are_not_for_one)
{
	json_t *hv = json_make("{s:s}", "migration_mode", "non-live");

	expect(add_with("hvparams", hv), "cannot be customized at instance");
	cr_assert_null(instance("web1"));
}

Test(instances, nothing_starts_without_its_bridges)
{
	expect(add_with("nics", json_make("[{}]")), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[1].fail_on = s.nodes[2].fail_on = "bridges_exist";
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "checking bridges");
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3),
	       "checking bridges");
	s.nodes[1].fail_on = s.nodes[2].fail_on = NULL;
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
}

Test(instances, exclusive_storage_is_for_volumes)
{
	expect(set_cluster("ndparams",
			   json_make("{s:b}", "exclusive_storage", 1)),
	       "success");
	expect(op_add("web1", NODE2, true),
	       "not supported with exclusive storage");
}

Test(instances, a_bigger_pool_is_filled)
{
	expect(set_cluster("candidate_pool_size", json_integer(1)), "success");
	expect(json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", NODE3, "master_candidate", 0),
	       "success");
	expect(set_cluster("candidate_pool_size", json_integer(3)), "success");
	cr_assert(json_bool(config_find(s.master->config, CONFIG_NODE, NODE3),
			    "master_candidate", false));
}

Test(instances, hypervisor_parameters_of_an_os_lie_below_its_own)
{
	const json_t *env;

	expect(set_cluster("os_hvp", json_make("{s:{s:{s:s}}}", "noop", "fake",
					       "migration_mode", "non-live")),
	       "success");
	expect(op_add("web1", NODE2, false), "success");
	env = s.nodes[0].hook_env;
	cr_assert_str_eq(json_str(env, "GANETI_INSTANCE_HV_migration_mode", ""),
			 "non-live");
	expect(set_cluster("os_hvp", json_make("{s:{s:{s:s}}}", "noop", "fake",
					       "speed", "9")),
	       "Unknown parameter");
	expect(set_cluster("os_hvp", json_make("{s:{s:{s:s}}}", "noop", "fake",
					       "migration_mode", "default")),
	       "success");
	cr_assert_eq(json_object_size(json_get(config_cluster(s.master->config),
					       "os_hvp")),
		     0);
}

Test(instances, a_blacklisted_os_is_for_old_instances)
{
	const json_t *list;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(set_cluster("blacklisted_os",
			   json_make("[[s, s], [s, s]]", "add", "noop",
				     "remove", "none")),
	       "success");
	list = json_get(config_cluster(s.master->config), "blacklisted_os");
	cr_assert_eq(json_array_size(list), 1);
	expect(op_add("web2", NODE2, false), "not allowed for installation");
	expect(op_named("OP_INSTANCE_REINSTALL", "web1"), "success");
}

static const char *vlan_of_first_nic(void)
{
	const json_t *inst =
		config_find(s.master->config, CONFIG_INSTANCE, "web1");
	const json_t *nic = json_array_get(json_get(inst, "nics"), 0);

	return json_str(json_get(nic, "nicparams"), "vlan", "(none)");
}

Test(instances, a_vlan_that_is_a_number_gets_its_dot)
{
	json_t *add = op_add("web1", NODE2, false);
	json_t *change = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_object_set_new(add, "nics", json_make("[{s:s}]", "vlan", "5"));
	json_object_set_new(
		change, "nics",
		json_make("[[s, i, {s:s}]]", "modify", 0, "vlan", "7"));
	expect(add, "success");
	cr_expect_str_eq(vlan_of_first_nic(), ".5");
	expect(change, "success");
	cr_expect_str_eq(vlan_of_first_nic(), ".7");
}

Test(instances, an_os_parameter_is_in_one_class)
{
	expect(set_cluster("osparams",
			   json_make("{s:{s:s}}", "noop", "pw", "x")),
	       "success");
	expect(add_with("osparams_secret", json_make("{s:s}", "pw", "y")),
	       "more than one of the classes");
	expect(set_cluster("osparams_private_cluster",
			   json_make("{s:{s:s}}", "noop", "pw", "z")),
	       "more than one of the classes");
	cr_assert_null(instance("web1"));
}

Test(instances, a_policy_of_the_cluster_names_who_breaks_it)
{
	json_t *op = set_cluster(
		"ipolicy", json_make("{s:[s]}", "disk-templates", "diskless"));
	const struct job *j;
	uint64_t id;

	expect(op_add("web1", "node1.example.com", true), "success");
	json_object_set_new(op, "diskparams",
			    json_make("{s:{s:i}}", "drbd", "resync-rate", 9));
	id = sim_submit(&s, op, NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	cr_expect_not_null(strstr(j->ops[0].log.data, "violate them: web1"));
	cr_expect_not_null(strstr(j->ops[0].log.data, "DRBD parameters"));
}

Test(instances, an_allocator_by_default_may_change_meanwhile)
{
	json_t *one = op_add("web1", NULL, true);
	uint64_t id;

	json_set_str(one, "iallocator", NULL);
	json_object_del(one, "OP_ID");
	id = sim_submit(&s,
			json_make("{s:s, s:[o], s:s}", "OP_ID",
				  "OP_INSTANCE_MULTI_ALLOC", "instances", one,
				  "iallocator", "."),
			NULL);
	expect(set_cluster("default_iallocator", json_string("other")),
	       "success");
	cr_assert_str_eq(sim_wait(&s, id), "success", "%s",
			 queue_job(s.master->queue, id)->ops[0].result);
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_not_null(instance("web1"));
}

Test(instances, many_are_made_and_not_brought)
{
	json_t *one = op_add("web1", NULL, true);

	json_object_del(one, "OP_ID");
	json_set_str(one, "iallocator", NULL);
	json_set_str(one, "mode", "import");
	expect(json_make("{s:s, s:[o], s:s}", "OP_ID",
			 "OP_INSTANCE_MULTI_ALLOC", "instances", one,
			 "iallocator", "hail"),
	       "is made, not brought");
	cr_assert_null(instance("web1"));
}

Test(instances, verify_judges_what_was_there_when_it_asked)
{
	uint64_t id;
	const char *log;

	s.nodes[2].silent = true;
	id = sim_submit(&s,
			json_make("{s:s, s:s}", "OP_ID",
				  "OP_CLUSTER_VERIFY_GROUP", "group_name",
				  "default"),
			NULL);
	sim_run(&s, 1000, NULL, NULL);
	sim_submit(&s, op_add("web1", NODE2, false), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	log = queue_job(s.master->queue, id)->ops[0].log.data;
	cr_assert_eq(s.nodes[1].running.n, 1);
	cr_expect_not_null(strstr(log, "while contacting node"), "%s", log);
	cr_expect_null(strstr(log, "diverges"), "%s", log);
	cr_expect_null(strstr(log, "not running on its"), "%s", log);
	s.nodes[2].silent = false;
}

Test(instances, disks_are_named_in_the_log)
{
	uint64_t id = sim_submit(&s, op_add("web1", NODE2, true), NULL);
	const char *log;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	log = queue_job(s.master->queue, id)->ops[0].log.data;
	cr_assert_not_null(strstr(log, "* disk 0, size 64M"), "%s", log);
}

static int64_t port(const char *name)
{
	return json_int(instance(name), "network_port", 0);
}

Test(instances, a_console_has_a_port_of_its_own)
{
	json_t *one = add_with("hypervisor", json_string("kvm"));
	json_t *two = json_deep_copy(one);

	json_set_str(two, "instance_name", "web2");
	expect(set_cluster("enabled_hypervisors",
			   json_make("[s, s]", "fake", "kvm")),
	       "success");
	expect(one, "success");
	expect(two, "success");
	expect(op_add("web3", NODE2, false), "success");
	cr_assert_geq(port("web1"), 11000);
	cr_assert_geq(port("web2"), 11000);
	cr_assert_neq(port("web1"), port("web2"));
	cr_assert_eq(port("web3"), 0);
}

/* Nobody needs to look for a mistake in the program. */
Test(instances, without_a_free_port_there_is_no_room_for_a_console)
{
	struct config *c = s.master->config;
	auto_strv struct strv disks = {0};

	expect(set_cluster("enabled_hypervisors",
			   json_make("[s, s]", "fake", "kvm")),
	       "success");
	for (int i = 0; i < 4000; i++) {
		auto_free char *name = xprintf("%012d", i);
		json_t *disk =
			sim_mirror(name, i, s.nodes[0].uuid, s.nodes[1].uuid);

		json_set_str(disk, "iv_name", "");
		strv_add(&disks, json_str(disk, "uuid", ""));
		config_put(c, CONFIG_DISK, disk);
	}
	expect(add_with("hypervisor", json_string("kvm")),
	       "[\"OpPrereqError\",[\"All ports from 11000 to 14999 are in "
	       "use\",\"insufficient_resources\"]]");
	for (size_t i = 0; i < disks.n; i++)
		config_remove(c, CONFIG_DISK, disks.items[i]);
}

/* The storage is everywhere, so a node that dies in the middle of a creation
 * leaves no disk on it. */
Test(instances, a_node_that_dies_in_a_creation_leaves_no_shared_disk)
{
	uint64_t id = sim_submit(&s, op_add("web1", NODE2, true), NULL);

	for (int i = 0; i < 1000 && s.files.n == 0; i++)
		sim_run(&s, 1, NULL, NULL);
	cr_assert_eq(s.files.n, 1);
	s.nodes[1].down = true;
	cr_assert_str_eq(sim_wait(&s, id), "error");
	cr_assert_eq(s.files.n, 0);
	cr_assert_null(instance("web1"));
	s.nodes[1].down = false;
}

/* What is given for one start is checked before anything is recorded. */
Test(instances, one_that_cannot_start_so_stays_down)
{
	json_t *hv = op_named("OP_INSTANCE_STARTUP", "web1");
	json_t *be = op_named("OP_INSTANCE_STARTUP", "web1");

	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	json_object_set_new(hv, "hvparams",
			    json_make("{s:s}", "migration_mode", "live"));
	s.nodes[1].fail_on = "hypervisor_validate_params";
	expect(json_incref(hv), "parameter validation failed on node " NODE2);
	cr_expect_str_eq(json_str(instance("web1"), "admin_state", ""), "down");
	s.nodes[1].fail_on = NULL;
	json_object_set_new(
		be, "beparams",
		json_make("{s:i, s:i}", "minmem", 99999, "maxmem", 99999));
	expect(be, "Not enough memory");
	cr_expect_str_eq(json_str(instance("web1"), "admin_state", ""), "down");
	expect(hv, "success");
}
