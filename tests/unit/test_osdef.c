/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/base/array.h"
#include "noded/scripts/osdef.h"
#include "noded/scripts/script.h"
#include "tests/lib/node.h"

#define OS "/srv/ganeti/os/deb/"

static struct test_node node;
static const struct paths *p;
static struct error err;

static void setup(void)
{
	static const char *const scripts[] = {"create", "import", "export",
					      "rename", "verify"};

	test_root_create(&node.root);
	p = node.root.paths;
	test_node_write(&node, OS "ganeti_api_version", "10\n20\n15\n", 0644);
	test_node_write(&node, OS "variants.list", "# some\nsid\n\n stable \n",
			0644);
	test_node_write(&node, OS "parameters.list",
			"size The size of it\nflavour\n", 0644);
	for (size_t i = 0; i < 5; i++) {
		auto_free char *name = xprintf(OS "%s", scripts[i]);

		test_node_write(&node, name, "#!/bin/sh\n", 0755);
	}
}

static void teardown(void)
{
	test_root_destroy(&node.root);
}

TestSuite(osdef, .init = setup, .fini = teardown);

static void read_os(struct osdef *ret)
{
	auto_free char *folder = paths_local(p, "/srv/ganeti/os/deb");

	osdef_read(folder, "deb", ret);
}

Test(osdef, reads_a_whole_definition)
{
	auto_osdef struct osdef os = {0};
	auto_free char *params = NULL, *versions = NULL;

	read_os(&os);
	cr_assert(osdef_valid(&os), "%s", os.diagnose);
	cr_assert_eq(os.api_version, 20);
	cr_assert_eq(os.variants.n, 2);
	cr_assert_str_eq(os.variants.items[1], "stable");
	params = json_text(os.parameters);
	cr_assert_str_eq(params,
			 "[[\"size\",\"The size of it\"],[\"flavour\",\"\"]]");
	versions = json_text(os.versions);
	cr_assert_str_eq(versions, "[10,20,15]");
	cr_assert(os.trusted);
}

/* Without each of the files in turn: what the diagnosis names. */
Test(osdef, names_what_is_missing)
{
	static const char *const needed[] = {"ganeti_api_version", "create",
					     "verify", "parameters.list"};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		auto_free char *name = xprintf(OS "%s", needed[i]);
		auto_free char *file = paths_local(p, name);
		auto_free char *away = xprintf("%s.away", file);
		auto_osdef struct osdef os = {0};

		rename(file, away);
		read_os(&os);
		cr_expect_not(osdef_valid(&os), "%s", needed[i]);
		cr_expect_not_null(strstr(os.diagnose, needed[i]), "%s",
				   os.diagnose);
		rename(away, file);
	}
}

static void take_away(const char *name)
{
	auto_free char *file = xprintf(OS "%s", name);
	auto_free char *local = paths_local(p, file);

	cr_assert_eq(unlink(local), 0);
}

Test(osdef, a_missing_script_disables_what_it_is_for)
{
	auto_osdef struct osdef whole = {0}, os = {0}, bare = {0};

	read_os(&whole);
	for (size_t i = 0; i < OSDEF_OPTIONAL; i++)
		cr_expect_eq(osdef_check_script(&whole, i, &err), 0);
	take_away("rename");
	take_away("import");
	read_os(&os);
	cr_assert(osdef_valid(&os), "%s", os.diagnose);
	cr_expect_eq(osdef_check_script(&os, OSDEF_EXPORT, &err), 0);
	cr_expect_eq(osdef_check_script(&os, OSDEF_RENAME, &err), -1);
	cr_expect_eq(err.kind, ERR_PREREQ);
	cr_expect_not_null(strstr(err.text, "has no rename script"));
	cr_expect_eq(osdef_check_script(&os, OSDEF_IMPORT, &err), -1);
	cr_expect_not_null(strstr(err.text, "cannot be imported"));
	cr_expect_not(osdef_copies_raw(&os));
	take_away("export"); /* neither: disks are copied as they are */
	read_os(&bare);
	cr_expect(osdef_copies_raw(&bare));
	cr_expect_eq(osdef_check_script(&bare, OSDEF_IMPORT, &err), 0);
	cr_expect_eq(osdef_check_script(&bare, OSDEF_EXPORT, &err), 0);
	cr_expect_eq(osdef_check_script(&bare, OSDEF_RENAME, &err), -1);
}

