/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator framework on a recorded configuration, with scripted nodes
 * that answer at once. */
#include "masterd/allocator/iallocator.h"

#include <string.h>
#include <sys/wait.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/rpc/noderpc.h"
#include "tests/lib/root.h"

#define BIG (512 * 1024)
#define PEER_HAIL "/usr/lib/ganeti/iallocators/hail"

static struct test_root root;
static struct master m;
static struct error err;
static const char *program_answer; /* what iallocator_runner answers */
static const char *dead;	   /* a node that does not answer */
static json_t *runner_args, *info_args;
static const struct iallocator_how how_hail = {.name = "hail",
					       .disk_template = "file"};

static void scripted_send(void *arg, const struct noderpc_call *call)
{
	const char *text = "[false, \"unexpected call\"]";
	struct error e;

	(void)arg;
	if (str_eq(call->procedure, "node_info")) {
		json_decref(info_args);
		info_args = json_parse(call->body, call->len, &e);
		text = "[true, [\"boot\", [{\"type\": \"file\", \"name\": "
		       "\"x\", \"storage_size\": 1000, \"storage_free\": "
		       "400}], [{\"memory_total\": 2000, \"memory_dom0\": 100, "
		       "\"memory_free\": 1500, \"cpu_total\": 4, \"cpu_dom0\": "
		       "1, \"cpu_nodes\": 1, \"cpu_sockets\": 1}]]]";
	} else if (str_eq(call->procedure, "all_instances_info"))
		text = "[true, {}]";
	else if (str_eq(call->procedure, "iallocator_runner")) {
		json_decref(runner_args);
		runner_args = json_parse(call->body, call->len, &e);
		text = program_answer;
	}
	free(call->body);
	if (str_eq(call->node_name, dead)) {
		error_set(&e, ERR_RPC, NULL, "no route");
		call->on_reply(call->arg, NULL, 0, &e);
		return;
	}
	call->on_reply(call->arg, text, strlen(text), NULL);
}

static void setup(void)
{
	const struct noderpc_transport transport = {.send = scripted_send};

	mem_init();
	test_root_create(&root);
	test_root_add_config(&root);
	m.paths = root.paths;
	m.config = config_load(disk_real(), root.paths, &err);
	cr_assert_not_null(m.config, "%s", err.text);
	m.rpc = noderpc_create(&transport);
}

static void teardown(void)
{
	json_decref(runner_args);
	json_decref(info_args);
	noderpc_destroy(m.rpc);
	config_free(m.config);
	test_root_destroy(&root);
}

TestSuite(iallocator, .init = setup, .fini = teardown);

static json_t *allocate(const char *template)
{
	auto_json json_t *disks =
		json_make("[{s:i, s:s}]", "size", 64, "mode", "rw");
	const struct iallocator_instance inst = {
		.name = "new1.example.com",
		.os = "noop",
		.disk_template = template,
		.hypervisor = "fake",
		.memory = 128,
		.vcpus = 1,
		.spindle_use = 1,
		.disks = disks,
	};

	return iallocator_allocate(&m, &inst);
}

Test(iallocator, nics_that_are_asked_for_have_their_parameters_both_ways)
{
	auto_json json_t *nics = json_make("[{s:s, s:s, s:s}]", "mac", "auto",
					   "mode", "routed", "link", "r0");
	const struct iallocator_instance inst = {
		.name = "new",
		.disk_template = "diskless",
		.hypervisor = "fake",
		.nics = nics,
	};
	auto_json json_t *request = iallocator_allocate(&m, &inst);
	const json_t *nic = json_array_get(json_get(request, "nics"), 0);

	cr_expect_str_eq(json_str(nic, "link", ""), "r0");
	cr_expect_str_eq(json_str(json_get(nic, "nicparams"), "mode", ""),
			 "routed");
	cr_expect_eq(json_object_size(json_array_get(nics, 0)), 3);
}

static json_t *run(json_t *request STEALS, const char *output)
{
	auto_json json_t *answer = json_make("[b, s]", 1, output);
	auto_free char *text = json_text(answer);

	program_answer = text;
	memset(&err, 0, sizeof(err));
	return iallocator_run(&m, request, &how_hail, NULL, &err);
}

