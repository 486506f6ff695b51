/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of the site: hooks, allocators, OS scripts. */
#include "tests/lib/node.h"

#define HOOKS "/etc/ganeti/hooks/instance-add-pre.d/"
#define ALLOCATORS "/usr/lib/ganeti/iallocators/"
#define OS "/srv/ganeti/os/deb/"

static struct test_node node;

static void setup(void)
{
	test_loop_start();
	test_root_create(&node.root);
	noded_init(&node.n, node.root.paths);
}

static void teardown(void)
{
	unsetenv("GANTRY_IALLOCATOR_TIMEOUT_S");
	noded_done(&node.n);
	test_root_destroy(&node.root);
	test_node_loop_stop(&node);
}

TestSuite(noded_scripts, .init = setup, .fini = teardown, .timeout = 60);

/* --- hooks --- */

static json_t *hook_args(void)
{
	return json_make("[s, s, {s:s, s:s}]", "instance-add", "pre",
			 "GANETI_OP_CODE", "OP_X", "PATH", "/bin:/usr/bin");
}

Test(noded_scripts, hooks_run_in_byte_order_and_report)
{
	auto_json json_t *results = NULL;
	auto_free char *text = NULL;

	test_node_write(&node, HOOKS "b-fails",
			"#!/bin/sh\necho no >&2\nexit 3", 0755);
	test_node_write(&node, HOOKS "B_first",
			"#!/bin/sh\necho $GANETI_OP_CODE", 0755);
	test_node_write(&node, HOOKS "a", "#!/bin/sh\nenv | grep -c HOME",
			0755);
	test_node_write(&node, HOOKS "c.bak", "#!/bin/sh\necho bad", 0755);
	test_node_write(&node, HOOKS "d", "#!/bin/sh\necho bad", 0644);
	test_node_write(&node, HOOKS "silent", "#!/bin/sh\nexit 7", 0755);
	test_node_write(&node, HOOKS "z", "not a program", 0755);
	results = test_node_ok(&node, "hooks_runner", hook_args());
	json_array_remove(results, 6); /* what the kernel says of z */
	text = json_text(results);
	cr_assert_str_eq(text, "[[\"instance-add-pre.d/B_first\",2,\"OP_X\"],"
			       "[\"instance-add-pre.d/a\",1,\"0\"],"
			       "[\"instance-add-pre.d/b-fails\",1,\"no\"],"
			       "[\"instance-add-pre.d/c.bak\",0,\"\"],"
			       "[\"instance-add-pre.d/d\",0,\"\"],"
			       "[\"instance-add-pre.d/silent\",1,"
			       "\"exited with exit code 7\"]]");
}

/* The tags of an instance may be longer than what a program can be given. */
Test(noded_scripts, hooks_with_long_values_run_and_find_them_in_a_file)
{
	auto_free char *big = xalloc(300001), *text = NULL;
	auto_json json_t *args = hook_args(), *results = NULL;
	auto_strv struct strv names = {0};
	struct error err;

	memset(big, 't', 300000);
	json_set_str(json_array_get(args, 2), "GANETI_INSTANCE_TAGS", big);
	test_node_write(&node, HOOKS "tags",
			"#!/bin/sh\necho \"<$GANETI_INSTANCE_TAGS>\"\n"
			". \"$OS_ENV_FILE\"\necho ${#GANETI_INSTANCE_TAGS} "
			"$GANETI_OP_CODE",
			0755);
	results = test_node_ok(&node, "hooks_runner", steal(&args));
	text = json_text(results);
	cr_assert_str_eq(text, "[[\"instance-add-pre.d/tags\",2,"
			       "\"<>\\n300000 OP_X\"]]");
	fs_list(path(node.root.paths, PATH_RUN_DIR), &names, &err);
	for (size_t i = 0; i < names.n; i++)
		cr_expect_not(str_starts(names.items[i], "hook-env"));
}

Test(noded_scripts, no_hooks_is_no_error)
{
	auto_json json_t *results =
		test_node_ok(&node, "hooks_runner", hook_args());

	cr_assert_eq(json_array_size(results), 0);
}

Test(noded_scripts, hook_paths_are_names)
{
	test_node_fails(&node, "hooks_runner",
			json_make("[s, s, {}]", "../x", "pre"),
			"Unknown hooks path");
	test_node_fails(&node, "hooks_runner",
			json_make("[s, s, {}]", "instance-add", "during"),
			"Unknown hooks path or phase");
}

/* --- allocators --- */

static json_t *allocator_args(const char *name)
{
	return json_make("[s, s, {s:s, s:n}]", name, "{\"version\": 2}",
			 "speed", "fast; $(touch x)", "verbose");
}

static void no_request_files_left(void)
{
	auto_strv struct strv names = {0};
	struct error err;

	fs_list(path(node.root.paths, PATH_RUN_DIR), &names, &err);
	for (size_t i = 0; i < names.n; i++)
		cr_expect_not(str_starts(names.items[i], "iallocator"));
}

