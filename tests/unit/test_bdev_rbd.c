/* SPDX-License-Identifier: BSD-2-Clause */
/* What rbd says, as Ceph 16 and 12 print it, and in every other way; and where
 * QEMU finds disks that it opens itself.  The life of such disks is in
 * tests/daemon/262-ceph-gluster.t. */
#include "lib/base/array.h"
#include "noded/storage/bdev.h"
#include "noded/storage/rbd.h"
#include "tests/lib/standin.h"

static struct error err;

static json_t *parse(const char *text)
{
	json_t *value = json_parse(text, strlen(text), &err);

	cr_assert_not_null(value, "%s: %s", text, err.text);
	return value;
}

static json_t *disk_of(const char *type, const char *name, const char *params)
{
	return json_make("{s:s, s:[s, s], s:o}", "dev_type", type, "logical_id",
			 type, name, "params", parse(params));
}

#define ROW(name, snap, device)                                                \
	"{\"id\":\"0\",\"pool\":\"vms\",\"namespace\":\"\",\"name\":\"" name   \
	"\",\"snap\":\"" snap "\",\"device\":\"" device "\"}"

static int device_of(const char *mapped, const char *name, const char **ret)
{
	auto_json json_t *disk = disk_of("rbd", name, "{\"pool\":\"vms\"}");
	auto_json json_t *value = parse(mapped);
	auto_rbd struct rbd_image image = {0};
	static char kept[64];
	const char *device = NULL;
	int rc;

	cr_assert_eq(rbd_image_of(disk, &image, &err), 0, "%s", err.text);
	rc = rbd_device(value, &image, &device, &err);
	if (rc == 1) {
		snprintf(kept, sizeof(kept), "%s", device);
		*ret = kept;
	}
	return rc;
}

Test(bdev_rbd, a_device_is_found_in_lists_of_all_versions)
{
	static const char now[] = "[" ROW("a", "-", "/dev/rbd0") "," ROW(
		"a", "s", "/dev/rbd1") "," ROW("b", "-", "/dev/rbd2") "]";
	static const char luminous[] =
		"{\"0\":{\"pool\":\"vms\",\"name\":\"a\",\"snap\":\"-\","
		"\"device\":\"/dev/rbd0\"},\"1\":{\"pool\":\"other\",\"name\":"
		"\"b\",\"snap\":\"-\",\"device\":\"/dev/rbd1\"}}";
	const char *device = NULL;

	cr_assert_eq(device_of(now, "a", &device), 1);
	cr_assert_str_eq(device, "/dev/rbd0");
	cr_assert_eq(device_of(now, "a@s", &device), 1);
	cr_assert_str_eq(device, "/dev/rbd1");
	cr_assert_eq(device_of(now, "c", &device), 0);
	cr_assert_eq(device_of("[]", "a", &device), 0);
	cr_assert_eq(device_of(luminous, "a", &device), 1);
	cr_assert_str_eq(device, "/dev/rbd0");
	cr_assert_eq(device_of(luminous, "b", &device), 0);
	cr_assert_eq(device_of("[" ROW("a", "-", "/dev/rbd0") "," ROW(
				       "a", "-", "/dev/rbd5") "]",
			       "a", &device),
		     -1);
	cr_assert_not_null(strstr(err.text, "more than once"));
	/* rbd-nbd's devices and files of others are none. */
	cr_assert_eq(device_of("[" ROW("a", "-", "/dev/rbd/../sda") "]", "a",
			       &device),
		     -1);
	cr_assert_eq(
		device_of("[" ROW("a", "-", "/etc/passwd") "]", "a", &device),
		-1);
	cr_assert_eq(device_of("7", "a", &device), -1);
}

/* Values that a field may have although it must not. */
static const char *const absurd[] = {
	"null",	   "\"\"",	"\"x\"", "-5",	 "1e300",
	"[\"a\"]", "{\"a\":1}", "true",	 "-1.5",
};

Test(bdev_rbd, each_field_may_be_missing_or_absurd)
{
	auto_json json_t *whole = parse(ROW("a", "-", "/dev/rbd0"));
	auto_json json_t *disk = disk_of("rbd", "a", "{\"pool\":\"vms\"}");
	auto_rbd struct rbd_image image = {0};
	const char *key;
	json_t *ignored;

	cr_assert_eq(rbd_image_of(disk, &image, &err), 0);
	json_object_foreach (whole, key, ignored)
		for (size_t i = 0; i <= ARRAY_SIZE(absurd); i++) {
			auto_json json_t *row = json_copy(whole);
			auto_json json_t *rows = json_make("[O]", row);
			const char *device = NULL;
			int rc;

			if (i == ARRAY_SIZE(absurd))
				json_object_del(row, key);
			else
				json_object_set_new(row, key,
						    json_loads(absurd[i],
							       JSON_DECODE_ANY,
							       NULL));
			rc = rbd_device(rows, &image, &device, &err);
			cr_expect(rc != 1 || strcmp(device, "/dev/rbd0") == 0,
				  "%s %zu", key, i);
			if (strcmp(key, "device") == 0)
				cr_expect_eq(rc, -1, "%zu", i);
			if (strcmp(key, "name") == 0 ||
			    strcmp(key, "pool") == 0)
				cr_expect_eq(rc, 0, "%s %zu", key, i);
		}
	(void)ignored;
}

