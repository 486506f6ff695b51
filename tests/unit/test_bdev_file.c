/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/syscall.h>

#include "lib/base/array.h"
#include "lib/model/config/ssconf.h"
#include "noded/hv/hv.h"
#include "noded/storage/bdev.h"
#include "noded/storage/file_place.h"
#include "tests/lib/node.h"

#define BASE "/srv/ganeti/file-storage"
#define WEB1 BASE "/web1"
#define DISK WEB1 "/d0.file.disk0"

static struct test_node node;
static const struct paths *p;
static struct error err;

/* Whether the file system is as one of the network, which refuses flags of a
 * rename; and whether it has no hard links either. */
static bool has_no_flags, has_no_links;

/* These two stand in the place of libc's. */
int renameat2(int old_fd, const char *old, int new_fd, const char *new,
	      unsigned flags)
{
	struct stat st;

	if (!has_no_flags || flags == 0)
		return (int)syscall(SYS_renameat2, old_fd, old, new_fd, new,
				    flags);
	/* The kernel looks first. */
	if (fstatat(old_fd, old, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	errno = fstatat(new_fd, new, &st, AT_SYMLINK_NOFOLLOW) == 0 ? EEXIST
								    : EINVAL;
	return -1;
}

int linkat(int old_fd, const char *old, int new_fd, const char *new, int flags)
{
	if (!has_no_links)
		return (int)syscall(SYS_linkat, old_fd, old, new_fd, new,
				    flags);
	errno = EPERM;
	return -1;
}

static void setup(void)
{
	auto_free char *folder = NULL;

	test_loop_start();
	test_root_create(&node.root);
	p = node.root.paths;
	folder = paths_local(p, WEB1);
	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0);
	test_node_write(&node, "/etc/ganeti/file-storage-paths",
			BASE "\n/etc\n", 0644);
}

static void teardown(void)
{
	test_root_destroy(&node.root);
	test_node_loop_stop(&node);
}

TestSuite(bdev_file, .init = setup, .fini = teardown, .timeout = 60);

static int create(const char *file, int size)
{
	auto_json json_t *disk = test_disk("file", file);

	return bdev_file.create(p, disk, &(struct bdev_new){.size_mib = size},
				&err);
}

static struct stat stat_of(const char *file)
{
	auto_free char *local = paths_local(p, file);
	struct stat st;

	cr_assert_eq(lstat(local, &st), 0, "%s", file);
	return st;
}

Test(bdev_file, creates_a_sparse_private_file_of_that_size)
{
	struct stat st;

	cr_assert_eq(create(DISK, 1024), 0, "%s", err.text);
	st = stat_of(DISK);
	cr_assert_eq(st.st_size, 1024 * MIB);
	cr_assert_lt(st.st_blocks, 100);
	cr_assert_eq(st.st_mode & 07777, 0600);
}

Test(bdev_file, never_creates_over_a_file)
{
	cr_assert_eq(create(DISK, 1), 0);
	cr_assert_eq(create(DISK, 1), -1);
	cr_assert_str_eq(err.text,
			 DISK ": can't create: File exists; if nobody on this "
			      "node needs it, remove it");
}

Test(bdev_file, refuses_sizes_that_are_none)
{
	cr_assert_eq(create(DISK, -1), -1);
	cr_assert_not_null(strstr(err.text, "-1 MiB"));
}

Test(bdev_file, stays_below_the_allowed_folders)
{
	static const char *const bad[] = {
		BASE,
		BASE "/../etc/passwd",
		BASE "/./x",
		BASE "//x",
		BASE "-other/x",
		"/etc/passwd", /* listed, but harmful */
		"/srv/x",
		"relative",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cr_expect_eq(create(bad[i], 1), -1, "%s", bad[i]);
		cr_expect_eq(err.kind, ERR_FILE_PATH, "%s", bad[i]);
	}
}

Test(bdev_file, follows_no_link_below_the_folder)
{
	auto_free char *outside = paths_local(p, "/outside");
	auto_free char *link = paths_local(p, BASE "/web2");
	auto_free char *file = paths_local(p, DISK);
	auto_free char *secret = paths_local(p, "/outside/secret");
	auto_json json_t *disk = test_disk("file", DISK);
	char *found = NULL;

	test_node_write(&node, "/outside/secret", "x", 0600);
	cr_assert_eq(symlink(outside, link), 0);
	cr_assert_eq(create(BASE "/web2/disk", 1), -1);
	cr_assert_not_null(strstr(err.text, "symbolic links"));

	cr_assert_eq(symlink(secret, file), 0);
	cr_assert_eq(bdev_file.find(p, disk, &found, &err), -1);
	cr_assert_eq(
		bdev_file.grow(p, disk,
			       &(struct bdev_growth){1, false, true, false},
			       &err),
		-1);
	cr_assert_eq(bdev_file.remove(p, disk, &err), 0);
	cr_assert(fs_exists(secret)); /* the link went, not its target */
	cr_assert_eq(stat_of("/outside/secret").st_size, 1);
}

Test(bdev_file, the_allowed_folder_itself_may_be_a_link)
{
	auto_free char *shared = paths_local(p, "/elsewhere");
	auto_free char *link = paths_local(p, "/srv/ganeti/shared");

	test_node_write(&node, "/elsewhere/.keep", "", 0600);
	test_node_write(&node, "/etc/ganeti/file-storage-paths",
			"/srv/ganeti/shared\n", 0644);
	cr_assert_eq(symlink(shared, link), 0);
	cr_assert_eq(create("/srv/ganeti/shared/disk", 1), 0, "%s", err.text);
	cr_assert_eq(stat_of("/elsewhere/disk").st_size, MIB);
}

Test(bdev_file, the_clusters_folders_are_allowed)
{
	auto_json json_t *values =
		json_make("{s:s}", "shared_file_storage_dir", "/srv/sf");

	test_node_write(&node, "/srv/sf/.keep", "", 0600);
	cr_assert_eq(create("/srv/sf/disk", 1), -1);
	cr_assert_eq(ssconf_write(disk_real(), p, values, &err), 0, "%s",
		     err.text);
	cr_assert_eq(create("/srv/sf/disk", 1), 0, "%s", err.text);
}

Test(bdev_file, finds_what_is_there)
{
	auto_json json_t *disk = test_disk("file", DISK);
	auto_free char *file = paths_local(p, DISK);
	char *found = NULL;

	cr_assert_eq(bdev_file.find(p, disk, &found, &err), 0);
	cr_assert_null(bdev_file.assemble(p, disk, &err));
	create(DISK, 1);
	cr_assert_eq(bdev_file.find(p, disk, &found, &err), 1);
	cr_assert_str_eq(found, file);
	cr_assert_eq(bdev_file.size(p, disk, &err), MIB);
	free(found);
}

Test(bdev_file, removes_twice)
{
	auto_json json_t *disk = test_disk("file", DISK);

	create(DISK, 1);
	cr_assert_eq(bdev_file.remove(p, disk, &err), 0);
	cr_assert_eq(bdev_file.remove(p, disk, &err), 0);
	cr_assert_eq(bdev_file.find(p, disk, NULL, &err), 0);
}

Test(bdev_file, grows_when_it_is_meant)
{
	auto_json json_t *disk = test_disk("file", DISK);

	json_set_int(disk, "size", 1);
	cr_assert_eq(
		bdev_file.grow(p, disk,
			       &(struct bdev_growth){1, false, true, false},
			       &err),
		-1);
	create(DISK, 1);
	cr_assert_eq(bdev_file.grow(p, disk,
				    &(struct bdev_growth){2, true, true, false},
				    &err),
		     0);
	cr_assert_eq(
		bdev_file.grow(p, disk,
			       &(struct bdev_growth){2, false, false, false},
			       &err),
		0);
	cr_assert_eq(stat_of(DISK).st_size, MIB);
	cr_assert_eq(
		bdev_file.grow(p, disk,
			       &(struct bdev_growth){2, false, true, false},
			       &err),
		0);
	cr_assert_eq(stat_of(DISK).st_size, 3 * MIB);
}

/* An answer was lost, and the call comes again. */
Test(bdev_file, growing_twice_grows_once)
{
	auto_json json_t *disk = test_disk("file", DISK);
	const struct bdev_growth growth = {2, false, true, false};

	create(DISK, 4);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(bdev_file.grow(p, disk, &growth, &err), 0);
	cr_assert_eq(stat_of(DISK).st_size, 6 * MIB);
}

/* What is larger than recorded is not cut off. */
Test(bdev_file, growing_never_shrinks)
{
	auto_json json_t *disk = test_disk("file", DISK);
	const struct bdev_growth growth = {2, false, true, false};

	create(DISK, 9);
	cr_assert_eq(bdev_file.grow(p, disk, &growth, &err), 0);
	cr_assert_eq(stat_of(DISK).st_size, 9 * MIB);
}

static bool is_there(const char *file)
{
	auto_free char *local = paths_local(p, file);

	return access(local, F_OK) == 0;
}

static int rename_to(const char *file)
{
	auto_json json_t *disk = test_disk("file", DISK);
	auto_json json_t *id = json_make("[s, s]", "loop", file);

	return bdev_file.rename(p, disk, id, &err);
}

static void expect_renames(void)
{
	create(DISK, 1);
	create(WEB1 "/other", 2);
	cr_assert_eq(rename_to(WEB1 "/other"), -1);
	cr_assert_not_null(strstr(err.text, "File exists"), "%s", err.text);
	cr_assert_eq(stat_of(DISK).st_size, MIB);
	cr_assert_eq(stat_of(WEB1 "/other").st_size, 2 * MIB);
	cr_assert_eq(rename_to(WEB1 "/new"), 0, "%s", err.text);
	cr_assert_eq(stat_of(WEB1 "/new").st_size, MIB);
	cr_assert_not(is_there(DISK));
	/* Asked again, it is done. */
	cr_assert_eq(rename_to(WEB1 "/new"), 0, "%s", err.text);
}

Test(bdev_file, renames_without_overwriting)
{
	expect_renames();
}

Test(bdev_file, renames_without_overwriting_on_nfs)
{
	has_no_flags = true;
	expect_renames();
}

Test(bdev_file, a_rename_on_nfs_that_was_cut_off_is_completed)
{
	auto_free char *old = paths_local(p, DISK);
	auto_free char *new = paths_local(p, WEB1 "/new");

	has_no_flags = true;
	create(DISK, 1);
	cr_assert_eq(link(old, new), 0);
	cr_assert_eq(rename_to(WEB1 "/new"), 0, "%s", err.text);
	cr_assert_not(is_there(DISK));
	cr_assert_eq(stat_of(WEB1 "/new").st_size, MIB);
}

Test(bdev_file, where_no_rename_is_safe_that_is_said)
{
	has_no_flags = has_no_links = true;
	create(DISK, 1);
	cr_assert_eq(rename_to(WEB1 "/new"), -1);
	cr_assert_not_null(strstr(err.text, "nor hard links"), "%s", err.text);
	cr_assert(is_there(DISK));
}

/* --- images --- */

static bool has_qemu_img(void)
{
	return hv_has_program("qemu-img") && hv_has_program("qemu-io");
}

static json_t *image(void)
{
	json_t *disk = test_disk("file", DISK);

	json_object_set_new(disk, "params",
			    json_make("{s:s}", "format", "qcow2"));
	return disk;
}

static void live_as_image(void *arg)
{
	auto_json json_t *disk = image();
	const struct bdev_growth growth = {2, false, true, false};

	(void)arg;
	cr_expect_eq(bdev_file.create(p, disk,
				      &(struct bdev_new){.size_mib = 4}, &err),
		     0, "%s", err.text);
	cr_expect_eq(stat_of(DISK).st_mode & 07777, 0600);
	cr_expect_eq(bdev_file.size(p, disk, &err), 4 * MIB, "%s", err.text);
	/* A call that is repeated does nothing. */
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(bdev_file.grow(p, disk, &growth, &err), 0, "%s",
			     err.text);
		cr_expect_eq(bdev_file.size(p, disk, &err), 6 * MIB);
	}
	cr_expect_eq(bdev_file.wipe(p, disk, 1, 5, &err), 0, "%s", err.text);
	cr_expect_eq(bdev_file.wipe(p, disk, 4, 3, &err), -1);
	cr_expect_lt(stat_of(DISK).st_blocks * 512, 2 * MIB);
}

