/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded requests to Ganeti's node daemon get answers of the recorded form
 * from ours. */
#include "tests/lib/node.h"

#include "lib/base/array.h"

static struct test_node node;

static void setup(void)
{
	test_loop_start();
}

static void teardown(void)
{
	test_node_loop_stop(&node);
}

TestSuite(noded_calls, .init = setup, .fini = teardown, .timeout = 60);

static const char *const os_files[][2] = {
	{"/srv/ganeti/os/dumpos/ganeti_api_version", "20\n15\n10\n"},
	{"/srv/ganeti/os/dumpos/variants.list", "default\nfancy\n"},
	{"/srv/ganeti/os/dumpos/parameters.list",
	 "size_hint The wanted root size hint\nflavour Some flavour\n"},
	{"/srv/ganeti/os/dumpos/create", "#!/bin/sh\nenv >$0.env\n"},
	{"/srv/ganeti/os/dumpos/import", "#!/bin/sh\n"},
	{"/srv/ganeti/os/dumpos/export", "#!/bin/sh\n"},
	{"/srv/ganeti/os/dumpos/rename", "#!/bin/sh\n"},
	{"/srv/ganeti/os/dumpos/verify", "#!/bin/sh\n"},
	{"/usr/share/ganeti/os/noop/ganeti_api_version", "5\n10\n"},
	{"/usr/share/ganeti/os/noop/create", "#!/bin/sh\n"},
	{"/usr/share/ganeti/os/noop/import", "#!/bin/sh\n"},
	{"/usr/share/ganeti/os/noop/export", "#!/bin/sh\n"},
	{"/usr/share/ganeti/os/noop/rename", "#!/bin/sh\n"},
	{"/usr/lib/ganeti/iallocators/hail", "#!/bin/sh\necho '{}'\n"},
	{"/usr/lib/ganeti/iallocators/dumpalloc", "#!/bin/sh\necho '{}'\n"},
};

static void add_programs(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(os_files); i++)
		test_node_write(&node, os_files[i][0], os_files[i][1], 0755);
}

static void make_running(const char *name)
{
	auto_free char *file =
		xprintf("/var/run/ganeti/fake-hypervisor/%s", name);

	test_node_write(&node, file, "0\n64\n2\n", 0644);
}

/* Make the file of each disk inside the value. */
static void make_disks(const json_t *value)
{
	const json_t *id = json_object_get(value, "logical_id"), *member;
	const char *key;
	size_t i;

	if (id != NULL)
		test_node_write(&node, json_string_value(json_array_get(id, 1)),
				"", 0600);
	json_array_foreach (value, i, member)
		make_disks(member);
	json_object_foreach (json_unconst(value), key, member)
		make_disks(member);
}

/* Make all instances in the payload run; for calls about one instance, make it
 * run. */
static void make_instances(const char *call, const json_t *request,
			   const json_t *payload)
{
	static const char *const one[] = {
		"instance_shutdown",
		"instance_reboot",
		"instance_migratable",
		"migration_info",
		"instance_migrate",
		"instance_finalize_migration_src",
		"instance_get_migration_status",
	};
	const json_t *list = json_object_get(payload, "instancelist"), *value;
	const char *name;
	size_t i;

	json_array_foreach (list, i, value)
		make_running(json_string_value(value));
	if (strcmp(call, "all_instances_info") == 0)
		json_object_foreach (json_unconst(payload), name, value)
			make_running(name);
	if (strcmp(call, "instance_info") == 0 && json_object_size(payload) > 0)
		make_running(json_string_value(json_array_get(request, 0)));
	for (size_t k = 0; k < ARRAY_SIZE(one); k++)
		if (strcmp(call, one[k]) == 0)
			json_array_foreach (request, i, value)
				if (json_is_object(value))
					make_running(
						json_str(value, "name", ""));
}

/* Bring the node into the state in which Ganeti gave this answer. */
static void prepare(const char *call, const json_t *request, bool ok,
		    const json_t *payload)
{
	const json_t *pair = json_array_get(json_array_get(request, 0), 0);
	const char *name = json_string_value(json_array_get(pair, 0));

	add_programs();
	if (ok)
		make_instances(call, request, payload);
	if (strcmp(call, "blockdev_create") != 0 || !ok)
		make_disks(request);
	else
		test_node_ok(&node, "file_storage_dir_create",
			     json_make("[s]", "/srv/ganeti/file-storage/x"));
	if (strcmp(call, "jobqueue_rename") == 0 && ok)
		test_node_write(&node, name, "{}", 0640);
	if (strcmp(call, "hooks_runner") == 0) {
		auto_free char *hook =
			xprintf("/etc/ganeti/hooks/%s-%s.d/dump",
				json_string_value(json_array_get(request, 0)),
				json_string_value(json_array_get(request, 1)));

		test_node_write(&node, hook, "#!/bin/sh\n", 0755);
	}
	if (strcmp(call, "file_storage_dir_rename") == 0)
		json_decref(test_node_ok(
			&node, "file_storage_dir_create",
			json_make("[O]", json_array_get(request, 0))));
}

