/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/scripts/exports.h"

static struct paths *paths;
static char root[] = "/tmp/exports.XXXXXX";

static void setup(void)
{
	auto_free char *node = NULL;

	cr_assert_not_null(mkdtemp(root));
	node = xprintf("%s/node1", root);
	paths = paths_create(node, "node1");
}

static void teardown(void)
{
	struct error err;

	fs_remove_tree(root, &err);
	paths_destroy(paths);
}

TestSuite(exports, .init = setup, .fini = teardown);

/* As Ganeti 3.0.2 wrote it. */
static const char recorded[] =
	"[export]\nversion = 0\ntimestamp = 1795213789\nsource = 92ae36ee\n"
	"os = dumpos+default\ncompression = none\n\n"
	"[instance]\nname = inst5.example.com\nmaxmem = 64\nminmem = 64\n"
	"memory = 64\nvcpus = 1\ndisk_template = file\nhypervisor = fake\n"
	"tags = \nnic0_mac = aa:00:00:2a:f1:81\nnic0_ip = None\n"
	"nic0_network = None\nnic0_name = None\nnic0_link = br0\n"
	"nic0_mode = bridged\nnic0_vlan = \nnic_count = 1\n"
	"disk0_ivname = disk/0\ndisk0_dump = 033a2800\ndisk0_size = 4\n"
	"disk0_name = None\ndisk_count = 1\n\n[hypervisor]\n\n"
	"[backend]\nalways_failover = False\nauto_balance = True\nmaxmem = 64\n"
	"minmem = 64\nspindle_use = 1\nvcpus = 1\n\n[os]\n\n[os_private]\n\n";

static json_t *instance(void)
{
	return json_make(
		"{s:s, s:s, s:s, s:s, s:{s:s}, s:{s:b, s:b, s:i, s:i, s:i, "
		"s:i}, s:{}, s:{}, s:[], s:[{s:s, s:{s:s, s:s, s:s}}]}",
		"name", "inst5.example.com", "primary_node", "92ae36ee", "os",
		"dumpos+default", "hypervisor", "fake", "hvparams",
		"migration_mode", "live", "beparams", "always_failover", 0,
		"auto_balance", 1, "maxmem", 64, "minmem", 64, "spindle_use", 1,
		"vcpus", 1, "osparams", "osparams_private", "tags", "nics",
		"mac", "aa:00:00:2a:f1:81", "nicparams", "link", "br0", "mode",
		"bridged", "vlan", "");
}

/* The line with the time is another each time. */
static void without_time(char *text)
{
	char *line = strstr(text, "timestamp");

	cr_assert_not_null(line);
	memmove(line, strchr(line, '\n') + 1, strlen(strchr(line, '\n')));
}

/* A master writes the file of a disk. */
static void put_dump(const char *name, const char *disk, const char *text)
{
	auto_free char *place =
		xprintf("/var/lib/ganeti/export/%s.new/%s", name, disk);
	struct error err;
	auto_free char *file = exports_file(paths, place, true, &err);

	cr_assert_not_null(file, "%s", err.text);
	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0600, &err), 0);
}

static char *dump_of(const char *name, const char *disk)
{
	auto_free char *file =
		xprintf("%s/%s/%s", path(paths, PATH_EXPORT_DIR), name, disk);
	struct error err;

	return fs_read(file, 100, NULL, &err);
}

Test(exports, the_description_is_the_one_that_ganeti_writes)
{
	auto_json json_t *inst = instance();
	auto_json json_t *disks =
		json_make("[{s:s, s:s, s:i, s:s}]", "iv_name", "disk/0", "uuid",
			  "033a2800", "size", 4, "dev_type", "file");
	auto_free char *expected = xstrdup(recorded);
	auto_free char *text = NULL;
	struct error err;

	cr_assert_eq(exports_finalize(paths, inst, disks, &err), -1);
	cr_assert_not_null(strstr(err.text, "no data of disk 0"), "%s",
			   err.text);
	put_dump("inst5.example.com", "033a2800", "data");
	cr_assert_eq(exports_finalize(paths, inst, disks, &err), 0, "%s",
		     err.text);
	text = exports_info(paths, "/var/lib/ganeti/export/inst5.example.com",
			    &err);
	cr_assert_not_null(text, "%s", err.text);
	without_time(text);
	without_time(expected);
	cr_assert_str_eq(text, expected);
}