Test(osdef, one_can_be_for_some_hypervisors_only)
{
	auto_osdef struct osdef all = {0}, some = {0};

	read_os(&all);
	cr_expect_eq(osdef_check_hypervisor(&all, "fake", &err), 0);
	test_node_write(&node, OS "hypervisors", "# those:\nkvm\nxen-hvm\n",
			0644);
	read_os(&some);
	cr_expect_eq(osdef_check_hypervisor(&some, "kvm", &err), 0);
	cr_expect_eq(osdef_check_hypervisor(&some, "fake", &err), -1);
	cr_expect_not_null(strstr(err.text, "only for: kvm, xen-hvm"));
}

Test(osdef, an_old_definition_needs_less)
{
	auto_free char *verify = paths_local(p, OS "verify");
	auto_free char *params = paths_local(p, OS "parameters.list");
	auto_osdef struct osdef os = {0};

	test_node_write(&node, OS "ganeti_api_version", "5\n10\n", 0644);
	unlink(verify);
	unlink(params);
	read_os(&os);
	cr_assert(osdef_valid(&os), "%s", os.diagnose);
	cr_assert_eq(os.api_version, 10);
	cr_assert_eq(os.variants.n, 0);
}

Test(osdef, versions_that_nobody_knows_are_no_use)
{
	auto_osdef struct osdef os = {0}, garbage = {0};

	test_node_write(&node, OS "ganeti_api_version", "5\n99\n", 0644);
	read_os(&os);
	cr_assert_not_null(strstr(os.diagnose, "API version mismatch"));
	test_node_write(&node, OS "ganeti_api_version", "twenty\n", 0644);
	read_os(&garbage);
	cr_assert_not_null(strstr(garbage.diagnose, "twenty"));
}

Test(osdef, a_script_must_be_executable)
{
	auto_osdef struct osdef os = {0};

	test_node_write(&node, OS "export", "#!/bin/sh\n", 0644);
	read_os(&os);
	cr_assert_not_null(strstr(os.diagnose, "not an executable file"));
}

Test(osdef, the_first_folder_of_the_search_path_wins)
{
	auto_osdef struct osdef os = {0};
	auto_free char *first = paths_local(p, "/srv/ganeti/os/deb");
	auto_json json_t *all = NULL;

	test_node_write(&node, "/usr/share/ganeti/os/deb/create", "", 0755);
	cr_assert_eq(osdef_find(p, "deb+sid", &os, &err), 0, "%s", err.text);
	cr_assert_str_eq(os.folder, first);
	all = osdef_diagnose_all(p);
	cr_assert_eq(json_array_size(all), 2);
}

Test(osdef, an_unknown_or_broken_os_is_an_error)
{
	static const char *const bad[] = {"../deb", "deb/x", "", ".", "a\nb"};
	auto_osdef struct osdef os = {0};

	cr_assert_eq(osdef_find(p, "nosuch+x", &os, &err), -1);
	cr_assert_str_eq(err.text,
			 "Directory for OS nosuch not found in search path");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect_eq(osdef_find(p, bad[i], &os, &err), -1, "%s",
			     bad[i]);
	test_node_write(&node, OS "ganeti_api_version", "99\n", 0644);
	cr_assert_eq(osdef_find(p, "deb", &os, &err), -1);
	cr_assert_not_null(strstr(err.text, "API version mismatch"));
}

Test(osdef, checks_variants)
{
	auto_osdef struct osdef os = {0};

	read_os(&os);
	cr_expect_eq(osdef_check_variant(&os, "deb+sid", &err), 0);
	cr_expect_eq(osdef_check_variant(&os, "deb+woody", &err), -1);
	cr_expect_not_null(strstr(err.text, "sid, stable"));
	cr_expect_eq(osdef_check_variant(&os, "deb", &err), -1);
	strv_done(&os.variants);
	cr_expect_eq(osdef_check_variant(&os, "deb", &err), 0);
	cr_expect_eq(osdef_check_variant(&os, "deb+sid", &err), -1);
}

