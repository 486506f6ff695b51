/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
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

Test(fs, only_a_regular_file_is_read_as_one)
{
	auto_free char *pipe_path = xprintf("%s/pipe", dir);
	auto_free char *link_path = xprintf("%s/link", dir);
	const char *const paths[] = {pipe_path, link_path, dir};

	cr_assert_eq(mkfifo(pipe_path, 0600), 0);
	cr_assert_eq(symlink("/etc/passwd", link_path), 0);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_null(fs_read_file(paths[i], 1 << 20, NULL, &err));
		cr_assert_str_eq(err.ecode, ECODE_NOFILE, "%s", err.text);
		cr_assert_not_null(strstr(err.text, paths[i]));
	}
	cr_assert_eq(fs_lock(link_path, &err), -1);
	unlink(pipe_path);
	unlink(link_path);
}

Test(fs, the_mount_point_is_a_folder_above)
{
	auto_free char *proc = fs_mount_point("/proc/self/status");
	auto_free char *missing = fs_mount_point("/proc/none/at/all");
	auto_free char *top = fs_mount_point("/");

	cr_assert_str_eq(proc, "/proc");
	cr_assert_str_eq(missing, "/proc");
	cr_assert_str_eq(top, "/");
	cr_assert_eq(fs_check_writable(dir, &err), 0, "%s", err.text);
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

/* The daemon has ended, and somebody else looks at the same moment. */
Test(fs, who_looks_at_a_pid_file_does_not_hold_it)
{
	auto_free char *p = xprintf("%s/stale.pid", dir);
	int fd;

	cr_assert_eq(fs_write_atomic(p, "4711\n", 5, 0640, &err), 0);
	fd = open(p, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(flock(fd, LOCK_SH | LOCK_NB), 0);
	cr_expect_eq(fs_read_pid(p), 0);
	close(fd);
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

/* Mount an overlay below dir whose parts are on two devices, as the root of a
 * container is; it goes with the test's process. */
static void mount_overlay(void)
{
	auto_free char *upper = xprintf("%s/u", dir);
	auto_free char *top = xprintf("%s/top", dir);
	auto_free char *options =
		xprintf("lowerdir=%s/lower,upperdir=%s/u/up,workdir=%s/u/work",
			dir, dir, dir);
	const char *const folders[] = {"u", "lower", "top"};
	const char *const parts[] = {"u/up", "u/work"};

	for (size_t i = 0; i < 3; i++) {
		auto_free char *p = xprintf("%s/%s", dir, folders[i]);

		cr_assert_eq(mkdir(p, 0700), 0);
	}
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("upper", upper, "tmpfs", 0, NULL) < 0)
		cr_skip_test("no mounts of our own");
	for (size_t i = 0; i < 2; i++) {
		auto_free char *p = xprintf("%s/%s", dir, parts[i]);

		cr_assert_eq(mkdir(p, 0700), 0);
	}
	if (mount("overlay", top, "overlay", 0, options) < 0) {
		umount2(upper, MNT_DETACH);
		cr_skip_test("no overlay");
	}
}

Test(fs, remove_tree_clears_an_overlay)
{
	auto_free char *sub = xprintf("%s/top/a/b", dir);
	auto_free char *file = xprintf("%s/top/a/b/file", dir);
	auto_free char *top = xprintf("%s/top/a", dir);
	auto_free char *mounted = xprintf("%s/top", dir);
	auto_free char *upper = xprintf("%s/u", dir);

	mount_overlay();
	cr_assert_eq(fs_mkdirs(sub, 0700, &err), 0);
	cr_assert_eq(fs_write_atomic(file, "x", 1, 0600, &err), 0);
	cr_expect_eq(fs_remove_tree(top, &err), 0, "%s", err.text);
	cr_expect_not(fs_exists(top));
	cr_expect_eq(fs_remove_tree(upper, &err), -1);
	cr_expect(strstr(err.text, "Device or resource busy"), "%s", err.text);
	umount2(mounted, MNT_DETACH);
	umount2(upper, MNT_DETACH);
}

Test(fs, remove_tree_of_nothing)
{
	auto_free char *none = xprintf("%s/none", dir);

	cr_assert_eq(fs_remove_tree(none, &err), 0);
}

Test(fs, the_folder_of_the_program_is_known)
{
	auto_free char *own = fs_own_folder();
	auto_free char *self = realpath("/proc/self/exe", NULL);

	cr_assert_not_null(own);
	cr_assert_eq(strncmp(self, own, strlen(own)), 0);
	cr_assert_eq(strrchr(self, '/'), self + strlen(own));
}
