/* SPDX-License-Identifier: BSD-2-Clause */
/* Mirrors, with stand-ins for DRBD's programs and its file in /proc; both say
 * what DRBD 8.4.11 said. */
#include "lib/base/clock.h"
#include "lib/event/timer.h"
#include "noded/storage/bdev.h"
#include "noded/storage/drbd.h"
#include "noded/storage/drbd_show.h"
#include "noded/storage/drbd_status.h"
#include "tests/lib/standin.h"

#define VERSION "version: 8.4.11 (api:1/proto:86-101)\nsrcversion: F73C670A\n"
#define COUNTERS "    ns:0 nr:0 dw:0 dr:0 al:8 bm:0 lo:0 pe:0 ua:0 ap:0\n"
#define LINE(minor, state, roles, disks)                                       \
	" " minor ": cs:" state " ro:" roles " ds:" disks " C "                \
	"r-----\n" COUNTERS
#define CONNECTED                                                              \
	LINE("3", "Connected", "Secondary/Primary", "UpToDate/UpToDate")
#define SYNC                                                                   \
	LINE("3", "SyncTarget", "Secondary/Primary", "Inconsistent/UpToDate")  \
	"\t[=>..................] sync'ed: 12.5% (57344/65536)K\n"             \
	"\tfinish: 0:01:05 speed: 880 (880) want: 0 K/sec\n"
/* The kernel compares both sides, which somebody wanted (verify). */
#define VERIFIED                                                               \
	LINE("3", "VerifyS", "Primary/Secondary", "UpToDate/UpToDate")         \
	"\t[>...................] verified:  4.6% (62532/65536)K\n"            \
	"\tfinish: 0:00:21 speed: 2,884 (2,884) want: 2,880 K/sec\n"
#define SHOW(disk, net)                                                        \
	"resource resource3 {\n    options {\n    }\n" net                     \
	"    _this_host {\n" disk "    }\n}\n"
#define OWN_NET                                                                \
	"    net {\n        cram-hmac-alg   \t\"md5\";\n"                      \
	"        shared-secret   \t\"hidden\";\n    }\n"                       \
	"    _remote_host {\n        address\t\t\tipv4 10.0.0.2:11000;\n"      \
	"    }\n"
#define ADDRESS "        address\t\t\tipv4 10.0.0.1:11000;\n"
#define NO_DISK                                                                \
	"        volume 0 {\n            device\t\t\tminor 3;\n        }\n"
#define DISK(name)                                                             \
	"        volume 0 {\n            device\t\t\tminor 3;\n"               \
	"            disk\t\t\t\"/dev/xenvg/" name "_data\";\n"                \
	"            meta-disk\t\t\t\"/dev/xenvg/" name "_meta\";\n"           \
	"            disk {\n                size            \t131072s; # "    \
	"bytes\n            }\n        }\n"

#define LV(name)                                                               \
	"{\"vg_name\":\"xenvg\", \"lv_name\":\"" name                          \
	"\", \"lv_attr\":\"-wi-a-----\", \"lv_size\":\"67108864\", "           \
	"\"vg_extent_size\":\"4194304\"}"
#define LVS(volumes) "{\"report\":[{\"lv\":[" volumes "]}]}"

static struct test_node node;
static struct error err;

static void set_proc(const char *devices)
{
	auto_free char *text = xprintf(VERSION "%s", devices);

	test_node_write(&node, "/proc/drbd", text, 0644);
}

static void setup(void)
{
	static const char *const programs[] = {"lvs",	       "lvchange",
					       "drbdsetup",    "drbdmeta",
					       "drbd-connect", "lvremove"};
	auto_free char *meta = NULL;

	test_loop_start();
	test_node_create(&node);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		standin_make(&node, programs[i]);
	standin_say(&node, "lvs.out", LVS(""));
	test_node_write(&node, "/dev/xenvg/a_meta", "", 0600);
	meta = paths_local(node.root.paths, "/dev/xenvg/a_meta");
	cr_assert_eq(truncate(meta, 128 * MIB), 0);
	test_node_write(&node, "/sys/block/drbd3/size", "131072\n", 0644);
	set_proc("");
}

static void teardown(void)
{
	test_node_destroy(&node);
	test_node_loop_stop(&node);
}

TestSuite(bdev_drbd, .init = setup, .fini = teardown, .timeout = 60);

static json_t *volume(const char *name, int mib)
{
	return json_make("{s:s, s:[s, s], s:i, s:{s:i}, s:{}}", "dev_type",
			 "plain", "logical_id", "xenvg", name, "size", mib,
			 "params", "stripes", 1, "dynamic_params");
}

