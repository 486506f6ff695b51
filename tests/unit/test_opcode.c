/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"
#include "tests/lib/compat.h"

static json_t *parse(const char *text)
{
	struct error err;
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s", err.text);
	return value;
}

static json_t *check(const char *text, struct error *err)
{
	auto_json json_t *value = parse(text);

	memset(err, 0, sizeof(*err));
	return op_check(value, err);
}

static void assert_summary(const char *text, const char *summary)
{
	auto_json json_t *value = parse(text);
	auto_free char *ours = op_summary(value);

	cr_expect_str_eq(ours, summary);
}

Test(opcode, defaults_are_filled_in_in_the_order_of_job_files)
{
	struct error err;
	auto_json json_t *op =
		check("{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1}", &err);
	auto_free char *text = NULL;

	cr_assert_not_null(op, "%s", err.text);
	text = json_text(op);
	cr_assert_str_eq(
		text,
		"{\"duration\":1,\"on_master\":true,\"on_nodes\":[],"
		"\"on_node_uuids\":null,\"repeat\":0,\"interruptible\":false,"
		"\"no_locks\":true,\"dry_run\":null,\"debug_level\":null,"
		"\"priority\":0,\"depends\":null,\"comment\":null,"
		"\"reason\":[],\"OP_ID\":\"OP_TEST_DELAY\"}");
}

Test(opcode, null_stands_for_the_default)
{
	struct error err;
	auto_json json_t *op =
		check("{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1.5,"
		      "\"repeat\":null,\"on_master\":null,\"reason\":null}",
		      &err);

	cr_assert_not_null(op, "%s", err.text);
	cr_assert_eq(json_int(op, "repeat", -1), 0);
	cr_assert(json_bool(op, "on_master", false));
	cr_assert(json_is_array(json_object_get(op, "reason")));
}

Test(opcode, what_is_wrong_is_named)
{
	static const struct {
		const char *op, *named;
	} cases[] = {
		{"{\"OP_ID\":\"OP_TEST_DELAY\"}", "'duration'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":\"x\"}",
		 "a number expected, got \"x\""},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,\"zzz\":1}",
		 "'zzz'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,\"repeat\":-1}",
		 "'repeat'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,\"repeat\":1.5}",
		 "'repeat'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,"
		 "\"on_nodes\":[\"\"]}",
		 "'on_nodes'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,"
		 "\"priority\":77}",
		 "'priority'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,"
		 "\"depends\":[[5,[\"running\"]]]}",
		 "'depends'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,"
		 "\"depends\":[[0,[]]]}",
		 "'depends'"},
		{"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":1,"
		 "\"reason\":[\"x\"]}",
		 "'reason'"},
		{"{\"OP_ID\":\"OP_NODE_EVACUATE\",\"node_name\":\"n\","
		 "\"mode\":\"some\"}",
		 "one of 'all', 'primary-only', 'secondary-only'"},
		{"{\"OP_ID\":\"OP_NODE_EVACUATE\",\"node_name\":\"\","
		 "\"mode\":\"all\"}",
		 "'node_name'"},
		{"{\"OP_ID\":\"OP_NETWORK_ADD\",\"network_name\":\"n\","
		 "\"network\":\"10.0.0.0/33\"}",
		 "'network'"},
		{"{\"OP_ID\":\"OP_CLUSTER_SET_PARAMS\","
		 "\"enabled_hypervisors\":[\"vmware\"]}",
		 "'enabled_hypervisors'"},
		{"{\"OP_ID\":\"OP_CLUSTER_SET_PARAMS\","
		 "\"diskparams\":{\"nosuch\":{}}}",
		 "'diskparams'"},
		{"{\"OP_ID\":\"OP_INSTANCE_SET_PARAMS\","
		 "\"instance_name\":\"i\",\"disks\":[[\"add\",\"x\"]]}",
		 "'disks'"},
		{"{\"OP_ID\":\"OP_INSTANCE_GROW_DISK\","
		 "\"instance_name\":\"i\",\"disk\":16,\"amount\":1}",
		 "'disk'"},
		{"{\"OP_ID\":\"OP_GROUP_ADD\",\"group_name\":\"a\\nb\"}",
		 "a name without control characters"},
		{"{\"OP_ID\":\"OP_GROUP_RENAME\",\"group_name\":\"a\","
		 "\"new_name\":\"b\\r\"}",
		 "'new_name'"},
		{"{\"OP_ID\":\"OP_NETWORK_ADD\",\"network\":\"10.0.0.0/24\","
		 "\"network_name\":\"a\\tb\"}",
		 "'network_name'"},
		{"{\"OP_ID\":\"OP_NETWORK_RENAME\",\"network_name\":\"a\","
		 "\"new_name\":\"\\u007f\"}",
		 "'new_name'"},
		{"{\"OP_ID\":\"OP_CLUSTER_SET_PARAMS\","
		 "\"master_netdev\":\"lo\\nx\"}",
		 "'master_netdev'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;

		cr_expect_null(check(cases[i].op, &err), "%s", cases[i].op);
		cr_expect_eq(err.kind, ERR_PREREQ, "%s", cases[i].op);
		cr_expect_str_eq(err.ecode, ECODE_INVAL);
		cr_expect_not_null(strstr(err.text, cases[i].named), "%s",
				   err.text);
	}
}