Test(osdef, checks_names_of_parameters)
{
	auto_json json_t *good = json_make("{s:s}", "size", "5G");
	auto_json json_t *bad = json_make("{s:s}", "colour", "red");
	auto_osdef struct osdef os = {0};

	read_os(&os);
	cr_assert_eq(osdef_check_params(&os, good, &err), 0);
	cr_assert_eq(osdef_check_params(&os, NULL, &err), 0);
	cr_assert_eq(osdef_check_params(&os, bad, &err), -1);
	cr_assert_not_null(strstr(err.text, "colour"));
}

Test(osdef, parameters_become_variables)
{
	auto_json json_t *params =
		json_make("{s:s, s:s}", "root-size", "5 G", "x\ny=", "evil");
	auto_osdef struct osdef os = {0};
	auto_strv struct strv env = {0};

	read_os(&os);
	osdef_core_env(&os, "deb", params, 1, &env);
	cr_assert(strv_has(&env, "OSP_ROOT_SIZE=5 G"));
	cr_assert(strv_has(&env, "OS_VARIANT=sid")); /* the first */
	cr_assert(strv_has(&env, "OS_API_VERSION=20"));
	cr_assert(strv_has(&env, "DEBUG_LEVEL=1"));
	cr_assert(strv_has(&env, "PATH=" SCRIPT_PATH));
	cr_assert_eq(env.n, 6);
}

Test(osdef, networks_say_their_tags_also_when_there_are_none)
{
	auto_json json_t *instance =
		json_make("{s:s, s:[{s:{s:s, s:[]}}, {s:{s:s, s:[s, s]}}, {}]}",
			  "name", "web1", "nics", "netinfo", "name", "net1",
			  "tags", "netinfo", "name", "net2", "tags", "a", "b");
	auto_osdef struct osdef os = {0};
	auto_strv struct strv env = {0};
	auto_free char *text = NULL;

	read_os(&os);
	osdef_instance_env(p, &os, instance, 0, &env);
	cr_expect(strv_has(&env, "NIC_0_NETWORK_TAGS="));
	cr_expect(strv_has(&env, "NIC_1_NETWORK_TAGS=a b"));
	text = strv_join(&env, "\n");
	cr_expect_null(strstr(text, "NIC_2_NETWORK"));
}

Test(osdef, values_look_as_python_prints_them)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{"true", "A=True"},
		{"false", "A=False"},
		{"null", "A=None"},
		{"5", "A=5"},
		{"1.0", "A=1.0"},
		{"0.1", "A=0.1"},
		{"\"x\"", "A=x"},
		{"1795213221.567361", "A=1795213221.567361"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *value =
			json_parse(cases[i].json, strlen(cases[i].json), &err);
		auto_strv struct strv env = {0};

		script_env_json(&env, "A", value);
		cr_expect_str_eq(env.items[0], cases[i].text);
	}
}

Test(osdef, any_output_becomes_text)
{
	auto_free char *bad = script_text("a\377\0b\n", 5, true);
	auto_free char *good = script_text(" \303\274 \n", 5, true);
	auto_free char *whole = script_text("x\n", 2, false);

	cr_assert_str_eq(bad, "a??b");
	cr_assert_str_eq(good, "\303\274");
	cr_assert_str_eq(whole, "x\n");
}

Test(osdef, the_end_of_a_log_is_told)
{
	auto_free char *file = paths_local(p, "/log");
	auto_buf struct buf b = {0};
	auto_free char *tail = NULL, *none = NULL;

	for (int i = 1; i <= 5000; i++)
		buf_addf(&b, "line %d\n", i);
	test_node_write(&node, "/log", b.data, 0600);
	tail = script_log_tail(file);
	cr_assert(str_starts(tail, "line 4981\n"), "%s", tail);
	cr_assert(str_ends(tail, "line 5000"));
	none = script_log_tail("/nonexistent");
	cr_assert_str_eq(none, "");
}