static void assert_same_keys(const json_t *ours, const json_t *theirs,
			     const char *what)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(theirs), key, value) {
		const json_t *own = json_object_get(ours, key);

		cr_expect_not_null(own, "%s: %s is missing", what, key);
		cr_expect(json_typeof(own) == json_typeof(value) ||
				  (json_is_boolean(own) &&
				   json_is_boolean(value)),
			  "%s: %s", what, key);
	}
	json_object_foreach (json_unconst(ours), key, value)
		cr_expect_not_null(json_object_get(theirs, key),
				   "%s: %s is too much", what, key);
}

/* The first member of an object. */
static const json_t *first(const json_t *object, const char *key)
{
	return json_object_iter_value(
		json_object_iter(json_object_get(object, key)));
}

Test(iallocator, message_has_the_recorded_form)
{
	auto_json json_t *theirs = compat_read_shared(
		"state/iallocator/allocate.1795213243316316275.in.json");
	auto_json json_t *ours =
		iallocator_message(&m, allocate("file"), &how_hail);

	assert_same_keys(ours, theirs, "message");
	assert_same_keys(first(ours, "nodes"), first(theirs, "nodes"), "node");
	assert_same_keys(first(ours, "nodegroups"), first(theirs, "nodegroups"),
			 "group");
	assert_same_keys(json_object_get(ours, "ipolicy"),
			 json_object_get(theirs, "ipolicy"), "policy");
	assert_same_keys(first(ours, "instances"), first(theirs, "instances"),
			 "instance");
	assert_same_keys(json_object_get(ours, "request"),
			 json_object_get(theirs, "request"), "request");
}

/* inst48 has 64 MiB, should run on node1 and does not yet. */
Test(iallocator, free_memory_is_less_what_instances_may_still_take)
{
	auto_json json_t *message =
		iallocator_message(&m, allocate("file"), &how_hail);
	const json_t *nodes = json_object_get(message, "nodes");
	const json_t *node = json_object_get(nodes, "node1.example.com");

	cr_assert_not_null(node);
	cr_assert_gt(json_int(node, "i_pri_up_memory", -1), 0);
	cr_assert_eq(json_int(node, "free_memory", -1),
		     1500 - json_int(node, "i_pri_up_memory", 0));
	cr_assert_eq(json_int(node, "total_memory", -1), 2000);
	cr_assert_eq(json_int(node, "reserved_memory", -1), 100);
	cr_assert_eq(json_int(node, "total_disk", -1), 1000);
	cr_assert_eq(json_int(node, "free_disk", -1), 400);
	cr_assert_eq(json_int(node, "reserved_cpus", -1), 1);
}

Test(iallocator, node_without_answer_is_shown_offline)
{
	auto_json json_t *message = NULL;
	const json_t *nodes, *node;

	dead = "node2.example.com";
	message = iallocator_message(&m, allocate("file"), &how_hail);
	nodes = json_object_get(message, "nodes");
	node = json_object_get(nodes, dead);
	cr_assert(json_bool(node, "offline", false));
	cr_assert_null(json_object_get(node, "total_memory"));
	node = json_object_get(nodes, "node3.example.com");
	cr_assert_not(json_bool(node, "offline", true));
	dead = NULL;
}

/* The hypervisor that nodes were asked about for this request. */
static const char *asked_about(json_t *request STEALS)
{
	json_decref(iallocator_message(&m, request, &how_hail));
	return json_string_value(json_array_get(
		json_array_get(json_array_get(info_args, 1), 0), 0));
}