Test(opcode, what_is_no_opcode_is_refused)
{
	static const char *const cases[] = {"[]", "\"OP_TEST_DELAY\"", "{}",
					    "{\"OP_ID\":5}",
					    "{\"OP_ID\":\"OP_NOSUCH\"}"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;

		cr_expect_null(check(cases[i], &err));
		cr_expect_eq(err.kind, ERR_OPCODE, "%s", cases[i]);
	}
}

Test(opcode, secrets_are_not_in_messages)
{
	struct error err;

	cr_assert_null(check("{\"OP_ID\":\"OP_TEST_OS_PARAMS\","
			     "\"osparams_secret\":[\"hush\"]}",
			     &err));
	cr_assert_null(strstr(err.text, "hush"), "%s", err.text);
}

Test(opcode, good_values_are_let_through)
{
	static const char *const cases[] = {
		"{\"OP_ID\":\"OP_TEST_DELAY\",\"duration\":0,\"priority\":-10,"
		"\"depends\":[[-1,[\"success\"]],[\"7\",[]]]}",
		"{\"OP_ID\":\"OP_INSTANCE_SET_PARAMS\",\"instance_name\":\"i\","
		"\"nics\":[[\"add\",-1,{}],[0,{}],[\"remove\",{}]],"
		"\"disks\":[[\"modify\",\"name\",{\"mode\":\"ro\"}]]}",
		"{\"OP_ID\":\"OP_NETWORK_ADD\",\"network_name\":\"n\","
		"\"network\":\"10.0.0.0/24\",\"network6\":\"fd00::/64\","
		"\"gateway6\":\"fd00::1\"}",
		"{\"OP_ID\":\"OP_NETWORK_RENAME\",\"network_name\":\"a\","
		"\"new_name\":\"b\"}",
		"{\"OP_ID\":\"OP_CLUSTER_VERIFY\",\"skip_checks\":"
		"[\"nplusone_mem\",\"hvparam_assessment\"],\"ignore_errors\":"
		"[\"ENODEVERSION\"]}",
		"{\"OP_ID\":\"OP_INSTANCE_RECREATE_DISKS\","
		"\"instance_name\":\"i\",\"disks\":[0,[1,{\"size\":5}]]}",
		"{\"OP_ID\":\"OP_QUERY\",\"what\":\"os\","
		"\"fields\":[\"name\"]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err;
		auto_json json_t *op = check(cases[i], &err);

		cr_expect_not_null(op, "%s", err.text);
	}
}

Test(opcode, what_3_1_added_is_accepted_but_not_filled_in)
{
	struct error err;
	auto_json json_t *without =
		check("{\"OP_ID\":\"OP_CLUSTER_VERIFY_DISKS\"}", &err);
	auto_json json_t *with = check("{\"OP_ID\":\"OP_CLUSTER_VERIFY_DISKS\","
				       "\"is_strict\":false}",
				       &err);
	struct op_cluster_verify_disks op;

	cr_assert_null(json_object_get(without, "is_strict"));
	op_parse(&op_class_cluster_verify_disks, without, &op);
	cr_assert(op.is_strict);
	op_parse(&op_class_cluster_verify_disks, with, &op);
	cr_assert_not(op.is_strict);
}

