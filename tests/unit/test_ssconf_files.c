/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

static char root[64];
static struct paths *paths;

static void begin(void)
{
	strcpy(root, "/tmp/ssconf-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	paths = paths_create(root, "node1");
}

static void end(void)
{
	struct error err;

	paths_destroy(paths);
	cr_assert_eq(fs_remove_tree(root, &err), 0, "%s", err.text);
}

TestSuite(ssconf_files, .init = begin, .fini = end);

static int put(const char *key, json_t *value STEALS, struct error *err)
{
	auto_json json_t *values = json_make("{s:o}", key, value);

	return ssconf_write(disk_real(), paths, values, err);
}

Test(ssconf_files, what_is_written_is_read)
{
	struct error err;
	auto_free char *name = NULL, *none = NULL, *ip = NULL;
	auto_strv struct strv lines = {0};

	cr_assert_eq(put("cluster_name", json_string("c1"), &err), 0, "%s",
		     err.text);
	cr_assert_eq(put("node_primary_ips",
			 json_make("[s, s]", "n1 127.0.0.1", "n10 127.0.0.2"),
			 &err),
		     0, "%s", err.text);
	name = ssconf_read(paths, "cluster_name");
	cr_assert_str_eq(name, "c1");
	ssconf_read_lines(paths, "node_primary_ips", &lines);
	cr_assert_eq(lines.n, 2);
	ip = ssconf_node_ip(paths, "n10");
	cr_assert_str_eq(ip, "127.0.0.2");
	none = ssconf_node_ip(paths, "n");
	cr_assert_null(none);
	cr_assert_null(ssconf_read(paths, "uid_pool"));
}

/* Without a cluster on the machine the family is IPv4. */
Test(ssconf_files, daemons_listen_everywhere_but_in_a_virtual_cluster)
{
	struct paths *real = paths_create("", "node1");
	auto_free char *everywhere = ssconf_listen_address(real);
	auto_free char *own = NULL;
	struct error err;

	cr_expect_str_eq(everywhere, "0.0.0.0");
	cr_expect_null(ssconf_listen_address(paths));
	cr_assert_eq(put("node_primary_ips",
			 json_make("[s]", "node1 127.1.2.3"), &err),
		     0, "%s", err.text);
	own = ssconf_listen_address(paths);
	cr_expect_str_eq(own, "127.1.2.3");
	paths_destroy(real);
}

Test(ssconf_files, an_empty_value_is_an_empty_file)
{
	auto_free char *file = paths_ssconf(paths, "uid_pool");
	auto_strv struct strv lines = {0};
	struct error err;
	struct stat st;

	cr_assert_eq(put("uid_pool", json_array(), &err), 0, "%s", err.text);
	cr_assert_eq(stat(file, &st), 0);
	cr_assert_eq(st.st_size, 0);
	cr_assert_eq(st.st_mode & 0777, 0444);
	ssconf_read_lines(paths, "uid_pool", &lines);
	cr_assert_eq(lines.n, 0);
}

Test(ssconf_files, foreign_keys_and_kinds_are_refused)
{
	struct error err;

	cr_assert_eq(put("../evil", json_string("x"), &err), -1);
	cr_assert_eq(put("cluster_name", json_integer(1), &err), -1);
}

/* The names of 10,000 instances are 250 kB. */
Test(ssconf_files, what_is_written_is_read_back_at_any_size)
{
	size_t len = 4 * 1024 * 1024;
	auto_free char *big = xalloc(len + 1), *got = NULL;
	struct error err;

	memset(big, 'x', len);
	cr_assert_eq(put("instance_list", json_string(big), &err), 0, "%s",
		     err.text);
	got = ssconf_read(paths, "instance_list");
	cr_assert(str_eq(got, big));
}