Test(bdev_rbd, a_size_is_a_number_of_bytes)
{
	auto_json json_t *good = parse("{\"name\":\"a\",\"size\":1073741824}");

	cr_assert_eq(rbd_bytes(good, &err), 1073741824);
	for (size_t i = 0; i < ARRAY_SIZE(absurd); i++) {
		auto_json json_t *info = json_object();
		json_t *value = json_loads(absurd[i], JSON_DECODE_ANY, NULL);

		if (value != NULL)
			json_object_set_new(info, "size", value);
		cr_expect_eq(rbd_bytes(info, &err), -1, "%s", absurd[i]);
		cr_expect_not_null(strstr(err.text, "no size"));
	}
	cr_assert_eq(rbd_bytes(NULL, &err), -1);
}

Test(bdev_rbd, names_that_rbd_takes_for_something_else_are_refused)
{
	static const char *const bad[] = {"",	"-a",	"a/b", "a@",
					  "@b", "a@-b", "a b", "a@b@c"};
	auto_rbd struct rbd_image image = {0};
	auto_json json_t *pool = disk_of("rbd", "a", "{\"pool\":\"--help\"}");

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_json json_t *disk = disk_of("rbd", bad[i], "{}");

		cr_expect_eq(rbd_image_of(disk, &image, &err), -1, "%s",
			     bad[i]);
	}
	cr_assert_eq(rbd_image_of(pool, &image, &err), -1);
}

/* --- two callers at once, of whom each is told what was so a moment ago ---
 */

static struct test_node node;

static void setup(void)
{
	test_loop_start();
	test_node_create(&node);
	standin_say(&node, "mapped", "[]");
	standin_say(&node, "mapped.then", "[" ROW("a", "-", "/dev/rbd0") "]");
	test_node_write(&node, STANDIN_FOLDER "rbd",
			"#!/bin/sh\n"
			"dir=${0%/*}\n"
			"case $1 in\n"
			"info) echo '{\"size\":1048576}' ;;\n"
			"showmapped) told=$(cat \"$dir/mapped\"); sleep 0.2; "
			"echo \"$told\" ;;\n"
			"map) echo map >>\"$dir/log\"; "
			"cp \"$dir/mapped.then\" \"$dir/mapped\" ;;\n"
			"esac\n",
			0755);
}

static void teardown(void)
{
	test_node_destroy(&node);
	test_node_loop_stop(&node);
}

static void find(void *arg)
{
	auto_json json_t *disk = disk_of("rbd", "a", "{\"pool\":\"vms\"}");
	auto_free char *path = NULL;
	struct error mine;

	cr_expect_eq(bdev_rbd.find(node.root.paths, disk, &path, &mine), 1,
		     "%s", mine.text);
	++*(unsigned *)arg;
}

Test(bdev_rbd, two_at_once_map_it_once, .init = setup, .fini = teardown)
{
	unsigned n = 0;

	task_spawn("find", find, &n);
	task_spawn("find", find, &n);
	test_run_tasks();
	cr_expect_eq(n, 2);
	standin_did(&node, "map");
}

static void expect_uri(const char *type, const char *name, const char *params,
		       const char *want)
{
	auto_json json_t *disk = disk_of(type, name, params);
	auto_free char *uri = bdev_uri(disk);

	if (want == NULL)
		cr_expect_null(uri, "%s: %s", params, uri);
	else
		cr_expect_str_eq(uri, want);
}

Test(bdev_rbd, qemu_opens_what_it_shall_open_itself)
{
	expect_uri("rbd", "u.rbd.disk0",
		   "{\"access\":\"userspace\",\"pool\":\"vms\"}",
		   "rbd:vms/u.rbd.disk0");
	expect_uri("rbd", "u.rbd.disk0",
		   "{\"access\":\"kernelspace\",\"pool\":\"vms\"}", NULL);
	expect_uri("gluster", "ganeti/u.0",
		   "{\"access\":\"userspace\",\"host\":\"10.0.0.9\",\"port\":"
		   "24007,\"volume\":\"gv0\"}",
		   "gluster://10.0.0.9:24007/gv0/ganeti/u.0");
	expect_uri("gluster", "ganeti/u.0",
		   "{\"access\":\"userspace\",\"host\":\"fd00::9\",\"port\":"
		   "24008,\"volume\":\"gv0\"}",
		   "gluster://[fd00::9]:24008/gv0/ganeti/u.0");
	expect_uri("gluster", "../u.0",
		   "{\"access\":\"userspace\",\"host\":\"a\",\"volume\":"
		   "\"gv0\"}",
		   NULL);
	expect_uri("file", "/srv/a", "{\"access\":\"userspace\"}", NULL);
}