/* Ganeti reads the job files. */
Test(opcode, what_is_added_is_left_out_when_it_says_nothing)
{
	struct error err;
	auto_json json_t *given = json_make(
		"{s:s, s:s, s:n, s:b}", "OP_ID", "OP_INSTANCE_FAILOVER",
		"instance_name", "web1", "keep_node", "sync_first", 0);
	auto_json json_t *set =
		json_make("{s:s, s:s, s:b}", "OP_ID", "OP_INSTANCE_FAILOVER",
			  "instance_name", "web1", "sync_first", 1);
	auto_json json_t *plain = op_check(given, &err);
	auto_json json_t *other = op_check(set, &err);

	cr_assert_null(json_get(plain, "keep_node"));
	cr_assert_null(json_get(plain, "sync_first"));
	cr_assert(json_is_true(json_get(other, "sync_first")));
}

Test(opcode, fields_without_value_have_the_first_one)
{
	struct error err;
	struct op_instance_create op;
	auto_json json_t *value = check(
		"{\"OP_ID\":\"OP_INSTANCE_CREATE\",\"instance_name\":"
		"\"web1\",\"mode\":\"create\",\"disks\":[],\"nics\":[{}]}",
		&err);

	cr_assert_not_null(value, "%s", err.text);
	op_parse(&op_class_instance_create, value, &op);
	cr_assert_str_eq(op.instance_name, "web1");
	cr_assert_null(op.iallocator);
	cr_assert_eq(op.no_install, -1);
	cr_assert_eq(op.helper_startup_timeout, OP_UNSET);
	cr_assert_eq(op.source_shutdown_timeout, 120);
	cr_assert(op.start);
	cr_assert_null(op.osparams_private);
	cr_assert_eq(json_array_size(op.nics), 1);
}

Test(opcode, word_of_c_has_its_own_name_on_the_wire)
{
	struct error err;
	struct op_instance_query_data op;
	auto_json json_t *value = check(
		"{\"OP_ID\":\"OP_INSTANCE_QUERY_DATA\",\"static\":true}", &err);

	cr_assert_not_null(value, "%s", err.text);
	op_parse(&op_class_instance_query_data, value, &op);
	cr_assert(op.static_);
}

Test(opcode, common_parameters)
{
	struct error err;
	struct op_common common;
	auto_json json_t *value =
		check("{\"OP_ID\":\"OP_CLUSTER_QUERY\",\"dry_run\":true,"
		      "\"priority\":10,\"comment\":\"c\","
		      "\"depends\":[[1,[]]],\"reason\":[[\"a\",\"b\",1]]}",
		      &err);

	op_parse_common(value, &common);
	cr_assert(common.dry_run);
	cr_assert_eq(common.debug_level, 0);
	cr_assert_eq(common.priority, 10);
	cr_assert_str_eq(common.comment, "c");
	cr_assert_eq(json_array_size(common.depends), 1);
	cr_assert_eq(json_array_size(common.reason), 1);
}

Test(opcode, new_ones_pass_the_check_once_completed)
{
	struct error err;
	auto_json json_t *op = op_new(&op_class_node_remove);
	auto_json json_t *checked = NULL;

	cr_assert_null(op_check(op, &err));
	json_set_str(op, "node_name", "node2");
	checked = op_check(op, &err);
	cr_assert_not_null(checked, "%s", err.text);
	cr_assert(json_same(op, checked));
}

Test(opcode, table_is_whole)
{
	size_t n = 0;

	for (; op_classes()[n] != NULL; n++)
		cr_expect_eq(op_class_find(op_classes()[n]->id),
			     op_classes()[n]);
	cr_assert_eq(n, 80); /* 76 are Ganeti's */
	for (size_t i = 0; i < n; i++) {
		auto_json json_t *op = op_new(op_classes()[i]);

		cr_expect(op_classes()[i]->summary_field == NULL ||
				  json_object_get(
					  op, op_classes()[i]->summary_field),
			  "%s", op_classes()[i]->id);
	}
}

Test(opcode, summaries)
{
	assert_summary("{\"OP_ID\":\"OP_INSTANCE_CREATE\","
		       "\"instance_name\":\"web1.example.com\"}",
		       "INSTANCE_CREATE(web1.example.com)");
	assert_summary("{\"OP_ID\":\"OP_INSTANCE_MULTI_ALLOC\"}",
		       "INSTANCE_MULTI_ALLOC");
	assert_summary("{\"OP_ID\":\"OP_TAGS_GET\",\"name\":null}",
		       "TAGS_GET(None)");
	assert_summary("{\"OP_ID\":\"OP_NOSUCH\"}", "NOSUCH");
}