Test(bdev_file, images_have_the_size_that_is_in_them)
{
	if (!has_qemu_img())
		cr_skip_test("qemu-utils is not installed");
	task_spawn("image", live_as_image, NULL);
	test_run_tasks();
}

Test(bdev_file, a_file_that_is_no_image_is_not_taken_for_one)
{
	static const struct {
		const char *header;
		size_t len;
	} bad[] = {
		{"", 0},
		{"QFI\xfb", 4},
		{"QFI\xfb\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0"
		 "\0\1\0\0",
		 32}, /* version 1 */
		{"QFI\xfb\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\xff\0\0\0"
		 "\0\1\0\0",
		 32}, /* more than there can be */
		{"\xeb\x63\x90\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0"
		 "\0"
		 "\0\0\1\0\0",
		 32},
	};
	auto_json json_t *disk = image();
	auto_free char *local = paths_local(p, DISK);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		FILE *f = fopen(local, "we");

		cr_assert_not_null(f);
		fwrite(bad[i].header, 1, bad[i].len, f);
		fclose(f);
		cr_expect_eq(bdev_file.size(p, disk, &err), -1, "%zu", i);
		cr_expect_not_null(strstr(err.text, "no image of the format"),
				   "%zu: %s", i, err.text);
	}
	json_object_set_new(disk, "params",
			    json_make("{s:s}", "format", "vmdk"));
	cr_assert_eq(bdev_file.size(p, disk, &err), -1);
	cr_assert_not_null(strstr(err.text, "\"vmdk\" is no format"));
}