static json_t *mirror(void)
{
	return json_make("{s:s, s:[s, s, i, i, i, s], s:s, s:i, s:[o, o], s:s, "
			 "s:{s:s, s:s, s:i, s:i}, "
			 "s:{s:i, s:s, s:b, s:s, s:s, s:s, s:b, s:i, s:i}}",
			 "dev_type", "drbd", "logical_id", "n1", "n2", 11000, 3,
			 5, "hidden", "iv_name", "disk/0", "size", 64,
			 "children", volume("a_data", 64),
			 volume("a_meta", 128), "uuid", "u1", "dynamic_params",
			 "local-ip", "10.0.0.1", "remote-ip", "10.0.0.2",
			 "local-minor", 3, "remote-minor", 5, "params",
			 "resync-rate", 61440, "disabled-barriers", "n",
			 "disable-meta-flush", 0, "disk-custom", "",
			 "net-custom", "", "protocol", "C", "dynamic-resync", 0,
			 "c-plan-ahead", 20, "c-max-rate", 9000);
}

static void ok(const char *call, json_t *args STEALS)
{
	json_decref(test_node_ok(&node, call, args));
}

static void expect(const char *call, json_t *args STEALS, const char *answer)
{
	auto_json json_t *value = test_node_ok(&node, call, args);
	auto_free char *text = json_text(value);

	cr_assert_str_eq(text, answer, "%s", call);
}

static void assemble(json_t *disk STEALS)
{
	ok("blockdev_assemble",
	   json_make("[o, {s:s}, b, i]", disk, "name", "web1", 0, 0));
}

#define TUNE                                                                   \
	"drbdsetup disk-options 3 --c-plan-ahead 0 --resync-rate 61440 "       \
	"--md-flushes=yes --disk-flushes=yes --disk-drain=yes"
#define START                                                                  \
	"lvchange -ay -K /dev/xenvg/a_data\n"                                  \
	"lvchange -ay -K /dev/xenvg/a_meta\n"
#define ATTACH                                                                 \
	"drbdmeta /dev/drbd3 v08 /dev/xenvg/a_meta flex-external apply-al\n"   \
	"drbdsetup attach 3 /dev/xenvg/a_data /dev/xenvg/a_meta flexible "     \
	"--on-io-error=detach --size 64m\n" TUNE

/* --- devices are brought up --- */

Test(bdev_drbd, a_new_mirror_gets_fresh_metadata_and_its_data_count)
{
	ok("blockdev_create",
	   json_make("[o, i, s, b, s, b]", mirror(), 64, "web1", 1, "info", 0));
	standin_did(&node,
		    START "drbdmeta --force /dev/drbd3 v08 /dev/xenvg/a_meta "
			  "flex-external create-md\n" START
			  "drbdsetup new-resource resource3\n"
			  "drbdsetup new-minor resource3 3 0\n" ATTACH
			  "\ndrbd-connect \ndrbdsetup primary 3 --force");
}

Test(bdev_drbd, the_secret_is_in_no_argument_error_or_log)
{
	auto_free char *input = NULL, *log = NULL;

	assemble(mirror());
	log = standin_log(&node);
	cr_assert_null(strstr(log, "hidden"), "%s", log);
	input = test_node_read(&node, STANDIN_FOLDER "drbd-connect.input");
	cr_assert_not_null(input);
	cr_assert_str_eq(
		input, "{\"resource\":\"resource3\",\"local\":\"10.0.0.1\","
		       "\"remote\":\"10.0.0.2\",\"port\":11000,\"protocol\":"
		       "\"C\",\"two-primaries\":false,\"secret\":\"hidden\"}");
	standin_say(&node, "drbd-connect.err", "no way");
	test_node_fails(
		&node, "blockdev_assemble",
		json_make("[o, {s:s}, b, i]", mirror(), "name", "web1", 0, 0),
		"can't setup network: drbd-connect exited with exit "
		"code 5: no way");
}

Test(bdev_drbd, a_running_device_of_the_disk_only_gets_its_parameters)
{
	json_t *disk = mirror();

	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	assemble(json_incref(disk));
	standin_did(&node, START TUNE);
	json_object_set_new(disk, "params",
			    json_make("{s:b, s:i, s:i, s:s, s:b}",
				      "dynamic-resync", 1, "c-plan-ahead", 20,
				      "c-max-rate", 9000, "disabled-barriers",
				      "bf", "disable-meta-flush", 1));
	assemble(disk);
	standin_did(&node, START
		    "drbdsetup disk-options 3 --c-plan-ahead 20 --c-max-rate "
		    "9000 --md-flushes=no --disk-flushes=no --disk-drain=yes "
		    "--disk-barrier=no");
}

