/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

static void set_env(const char *root, const char *hostname)
{
	unsetenv("GANETI_ROOTDIR");
	unsetenv("GANETI_HOSTNAME");
	if (root != NULL)
		setenv("GANETI_ROOTDIR", root, 1);
	if (hostname != NULL)
		setenv("GANETI_HOSTNAME", hostname, 1);
}

Test(paths, environment_gives_root_and_name)
{
	struct error err;
	struct paths *p;

	set_env("/tmp/vc/node1.example.com", "node1.example.com");
	p = paths_from_env(&err);
	cr_assert_not_null(p);
	cr_assert_str_eq(p->hostname, "node1.example.com");
	cr_assert_str_eq(
		path(p, PATH_CONFIG_DATA),
		"/tmp/vc/node1.example.com/var/lib/ganeti/config.data");
	paths_destroy(p);
}

Test(paths, without_root_the_layout_lies_below_slash)
{
	struct error err;
	struct paths *p;

	set_env(NULL, NULL);
	p = paths_from_env(&err);
	cr_assert_not_null(p);
	cr_assert_str_eq(p->root, "");
	cr_assert(p->hostname[0] != '\0');
	cr_assert_str_eq(path(p, PATH_QUEUE_DIR), "/var/lib/ganeti/queue");
	paths_destroy(p);
}

Test(paths, wrong_environment_names_the_variable)
{
	static const struct {
		const char *root, *hostname, *named;
	} cases[] = {
		{"relative/node1", "node1", "GANETI_ROOTDIR"},
		{"/tmp/../node1", "node1", "GANETI_ROOTDIR"},
		{"/tmp//node1", "node1", "GANETI_ROOTDIR"},
		{"/tmp/node1/", "node1", "GANETI_ROOTDIR"},
		{"/", "node1", "GANETI_ROOTDIR"},
		{"/tmp/node1", NULL, "GANETI_HOSTNAME"},
		{"/tmp/node1", "", "GANETI_HOSTNAME"},
		{"/tmp/node1", "node2", "GANETI_HOSTNAME"},
		{"/tmp/a b", "a b", "GANETI_HOSTNAME"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = {0};

		set_env(cases[i].root, cases[i].hostname);
		cr_expect_null(paths_from_env(&err), "%s", cases[i].root);
		cr_expect_not_null(strstr(err.text, cases[i].named), "%s",
				   err.text);
	}
}

Test(paths, local_and_virtual_are_inverse)
{
	struct paths *p = paths_create("/r/n1", "n1");
	auto_free char *local = paths_local(p, "/srv/ganeti/x");
	auto_free char *marked =
		paths_local(p, "/###-VIRTUAL-PATH-###,/srv/ganeti/x");
	auto_free char *back = paths_virtual(p, local);
	auto_free char *other = paths_virtual(p, "/r/n10/x");
	auto_free char *ssconf = paths_ssconf(p, "node_list");

	cr_assert_str_eq(local, "/r/n1/srv/ganeti/x");
	cr_assert_str_eq(marked, local);
	cr_assert_str_eq(back, "/srv/ganeti/x");
	cr_assert_str_eq(other, "/r/n10/x");
	cr_assert_str_eq(ssconf, "/r/n1/var/lib/ganeti/ssconf_node_list");
	paths_destroy(p);
}

Test(paths, search_lists_have_the_root_in_front)
{
	struct paths *p = paths_create("/r/n1", "n1");
	auto_strv struct strv os = {0}, ial = {0};

	paths_os_search(p, &os);
	paths_iallocator_search(p, &ial);
	cr_assert(os.n > 0 && ial.n > 0);
	for (size_t i = 0; i < os.n; i++)
		cr_expect(str_starts(os.items[i], "/r/n1/"));
	for (size_t i = 0; i < ial.n; i++)
		cr_expect(str_starts(ial.items[i], "/r/n1/"));
	paths_destroy(p);
}

Test(paths, normal_paths)
{
	cr_assert(paths_is_normal("/"));
	cr_assert(paths_is_normal("/a/b..c/.d"));
	cr_assert_not(paths_is_normal(""));
	cr_assert_not(paths_is_normal("a"));
	cr_assert_not(paths_is_normal("/a/"));
	cr_assert_not(paths_is_normal("/a/./b"));
	cr_assert_not(paths_is_normal("/a/.."));
	cr_assert(paths_is_below("/a/b", "/a"));
	cr_assert(paths_is_below("/a", "/a"));
	cr_assert(paths_is_below("/a", "/"));
	cr_assert_not(paths_is_below("/ab", "/a"));
}

Test(paths, port_of_the_node_daemon)
{
	unsetenv("GANETI_NODED_PORT");
	cr_assert_eq(paths_noded_port(), 1811);
	setenv("GANETI_NODED_PORT", "2000", 1);
	cr_assert_eq(paths_noded_port(), 2000);
	setenv("GANETI_NODED_PORT", "70000", 1);
	cr_assert_eq(paths_noded_port(), 1811);
	unsetenv("GANETI_NODED_PORT");
}