/* The cluster's first is fake. */
Test(iallocator, nodes_tell_of_the_hypervisor_of_the_instance)
{
	const json_t *inst =
		config_find(m.config, CONFIG_INSTANCE, "inst48.example.com");
	json_t *own = config_edit(inst);
	auto_strv struct strv names = {0};
	json_t *many;

	json_set_str(own, "hypervisor", "kvm");
	config_put(m.config, CONFIG_INSTANCE, own);
	inst = config_find(m.config, CONFIG_INSTANCE, "inst48.example.com");
	strv_add(&names, "inst48.example.com");
	cr_expect_str_eq(asked_about(allocate("file")), "fake");
	cr_expect_str_eq(asked_about(iallocator_relocate(&m, inst, &names)),
			 "kvm");
	cr_expect_str_eq(asked_about(iallocator_allocate_secondary(inst)),
			 "kvm");
	cr_expect_str_eq(
		asked_about(iallocator_node_evacuate(&names, "primary-only")),
		"kvm");
	many = allocate("file");
	json_set_str(many, "hypervisor", "kvm");
	cr_expect_str_eq(
		asked_about(iallocator_multi_allocate(json_make("[o]", many))),
		"kvm");
	strv_add(&names, "inst8.example.com");
	cr_expect_str_eq(
		asked_about(iallocator_node_evacuate(&names, "primary-only")),
		"fake");
}

Test(iallocator, good_answers)
{
	auto_json json_t *one =
		run(allocate("file"), "{\"success\":true,\"info\":\"ok\","
				      "\"result\":[\"node2.example.com\"]}\n");
	auto_json json_t *old = NULL;

	cr_assert_not_null(one, "%s", err.text);
	cr_assert_str_eq(json_string_value(json_array_get(one, 0)),
			 "node2.example.com");
	cr_assert_str_eq(json_string_value(json_array_get(runner_args, 0)),
			 "hail");
	old = run(allocate("file"), "{\"success\":true,\"info\":\"ok\","
				    "\"nodes\":[\"node1.example.com\"]}");
	cr_assert_not_null(old, "%s", err.text);
}

Test(iallocator, no_place_is_a_prerequisite)
{
	cr_assert_null(run(allocate("file"),
			   "{\"success\":false,\"info\":\"all full\","
			   "\"result\":[]}"));
	cr_assert_eq(err.kind, ERR_PREREQ);
	cr_assert_str_eq(err.ecode, ECODE_NORES);
	cr_assert_str_eq(err.text, "Can't compute nodes using iallocator "
				   "'hail': all full");
}

Test(iallocator, bad_answers_to_allocate)
{
	static const char *const outputs[] = {
		"",
		"nonsense",
		"[]",
		"{}",
		"{\"success\":1,\"info\":\"\",\"result\":[]}",
		"{\"success\":true,\"result\":[]}",
		"{\"success\":true,\"info\":\"\"}",
		"{\"success\":false,\"info\":\"all full\"}",
		"{\"success\":true,\"info\":\"\",\"result\":\"node1\"}",
		"{\"success\":true,\"info\":\"\",\"result\":[]}",
		"{\"success\":true,\"info\":\"\",\"result\":[5]}",
		"{\"success\":true,\"info\":\"\",\"result\":[\"node1\"]}",
		"{\"success\":true,\"info\":\"\",\"result\":[\"nosuch\"]}",
		("{\"success\":true,\"info\":\"\",\"result\":"
		 "[\"node1.example.com\",\"node2.example.com\"]}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		cr_expect_null(run(allocate("file"), outputs[i]), "%s",
			       outputs[i]);
		cr_expect_eq(err.kind, ERR_EXEC, "%s", outputs[i]);
		cr_expect_not_null(strstr(err.text, "'hail'"), "%s", err.text);
	}
	cr_expect_null(run(allocate("drbd"),
			   "{\"success\":true,\"info\":\"\",\"result\":"
			   "[\"node1.example.com\",\"node1.example.com\"]}"));
}

static json_t *multi(void)
{
	return iallocator_multi_allocate(json_make("[o]", allocate("file")));
}

Test(iallocator, answers_to_multi_allocate)
{
	auto_json json_t *good = run(
		multi(), "{\"success\":true,\"info\":\"\",\"result\":[[["
			 "\"new1.example.com\",[\"node1.example.com\"]]],[]]}");

	cr_assert_not_null(good, "%s", err.text);
	cr_assert_null(run(multi(), "{\"success\":true,\"info\":\"\","
				    "\"result\":[[[\"other\",[\"node1.example."
				    "com\"]]],[]]}"));
	cr_assert_null(run(multi(),
			   "{\"success\":true,\"info\":\"\",\"result\":[[["
			   "\"new1.example.com\",[]]],[]]}"));
	cr_assert_null(run(multi(), "{\"success\":true,\"info\":\"\","
				    "\"result\":[[],[\"other\"]]}"));
	cr_assert_null(run(multi(), "{\"success\":true,\"info\":\"\","
				    "\"result\":[[]]}"));
}

