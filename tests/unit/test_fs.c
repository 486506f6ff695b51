/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/fs.h"
#include "lib/base/mem.h"

static char dir[64];
static struct error err;

static void setup(void)
{
	snprintf(dir, sizeof(dir), "/tmp/gantry-test-fs.XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
}

static void teardown(void)
{
	cr_assert_eq(fs_remove_tree(dir, &err), 0);
	cr_assert_not(fs_exists(dir));
}

TestSuite(fs, .init = setup, .fini = teardown);

Test(fs, write_atomic_replaces_and_leaves_nothing_behind)
{
	auto_free char *p = xprintf("%s/file", dir);
	auto_free char *text = NULL;
	auto_strv struct strv names = {0};
	struct stat st;
	size_t len;

	cr_assert_eq(fs_write_atomic(p, "one", 3, 0600, &err), 0);
	cr_assert_eq(fs_write_atomic(p, "second", 6, 0640, &err), 0);
	text = fs_read(p, 100, &len, &err);
	cr_assert_str_eq(text, "second");
	cr_assert_eq(stat(p, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0640);
	cr_assert_eq(fs_list(dir, &names, &err), 0);
	cr_assert_eq(names.n, 1);
}

Test(fs, errors_name_the_path)
{
	cr_assert_null(fs_read("/nonexistent/x", 10, NULL, &err));
	cr_assert_not_null(strstr(err.text, "/nonexistent/x"));
	cr_assert_eq(fs_write_atomic("/nonexistent/x", "", 0, 0600, &err), -1);
}

Test(fs, read_refuses_more_than_max)
{
	auto_free char *p = xprintf("%s/file", dir);

	fs_write_atomic(p, "12345", 5, 0600, &err);
	cr_assert_null(fs_read(p, 4, NULL, &err));
	cr_assert_not_null(strstr(err.text, "more than 4"));
}

Test(fs, a_lock_is_exclusive)
{
	auto_free char *p = xprintf("%s/lock", dir);
	int fd = fs_lock(p, &err);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fs_lock(p, &err), -1);
	close(fd);
	fd = fs_lock(p, &err);
	cr_assert_geq(fd, 0);
	close(fd);
}

Test(fs, pid_file_counts_only_while_locked)
{
	auto_free char *p = xprintf("%s/x.pid", dir);
	int fd = fs_write_pid(p, &err);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fs_read_pid(p), getpid());
	close(fd);
	cr_assert_eq(fs_read_pid(p), 0);
}

Test(fs, remove_tree_follows_no_link)
{
	auto_free char *sub = xprintf("%s/a/b", dir);
	auto_free char *keep = xprintf("%s/keep", dir);
	auto_free char *top = xprintf("%s/a", dir);
	auto_free char *link = xprintf("%s/a/link", dir);

	cr_assert_eq(fs_mkdirs(sub, 0700, &err), 0);
	fs_write_atomic(keep, "x", 1, 0600, &err);
	cr_assert_eq(symlink(dir, link), 0);
	cr_assert_eq(fs_remove_tree(top, &err), 0);
	cr_assert(fs_exists(keep));
}
