/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks on LVM, with stand-ins for its programs, which answer as LVM 2.03.16
 * did. */
#include "noded/storage/bdev.h"
#include "noded/storage/lvm.h"
#include "noded/storage/lvm_place.h"
#include "noded/storage/lvm_thin.h"
#include "tests/lib/standin.h"

#define DATA                                                                   \
	"{\"vg_name\":\"xenvg\", \"lv_name\":\"a.disk0\", "                    \
	"\"lv_attr\":\"-wi-ao----\", \"lv_size\":\"67108864\", "               \
	"\"vg_extent_size\":\"4194304\", \"stripes\":\"1\", "                  \
	"\"devices\":\"/dev/vdb(0)\", \"lv_tags\":\"originstname+web1\", "     \
	"\"pool_lv\":\"\", \"lv_kernel_major\":\"253\", "                      \
	"\"lv_kernel_minor\":\"3\"}"
#define LVS(rows) "{\"report\":[{\"lv\":[" rows "]}]}"
#define PV(name, free)                                                         \
	"{\"pv_name\":\"" name "\", \"vg_name\":\"xenvg\", "                   \
	"\"pv_size\":\"1073741824\", \"pv_free\":\"" free "\", "               \
	"\"pv_used\":\"0\", \"pv_attr\":\"a--\"}"
#define PVS(rows) "{\"report\":[{\"pv\":[" rows "]}]}"

static struct test_node node;

static void setup(void)
{
	static const char *const programs[] = {
		"lvs",	    "vgs",	"pvs",	    "lvcreate", "lvremove",
		"lvchange", "lvextend", "lvrename", "vgreduce", "pvchange"};

	test_loop_start();
	test_node_create(&node);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		standin_make(&node, programs[i]);
	standin_say(&node, "lvs.out", LVS(DATA));
	standin_say(&node, "pvs.out", PVS(PV("/dev/vdb", "1006632960")));
	standin_say(&node, "vgs.out",
		    "{\"report\":[{\"vg\":[{\"vg_name\":\"xenvg\", "
		    "\"vg_size\":\"1073741824\", \"vg_free\":\"1006632960\", "
		    "\"vg_attr\":\"wz--n-\"}]}]}");
}

static void teardown(void)
{
	test_node_destroy(&node);
	test_node_loop_stop(&node);
}

TestSuite(bdev_plain, .init = setup, .fini = teardown, .timeout = 60);

static json_t *volume(const char *name)
{
	return json_make("{s:s, s:[s, s], s:s, s:i, s:{s:i}, s:[], s:{}, s:s}",
			 "dev_type", "plain", "logical_id", "xenvg", name,
			 "iv_name", "disk/0", "size", 64, "params", "stripes",
			 1, "children", "dynamic_params", "uuid", "u");
}

static json_t *create_args(json_t *disk STEALS, bool exclusive)
{
	return json_make("[o, i, s, b, s, b]", disk, 64, "web1", 1,
			 "originstname+web1", exclusive);
}

Test(bdev_plain, makes_a_volume_with_its_owner_in_one_command)
{
	json_decref(test_node_ok(&node, "blockdev_create",
				 create_args(volume("new.disk0"), false)));
	standin_did(&node, "lvcreate -Wn -L64m -nnew.disk0 --addtag "
			   "originstname+web1 -i1 xenvg /dev/vdb");
}

Test(bdev_plain, never_makes_one_that_exists)
{
	test_node_fails(&node, "blockdev_create",
			create_args(volume("a.disk0"), false),
			"xenvg/a.disk0 exists already");
	standin_did(&node, "");
}

Test(bdev_plain, begins_where_the_owners_other_volumes_are)
{
	standin_say(&node, "pvs.out",
		    PVS(PV("/dev/vdb", "134217728") "," PV("/dev/vdc",
							   "1073741824")));
	json_decref(test_node_ok(&node, "blockdev_create",
				 create_args(volume("b.disk1"), false)));
	standin_did(&node, "lvcreate -Wn -L64m -nb.disk1 --addtag "
			   "originstname+web1 -i1 xenvg /dev/vdb");
	standin_say(&node, "pvs.out",
		    PVS(PV("/dev/vdb", "4194304") "," PV("/dev/vdc",
							 "1073741824")));
	json_decref(test_node_ok(&node, "blockdev_create",
				 create_args(volume("b.disk1"), false)));
	standin_did(&node, "lvcreate -Wn -L64m -nb.disk1 --addtag "
			   "originstname+web1 -i1 xenvg /dev/vdc /dev/vdb");
}