/* Two instances; the answer has these lists. */
static json_t *place_two(const char *placed, const char *failed)
{
	json_t *second = allocate("file");
	auto_free char *text = xprintf(
		"{\"success\":true,\"info\":\"\",\"result\":[[%s],[%s]]}",
		placed, failed);

	json_set_str(second, "name", "new2.example.com");
	return run(iallocator_multi_allocate(
			   json_make("[o, o]", allocate("file"), second)),
		   text);
}

#define PLACED(NAME) "[\"" NAME ".example.com\",[\"node1.example.com\"]]"
#define NAMED(NAME) "\"" NAME ".example.com\""

Test(iallocator, an_answer_says_where_each_new_one_goes_once)
{
	static const char *const good[][2] = {
		{PLACED("new2") "," PLACED("new1"), ""},
		{PLACED("new1"), NAMED("new2")},
		{"", "[" NAMED("new1") ",\"why\"]," NAMED("new2")},
	};
	static const char *const bad[][3] = {
		{PLACED("new1"), "", "new2.example.com"},
		{"", "", "new1.example.com"},
		{PLACED("new1") "," PLACED("new1"), NAMED("new2"),
		 "new1.example.com"},
		{PLACED("new1") "," PLACED("new2"), NAMED("new2"),
		 "new2.example.com"},
		{PLACED("new1"), NAMED("new2") "," NAMED("new2"),
		 "new2.example.com"},
		{PLACED("new1") "," PLACED("new2"), "5", "5"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		auto_json json_t *result = place_two(good[i][0], good[i][1]);

		cr_expect_not_null(result, "%s", err.text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_json json_t *result = place_two(bad[i][0], bad[i][1]);

		cr_expect_null(result, "%s %s", bad[i][0], bad[i][1]);
		cr_expect_not_null(strstr(err.text, bad[i][2]), "%s", err.text);
	}
}

static json_t *evacuate(void)
{
	auto_strv struct strv names = {0};

	strv_add(&names, "inst48.example.com");
	strv_add(&names, "inst8.example.com");
	return iallocator_node_evacuate(&names, "primary-only");
}

Test(iallocator, answers_to_node_evacuate)
{
	auto_json json_t *good =
		run(evacuate(),
		    "{\"success\":true,\"info\":\"\",\"result\":[[["
		    "\"inst48.example.com\",\"default\",[\"node2.example.com\""
		    "]]],[[\"inst8.example.com\",\"no\"]],[[{\"OP_ID\":"
		    "\"OP_INSTANCE_MIGRATE\",\"instance_name\":"
		    "\"inst48.example.com\"}]]]}");

	cr_assert_not_null(good, "%s", err.text);
	cr_assert_null(run(evacuate(),
			   "{\"success\":true,\"info\":\"\",\"result\":[[],[],"
			   "[[{\"OP_ID\":\"OP_CLUSTER_DESTROY\"}]]]}"));
	cr_assert_not_null(strstr(err.text, "OP_CLUSTER_DESTROY"));
	cr_assert_null(run(evacuate(),
			   "{\"success\":true,\"info\":\"\",\"result\":[[["
			   "\"inst48.example.com\",\"default\",[\"nosuch\"]]],"
			   "[],[]]}"));
	cr_assert_null(run(evacuate(), "{\"success\":true,\"info\":\"\","
				       "\"result\":[[],[]]}"));
	cr_assert_null(run(evacuate(), "{\"success\":true,\"info\":\"\","
				       "\"result\":[[],[[\"x\"]],[]]}"));
}

Test(iallocator, who_stays_may_do_so_without_a_reason)
{
	auto_json json_t *result = run(
		evacuate(), "{\"success\":true,\"info\":\"\",\"result\":[[],["
			    "[\"inst8.example.com\",null]],[]]}");

	cr_assert_not_null(result, "%s", err.text);
	cr_assert_null(run(evacuate(),
			   "{\"success\":true,\"info\":\"\",\"result\":[[],"
			   "[[\"inst8.example.com\",5]],[]]}"));
}

/* Each of these is about an instance of which nobody asked, or about none. */
Test(iallocator, answers_are_about_the_instances_of_the_request)
{
	static const char *const lists[] = {
		"[[\"inst6.example.com\",\"default\",[\"node2.example.com\"]]],"
		"[],[]",
		"[],[[\"inst6.example.com\",\"no\"]],[]",
		"[],[[\"inst6\",\"no\"]],[]",
		"[],[],[[{\"OP_ID\":\"OP_INSTANCE_FAILOVER\",\"instance_name\":"
		"\"inst6.example.com\"}]]",
		"[],[],[[{\"OP_ID\":\"OP_INSTANCE_MIGRATE\"}]]",
		"[],[],[[{\"OP_ID\":\"OP_INSTANCE_MIGRATE\",\"instance_name\":"
		"5}]]",
		"[],[],[[7]]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		auto_free char *text = xprintf(
			"{\"success\":true,\"info\":\"\",\"result\":[%s]}",
			lists[i]);

		cr_expect_null(run(evacuate(), text), "%s", lists[i]);
		cr_expect_eq(err.kind, ERR_EXEC);
	}
}

Test(iallocator, relocation_stays_in_the_group)
{
	const json_t *inst =
		config_find(m.config, CONFIG_INSTANCE, "inst48.example.com");
	auto_strv struct strv from = {0};
	auto_json json_t *result = NULL;
	auto_free char *text = NULL;

	strv_add(&from, "node1.example.com");
	result = iallocator_relocate(&m, inst, &from);
	text = json_text(result);
	cr_assert_str_eq(text, "{\"name\":\"inst48.example.com\",\"disk_space_"
			       "total\":0,\"required_nodes\":1,\"relocate_"
			       "from\":[\"node1.example.com\"],\"type\":"
			       "\"relocate\"}");
	json_decref(result);
	result = run(iallocator_relocate(&m, inst, &from),
		     "{\"success\":true,\"info\":\"\",\"result\":"
		     "[\"node2.example.com\"]}");
	cr_assert_not_null(result, "%s", err.text);
}

#define OTHER_GROUP "11111111-1111-4111-8111-111111111111"

/* The group may be one that nobody knows, as only its UUID counts here. */
static void put_in_group(const char *name, const char *group)
{
	json_t *node = config_edit(config_find(m.config, CONFIG_NODE, name));

	json_set_str(node, "group", group);
	config_put(m.config, CONFIG_NODE, node);
}

static bool may_move_to_node3(void)
{
	const json_t *inst =
		config_find(m.config, CONFIG_INSTANCE, "inst48.example.com");
	auto_strv struct strv from = {0};
	auto_json json_t *result = NULL;

	strv_add(&from, "node2.example.com");
	result = run(iallocator_relocate(&m, inst, &from),
		     "{\"success\":true,\"info\":\"\",\"result\":"
		     "[\"node3.example.com\"]}");
	return result != NULL;
}

/* inst48 is on node1. */
Test(iallocator, who_is_split_over_two_groups_may_go_to_either)
{
	put_in_group("node2.example.com", OTHER_GROUP);
	cr_assert(may_move_to_node3(), "%s", err.text);
	put_in_group("node3.example.com", OTHER_GROUP);
	cr_assert(may_move_to_node3(), "%s", err.text);
	put_in_group("node3.example.com", OTHER_GROUP "x");
	cr_assert_not(may_move_to_node3());
	cr_assert_not_null(strstr(err.text, "node3.example.com"), "%s",
			   err.text);
}

static bool may_mirror_on(const char *node)
{
	const json_t *inst =
		config_find(m.config, CONFIG_INSTANCE, "inst48.example.com");
	auto_free char *text =
		xprintf("{\"success\":true,\"info\":\"\",\"result\":%s}", node);
	auto_json json_t *result =
		run(iallocator_allocate_secondary(inst), text);

	return result != NULL;
}

Test(iallocator, a_first_secondary_is_in_the_group_of_the_primary)
{
	cr_assert(may_mirror_on("\"node2.example.com\""), "%s", err.text);
	cr_assert_not(may_mirror_on("\"nosuch\""));
	cr_assert_not(may_mirror_on("[\"node2.example.com\"]"));
	put_in_group("node2.example.com", OTHER_GROUP);
	cr_assert_not(may_mirror_on("\"node2.example.com\""));
	cr_assert_not_null(strstr(err.text, "another group"), "%s", err.text);
}

Test(iallocator, change_group_names_instances_and_groups)
{
	auto_strv struct strv names = {0}, groups = {0};
	auto_json json_t *request = NULL;
	auto_free char *text = NULL;

	strv_add(&names, "inst48.example.com");
	strv_add(&groups, "e4677306-5d6d-4a5b-8d6b-eee896e0db7a");
	request = iallocator_change_group(&names, &groups);
	text = json_text(request);
	cr_assert_not_null(strstr(text, "\"type\":\"change-group\""), "%s",
			   text);
	cr_assert(json_array_has_str(json_get(request, "instances"),
				     names.items[0]));
	cr_assert(json_array_has_str(json_get(request, "target_groups"),
				     groups.items[0]));
}

Test(iallocator, failed_program_gives_its_whole_output)
{
	auto_buf struct buf output = {0};
	auto_free char *text = NULL, *given = NULL;

	for (int i = 0; i < BIG; i++)
		buf_addc(&output, 'x');
	text = xprintf("[false, \"%s\"]", output.data);
	program_answer = text;
	cr_assert_null(
		iallocator_run(&m, allocate("file"), &how_hail, &given, &err));
	cr_assert_eq(err.kind, ERR_EXEC);
	cr_assert_not_null(given);
	cr_assert_eq(strlen(given), BIG);
}

Test(iallocator, options_go_to_the_program)
{
	struct iallocator_how how = how_hail;
	const json_t *options;

	how.ignore_soft_errors = true;

	program_answer = "[true, \"\"]";
	cr_assert_null(iallocator_run(&m, allocate("file"), &how, NULL, &err));
	options = json_array_get(runner_args, 2);
	cr_assert(json_is_null(json_object_get(options, "ignore-soft-errors")));
	cr_assert_eq(config_master(m.config),
		     config_find(m.config, CONFIG_NODE, "node1.example.com"));
}

/* --- is it our own hail? --- */

/* The place in the search path where a package puts hail; to be freed. */
static char *place_of_hail(void)
{
	auto_free char *folder =
		paths_local(root.paths, "/usr/lib/ganeti/iallocators");

	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0, "%s", err.text);
	return xprintf("%s/hail", folder);
}