Test(noded_scripts, an_allocator_gets_its_request_and_options)
{
	auto_json json_t *output = NULL;

	test_node_write(&node, ALLOCATORS "mine",
			"#!/bin/sh\n"
			"stat -c %a \"$1\"; cat \"$1\"; shift; echo; "
			"for a; do echo \"<$a>\"; done; echo noise >&2\n",
			0755);
	output = test_node_ok(&node, "iallocator_runner",
			      allocator_args("mine"));
	cr_assert_str_eq(json_string_value(output),
			 "600\n{\"version\": 2}\n<--speed=fast; $(touch x)>\n"
			 "<--verbose>\n");
	no_request_files_left();
}

Test(noded_scripts, a_failed_allocator_tells_all_it_said)
{
	auto_json json_t *answer = NULL;
	const char *text;

	test_node_write(&node, ALLOCATORS "bad",
			"#!/bin/sh\n"
			"i=0; while [ $i -lt 2000 ]; do echo line $i; "
			"i=$((i+1)); done; echo last >&2; exit 137\n",
			0755);
	answer = test_node_call(&node, "iallocator_runner",
				allocator_args("bad"));
	text = json_string_value(json_array_get(answer, 1));
	cr_assert(json_is_false(json_array_get(answer, 0)));
	cr_assert_not_null(strstr(text, "'bad' failed: exited with exit code "
					"137"));
	cr_assert_not_null(strstr(text, "line 0\n"));
	cr_assert_not_null(strstr(text, "line 1999\nlast\n"));
	no_request_files_left();
}

Test(noded_scripts, a_hanging_allocator_is_ended_with_its_children)
{
	setenv("GANTRY_IALLOCATOR_TIMEOUT_S", "1", 1);
	test_node_write(&node, ALLOCATORS "hang",
			"#!/bin/sh\necho thinking\nsleep 300 & sleep 300\n",
			0755);
	test_node_fails(&node, "iallocator_runner", allocator_args("hang"),
			"did not end in time");
	no_request_files_left();
}

Test(noded_scripts, a_flood_of_output_is_cut)
{
	auto_json json_t *answer = NULL;
	const char *text;

	test_node_write(&node, ALLOCATORS "flood",
			"#!/bin/sh\nhead -c 30000000 /dev/zero\n", 0755);
	answer = test_node_call(&node, "iallocator_runner",
				allocator_args("flood"));
	text = json_string_value(json_array_get(answer, 1));
	cr_assert(json_is_false(json_array_get(answer, 0)));
	cr_assert_not_null(strstr(text, "more than 24 MiB"));
	cr_assert_lt(strlen(text), 1000);
}

Test(noded_scripts, an_allocator_is_a_file_of_the_search_path)
{
	test_node_write(&node, ALLOCATORS "plain", "#!/bin/sh\n", 0644);
	test_node_fails(&node, "iallocator_runner", allocator_args("plain"),
			"not found in the search path");
	test_node_fails(&node, "iallocator_runner", allocator_args("none"),
			"'none'");
	test_node_fails(&node, "iallocator_runner",
			allocator_args("../../bin/sh"), "not a valid name");
	test_node_fails(&node, "iallocator_runner", allocator_args("-x"),
			"not a valid name");
}

/* --- OS scripts --- */

static void make_os(const char *create, const char *verify)
{
	test_node_write(&node, OS "ganeti_api_version", "20\n", 0644);
	test_node_write(&node, OS "parameters.list", "size\n", 0644);
	test_node_write(&node, OS "variants.list", "sid\n", 0644);
	test_node_write(&node, OS "create", create, 0755);
	test_node_write(&node, OS "import", "", 0755);
	test_node_write(&node, OS "export", "", 0755);
	test_node_write(&node, OS "rename", "#!/bin/sh\n", 0755);
	test_node_write(&node, OS "verify", verify, 0755);
}

static json_t *os_args(void)
{
	auto_json json_t *instance = test_instance("web1", 64);

	json_set_str(instance, "os", "deb+sid");
	return json_make("[O, b, i]", instance, 0, 0);
}

static char *only_log(void)
{
	auto_strv struct strv names = {0};
	auto_free char *name = NULL;
	struct error err;

	fs_list(path(node.root.paths, PATH_OS_LOG_DIR), &names, &err);
	cr_assert_eq(names.n, 1);
	cr_assert(str_starts(names.items[0], "add-deb+sid-web1-"), "%s",
		  names.items[0]);
	name = xprintf("/var/log/ganeti/os/%s", names.items[0]);
	return test_node_read(&node, name);
}

Test(noded_scripts, a_create_script_runs_in_its_folder_and_is_logged)
{
	auto_free char *log = NULL;
	auto_free char *folder =
		paths_local(node.root.paths, "/srv/ganeti/os/deb\n");

	make_os("#!/bin/sh\npwd\necho to stderr >&2\n", "");
	json_decref(test_node_ok(&node, "instance_os_add", os_args()));
	log = only_log();
	cr_assert(str_starts(log, folder), "%s", log);
	cr_assert(str_ends(log, "to stderr\n"));
}