Test(bdev_drbd, options_of_the_site_and_the_protocol_reach_a_running_device)
{
	json_t *disk = mirror();
	json_t *params = json_object_get(disk, "params");

	json_set_str(params, "disk-custom", "--al-extents 257");
	json_set_str(params, "net-custom", "--ping-timeout='7'");
	json_set_str(params, "protocol", "A");
	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	assemble(json_incref(disk));
	standin_did(&node, START TUNE
		    "\ndrbdsetup disk-options 3 --al-extents 257\n"
		    "drbdsetup net-options ipv4:10.0.0.1:11000 "
		    "ipv4:10.0.0.2:11000 --protocol=A --ping-timeout=7");
	/* Two primaries keep theirs. */
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"),
			 "    net {\n        allow-two-primaries\tyes;\n    "
			 "}\n" OWN_NET));
	assemble(disk);
	standin_did(&node,
		    START TUNE "\ndrbdsetup disk-options 3 --al-extents 257");
}

Test(bdev_drbd, a_device_without_volumes_or_peer_gets_them)
{
	set_proc(LINE("3", "Connected", "Secondary/Primary",
		      "Diskless/UpToDate"));
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS NO_DISK, OWN_NET));
	assemble(mirror());
	standin_did(&node, START ATTACH);
	set_proc(LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"));
	standin_say(&node, "drbdsetup.show.out", SHOW(DISK("a"), ""));
	assemble(mirror());
	standin_did(&node, START TUNE "\ndrbd-connect ");
}

static void peer_answers(struct timer *t)
{
	auto_free char *log = standin_log(&node);
	auto_free char *text = xprintf("%sthe peer answers\n", log);

	(void)t;
	set_proc(SYNC);
	standin_say(&node, "log", text);
}

/* In the kernel's "Negotiating" disk-options has "Device does not have a
 * disk-config". */
Test(bdev_drbd, it_gets_its_parameters_when_the_peer_has_said_whose_data_count)
{
	struct timer answer = {.fired = peer_answers};

	set_proc(LINE("3", "Connected", "Secondary/Primary",
		      "Diskless/UpToDate"));
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS NO_DISK, OWN_NET));
	standin_say(&node, "drbdsetup.attach.proc",
		    VERSION LINE("3", "Connected", "Secondary/Primary",
				 "Negotiating/UpToDate"));
	timer_start(&answer, clock_mono_us() + 500000);
	assemble(mirror());
	standin_did(&node, START
		    "drbdmeta /dev/drbd3 v08 /dev/xenvg/a_meta flex-external "
		    "apply-al\n"
		    "drbdsetup attach 3 /dev/xenvg/a_data /dev/xenvg/a_meta "
		    "flexible --on-io-error=detach --size 64m\n"
		    "the peer answers\n" TUNE);
}

/* A power cut may leave volumes without metadata. */
Test(bdev_drbd, with_volumes_that_are_none_of_drbds_it_has_its_peer)
{
	static const char failed[] = "drbdmeta exited with exit code 5: "
				     "No valid meta data found";

	standin_say(&node, "drbdmeta.err", "No valid meta data found\n");
	test_node_fails(
		&node, "blockdev_assemble",
		json_make("[o, {s:s}, b, i]", mirror(), "name", "web1", 0, 0),
		failed);
	standin_did(&node, START "drbdsetup new-resource resource3\n"
				 "drbdsetup new-minor resource3 3 0\n"
				 "drbdmeta /dev/drbd3 v08 /dev/xenvg/a_meta "
				 "flex-external apply-al\n"
				 "drbd-connect ");
	set_proc(LINE("3", "StandAlone", "Secondary/Unknown",
		      "Diskless/DUnknown"));
	standin_say(&node, "drbdsetup.show.out", SHOW(NO_DISK, ""));
	test_node_fails(
		&node, "blockdev_assemble",
		json_make("[o, {s:s}, b, i]", mirror(), "name", "web1", 0, 0),
		failed);
	standin_did(&node, START "drbdmeta /dev/drbd3 v08 /dev/xenvg/a_meta "
				 "flex-external apply-al\n"
				 "drbd-connect ");
}