/* The hail that was built with this test; to be freed. */
static char *built_hail(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	cr_assert_gt(n, 0);
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	return xprintf("%s/../bin/hail", exe);
}

static bool is_builtin(const char *name)
{
	auto_json json_t *no_options = json_object();

	return iallocator_is_builtin(&m, name, no_options);
}

Test(iallocator, a_link_to_the_hail_of_this_build_is_ours)
{
	auto_free char *place = place_of_hail(), *built = built_hail();
	auto_free char *other = xprintf("%s/dumb", root.top);

	cr_assert_eq(symlink(built, other), 0);
	cr_assert_eq(symlink(other, place), 0);
	cr_assert(is_builtin("hail"));
	cr_assert_not(is_builtin("dumb"));
}

Test(iallocator, an_option_that_only_the_program_knows_needs_the_program)
{
	auto_free char *place = place_of_hail(), *built = built_hail();
	auto_json json_t *known = json_make("{s:n}", "no-capacity-checks");
	auto_json json_t *other = json_make("{s:n}", "verbose");

	cr_assert_eq(symlink(built, place), 0);
	cr_assert(iallocator_is_builtin(&m, "hail", known));
	cr_assert_not(iallocator_is_builtin(&m, "hail", other));
}

/* Even with the same content: the site has put it there. */
Test(iallocator, another_program_called_hail_is_not_ours)
{
	auto_free char *place = place_of_hail(), *built = built_hail();
	auto_free char *content = NULL;
	static const char script[] = "#!/bin/sh\n# hail (gantry) \n";
	size_t len;

	cr_assert_eq(
		fs_write_atomic(place, script, sizeof(script) - 1, 0755, &err),
		0);
	cr_assert_not(is_builtin("hail"));
	content = fs_read(built, (size_t)64 << 20, &len, &err);
	cr_assert_not_null(content, "%s", err.text);
	cr_assert_eq(fs_write_atomic(place, content, len, 0755, &err), 0);
	cr_assert_not(is_builtin("hail"));
}