Test(opcode, numbers_in_summaries_are_written_as_haskell_does)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0, "0.0"},	      {0.2, "0.2"},
		{1, "1.0"},	      {10, "10.0"},
		{12.5, "12.5"},	      {0.01, "1.0e-2"},
		{0.05, "5.0e-2"},     {1e-6, "1.0e-6"},
		{123456, "123456.0"}, {1234567, "1234567.0"},
		{1e7, "1.0e7"},	      {0.125, "0.125"},
		{0.1, "0.1"},	      {-2.5, "-2.5"},
		{1.5e-3, "1.5e-3"},   {100.25, "100.25"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *op =
			json_make("{s:s, s:f}", "OP_ID", "OP_TEST_DELAY",
				  "duration", cases[i].value);
		auto_free char *ours = op_summary(op);
		auto_free char *theirs =
			xprintf("TEST_DELAY(%s)", cases[i].text);

		cr_expect_str_eq(ours, theirs);
	}
}

/* --- recorded jobs --- */

/* The keys in their order. */
static char *keys_of(const json_t *object)
{
	struct buf text = {0};
	const char *key;
	json_t *item;

	json_object_foreach (json_unconst(object), key, item)
		buf_addf(&text, "%s ", key);
	return buf_steal(&text);
}

/* Until a job has run, luxid's form of it stands in the file: in another order,
 * and without what is null. */
static void check_recorded(const char *name, const json_t *input)
{
	struct error err = {0};
	auto_json json_t *theirs = json_copy(json_unconst(input));
	auto_json json_t *ours = op_check(input, &err);
	auto_free char *our_keys = NULL, *their_keys = keys_of(input);
	const char *key;
	json_t *item;

	cr_assert_not_null(ours, "%s: %s", name, err.text);
	our_keys = keys_of(ours);
	if (str_ends(their_keys, "OP_ID ") &&
	    json_object_size(theirs) == json_object_size(ours))
		cr_assert_str_eq(our_keys, their_keys, "%s", name);
	json_object_foreach (ours, key, item)
		if (json_is_null(item) && json_object_get(theirs, key) == NULL)
			json_object_set(theirs, key, item);
	compat_assert_same(ours, theirs);
}

static size_t check_folder(const char *folder)
{
	auto_strv struct strv names = {0};
	struct error err;
	size_t n = 0;

	if (fs_list(folder, &names, &err) < 0)
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *path = xprintf("%s/%s", folder, names.items[i]);
		auto_json json_t *job = NULL;
		const json_t *ops;

		if (!str_starts(names.items[i], "job-"))
			continue;
		job = json_read_file(path, COMPAT_FILE_MAX, &err);
		cr_assert_not_null(job, "%s", err.text);
		ops = json_object_get(job, "ops");
		for (size_t k = 0; k < json_array_size(ops); k++) {
			const json_t *op = json_array_get(ops, k);

			check_recorded(path, json_object_get(op, "input"));
			n++;
		}
	}
	return n;
}

Test(opcode, recorded_jobs_come_back_equal)
{
	cr_assert_geq(check_folder("tests/compat/jobs"), 3);
}

Test(opcode, all_recorded_jobs_come_back_equal)
{
	const char *folder = COMPAT_SHARED "state/node1/var-lib-ganeti/queue";

	compat_need(folder);
	cr_assert_gt(check_folder(folder), 100);
}

/* Each submitted opcode in the form in which a client of Ganeti sends it. */
Test(opcode, recorded_submissions_pass)
{
	static const char *const names[] = {
		"instance-add-hail",	 "instance-batch-create",
		"rapi-POST-evacuate-ok", "cluster-verify",
		"debug-delay",		 NULL};

	for (size_t i = 0; names[i] != NULL; i++) {
		auto_free char *file = xprintf("luxi/%s.json", names[i]);
		auto_json json_t *session = compat_read_shared(file);
		const json_t *calls = json_object_get(session, "exchanges");

		for (size_t k = 0; k < json_array_size(calls); k++) {
			const json_t *request = json_object_get(
				json_array_get(calls, k), "request");
			const json_t *ops = json_array_get(
				json_object_get(request, "args"), 0);
			struct error err = {0};
			auto_json json_t *op = NULL;

			if (strcmp(json_str(request, "method", ""),
				   "SubmitJob") != 0)
				continue;
			op = op_check(json_array_get(ops, 0), &err);
			cr_expect_not_null(op, "%s", err.text);
		}
	}
}