/* As a conversion leaves it whose master was lost before it was recorded. */
Test(bdev_drbd, a_volume_below_another_mirror_is_told_with_that)
{
	set_proc(LINE("7", "Connected", "Primary/Secondary",
		      "UpToDate/UpToDate"));
	standin_say(&node, "drbdsetup.show.out",
		    "resource resource7 {\n    _this_host {\n        volume 0 "
		    "{\n            device\t\t\tminor 7;\n            disk"
		    "\t\t\t\"/dev/xenvg/a_data\";\n        }\n    }\n}\n");
	standin_say(&node, "drbdsetup.attach.err",
		    "/dev/drbd3: Failure: (104) Can not open backing device.");
	test_node_fails(&node, "blockdev_create",
			json_make("[o, i, s, b, s, b]", mirror(), 64, "web1", 1,
				  "info", 0),
			"(104) Can not open backing device.; drbd7 has "
			"/dev/xenvg/a_data already");
}

Test(bdev_drbd, without_a_usable_volume_it_works_with_the_peers)
{
	standin_say(&node, "lvchange.err", "  Volume group has a missing PV\n");
	assemble(mirror());
	standin_did(&node, "lvchange -ay -K /dev/xenvg/a_data\n"
			   "drbdsetup new-resource resource3\n"
			   "drbdsetup new-minor resource3 3 0\n"
			   "drbd-connect ");
}

Test(bdev_drbd, a_minor_of_somebody_else_is_never_touched)
{
	json_t *const args = json_make("[o]", mirror());

	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("other"), OWN_NET));
	test_node_fails(
		&node, "blockdev_assemble",
		json_make("[o, {s:s}, b, i]", mirror(), "name", "web1", 0, 0),
		"in use by another device (disk "
		"/dev/xenvg/other_data");
	test_node_fails(&node, "blockdev_create",
			json_make("[o, i, s, b, s, b]", mirror(), 64, "web1", 1,
				  "info", 0),
			"minor is already in use");
	test_node_fails(&node, "drbd_disconnect_net",
			json_make("[[o]]", mirror()), "another device");
	test_node_fails(&node, "blockdev_open",
			json_make("[s, [o], b]", "web1", mirror(), 1),
			"another device");
	test_node_fails(&node, "blockdev_wipe",
			json_make("[o, i, i]", mirror(), 0, 1),
			"another device");
	test_node_fails(&node, "drbd_wait_sync", json_make("[[o]]", mirror()),
			"not active");
	test_node_fails(&node, "blockdev_getmirrorstatus",
			json_make("[[o]]", mirror()),
			"Can't find device [\"n1\",\"n2\",11000,3,5]");
	expect("blockdev_getdimensions", json_make("[[o]]", mirror()),
	       "[null]");
	expect("drbd_needs_activation", json_make("[[o]]", mirror()),
	       "[\"u1\"]");
	ok("blockdev_shutdown", json_incref(args));
	standin_did(&node, "");
	ok("blockdev_remove", json_incref(args));
	standin_did(&node, "");
	json_decref(args);
}

Test(bdev_drbd, without_the_module_nothing_has_to_be_stopped)
{
	auto_free char *proc = paths_local(node.root.paths, "/proc/drbd");

	unlink(proc);
	ok("blockdev_shutdown", json_make("[o]", mirror()));
	ok("blockdev_remove", json_make("[o]", mirror()));
	standin_did(&node, "");
	test_node_fails(
		&node, "blockdev_assemble",
		json_make("[o, {s:s}, b, i]", mirror(), "name", "web1", 0, 0),
		"is its module loaded");
}

Test(bdev_drbd, ours_is_stopped_and_its_volumes_removed)
{
	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	standin_say(&node, "lvs.out", LVS(LV("a_data")));
	ok("blockdev_remove", json_make("[o]", mirror()));
	standin_did(&node, "drbdsetup down resource3\n"
			   "lvremove -f xenvg/a_data");
}

/* --- the connection --- */