Test(iallocator, a_missing_hail_is_not_ours)
{
	auto_free char *place = place_of_hail();

	cr_assert_not(is_builtin("hail"));
	cr_assert_eq(symlink("/nowhere/hail", place), 0);
	cr_assert_not(is_builtin("hail"));
}

/* --- our own hail is not run as a program --- */

struct both {
	json_t *result;
	char *text; /* with an explanation */
};

static void ask_both(void *arg)
{
	const struct iallocator_how explained = {
		.name = "hail", .disk_template = "diskless", .explain = true};
	struct both *b = arg;
	auto_json json_t *request = allocate("diskless");

	b->result =
		iallocator_run(&m, json_incref(request), &how_hail, NULL, &err);
	b->text = iallocator_ask(&m, request, &explained, NULL, &err);
}

Test(iallocator, our_own_hail_is_asked_without_the_node_daemon)
{
	auto_free char *place = place_of_hail(), *built = built_hail();
	struct both both = {.result = NULL};

	cr_assert_eq(symlink(built, place), 0);
	test_loop_start();
	task_spawn("ask", ask_both, &both);
	test_run_tasks();
	test_loop_stop();
	cr_assert_not_null(both.result, "%s", err.text);
	cr_expect_eq(json_array_size(both.result), 1);
	cr_assert_not_null(both.text, "%s", err.text);
	cr_expect_not_null(strstr(both.text, "\"explanation\":"));
	cr_expect_null(runner_args);
	json_decref(both.result);
	free(both.text);
}