static void wipe(void *arg)
{
	auto_json json_t *disk = test_disk("file", DISK);

	(void)arg;
	cr_expect_eq(bdev_file.wipe(p, disk, 0, 1, &err), 0, "%s", err.text);
	cr_expect_eq(bdev_file.wipe(p, disk, 1, 1, &err), -1);
}

Test(bdev_file, wipes_inside_the_disk_only)
{
	auto_free char *text = NULL;

	create(DISK, 0);
	{
		auto_free char *data = xalloc(MIB + 1);

		memset(data, 'x', MIB);
		test_node_write(&node, DISK, data, 0600);
	}
	task_spawn("wipe", wipe, NULL);
	test_run_tasks();
	text = test_node_read(&node, DISK);
	cr_assert_eq(stat_of(DISK).st_size, MIB);
	cr_assert_eq(text[0], '\0');
	cr_assert_eq(text[MIB - 1], '\0');
}

Test(bdev_file, folders_are_made_renamed_and_removed)
{
	cr_assert_eq(bdev_file_make_folder(p, BASE "/a/b", &err), 0);
	cr_assert_eq(bdev_file_make_folder(p, BASE "/a/b", &err), 0);
	cr_assert_eq(stat_of(BASE "/a/b").st_mode & 07777, 0750);
	cr_assert_eq(bdev_file_rename_folder(p, BASE "/a/b", BASE "/c", &err),
		     0);
	cr_assert_eq(create(BASE "/c/disk", 1), 0);
	cr_assert_eq(bdev_file_remove_folder(p, BASE "/c", &err), -1);
	cr_assert_not_null(strstr(err.text, "not empty"));
	cr_assert_eq(bdev_file_remove_folder(p, BASE "/a", &err), 0);
	cr_assert_eq(bdev_file_remove_folder(p, BASE "/a", &err), 0);
	cr_assert_eq(bdev_file_make_folder(p, "/tmp/a", &err), -1);
	cr_assert_eq(bdev_file_remove_folder(p, "/tmp/a", &err), -1);
}