Test(bdev_plain, says_when_there_is_no_room)
{
	standin_say(&node, "pvs.out", PVS(PV("/dev/vdb", "4194304")));
	test_node_fails(&node, "blockdev_create",
			create_args(volume("new.disk0"), false),
			"required 64 MiB, available 4 MiB");
	standin_say(&node, "pvs.out", PVS(""));
	test_node_fails(&node, "blockdev_create",
			create_args(volume("new.disk0"), false),
			"volume group xenvg has no physical volume");
}

/* Who asks it is told what was so a moment ago. */
static void make_slow_pvs(void)
{
	test_node_write(&node, STANDIN_FOLDER "pvs",
			"#!/bin/sh\n"
			"told=$(cat \"${0%/*}/pvs.out\")\n"
			"sleep 0.2\n"
			"echo \"$told\"\n",
			0755);
}

/* After the first volume the first physical one is not empty. */
static void make_lvcreate_that_takes_room(void)
{
	standin_say(&node, "pvs.out",
		    PVS(PV("/dev/vdb", "1073741824") "," PV("/dev/vdc",
							    "1073741824")));
	standin_say(&node, "pvs.then",
		    PVS(PV("/dev/vdb", "1006632960") "," PV("/dev/vdc",
							    "1073741824")));
	test_node_write(&node, STANDIN_FOLDER "lvcreate",
			"#!/bin/sh\n"
			"dir=${0%/*}\n"
			"echo \"$*\" | sed 's/.* //' >>\"$dir/log\"\n"
			"cp \"$dir/pvs.then\" \"$dir/pvs.out\"\n",
			0755);
}

/* Make a volume of this name on one physical volume. */
static void create(void *arg)
{
	json_t *disk = volume(arg);
	auto_json json_t *args = create_args(disk, true);
	auto_free char *body = NULL, *answer = NULL;
	int status;

	json_set_int(disk, "spindles", 1);
	body = json_text(args);
	answer =
		answer_http(&node.n,
			    &(struct answer_request){.method = "POST",
						     .path = "/blockdev_create",
						     .body = body,
						     .len = strlen(body)},
			    &status);
	cr_expect_not_null(strstr(answer, "[true,"), "%s", answer);
}

Test(bdev_plain, two_at_once_get_different_physical_volumes)
{
	char first[] = "x.disk0", second[] = "y.disk0";

	make_slow_pvs();
	make_lvcreate_that_takes_room();
	task_spawn("create", create, first);
	task_spawn("create", create, second);
	test_run_tasks();
	standin_did(&node, "/dev/vdb\n/dev/vdc");
}

Test(bdev_plain, exclusive_storage_gives_whole_empty_physical_volumes)
{
	json_t *disk = volume("x.disk0");

	standin_say(&node, "pvs.out",
		    PVS(PV("/dev/vdb", "1006632960") "," PV(
			    "/dev/vdc", "1073741824") "," PV("/dev/vdd",
							     "1073741824")));
	json_set_int(disk, "spindles", 2);
	json_decref(test_node_ok(&node, "blockdev_create",
				 create_args(json_incref(disk), true)));
	standin_did(&node, "lvcreate -Wn -L64m -nx.disk0 --addtag "
			   "originstname+web1 -i2 xenvg /dev/vdc /dev/vdd");
	json_set_int(disk, "spindles", 3);
	test_node_fails(&node, "blockdev_create", create_args(disk, true),
			"2 available, 3 needed");
	test_node_fails(&node, "blockdev_create",
			create_args(volume("x.disk0"), true),
			"Unspecified number of spindles");
}

