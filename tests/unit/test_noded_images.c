/* SPDX-License-Identifier: BSD-2-Clause */
/* blockdev_image: what gets onto a disk, and what never does. */
#include <unistd.h>

#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "tests/lib/node.h"

#define BASE "/srv/ganeti/file-storage"
#define DISK BASE "/web1/d0.file.disk0"
#define DISK_UUID "341e9ca9-2868-4175-a9ab-4bdabd9603db"
#define IMAGE "/images/small"

static struct test_node node;

static char *local(const char *name)
{
	return paths_local(node.root.paths, name);
}

/* Everybody may enter the root, so that mode bits of files count. */
static void setup(void)
{
	auto_free char *folder = NULL;
	struct error err;

	test_loop_start();
	test_node_create(&node);
	folder = local(BASE "/web1");
	cr_assert_eq(chmod(node.root.top, 0755), 0);
	cr_assert_eq(fs_mkdirs(folder, 0755, &err), 0);
	test_node_write(&node, IMAGE, "an image", 0644);
}

static void teardown(void)
{
	test_node_destroy(&node);
	test_node_loop_stop(&node);
}

TestSuite(noded_images, .init = setup, .fini = teardown, .timeout = 60);

/* A disk of n bytes, all of them x. */
static void make_disk(size_t n)
{
	auto_free char *data = xalloc(n + 1);

	memset(data, 'x', n);
	test_node_write(&node, DISK, data, 0600);
}

static json_t *args(const char *image, int size_mib)
{
	auto_free char *file = *image == '/' ? local(image) : xstrdup(image);

	return json_make("[o, s, i]", test_disk("file", DISK), file, size_mib);
}

static char *read_disk(void)
{
	auto_free char *file = local(DISK);
	struct error err;

	return fs_read(file, 4 * MIB, NULL, &err);
}

static void expect_refused(const char *image, const char *why)
{
	auto_free char *before = read_disk(), *after = NULL;

	test_node_fails(&node, "blockdev_image", args(image, 1), why);
	after = read_disk();
	cr_expect_str_eq(before, after, "%s", image);
}

Test(noded_images, an_image_is_the_beginning_of_the_disk)
{
	auto_json json_t *done = NULL;
	auto_free char *data = NULL, *folder = NULL;

	make_disk(16);
	done = test_node_ok(&node, "blockdev_image", args(IMAGE, 1));
	cr_assert(json_is_null(done));
	data = test_node_read(&node, DISK);
	cr_assert_str_eq(data, "an imagexxxxxxxx");
	folder = local("/var/run/ganeti/import-export/image-" DISK_UUID);
	cr_assert_not(fs_exists(folder));
}

Test(noded_images, one_that_is_too_big_is_not_begun)
{
	make_disk(7);
	expect_refused(IMAGE, "has 8 bytes, more than the 7 of the disk");
}

/* Where its storage took more than the instance's disk is. */
Test(noded_images, the_rest_of_the_storage_is_not_the_disk)
{
	auto_free char *image = xalloc(MIB + 2);

	memset(image, 'i', MIB + 1);
	test_node_write(&node, "/images/big", image, 0644);
	make_disk(MIB + 4096);
	expect_refused("/images/big", "has 1048577 bytes, more than the "
				      "1048576 of the disk");
}

Test(noded_images, only_files_that_are_everybodys)
{
	auto_free char *from = local("/var/lib/ganeti/server.pem");
	auto_free char *to = local("/images/link");

	make_disk(16);
	cr_assert_eq(symlink(from, to), 0);
	test_node_write(&node, "/etc/ganeti/open", "x", 0644);
	expect_refused("/images/none", "/images/none' not found");
	expect_refused("/images", "neither a file nor a block device");
	expect_refused("/images/link", "among the cluster's own files");
	expect_refused("/etc/ganeti/open", "among the cluster's own files");
	expect_refused("images/small", "absolute path or a URL");
	if (geteuid() != 0)
		return; /* nobody to become */
	test_node_write(&node, "/images/closed", "x", 0600);
	expect_refused("/images/closed", "is not readable for everybody");
	expect_refused(DISK, "is not readable for everybody");
}

Test(noded_images, urls_are_only_of_servers)
{
	make_disk(16);
	expect_refused("file:///etc/passwd", "absolute path or a URL");
	expect_refused("http://127.0.0.1:1/x", "Cannot download the image");
}

/* What a helper machine asks, before it makes a disk for one. */
Test(noded_images, its_size_is_told)
{
	auto_free char *file = local(IMAGE);
	auto_json json_t *info =
		test_node_ok(&node, "get_file_info", json_make("[s]", file));
	auto_json json_t *none = test_node_ok(&node, "get_file_info",
					      json_make("[s]", "/no/such"));

	cr_assert(json_is_true(json_array_get(info, 0)));
	cr_assert_eq(json_int(json_array_get(info, 1), "size", 0), 8);
	cr_assert(json_is_false(json_array_get(none, 0)));
	test_node_fails(&node, "get_file_info",
			json_make("[s]", "http://me:sesame@127.0.0.1:1/x"),
			"Cannot download the image: Failed to connect");
}

Test(noded_images, the_disk_has_to_be_there_and_known)
{
	json_t *nameless = test_disk("file", DISK);

	json_object_del(nameless, "uuid");
	test_node_fails(&node, "blockdev_image", args(IMAGE, 1),
			"there is no disk");
	make_disk(16);
	test_node_fails(&node, "blockdev_image", args(IMAGE, 0),
			"0 MiB is no size");
	test_node_fails(&node, "blockdev_image",
			json_make("[o, s, i]", nameless, "/x", 1), "UUID");
}