/* --- Ganeti's own allocator, where it is installed --- */

/* What a program with one argument prints; to be freed. */
static char *output_of(const char *program, const char *argument)
{
	struct buf output = {0};
	int ends[2];
	char chunk[4096];
	ssize_t n;
	pid_t pid;

	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(program, program, argument, NULL);
		_exit(127);
	}
	close(ends[1]);
	while ((n = read(ends[0], chunk, sizeof(chunk))) > 0)
		buf_add(&output, chunk, (size_t)n);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return buf_steal(&output);
}

/* It has to find a place, and we to accept its answer. */
static void ask_peer(json_t *request STEALS)
{
	auto_free char *file = xprintf("%s/request.json", root.top);
	auto_free char *type = xstrdup(json_str(request, "type", ""));
	auto_json json_t *kept = json_incref(request);
	auto_json json_t *message = iallocator_message(
		&m, request,
		&(struct iallocator_how){.disk_template = "diskless"});
	auto_free char *text = json_text(message);
	auto_free char *output = NULL;
	auto_json json_t *result = NULL;

	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0);
	output = output_of(PEER_HAIL, file);
	result = iallocator_check_answer(m.config, "hail", kept, output, &err);
	cr_expect_not_null(result, "%s: %s", type, err.text);
}

Test(iallocator, allocator_of_ganeti_understands_us)
{
	auto_strv struct strv names = {0}, from = {0};
	const char *name = "inst48.example.com";

	if (!fs_exists(PEER_HAIL)) {
		fprintf(stderr, "skipped: " PEER_HAIL " is not installed\n");
		return;
	}
	strv_add(&names, name);
	strv_add(&from, "node1.example.com");
	ask_peer(allocate("diskless"));
	ask_peer(multi());
	ask_peer(iallocator_node_evacuate(&names, "primary-only"));
	ask_peer(iallocator_relocate(
		&m, config_find(m.config, CONFIG_INSTANCE, name), &from));
}