Test(bdev_file, folders_are_renamed_on_nfs_without_overwriting)
{
	has_no_flags = true;
	bdev_file_make_folder(p, BASE "/a", &err);
	bdev_file_make_folder(p, BASE "/b", &err);
	create(BASE "/b/disk", 1);
	cr_assert_eq(bdev_file_rename_folder(p, BASE "/a", BASE "/b", &err),
		     -1);
	cr_assert(is_there(BASE "/b/disk"));
	for (int i = 0; i < 2; i++)
		cr_assert_eq(
			bdev_file_rename_folder(p, BASE "/b", BASE "/c", &err),
			0, "%s", err.text);
	cr_assert(is_there(BASE "/c/disk"));
	/* Files are none. */
	create(DISK, 1);
	create(WEB1 "/other", 2);
	cr_assert_eq(bdev_file_rename_folder(p, DISK, WEB1 "/other", &err), -1);
	cr_assert_eq(stat_of(WEB1 "/other").st_size, 2 * MIB);
}

Test(bdev_file, says_which_listed_folders_do_harm)
{
	auto_strv struct strv bad = {0};

	file_place_bad_folders(p, &bad);
	cr_assert_eq(bad.n, 1);
	cr_assert_str_eq(bad.items[0], "/etc");
}

Test(bdev_file, links_lead_to_disks_until_they_are_shut_down)
{
	auto_free char *link = bdev_link_path(p, "web1", 3);
	char target[64];
	ssize_t n;

	cr_assert_eq(bdev_link(p, "web1", 3, "/old", &err), 0);
	cr_assert_eq(bdev_link(p, "web1", 3, "/new", &err), 0);
	cr_assert_eq(bdev_link(p, "web1", 3, "/new", &err), 0);
	n = readlink(link, target, sizeof(target));
	cr_assert_eq(n, 4);
	cr_assert(memcmp(target, "/new", 4) == 0);
	bdev_unlink_target(p, "/old");
	cr_assert_eq(readlink(link, target, sizeof(target)), 4);
	bdev_unlink_target(p, "/new");
	cr_assert_lt(readlink(link, target, sizeof(target)), 0);
	cr_assert_eq(bdev_unlink(p, "web1", 3, &err), 0);
}

Test(bdev_file, other_types_are_refused_by_name)
{
	auto_json json_t *disk = test_disk("nosuch", DISK);

	cr_assert_null(bdev_of(disk, &err));
	cr_assert_not_null(strstr(err.text, "'nosuch'"));
}