/* Of the same form: kinds are equal, objects have all members. */
static bool same_form(const json_t *ours, const json_t *theirs)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_number(theirs))
		return json_is_number(ours);
	if (json_is_boolean(theirs))
		return json_is_boolean(ours);
	if (json_typeof(theirs) != json_typeof(ours))
		return false;
	json_array_foreach (theirs, i, value)
		if (i < json_array_size(ours) &&
		    !same_form(json_array_get(ours, i), value))
			return false;
	json_object_foreach (json_unconst(theirs), key, value)
		if (json_object_get(ours, key) == NULL ||
		    !same_form(json_object_get(ours, key), value))
			return false;
	return true;
}

/* Files that our node does not have are not in our answer, and what is wrong
 * with the machine is not recorded. */
static void drop_places(const char *call, json_t *theirs)
{
	json_t *payload = json_array_get(theirs, 1);

	if (strcmp(call, "node_verify") == 0 &&
	    json_object_get(payload, "filelist") != NULL) {
		json_object_set_new(payload, "filelist", json_object());
		json_object_set_new(payload, "nodesetup", json_array());
	}
}

static void make_folders_of_disks(const json_t *request)
{
	const json_t *id =
		json_object_get(json_array_get(request, 0), "logical_id");
	auto_free char *folder =
		xstrdup(json_string_value(json_array_get(id, 1)));

	*strrchr(folder, '/') = '\0';
	json_decref(test_node_ok(&node, "file_storage_dir_create",
				 json_make("[s]", folder)));
}

static void replay(const char *call, const json_t *request, json_t *response)
{
	const json_t *payload = json_array_get(response, 1);
	bool ok = json_is_true(json_array_get(response, 0));
	auto_json json_t *ours = NULL;
	auto_free char *our_text = NULL, *their_text = NULL;

	test_node_create(&node);
	prepare(call, request, ok, payload);
	if (strcmp(call, "blockdev_create") == 0)
		make_folders_of_disks(request);
	drop_places(call, response);
	ours = test_node_call(&node, call, json_deep_copy(request));
	our_text = json_text(ours);
	their_text = json_text(response);
	cr_assert(same_form(ours, response), "%s\nours:   %s\ntheirs: %s", call,
		  our_text, their_text);
	test_node_finish_queue(&node);
	test_node_destroy(&node);
}

Test(noded_calls, recorded_cuts)
{
	auto_json json_t *samples = compat_read("noderpc.json");
	json_t *sample;
	size_t i;

	json_array_foreach (samples, i, sample)
		replay(json_str(sample, "call", ""),
		       json_object_get(sample, "request"),
		       json_object_get(sample, "response"));
	cr_assert_gt(i, 50);
}

/* The whole records, where they are. */
Test(noded_calls, recorded_whole)
{
	auto_json json_t *cuts = compat_read("noderpc.json");
	const char *last = "";
	json_t *cut, *sample;
	size_t i, k;

	json_array_foreach (cuts, i, cut) {
		const char *call = json_str(cut, "call", "");
		auto_free char *name = xprintf("noderpc/%s.json", call);
		auto_json json_t *record = NULL;

		if (strcmp(call, last) == 0)
			continue;
		last = call;
		record = compat_read_shared(name);
		json_array_foreach (json_object_get(record, "samples"), k,
				    sample)
			replay(call, json_object_get(sample, "request"),
			       json_object_get(sample, "response"));
	}
}

/* Lines without the variables that depend on the place or the shell. */
static void env_lines(const char *text, const char *root, struct strv *ret)
{
	auto_strv struct strv lines = {0};

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = lines.items[i];
		const char *at = strstr(line, root);

		if (*line == '\0' || str_starts(line, "PATH=") ||
		    str_starts(line, "PWD=") || str_starts(line, "SHLVL=") ||
		    str_starts(line, "_="))
			continue;
		if (at == NULL)
			strv_add(ret, line);
		else
			strv_addf(ret, "%.*s%s", (int)(at - line), line,
				  at + strlen(root));
	}
	strv_sort(ret);
}

Test(noded_calls, os_scripts_get_ganetis_environment)
{
	auto_json json_t *samples = compat_read("noderpc.json");
	auto_free char *theirs = NULL, *ours = NULL;
	auto_strv struct strv their_lines = {0}, our_lines = {0};
	struct error err;
	json_t *sample;
	size_t i;

	test_node_create(&node);
	add_programs();
	json_array_foreach (samples, i, sample)
		if (strcmp(json_str(sample, "call", ""), "instance_os_add") ==
		    0)
			json_decref(test_node_ok(&node, "instance_os_add",
						 json_deep_copy(json_object_get(
							 sample, "request"))));
	theirs = fs_read("tests/compat/os-env-create.txt", 1 << 16, NULL, &err);
	ours = test_node_read(&node, "/srv/ganeti/os/dumpos/create.env");
	cr_assert_not_null(theirs);
	cr_assert_not_null(ours);
	env_lines(theirs, node.root.paths->root, &their_lines);
	env_lines(ours, node.root.paths->root, &our_lines);
	cr_assert_eq(our_lines.n, their_lines.n, "ours:\n%s", ours);
	for (i = 0; i < our_lines.n; i++)
		cr_expect_str_eq(our_lines.items[i], their_lines.items[i]);
	test_node_finish_queue(&node);
	test_node_destroy(&node);
}
