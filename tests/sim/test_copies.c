/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of disks between nodes: what each side is told, as those of Ganeti's
 * refuse what they do not know. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(copies, .init = setup, .fini = teardown, .timeout = 60);

static void add(void)
{
	json_t *op = op_add("web1", NODE2, true);

	expect(json_make("{s:s, s:s, s:[s, s, s], s:{s:[s, s, s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "vg_name", "xenvg",
			 "enabled_disk_templates", "plain", "sharedfile",
			 "diskless", "ipolicy", "disk-templates", "plain",
			 "sharedfile", "diskless"),
	       "success");
	json_set_str(op, "disk_template", "plain");
	json_set_bool(op, "start", false);
	expect(op, "success");
}

/* Move it to the third node with this limit, 0 for none. */
static void move(int limit)
{
	json_t *op = op_move("OP_INSTANCE_MOVE", "web1", NODE3);

	if (limit > 0)
		json_set_int(op, "bandwidth_limit", limit);
	expect(op, "success");
}

static const json_t *told(size_t node, const char *key)
{
	cr_assert_not_null(s.nodes[node].transfer);
	return json_get(s.nodes[node].transfer, key);
}

static int64_t limit_of(size_t node)
{
	return json_int(s.nodes[node].transfer, "bandwidth_limit", -1);
}

Test(copies, who_sends_keeps_the_limit)
{
	add();
	move(7);
	cr_expect_eq(limit_of(1), 7);
	cr_expect_null(told(2, "bandwidth_limit"));
	cr_expect_not_null(told(1, "sparse"));
}

Test(copies, without_a_limit_nobody_is_told_of_one)
{
	add();
	move(0);
	cr_expect_null(told(1, "bandwidth_limit"));
	cr_expect_null(told(2, "bandwidth_limit"));
}

Test(copies, a_node_of_ganetis_is_told_nothing_of_ours)
{
	static const char *const ours[] = {"bandwidth_limit", "sparse"};

	add();
	s.nodes[1].ganetis = true;
	move(7);
	s.nodes[1].ganetis = false;
	cr_expect_eq(limit_of(2), 7, "who receives keeps it then");
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		cr_expect_null(told(1, ours[i]), "%s", ours[i]);
}

static void set_secondary(const char *name, const char *address)
{
	expect(json_make("{s:s, s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", name, "secondary_ip", address, "force",
			 true),
	       "success");
}

/* As with mirrors: the other network is there for it. */
Test(copies, go_over_the_secondary_network)
{
	add();
	set_secondary(s.nodes[0].name, "198.51.100.1");
	set_secondary(NODE3, "198.51.100.3");
	move(0);
	cr_expect_str_eq(s.nodes[1].sends_to, "198.51.100.3");
}

/* The volume is larger than its disk, as its extents are. */
Test(copies, all_of_a_volume_finds_room)
{
	const json_t *inst;
	auto_json json_t *disks = NULL;
	int64_t size;

	add();
	s.nodes[1].extent_mib = 1000;
	move(0);
	inst = config_find(s.master->config, CONFIG_INSTANCE, "web1");
	disks = config_instance_disks(s.master->config, inst);
	size = json_int(json_array_get(disks, 0), "size", 0);
	cr_expect_eq(size, 1000);
	cr_expect_eq(json_int(s.nodes[2].made, "size", 0), size);
}

static json_t *export(void)
{
	return json_make("{s:s, s:s, s:s, s:s, s:i}", "OP_ID",
			 "OP_BACKUP_EXPORT", "instance_name", "web1",
			 "target_node", NODE3, "dump_compress", "gzip-fast",
			 "bandwidth_limit", 9);
}

/* The file gets what comes, so it is the sender who compresses. */
Test(copies, a_compressed_export_is_compressed_once)
{
	add();
	expect(export(), "success");
	cr_expect_str_eq(json_str(s.nodes[1].transfer, "compress", ""),
			 "gzip-fast");
	cr_expect_str_eq(json_str(s.nodes[2].transfer, "compress", ""), "none");
	cr_expect_null(told(1, "sparse"));
	cr_expect_eq(limit_of(1), 9);
	cr_expect_str_eq(json_str(s.nodes[2].finalized, "dump_compression", ""),
			 "gzip-fast");
}

Test(copies, a_node_of_ganetis_keeps_no_compressed_export)
{
	add();
	s.nodes[2].ganetis = true;
	expect(export(), "keeps no compressed exports");
	s.nodes[2].ganetis = false;
	cr_expect_null(s.nodes[2].finalized);
}