/* A value that no environment takes is in a file, which goes with the script;
 * all others are where they always are. */
Test(noded_scripts, variables_that_are_too_long_come_in_a_file)
{
	auto_free char *log = NULL, *big = xalloc(300001);
	auto_json json_t *instance = test_instance("web1", 64);
	auto_strv struct strv names = {0};
	struct error err;

	memset(big, '\'', 300000);
	json_set_str(instance, "os", "deb+sid");
	json_object_set_new(
		instance, "osparams",
		json_make("{s:s, s:s}", "size", big, "flavour", "a 'b' $c\n#"));
	make_os("#!/bin/sh\necho \"<$OSP_SIZE$INSTANCE_NAME>\"\n"
		"stat -c %a \"$OS_ENV_FILE\"\n. \"$OS_ENV_FILE\"\n"
		"echo ${#OSP_SIZE} \"$OSP_FLAVOUR $INSTANCE_NAME\"\n",
		"");
	json_decref(test_node_ok(&node, "instance_os_add",
				 json_make("[O, b, i]", instance, 0, 0)));
	log = only_log();
	cr_expect_str_eq(log, "<web1>\n600\n300000 a 'b' $c\n# web1\n");
	fs_list(path(node.root.paths, PATH_RUN_DIR), &names, &err);
	for (size_t i = 0; i < names.n; i++)
		cr_expect_not(str_starts(names.items[i], "os-env"));
}

Test(noded_scripts, an_os_says_what_it_supports)
{
	auto_free char *rename = paths_local(node.root.paths, OS "rename");
	auto_json json_t *yes = NULL, *none = NULL;

	make_os("#!/bin/sh\n", "#!/bin/sh\n");
	test_node_write(&node, OS "hypervisors", "kvm\n", 0644);
	unlink(rename);
	yes = test_node_ok(
		&node, "os_supports",
		json_make("[b, s, s, s]", 1, "deb+sid", "kvm", "export"));
	cr_expect(json_is_true(yes));
	test_node_fails(&node, "os_supports",
			json_make("[b, s, s, n]", 1, "deb+sid", "fake"),
			"is not for the hypervisor fake");
	test_node_fails(&node, "os_supports",
			json_make("[b, s, n, s]", 1, "deb", "rename"),
			"has no rename script");
	test_node_fails(&node, "os_supports",
			json_make("[b, s, n, s]", 1, "deb", "create"),
			"no script that an OS may lack");
	test_node_fails(&node, "os_supports",
			json_make("[b, s, n, n]", 1, "none"), "not found");
	none = test_node_ok(&node, "os_supports",
			    json_make("[b, s, n, n]", 0, "none"));
	cr_expect(json_is_false(none));
	test_node_fails(&node, "instance_os_add", os_args(),
			"is not for the hypervisor");
}

Test(noded_scripts, a_failed_create_script_tells_the_end_of_its_log)
{
	make_os("#!/bin/sh\necho no disk here\nexit 4\n", "");
	test_node_fails(&node, "instance_os_add", os_args(),
			"OS create script failed (exited with exit code 4)");
	test_node_fails(&node, "instance_os_add", os_args(), "no disk here");
}

Test(noded_scripts, the_verify_script_decides_on_parameters)
{
	json_t *good = json_make("[b, s, [s], {s:s}, b]", 1, "deb+sid",
				 "parameters", "size", "5G", 0);
	json_t *unknown = json_make("[b, s, [s], {s:s}, b]", 1, "deb+sid",
				    "parameters", "colour", "red", 0);
	json_t *variant = json_make("[b, s, [s], {}, b]", 1, "deb+woody",
				    "parameters", 0);
	json_t *none =
		json_make("[b, s, [s], {}, b]", 0, "none", "parameters", 0);
	auto_json json_t *ok = NULL, *absent = NULL;

	make_os("#!/bin/sh\n",
		"#!/bin/sh\necho $1 $OSP_SIZE\n[ \"$OSP_SIZE\" = 5G ]\n");
	ok = test_node_ok(&node, "os_validate", json_incref(good));
	cr_assert(json_is_true(ok));
	test_node_fails(&node, "os_validate", unknown, "colour");
	test_node_fails(&node, "os_validate", variant, "woody");
	absent = test_node_ok(&node, "os_validate", none);
	cr_assert(json_is_false(absent));

	make_os("#!/bin/sh\n", "#!/bin/sh\necho size $1 is bad\nexit 1\n");
	test_node_fails(&node, "os_validate", good, "size parameters is bad");
}

Test(noded_scripts, an_untrusted_os_is_not_run_here)
{
	auto_free char *create = paths_local(node.root.paths, OS "create");

	make_os("", "#!/bin/sh\n");
	unlink(create);
	test_node_write(&node, OS "create_untrusted", "#!/bin/sh\n", 0755);
	test_node_fails(&node, "instance_os_add", os_args(),
			"create_untrusted");
}