Test(bdev_drbd, both_sides_become_primaries_only_when_they_are_equal)
{
	auto_free char *input = NULL;

	set_proc(LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"));
	standin_say(&node, "drbdsetup.show.out", SHOW(DISK("a"), ""));
	standin_say(&node, "drbd-connect..proc", VERSION CONNECTED);
	ok("drbd_attach_net", json_make("[[o], b]", mirror(), 1));
	standin_did(&node, "drbd-connect ");
	input = test_node_read(&node, STANDIN_FOLDER "drbd-connect.input");
	cr_assert_not_null(strstr(input, "\"two-primaries\":true"));
}

Test(bdev_drbd, a_connection_that_is_there_is_left_alone)
{
	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	ok("drbd_attach_net", json_make("[[o], b]", mirror(), 0));
	standin_did(&node, "");
}

Test(bdev_drbd, leaving_twice_is_no_error)
{
	set_proc(LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"));
	standin_say(&node, "drbdsetup.show.out", SHOW(DISK("a"), ""));
	ok("drbd_disconnect_net", json_make("[[o]]", mirror()));
	standin_did(&node, "");
}

Test(bdev_drbd, a_split_brain_is_told_and_not_waited_for)
{
	set_proc(LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"));
	standin_say(&node, "drbdsetup.show.out", SHOW(DISK("a"), ""));
	test_node_write(&node, "/var/log/kern.log",
			"block drbd3: Split-Brain detected but unresolved, "
			"dropping connection!\n",
			0644);
	test_node_fails(&node, "drbd_attach_net",
			json_make("[[o], b]", mirror(), 0), "split brain");
	test_node_fails(&node, "drbd_wait_sync", json_make("[[o]]", mirror()),
			"replace-disks -s");
}

Test(bdev_drbd, volumes_are_taken_off_only_if_they_are_the_ones)
{
	set_proc(CONNECTED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	test_node_fails(&node, "blockdev_removechildren",
			json_make("[o, [o, o]]", mirror(), volume("b_data", 64),
				  volume("b_meta", 128)),
			"not those that shall be taken off");
	standin_did(&node, "");
	standin_say(&node, "drbdsetup.detach.proc",
		    VERSION LINE("3", "Connected", "Secondary/Primary",
				 "Diskless/UpToDate"));
	ok("blockdev_removechildren",
	   json_make("[o, [o, o]]", mirror(), volume("a_data", 64),
		     volume("a_meta", 128)));
	standin_did(&node, "drbdsetup detach 3");
}

/* --- what it tells --- */

static json_t *without_volumes(void)
{
	json_t *disk = mirror();

	json_object_set_new(disk, "children", json_array());
	return disk;
}

/* What is asked of all at once. */
static void ours(const char *line)
{
	set_proc(line);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
}

/* A secondary that stands alone without volumes has nothing configured. */
Test(bdev_drbd, one_that_lost_all_of_it_gets_volumes)
{
	set_proc(" 3: cs:Unconfigured\n");
	ok("blockdev_addchildren",
	   json_make("[o, [o, o]]", mirror(), volume("a_data", 64),
		     volume("a_meta", 128)));
	standin_did(&node, "drbdsetup new-resource resource3\n"
			   "drbdsetup new-minor resource3 3 0\n" START
			   "drbdmeta --force /dev/drbd3 v08 /dev/xenvg/a_meta "
			   "flex-external create-md\n" ATTACH);
}

Test(bdev_drbd, volumes_that_were_attached_in_vain_are_let_go)
{
	auto_free char *did = NULL;

	set_proc(LINE("3", "Connected", "Secondary/Primary",
		      "Diskless/UpToDate"));
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS NO_DISK, OWN_NET));
	standin_say(&node, "drbdsetup.attach.proc", VERSION SYNC);
	standin_say(&node, "drbdsetup.disk-options.err", "no\n");
	standin_say(&node, "drbdsetup.detach.proc",
		    VERSION LINE("3", "Connected", "Secondary/Primary",
				 "Diskless/UpToDate"));
	test_node_fails(&node, "blockdev_addchildren",
			json_make("[o, [o, o]]", mirror(), volume("a_data", 64),
				  volume("a_meta", 128)),
			"can't set the synchronization parameters");
	did = standin_log(&node);
	cr_expect_not_null(strstr(did, "drbdsetup detach 3"), "%s", did);
}

Test(bdev_drbd, a_sync_has_a_percentage_and_an_end)
{
	ours(SYNC);
	expect("blockdev_getmirrorstatus",
	       json_make("[[o]]", without_volumes()),
	       "[{\"dev_path\":\"/dev/drbd3\",\"major\":147,\"minor\":3,"
	       "\"sync_percent\":12.5,\"estimated_time\":65,"
	       "\"is_degraded\":true,\"ldisk_status\":2}]");
	expect("drbd_wait_sync", json_make("[[o]]", mirror()), "[false,12.5]");
	set_proc(CONNECTED);
	expect("drbd_wait_sync", json_make("[[o]]", mirror()), "[true,100.0]");
}

Test(bdev_drbd, only_what_can_be_brought_back_needs_activation)
{
	static const struct {
		const char *line, *answer;
	} cases[] = {
		{"", "[\"u1\"]"},
		{CONNECTED, "[]"},
		{SYNC, "[]"},
		{LINE("3", "WFConnection", "Primary/Unknown",
		      "UpToDate/DUnknown"),
		 "[]"},
		{LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"),
		 "[\"u1\"]"},
		{LINE("3", "Connected", "Primary/Secondary",
		      "Diskless/UpToDate"),
		 "[\"u1\"]"},
		{" 3: cs:Unconfigured\n", "[\"u1\"]"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ours(cases[i].line);
		expect("drbd_needs_activation", json_make("[[o]]", mirror()),
		       cases[i].answer);
	}
}

Test(bdev_drbd, what_to_do_is_told_for_each_disk)
{
	auto_json json_t *disks =
		json_make("[[o, o]]", mirror(), volume("a", 64));

	ours(CONNECTED);
	expect("drbd_advice", json_incref(disks), "[null,null]");
	ours(LINE("3", "WFConnection", "Primary/Unknown", "UpToDate/DUnknown"));
	expect("drbd_advice", json_incref(disks),
	       "[\"drbd3 waits for its peer (WFConnection): see whether the "
	       "other node is up and its disks are active (gnt-instance "
	       "activate-disks)\",null]");
	set_proc("");
	expect("drbd_advice", json_incref(disks),
	       "[\"drbd3 is not active: gnt-instance activate-disks brings it "
	       "up\",null]");
}

struct look {
	json_t *disks;
	int rc;
};

static void look_task(void *arg)
{
	struct look *l = arg;

	l->rc = drbd_check_whole(node.root.paths, l->disks, &err);
}

/* A guest that migrates asks before it goes on on the other node. */
Test(bdev_drbd, the_other_side_has_all_that_was_written_or_not)
{
	static const struct {
		const char *line, *error; /* NULL: it has */
	} cases[] = {
		{LINE("3", "Connected", "Primary/Primary", "UpToDate/UpToDate"),
		 NULL},
		{LINE("3", "Connected", "Primary/Primary", "UpToDate/Diskless"),
		 "activate-disks"},
		{LINE("3", "Connected", "Primary/Primary", "Diskless/UpToDate"),
		 "replace-disks"},
		{SYNC, "in sync in a while"},
		{LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"),
		 "activate-disks"},
		{"", "disk 1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct look l = {
			.disks = json_make("[o, o]", volume("a", 64), mirror()),
		};

		set_proc(cases[i].line);
		task_spawn("look", look_task, &l);
		test_run_tasks();
		cr_expect_eq(l.rc, cases[i].error == NULL ? 0 : -1, "%zu", i);
		cr_expect(cases[i].error == NULL ||
				  strstr(err.text, cases[i].error) != NULL,
			  "%s", err.text);
		json_decref(l.disks);
	}
	standin_did(&node, "");
}

Test(bdev_drbd, its_size_is_the_kernels)
{
	ours(CONNECTED);
	expect("blockdev_getdimensions", json_make("[[o]]", mirror()),
	       "[[67108864,null]]");
	test_node_write(&node, "/sys/block/drbd3/size", "0\n", 0644);
	expect("blockdev_getdimensions", json_make("[[o]]", mirror()),
	       "[null]");
}

Test(bdev_drbd, another_version_is_looked_at_but_not_changed)
{
	test_node_write(&node, "/proc/drbd",
			"version: 9.2.4 (api:2/proto:86-121)\n", 0644);
	test_node_fails(&node, "blockdev_create",
			json_make("[o, i, s, b, s, b]", mirror(), 64, "web1", 1,
				  "info", 0),
			"drives 8.4 alone");
	test_node_write(&node, "/proc/drbd", "what?\n", 0644);
	test_node_fails(&node, "blockdev_create",
			json_make("[o, i, s, b, s, b]", mirror(), 64, "web1", 1,
				  "info", 0),
			"Can't parse DRBD version");
}

Test(bdev_drbd, a_disk_of_another_node_or_with_absurd_parts_is_refused)
{
	static const char *const keys[] = {"logical_id", "dynamic_params",
					   "size"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *disk = mirror();

		json_object_set_new(disk, keys[i], json_make("[]"));
		test_node_fails(&node, "blockdev_shutdown",
				json_make("[o]", disk),
				"mirrored disk of this call has no");
	}
}

/* --- the texts --- */

Test(bdev_drbd, each_part_of_a_line_may_be_missing_or_absurd)
{
	const char *whole = SYNC;
	size_t len = strlen(whole);

	for (size_t from = 0; from < len; from++)
		for (size_t n = 1; n < 12 && from + n <= len; n++) {
			auto_free char *text = xprintf("%.*s%s", (int)from,
						       whole, whole + from + n);
			auto_json json_t *minors = drbd_status_minors(text);
			struct drbd_status s;
			int rc = drbd_status_find(text, 3, &s, &err);

			cr_assert(rc != 1 ||
				  (s.percent <= 100 && s.left_s >= -1));
			cr_assert_leq(json_array_size(minors), 1);
		}
}

Test(bdev_drbd, states_are_told_apart_with_the_next_command)
{
	static const struct {
		const char *line, *part;
	} cases[] = {
		{CONNECTED, NULL},
		{SYNC, "12.5%"},
		{VERIFIED, NULL},
		{LINE("3", "Ahead", "Primary/Secondary", "UpToDate/Consistent"),
		 "in sync in a while (Ahead"},
		{LINE("3", "StandAlone", "Primary/Unknown",
		      "UpToDate/DUnknown"),
		 "gnt-instance activate-disks connects it"},
		{LINE("3", "WFConnection", "Primary/Unknown",
		      "UpToDate/DUnknown"),
		 "waits for its peer"},
		{LINE("3", "Connected", "Primary/Secondary",
		      "Diskless/UpToDate"),
		 "gnt-instance replace-disks makes new ones"},
		{LINE("3", "Connected", "Secondary/Primary",
		      "Outdated/UpToDate"),
		 "not the newest (Outdated)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct drbd_status s;
		auto_free char *advice = NULL;

		cr_assert_eq(drbd_status_find(cases[i].line, 3, &s, &err), 1);
		advice = drbd_status_advice(&s, 3);
		if (cases[i].part == NULL)
			cr_assert_null(advice);
		else
			cr_assert_not_null(strstr(advice, cases[i].part), "%s",
					   advice);
	}
}

Test(bdev_drbd, one_that_is_compared_with_its_peer_is_connected_and_whole)
{
	set_proc(VERIFIED);
	standin_say(&node, "drbdsetup.show.out",
		    SHOW(ADDRESS DISK("a"), OWN_NET));
	standin_say(&node, "lvs.out", LVS(LV("a_data") "," LV("a_meta")));
	expect("drbd_wait_sync", json_make("[[o]]", mirror()), "[true,100.0]");
	ok("drbd_attach_net", json_make("[[o], b]", mirror(), 0));
	expect("blockdev_getmirrorstatus", json_make("[[o]]", mirror()),
	       "[{\"dev_path\":\"/dev/drbd3\",\"major\":147,\"minor\":3,"
	       "\"sync_percent\":null,\"estimated_time\":null,"
	       "\"is_degraded\":false,\"ldisk_status\":1}]");
}

Test(bdev_drbd, a_split_brain_counts_until_the_next_connection)
{
	static const char bad[] = "block drbd3: Split-Brain detected but "
				  "unresolved, dropping connection!\n";
	static const char good[] = "block drbd3: peer( Unknown -> Secondary ) "
				   "conn( WFReportParams -> Connected )\n";
	auto_free char *healed = xprintf("%s%s", bad, good);
	auto_free char *again = xprintf("%s%s", healed, bad);

	cr_assert(drbd_status_split_brain(bad, 3));
	cr_assert_not(drbd_status_split_brain(bad, 33));
	cr_assert_not(drbd_status_split_brain(healed, 3));
	cr_assert(drbd_status_split_brain(again, 3));
}

/* A sample by the documentation of drbdsetup(8) of drbd-utils 9, "status
 * --json", with the members of 9.22; there is no module of DRBD 9 in Debian to
 * record one from. */
#define NINE                                                                   \
	"[{\"name\":\"resource3\", \"node-id\":0, \"role\":\"Primary\", "      \
	"\"devices\":[{\"volume\":0, \"minor\":3, "                            \
	"\"disk-state\":\"UpToDate\", \"client\":false, \"quorum\":true}], "   \
	"\"connections\":[{\"peer-node-id\":1, \"name\":\"n2\", "              \
	"\"connection-state\":\"Connected\", \"congested\":false, "            \
	"\"peer-role\":\"Secondary\", \"peer_devices\":[{\"volume\":0, "       \
	"\"replication-state\":\"SyncSource\", "                               \
	"\"peer-disk-state\":\"Inconsistent\", "                               \
	"\"resync-suspended\":\"no\", \"out-of-sync\":605552, "                \
	"\"has-sync-details\":true, \"has-online-verify-details\":false, "     \
	"\"percent-in-sync\":42.25, \"estimated-seconds-to-finish\":65, "      \
	"\"db/dt [MiB/s]\":9.1, \"percent-resync-done\":12.50}]}]}]"

static json_t *nine(void)
{
	json_t *value = json_parse(NINE, strlen(NINE), &err);

	cr_assert_not_null(value, "%s", err.text);
	return value;
}

Test(bdev_drbd, version_9_tells_the_same_in_json)
{
	auto_json json_t *value = nine();
	auto_json json_t *minors = drbd_status_minors9(value);
	struct drbd_status s;

	cr_assert_eq(drbd_status_find9(value, 3, &s, &err), 1);
	cr_assert_str_eq(s.state, "SyncSource");
	cr_assert_str_eq(s.role, "Primary");
	cr_assert_str_eq(s.peer_disk, "Inconsistent");
	cr_assert_float_eq(s.percent, 42.25, 0.001);
	cr_assert_eq(s.left_s, 65);
	cr_assert_eq(drbd_status_find9(value, 4, &s, &err), 0);
	cr_assert_eq(json_array_size(minors), 1);
}

/* What is said of a device makes sense, however little of it there is. */
static void check_nine(const json_t *root)
{
	struct drbd_status s;
	auto_json json_t *minors = drbd_status_minors9(root);

	if (drbd_status_find9(root, 3, &s, &err) == 1) {
		cr_expect(*s.state != '\0' && *s.role != '\0' &&
			  *s.disk != '\0');
		cr_expect(s.percent <= 100 && s.left_s >= -1);
	}
	cr_expect_leq(json_array_size(minors), 1);
}

/* Take each value away, and replace it by others, one after the other. */
static void absurd(json_t *root, json_t *at)
{
	static const char *const values[] = {"null", "-7", "\"x\"", "[]", "{}"};
	auto_strv struct strv keys = {0};
	const char *key;
	json_t *item;

	json_object_foreach (at, key, item)
		strv_add(&keys, key);
	for (size_t k = 0; k < keys.n; k++) {
		json_t *kept = json_incref(json_object_get(at, keys.items[k]));

		json_object_del(at, keys.items[k]);
		check_nine(root);
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			json_object_set_new(
				at, keys.items[k],
				json_loads(values[i], JSON_DECODE_ANY, NULL));
			check_nine(root);
		}
		json_object_set_new(at, keys.items[k], kept);
		absurd(root, kept);
	}
	for (size_t i = 0; i < json_array_size(at); i++)
		absurd(root, json_array_get(at, i));
}

Test(bdev_drbd, each_value_of_the_json_may_be_absurd)
{
	auto_json json_t *value = nine();
	struct drbd_status s;

	absurd(value, value);
	cr_assert_eq(drbd_status_find9(value, 3, &s, &err), 1);
}

Test(bdev_drbd, what_show_prints_may_be_cut_anywhere)
{
	const char *whole = SHOW(ADDRESS DISK("a"), OWN_NET);

	for (size_t n = 0; n <= strlen(whole); n++) {
		auto_free char *text = xstrndup(whole, n);
		auto_show struct drbd_show show = {0};

		if (drbd_show_parse(text, 3, &show, &err) < 0)
			cr_assert_null(strstr(err.text, "hidden"));
		else
			cr_assert_eq(show.data != NULL, n + 1 >= strlen(whole));
	}
}

Test(bdev_drbd, what_show_prints_of_all_is_read_for_one)
{
	static const char other[] =
		"resource other {\n    _remote_host {\n        address\t\t\t"
		"ipv4 10.0.0.9:11009;\n    }\n    _this_host {\n        volume "
		"0 "
		"{\n            device\t\t\tminor 33;\n            disk\t\t\t"
		"\"/dev/sdx\";\n        }\n    }\n}\n";
	auto_free char *all = xprintf("%s%s%s", other,
				      SHOW(ADDRESS DISK("a"), OWN_NET), other);
	auto_show struct drbd_show show = {0};

	cr_assert_eq(drbd_show_parse(all, 3, &show, &err), 1);
	cr_assert_str_eq(show.data, "/dev/xenvg/a_data");
	cr_assert_str_eq(show.remote, "ipv4 10.0.0.2:11000");
	cr_assert_eq(show.protocol, 'C');
	drbd_show_done(&show);
	cr_assert_eq(drbd_show_parse(all, 33, &show, &err), 1);
	cr_assert_str_eq(show.data, "/dev/sdx");
	drbd_show_done(&show);
	cr_assert_eq(drbd_show_parse(all, 5, &show, &err), 0);
}