/* An import makes disks that have room for what was copied. */
Test(copies, an_export_describes_all_of_a_volume)
{
	const json_t *disk;

	add();
	s.nodes[1].extent_mib = 1000;
	expect(export(), "success");
	disk = json_array_get(s.nodes[2].described, 0);
	cr_expect_eq(json_int(disk, "size", 0), 1000);
}

/* It is marked down, but runs. */
Test(copies, a_guest_that_runs_is_exported_from_snapshots)
{
	json_t *op = export();
	auto_strv struct strv calls = {0};

	add();
	table_put(&s.nodes[1].running, "web1", (void *)(intptr_t)128);
	json_set_bool(op, "shutdown", false);
	json_object_del(op, "dump_compress");
	s.calls = &calls;
	expect(op, "success");
	s.calls = NULL;
	cr_expect(strv_has(&calls, "blockdev_snapshot " NODE2));
	cr_expect_not(strv_has(&calls, "blockdev_shutdown " NODE2));
	table_remove(&s.nodes[1].running, "web1");
}

static bool has_begun(struct sim *sim, void *arg)
{
	(void)arg;
	return sim->nodes[1].transfer != NULL;
}

#define EXPORT(timestamp)                                                      \
	"[export]\nversion = 0\ntimestamp = " timestamp "\nos = noop\n"        \
	"[instance]\nname = web1\ndisk0_dump = d0\ndisk0_size = 64\n"          \
	"disk1_dump = d1\ndisk1_size = 64\n[backend]\nmaxmem = 128\n"          \
	"minmem = 128\n"

static json_t *op_import(void)
{
	json_t *op = op_add("web2", NODE2, false);

	json_set_str(op, "mode", "import");
	json_set_str(op, "disk_template", "sharedfile");
	json_set_str(op, "src_node", NODE3);
	json_set_str(op, "src_path", "web1");
	json_object_del(op, "os_type");
	return op;
}

/* What comes of an import whose export becomes this one after the first disk
 * has begun; to be freed. */
static char *import_changed(const char *export)
{
	auto_json json_t *results = NULL;
	char *refused = NULL;
	uint64_t id;

	s.nodes[2].export = EXPORT("1");
	json_decref(s.nodes[1].transfer);
	s.nodes[1].transfer = NULL;
	id = sim_submit(&s, op_import(), &refused);
	cr_assert_neq(id, 0, "%s", refused);
	cr_assert(sim_run(&s, 60000, has_begun, NULL));
	s.nodes[2].export = export;
	sim_wait(&s, id);
	results = job_field(queue_job(s.master->queue, id), "opresult");
	return json_text(results);
}

Test(copies, all_disks_of_an_import_are_of_one_export)
{
	static const char *const others[] = {EXPORT("2"), NULL};
	auto_free char *good = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		auto_free char *got = import_changed(others[i]);

		cr_expect_not_null(strstr(got, "was replaced or removed"), "%s",
				   got);
		cr_expect_null(
			config_find(s.master->config, CONFIG_INSTANCE, "web2"));
	}
	good = import_changed(EXPORT("1"));
	cr_expect_not_null(
		config_find(s.master->config, CONFIG_INSTANCE, "web2"), "%s",
		good);
}

/* Begin a move, and end the daemon of who sends; the job. */
static uint64_t move_without_a_daemon(void)
{
	char *refused = NULL;
	uint64_t id;

	add();
	id = sim_submit(&s, op_move("OP_INSTANCE_MOVE", "web1", NODE3),
			&refused);
	cr_assert_neq(id, 0, "%s", refused);
	cr_assert(sim_run(&s, 60000, has_begun, NULL));
	sim_kill(&s.nodes[1].daemon);
	return id;
}

Test(copies, a_copy_outlives_the_node_daemon)
{
	uint64_t id = move_without_a_daemon();

	sim_run(&s, 30000, NULL, NULL);
	sim_start_daemon(&s.nodes[1]);
	cr_expect_str_eq(sim_wait(&s, id), "success");
	cr_expect_eq(s.nodes[1].held.n, 0);
	cr_expect_eq(s.nodes[2].held.n, 0);
}

Test(copies, a_daemon_that_stays_away_ends_a_copy)
{
	uint64_t id = move_without_a_daemon();

	cr_expect_str_eq(sim_wait(&s, id), "error");
	cr_expect_eq(s.nodes[2].held.n, 0, "who receives is cleaned up");
	sim_start_daemon(&s.nodes[1]);
}