Test(bdev_plain, fewer_stripes_are_tried_when_lvm_refuses)
{
	json_t *disk = volume("s.disk0");

	json_object_set_new(disk, "params", json_make("{s:i}", "stripes", 2));
	standin_say(&node, "pvs.out",
		    PVS(PV("/dev/vdb", "1073741824") "," PV("/dev/vdc",
							    "1073741824")));
	standin_say(&node, "lvcreate.err", "  Insufficient suitable extents\n");
	test_node_fails(&node, "blockdev_create", create_args(disk, false),
			"Insufficient suitable extents");
	standin_did(&node, "lvcreate -Wn -L64m -ns.disk0 --addtag "
			   "originstname+web1 -i2 xenvg /dev/vdb /dev/vdc\n"
			   "lvcreate -Wn -L64m -ns.disk0 --addtag "
			   "originstname+web1 -i1 xenvg /dev/vdb /dev/vdc");
}

Test(bdev_plain, names_that_lvm_takes_for_something_else_are_refused)
{
	static const char *const bad[] = {"-f",	     "..", "a b", "a;b",
					  "x_mlog1", "",   "a/b"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		test_node_fails(&node, "blockdev_remove",
				json_make("[o]", volume(bad[i])),
				"must be [volume group, name]");
	standin_did(&node, "");
}

Test(bdev_plain, removing_twice_is_no_error)
{
	json_decref(test_node_ok(&node, "blockdev_remove",
				 json_make("[o]", volume("a.disk0"))));
	standin_did(&node, "lvremove -f xenvg/a.disk0");
	standin_say(&node, "lvs.out", LVS(""));
	json_decref(test_node_ok(&node, "blockdev_remove",
				 json_make("[o]", volume("a.disk0"))));
	standin_did(&node, "");
}

#define LARGER                                                                 \
	LVS("{\"vg_name\":\"xenvg\", \"lv_name\":\"a.disk0\", "                \
	    "\"lv_attr\":\"-wi-a-----\", \"lv_size\":\"75497472\", "           \
	    "\"vg_extent_size\":\"4194304\"}")

Test(bdev_plain, growing_twice_grows_once)
{
	auto_json json_t *args =
		json_make("[o, i, b, b, b]", volume("a.disk0"), 6, 0, 1, 0);

	standin_say(&node, "lvextend.lvs", LARGER);
	json_decref(test_node_ok(&node, "blockdev_grow", json_incref(args)));
	standin_did(&node, "lvextend -L +8192k --alloc contiguous "
			   "/dev/xenvg/a.disk0");
	json_decref(test_node_ok(&node, "blockdev_grow", json_incref(args)));
	standin_did(&node, "");
}

/* What gnt-instance grow-disk asks for again, when a mirror did not follow its
 * volume. */
Test(bdev_plain, a_volume_that_has_grown_already_may_be_asked_to)
{
	for (int dry_run = 0; dry_run < 2; dry_run++)
		json_decref(test_node_ok(&node, "blockdev_grow",
					 json_make("[o, i, b, b, b]",
						   volume("a.disk0"), 0,
						   dry_run, 1, 0)));
	standin_did(&node, "");
	test_node_fails(
		&node, "blockdev_grow",
		json_make("[o, i, b, b, b]", volume("a.disk0"), -1, 0, 1, 0),
		"-1");
}

Test(bdev_plain, a_program_that_grows_nothing_is_found_out)
{
	test_node_fails(
		&node, "blockdev_grow",
		json_make("[o, i, b, b, b]", volume("a.disk0"), 6, 0, 1, 0),
		"the volume has 64 MiB and not 72");
}

Test(bdev_plain, a_dry_run_only_asks_lvm)
{
	json_decref(test_node_ok(
		&node, "blockdev_grow",
		json_make("[o, i, b, b, b]", volume("a.disk0"), 4, 1, 1, 0)));
	standin_did(&node, "lvextend -L +4096k --test --alloc contiguous "
			   "/dev/xenvg/a.disk0");
}

Test(bdev_plain, renaming_twice_is_no_error)
{
	auto_json json_t *args = json_make("[[[o, [s, s]]]]", volume("a.disk0"),
					   "xenvg", "b.disk0");

	json_decref(test_node_ok(&node, "blockdev_rename", json_incref(args)));
	standin_did(&node, "lvrename xenvg a.disk0 b.disk0");
	standin_say(&node, "lvs.out",
		    LVS("{\"vg_name\":\"xenvg\", \"lv_name\":\"b.disk0\", "
			"\"lv_attr\":\"-wi-a-----\", \"lv_size\":\"67108864\", "
			"\"vg_extent_size\":\"4194304\"}"));
	json_decref(test_node_ok(&node, "blockdev_rename", json_incref(args)));
	standin_did(&node, "");
	test_node_fails(
		&node, "blockdev_rename",
		json_make("[[[o, [s, s]]]]", volume("a.disk0"), "other", "b"),
		"stays in its volume group");
}

Test(bdev_plain, a_snapshot_never_takes_the_place_of_a_volume)
{
	auto_json json_t *id = test_node_ok(
		&node, "blockdev_snapshot",
		json_make("[o, s, i]", volume("a.disk0"), "snap", 32));
	auto_free char *text = json_text(id);

	cr_assert_str_eq(text, "[\"xenvg\",\"snap\"]");
	standin_did(&node, "lvcreate -L32m -s -nsnap /dev/xenvg/a.disk0");
	test_node_fails(
		&node, "blockdev_snapshot",
		json_make("[o, s, i]", volume("a.disk0"), "a.disk0", 32),
		"exists and is no snapshot");
}

Test(bdev_plain, its_owner_changes_in_one_command)
{
	json_decref(test_node_ok(
		&node, "blockdev_setinfo",
		json_make("[o, s]", volume("a.disk0"), "originstname+web 2")));
	standin_did(&node, "lvchange --deltag originstname+web1 --addtag "
			   "originstname+web_2 /dev/xenvg/a.disk0");
	json_decref(test_node_ok(
		&node, "blockdev_setinfo",
		json_make("[o, s]", volume("a.disk0"), "originstname+web1")));
	standin_did(&node, "");
}

Test(bdev_plain, many_disks_are_one_question)
{
	auto_json json_t *all =
		test_node_ok(&node, "blockdev_getmirrorstatus_multi",
			     json_make("[[o, o, o]]", volume("a.disk0"),
				       volume("a.disk0"), volume("gone")));
	auto_free char *text = json_text(all);
	auto_free char *log = standin_log(&node);

	cr_assert_str_eq(
		text,
		"[[true,{\"dev_path\":\"/dev/xenvg/a.disk0\",\"major\":253,"
		"\"minor\":3,\"sync_percent\":null,\"estimated_time\":null,"
		"\"is_degraded\":false,\"ldisk_status\":1}],"
		"[true,{\"dev_path\":\"/dev/xenvg/a.disk0\",\"major\":253,"
		"\"minor\":3,\"sync_percent\":null,\"estimated_time\":null,"
		"\"is_degraded\":false,\"ldisk_status\":1}],"
		"[false,\"Can't find device [\\\"xenvg\\\",\\\"gone\\\"]\"]]");
	cr_assert_eq(strstr(log, "lvs") != NULL, true);
	cr_assert_null(strstr(strstr(log, "lvs") + 1, "lvs"));
}

Test(bdev_plain, a_volume_whose_drive_is_gone_is_faulty)
{
	auto_json json_t *status = NULL;

	standin_say(&node, "lvs.out",
		    LVS("{\"vg_name\":\"xenvg\", \"lv_name\":\"a.disk0\", "
			"\"lv_attr\":\"-wi-a---p-\", \"lv_size\":\"67108864\", "
			"\"vg_extent_size\":\"4194304\"}"));
	status = test_node_ok(&node, "blockdev_find",
			      json_make("[o]", volume("a.disk0")));
	cr_assert(json_bool(status, "is_degraded", false));
	cr_assert_eq(json_int(status, "ldisk_status", 0), BDEV_FAULTY);
}

/* --- thin volumes --- */

#define POOL                                                                   \
	"{\"vg_name\":\"xenvg\", \"lv_name\":\"pool0\", "                      \
	"\"lv_attr\":\"twi-aotz--\", \"lv_size\":\"1073741824\", "             \
	"\"vg_extent_size\":\"4194304\", \"data_percent\":\"25.00\"}"
#define THIN THIN_OF("67108864")
#define THIN_LARGER THIN_OF("134217728")
#define THIN_OF(bytes)                                                         \
	"{\"vg_name\":\"xenvg\", \"lv_name\":\"t.disk0\", "                    \
	"\"lv_attr\":\"Vwi-aotz--\", \"lv_size\":\"" bytes "\", "              \
	"\"vg_extent_size\":\"4194304\", \"stripes\":\"0\", "                  \
	"\"devices\":\"\", \"lv_tags\":\"\", \"pool_lv\":\"pool0\"}"

static json_t *thin_volume(const char *name)
{
	json_t *disk = volume(name);

	json_object_set_new(
		disk, "params",
		json_make("{s:i, s:s}", "stripes", 1, "thin-pool", "pool0"));
	return disk;
}

Test(bdev_plain, a_thin_volume_is_made_in_its_pool)
{
	test_node_fails(&node, "blockdev_create",
			create_args(thin_volume("t.disk0"), false),
			"no thin pool xenvg/pool0 on this node");
	standin_say(&node, "lvs.out", LVS(DATA "," POOL));
	json_decref(test_node_ok(&node, "blockdev_create",
				 create_args(thin_volume("t.disk0"), false)));
	standin_did(&node, "lvcreate -Wn --type=thin -V64m -nt.disk0 --addtag "
			   "originstname+web1 --thinpool=pool0 xenvg");
	test_node_fails(&node, "blockdev_create",
			create_args(thin_volume("t.disk0"), true),
			"exclusive storage does not allow");
}

Test(bdev_plain, a_thin_volume_grows_and_its_snapshot_takes_no_room)
{
	standin_say(&node, "lvs.out", LVS(THIN "," POOL));
	standin_say(&node, "lvextend.lvs", LVS(THIN_LARGER "," POOL));
	json_decref(test_node_ok(
		&node, "blockdev_grow",
		json_make("[o, i, b, b, b]", volume("t.disk0"), 64, 0, 1, 0)));
	standin_did(&node, "lvextend -L +65536k /dev/xenvg/t.disk0");
	json_decref(test_node_ok(
		&node, "blockdev_snapshot",
		json_make("[o, s, i]", volume("t.disk0"), "t.snap", 64)));
	standin_did(&node, "lvcreate -kn -s -nt.snap /dev/xenvg/t.disk0");
}

Test(bdev_plain, what_is_free_in_pools_is_free_space)
{
	auto_json json_t *rows = json_make(
		"[{s:s, s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:i}, {s:s, s:s, "
		"s:s, s:s, s:s}]",
		"vg_name", "a", "lv_name", "p", "lv_attr", "twi-aotz--",
		"lv_size", "1073741824", "data_percent", "25.00", "vg_name",
		"a", "lv_name", "v", "lv_attr", "-wi-a-----", "lv_size",
		104857600, "vg_name", "a", "lv_name", "q", "lv_attr",
		"twi-aotz--", "lv_size", "104857600", "data_percent", "");

	cr_assert_eq(lvm_thin_free_mib(rows, "a"), 768);
	cr_assert_eq(lvm_thin_free_mib(rows, "b"), 0);
	cr_assert_eq(lvm_thin_free_mib(NULL, "a"), 0);
}

/* --- what LVM says is input from outside --- */

static json_t *one_row(void)
{
	struct error err;
	json_t *row = json_parse(DATA, strlen(DATA), &err);

	cr_assert_not_null(row, "%s", err.text);
	return row;
}

Test(bdev_plain, each_field_may_be_missing_or_absurd)
{
	static const char *const absurd[] = {"",      "x",    "-5",
					     "1e400", "\xe2", "nan"};
	auto_json json_t *whole = one_row();
	const char *key;
	json_t *value;

	json_object_foreach (whole, key, value)
		for (size_t i = 0; i <= ARRAY_SIZE(absurd); i++) {
			auto_json json_t *row = json_copy(whole);
			auto_json json_t *rows = json_make("[O]", row);
			auto_json json_t *list = NULL;
			auto_volume struct lvm_volume v = {0};
			struct error err;
			int rc;

			if (i == ARRAY_SIZE(absurd))
				json_object_del(row, key);
			else
				json_object_set_new(
					row, key,
					json_string_nocheck(absurd[i]));
			rc = lvm_volume_find(rows, "xenvg", "a.disk0", &v,
					     &err);
			list = lvm_list(rows, NULL);
			cr_assert(rc != 1 ||
				  (v.bytes >= 0 && v.extent_bytes > 0 &&
				   v.stripes >= 1));
			cr_assert_leq(json_object_size(list), 1);
		}
}

/* Calls `check` with the row as each of its values is missing or absurd. */
static void spoil(const char *text, void (*check)(const json_t *rows))
{
	static const char *const absurd[] = {"\"\"",	  "\"x\"",   "\"-5\"",
					     "\"1e400\"", "\"nan\"", "null",
					     "[]",	  "-7",	     "9e18"};
	struct error err;
	auto_json json_t *whole = json_parse(text, strlen(text), &err);
	const char *key;
	json_t *value;

	cr_assert_not_null(whole, "%s", err.text);
	json_object_foreach (whole, key, value)
		for (size_t i = 0; i <= ARRAY_SIZE(absurd); i++) {
			auto_json json_t *row = json_copy(whole);
			auto_json json_t *rows = json_make("[O]", row);

			if (i == ARRAY_SIZE(absurd))
				json_object_del(row, key);
			else
				json_object_set_new(row, key,
						    json_loads(absurd[i],
							       JSON_DECODE_ANY,
							       NULL));
			check(rows);
		}
	(void)value;
}

static void check_group(const json_t *rows)
{
	double mib = -1, free_mib = -1;
	struct error err;
	int rc = lvm_group_space(rows, "xenvg", &mib, &free_mib, &err);
	auto_json json_t *sizes = lvm_group_sizes(rows);

	cr_expect(rc != 1 || (free_mib >= 0 && free_mib <= mib), "%f %f", mib,
		  free_mib);
	cr_expect_leq(json_object_size(sizes), 1);
}

Test(bdev_plain, each_field_of_a_group_may_be_missing_or_absurd)
{
	spoil("{\"vg_name\":\"xenvg\", \"vg_size\":\"1073741824\", "
	      "\"vg_free\":\"1006632960\", \"vg_attr\":\"wz--n-\"}",
	      check_group);
}

static void check_physical(const json_t *rows)
{
	size_t n = 0;
	auto_free struct lvm_pv *pvs = lvm_pvs_of(rows, "xenvg", true, &n);
	auto_json json_t *shared = lvm_shared_pvs(rows, rows, NULL);

	for (size_t i = 0; i < n; i++)
		cr_expect(*pvs[i].name == '/' && pvs[i].free_mib >= 0 &&
			  pvs[i].free_mib <= pvs[i].mib);
	cr_expect_geq(lvm_pv_usable_mib(pvs, n), 0);
	cr_expect_eq(json_array_size(shared), 0);
}

Test(bdev_plain, each_field_of_a_physical_volume_may_be_missing_or_absurd)
{
	spoil(PV("/dev/vdb", "1006632960"), check_physical);
}

/* A new volume goes only where a physical volume is told to have the room. */
static void check_place(const json_t *rows)
{
	auto_json json_t *volume = one_row();
	auto_json json_t *volumes = json_make("[O]", volume);

	for (int exclusive = 0; exclusive < 2; exclusive++) {
		struct lvm_place place = {0};
		struct error err;

		if (lvm_place_find(rows, volumes,
				   &(struct lvm_wish){
					   .group = "xenvg",
					   .mib = 64,
					   .stripes = 1,
					   .spindles = 1,
					   .exclusive = exclusive,
					   .owner = "originstname+web1",
				   },
				   &place, &err) < 0)
			continue;
		cr_expect_eq(place.pvs.n, 1);
		cr_expect_str_eq(place.pvs.items[0], "/dev/vdb");
		cr_expect_eq(place.stripes, 1);
		lvm_place_done(&place);
	}
}

Test(bdev_plain, no_volume_goes_where_a_report_makes_no_sense)
{
	spoil(PV("/dev/vdb", "1073741824"), check_place);
}

/* The same by the rows of volumes. */
static void check_near(const json_t *volumes)
{
	auto_json json_t *physical =
		json_parse("[" PV("/dev/vdb", "1006632960") "]",
			   strlen("[" PV("/dev/vdb", "1006632960") "]"),
			   &(struct error){0});
	struct lvm_place place = {0};
	struct error err;

	cr_expect_eq(lvm_place_find(physical, volumes,
				    &(struct lvm_wish){
					    .group = "xenvg",
					    .mib = 64,
					    .stripes = 1,
					    .spindles = -1,
					    .owner = "originstname+web1",
				    },
				    &place, &err),
		     0);
	cr_expect_leq(place.near.n, 1);
	for (size_t i = 0; i < place.near.n; i++)
		cr_expect_str_eq(place.near.items[i], "/dev/vdb");
	lvm_place_done(&place);
}

Test(bdev_plain, each_field_of_neighbours_may_be_missing_or_absurd)
{
	spoil(DATA, check_near);
}

static void check_thin(const json_t *rows)
{
	double free_mib = lvm_thin_free_mib(rows, "xenvg");
	auto_json json_t *partial = lvm_partial(rows, rows);

	cr_expect(free_mib >= 0 && free_mib <= 1024, "%f", free_mib);
	cr_expect_eq(json_object_size(partial), 0);
}

Test(bdev_plain, each_field_of_a_pool_may_be_missing_or_absurd)
{
	spoil(POOL, check_thin);
}

Test(bdev_plain, a_report_that_is_none_is_an_error)
{
	static const char *const bad[] = {"", "[]", "{\"report\":7}", "lvs 2",
					  "{\"report\":[{\"pv\":[]}]}"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		standin_say(&node, "lvs.out", bad[i]);
		test_node_fails(&node, "lv_list", json_make("[[]]"), "lvs");
	}
	standin_say(&node, "lvs.err", "  Can't open /etc/lvm\n");
	test_node_fails(&node, "lv_list", json_make("[[]]"),
			"lvs exited with exit code 5: Can't open /etc/lvm");
}

/* --- the node as a whole --- */

static void expect(const char *call, json_t *args STEALS, const char *answer)
{
	auto_json json_t *value = test_node_ok(&node, call, args);
	auto_free char *text = json_text(value);

	cr_assert_str_eq(text, answer, "%s", call);
}

/* LVM says so where metadata on one drive was torn by a power cut, between the
 * lines of its report (2.03.16, seen with vgs, lvs and pvs). */
static void make_a_talking_program(const char *name)
{
	auto_free char *file = xprintf(STANDIN_FOLDER "%s", name);

	test_node_write(&node, file,
			"#!/bin/sh\n"
			"sed 1q \"$0.out\" >&${LVM_REPORT_FD-1}\n"
			"echo '  Retrying metadata scan.' >&${LVM_OUT_FD-1}\n"
			"sed 1d \"$0.out\" >&${LVM_REPORT_FD-1}\n",
			0755);
}

Test(bdev_plain, what_lvm_says_beside_a_report_is_no_part_of_it)
{
	make_a_talking_program("vgs");
	standin_say(&node, "vgs.out",
		    "{\"report\":[\n{\"vg\":[{\"vg_name\":\"xenvg\", "
		    "\"vg_size\":\"1073741824\", \"vg_free\":\"0\", "
		    "\"vg_attr\":\"wz--n-\"}]}]}\n");
	expect("vg_list", json_array(), "{\"xenvg\":1024}");
}

Test(bdev_plain, the_node_lists_its_volumes_and_groups)
{
	expect("lv_list", json_make("[[s]]", "xenvg"),
	       "{\"xenvg/a.disk0\":[\"64.00\",false,true]}");
	expect("lv_list", json_make("[[s]]", "other"), "{}");
	expect("vg_list", json_array(), "{\"xenvg\":1024}");
	expect("storage_list",
	       json_make("[s, [], n, [s, s, s, s, s]]", "lvm-vg", "name",
			 "size", "used", "free", "allocatable"),
	       "[[\"xenvg\",1024,64,960,true]]");
	expect("storage_list",
	       json_make("[s, [], n, [s, s, s, s, s]]", "lvm-pv", "name",
			 "size", "used", "free", "allocatable"),
	       "[[\"/dev/vdb\",1024,64,960,true]]");
	test_node_fails(&node, "storage_list",
			json_make("[s, [], n, [s]]", "lvm-pv", "color"),
			"Unknown field");
}

/* As gnt-node volumes shows them: one that is striped is on two devices. */
Test(bdev_plain, a_volume_has_a_row_for_each_of_its_devices)
{
	standin_say(&node, "lvs.out",
		    LVS("{\"vg_name\":\"xenvg\", \"lv_name\":\"s\", "
			"\"lv_size\":\"67108864\", \"devices\":"
			"\"/dev/sda1(0),/dev/sdb1(16)\"}, "
			"{\"vg_name\":\"xenvg\", \"lv_name\":\"thin\", "
			"\"lv_size\":\"1572864\", \"devices\":\"\"}"));
	expect("node_volumes", json_array(),
	       "[{\"name\":\"s\",\"size\":64.0,\"dev\":\"/dev/sda1\","
	       "\"vg\":\"xenvg\"},"
	       "{\"name\":\"s\",\"size\":64.0,\"dev\":\"/dev/sdb1\","
	       "\"vg\":\"xenvg\"},"
	       "{\"name\":\"thin\",\"size\":1.5,\"dev\":\"\","
	       "\"vg\":\"xenvg\"}]");
}

Test(bdev_plain, a_group_is_repaired_by_force_only_where_that_is_needed)
{
	json_t *args = json_make("[s, [], s, s]", "lvm-vg", "xenvg",
				 "fix-consistency");

	json_decref(test_node_ok(&node, "storage_execute", json_incref(args)));
	standin_did(&node, "vgreduce --removemissing xenvg");
	standin_say(&node, "vgs.out",
		    "{\"report\":[{\"vg\":[{\"vg_name\":\"xenvg\", "
		    "\"vg_size\":\"8\", \"vg_free\":\"4\", "
		    "\"vg_attr\":\"wz-pn-\"}]}]}");
	test_node_fails(&node, "storage_execute", args, "still not consistent");
	standin_did(&node, "vgreduce --removemissing xenvg\n"
			   "vgreduce --removemissing --force xenvg");
}

/* What the self-repair asks for. */
Test(bdev_plain, a_group_without_a_physical_volume_is_told_with_what_is_lost)
{
	json_t *what = json_make("[{s:n}, s, {}]", "partial-vgs", "cluster");
	auto_json json_t *whole =
		test_node_ok(&node, "node_verify", json_deep_copy(what));
	auto_json json_t *partial = NULL;

	auto_free char *text = NULL;

	cr_expect_eq(json_object_size(json_get(whole, "partial-vgs")), 0);
	standin_say(&node, "lvs.out",
		    "{\"report\":[{\"lv\":[" DATA
		    ", {\"vg_name\":\"xenvg\", \"lv_name\":\"b.disk0\", "
		    "\"lv_attr\":\"-wi-ao--p-\"}, {\"vg_name\":\"other\", "
		    "\"lv_name\":\"c\", \"lv_attr\":\"-wi-ao--p-\"}]}]}");
	standin_say(&node, "vgs.out",
		    "{\"report\":[{\"vg\":[{\"vg_name\":\"xenvg\", "
		    "\"vg_attr\":\"wz-pn-\"}]}]}");
	partial = test_node_ok(&node, "node_verify", what);
	text = json_text(json_get(partial, "partial-vgs"));
	cr_expect_str_eq(text, "{\"xenvg\":[\"b.disk0\"]}");
}

Test(bdev_plain, a_virtual_node_without_programs_leaves_the_machine_alone)
{
	standin_forget(&node, "lvs");
	test_node_fails(&node, "blockdev_remove",
			json_make("[o]", volume("a.disk0")),
			"does not use the machine's lvs");
}