Test(exports, nothing_outside_is_reached)
{
	static const char *const bad[] = {
		"/etc/passwd",
		"/var/lib/ganeti/export",
		"/var/lib/ganeti/export/alone",
		"/var/lib/ganeti/export/../server.pem",
		"/var/lib/ganeti/export/a/../../server.pem",
		"/var/lib/ganeti/exports/a/b",
		"/var/lib/ganeti/export//b",
		"var/lib/ganeti/export/a/b",
	};
	auto_free char *link = xprintf("%s/away", path(paths, PATH_EXPORT_DIR));
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_null(exports_file(paths, bad[i], false, &err), "%s",
			       bad[i]);
	cr_assert_eq(fs_mkdirs(path(paths, PATH_EXPORT_DIR), 0755, &err), 0);
	cr_assert_eq(symlink("/etc", link), 0);
	cr_assert_null(exports_file(paths, "/var/lib/ganeti/export/away/passwd",
				    false, &err),
		       "a link");
	cr_assert_eq(exports_remove(paths, "../queue", &err), -1);
}

static void export(const char *name, const char *text)
{
	auto_json json_t *inst = instance();
	auto_json json_t *disks = json_make("[{s:s}]", "uuid", "d1");
	struct error err;

	json_set_str(inst, "name", name);
	put_dump(name, "d1", text);
	cr_assert_eq(exports_finalize(paths, inst, disks, &err), 0, "%s",
		     err.text);
}

static size_t count_all(void)
{
	auto_strv struct strv names = {0};
	struct error err;

	cr_assert_eq(fs_list(path(paths, PATH_EXPORT_DIR), &names, &err), 0);
	return names.n;
}

static size_t count_listed(void)
{
	struct error err;
	auto_json json_t *list = exports_list(paths, &err);

	return json_array_size(list);
}

Test(exports, an_instance_may_be_called_like_an_unfinished_one)
{
	auto_free char *text = NULL;
	struct error err;

	export("web1.new", "of web1.new");
	put_dump("web1", "d1", "of web1");
	cr_expect_eq(exports_remove(paths, "web1+new", &err), 0);
	export("web1", "of web1");
	text = dump_of("web1.new", "d1");
	cr_assert_str_eq(text, "of web1.new");
	cr_expect_eq(count_listed(), 2);
	cr_expect_eq(count_all(), 2);
}

Test(exports, a_new_one_takes_the_place_of_the_former)
{
	auto_free char *aside =
		xprintf("%s/web1+old", path(paths, PATH_EXPORT_DIR));
	auto_free char *final =
		xprintf("%s/web1", path(paths, PATH_EXPORT_DIR));
	auto_free char *text = NULL;

	export("web1", "first");
	/* It was cut off before the new one stood. */
	cr_assert_eq(rename(final, aside), 0);
	export("web1", "second");
	export("web1", "third");
	text = dump_of("web1", "d1");
	cr_assert_str_eq(text, "third");
	cr_expect_eq(count_all(), 1);
}

Test(exports, one_that_was_left_aside_is_put_back)
{
	auto_free char *aside =
		xprintf("%s/web1+old", path(paths, PATH_EXPORT_DIR));
	auto_free char *final =
		xprintf("%s/web1", path(paths, PATH_EXPORT_DIR));
	auto_free char *text = NULL;

	export("web1", "first");
	put_dump("web1", "d1", "second");
	cr_assert_eq(rename(final, aside), 0);
	cr_expect_eq(count_listed(), 1);
	text = dump_of("web1", "d1");
	cr_assert_str_eq(text, "first");
	cr_expect_not(fs_exists(aside));
}

Test(exports, what_is_left_of_one_is_removed_with_it)
{
	struct error err;

	export("web1", "all of it");
	put_dump("web1", "d1", "half");
	put_dump("web2", "d1", "half");
	cr_expect_eq(count_listed(), 1, "it is not listed");
	cr_expect_eq(exports_remove(paths, "web1", &err), 0);
	cr_expect_eq(count_all(), 1);
	cr_expect_eq(exports_remove(paths, "web2+new", &err), 0);
	cr_expect_eq(count_all(), 0);
}

Test(exports, half_an_export_is_none)
{
	auto_free char *half =
		xprintf("%s/web1.new", path(paths, PATH_EXPORT_DIR));
	auto_json json_t *list = NULL;
	struct error err;

	cr_assert_null(exports_list(paths, &err), "no folder");
	cr_assert_eq(fs_mkdirs(half, 0750, &err), 0);
	list = exports_list(paths, &err);
	cr_assert_eq(json_array_size(list), 0);
	cr_assert_eq(exports_remove(paths, "web1", &err), 0);
	cr_assert_not(fs_exists(half));
	cr_assert_eq(exports_remove(paths, "web1", &err), 0, "again");
}
