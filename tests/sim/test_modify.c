/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of instances, and the resources they book, in a simulated cluster. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/resources/resources.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(modify, .init = setup, .fini = teardown, .timeout = 60);

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

static json_t *op_modify(const char *key, json_t *value STEALS)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", "web1");

	json_object_set_new(op, key, value);
	return op;
}

static json_t *op_disk(const char *action, json_t *ident STEALS,
		       json_t *values STEALS)
{
	return op_modify("disks",
			 json_make("[[s, o, o]]", action, ident, values));
}

static json_t *op_nic(const char *action, json_t *ident STEALS,
		      json_t *values STEALS)
{
	return op_modify("nics",
			 json_make("[[s, o, o]]", action, ident, values));
}

static json_t *op_refresh(void)
{
	return json_make("{s:s}", "OP_ID", "OP_NODE_REFRESH_STATE");
}

static json_t *op_node_state(const char *node, int64_t mem_total)
{
	return json_make("{s:s, s:s, s:{s:{s:I, s:i, s:i}}}", "OP_ID",
			 "OP_NODE_SET_PARAMS", "node_name", node, "hv_state",
			 "fake", "mem_total", (json_int_t)mem_total, "mem_node",
			 0, "cpu_total", 8);
}

static json_t *add_sized(const char *name, const char *node, int64_t min,
			 int64_t max)
{
	json_t *op = op_add(name, node, true);

	json_object_set_new(op, "beparams",
			    json_make("{s:I, s:I}", "minmem", (json_int_t)min,
				      "maxmem", (json_int_t)max));
	json_set_bool(op, "start", false);
	return op;
}

static json_t *op_policy(const char *key, json_t *value STEALS)
{
	return json_make("{s:s, s:{s:o}}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "ipolicy", key, value);
}

Test(modify, nothing_submitted_is_refused)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_SET_PARAMS", "web1"),
	       "No changes submitted");
}

Test(modify, the_result_names_parameters_as_they_were_given)
{
	auto_json json_t *result = NULL;
	auto_free char *text = NULL;
	uint64_t id;

	expect(op_add("web1", NODE2, true), "success");
	id = sim_submit(&s,
			op_modify("beparams", json_make("{s:i}", "memory", 96)),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	result = job_field(queue_job(s.master->queue, id), "opresult");
	text = json_text(result);
	cr_assert_str_eq(text, "[[[\"be/memory\",96]]]", "%s", text);
}

Test(modify, spindles_are_for_exclusive_storage)
{
	json_t *op;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_disk("add", json_integer(-1),
		       json_make("{s:i, s:i}", "size", 8, "spindles", 2)),
	       "exclusive storage is not active");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	op = op_named("OP_INSTANCE_RECREATE_DISKS", "web1");
	json_object_set_new(op, "disks",
			    json_make("[[i, {s:i}]]", 0, "spindles", 2));
	expect(op, "exclusive storage is not active");
}

Test(modify, a_disk_that_cannot_be_made_leaves_nothing)
{
	size_t files;

	expect(op_add("web1", NODE2, true), "success");
	files = s.files.n;
	s.nodes[1].fail_on = "blockdev_create";
	expect(op_disk("add", json_integer(-1), json_make("{s:i}", "size", 8)),
	       "Can't create disk 1");
	s.nodes[1].fail_on = NULL;
	cr_assert_eq(s.files.n, files);
	cr_assert_eq(json_array_size(json_get(instance("web1"), "disks")), 1);
	expect(op_disk("add", json_integer(0), json_make("{s:i}", "size", 8)),
	       "success");
	cr_assert_eq(s.files.n, files + 1);
	expect(op_disk("remove", json_integer(0), json_object()),
	       "can't remove volume from a running instance");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op_disk("remove", json_integer(0), json_object()), "success");
	cr_assert_eq(s.files.n, files);
}

/* --- disks whose names are made of the instance's --- */

/* An instance that is down with two disks. */
static void make_on_gluster(void)
{
	json_t *op = op_add("web1", NODE2, true);

	expect(json_make("{s:s, s:[s, s], s:{s:[s, s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "enabled_disk_templates",
			 "gluster", "diskless", "ipolicy", "disk-templates",
			 "gluster", "diskless"),
	       "success");
	json_set_str(op, "disk_template", "gluster");
	json_object_set_new(
		op, "disks",
		json_make("[{s:i}, {s:i}]", "size", 64, "size", 64));
	expect(op, "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
}

static json_t *op_add_disk(int i)
{
	return op_disk("add", json_integer(i), json_make("{s:i}", "size", 8));
}

static char *file_of(int number)
{
	return xprintf("ganeti/%s.%d", object_uuid(instance("web1")), number);
}

Test(modify, a_new_disk_takes_the_name_of_no_other)
{
	make_on_gluster();
	expect(op_disk("remove", json_integer(0), json_object()), "success");
	expect(op_add_disk(-1), "success");
	expect(op_add_disk(0), "success");
	expect(op_disk("detach", json_integer(1), json_object()), "success");
	expect(op_modify("disks",
			 json_make("[[s, i, {s:i}], [s, i, {s:i}]]", "add", -1,
				   "size", 8, "add", -1, "size", 8)),
	       "success");
	cr_expect_eq(s.files.n, 5);
}

Test(modify, what_is_in_the_way_of_a_new_disk_stays)
{
	auto_free char *file = NULL;

	make_on_gluster();
	file = file_of(2);
	table_put(&s.files, file, &s);
	expect(op_add_disk(-1), "exists already");
	cr_expect_eq(s.files.n, 3, "it is not the job's");
	table_remove(&s.files, file);
}

static void cut_off_who_makes(struct sim *sim)
{
	for (size_t i = 0; i < sim->calls->n; i++)
		if (str_starts(sim->calls->items[i], "blockdev_create"))
			sim->cut[1][0] = true;
}

/* It is made, though nobody knows it. */
Test(modify, a_disk_without_an_answer_leaves_nothing)
{
	auto_strv struct strv calls = {0};

	make_on_gluster();
	s.calls = &calls;
	s.watch = cut_off_who_makes;
	expect(op_add_disk(-1), "Can't create disk 2");
	s.watch = NULL;
	s.calls = NULL;
	s.cut[1][0] = false;
	cr_expect_eq(s.files.n, 2);
}

Test(modify, devices_are_found_by_number_name_and_uuid)
{
	const char *uuid;
	const json_t *nics;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_nic("add", json_integer(-1), json_make("{s:s}", "name", "a")),
	       "success");
	expect(op_nic("add", json_integer(0), json_make("{s:s}", "name", "b")),
	       "success");
	uuid = json_str(json_array_get(json_get(instance("web1"), "nics"), 0),
			"uuid", "");
	expect(op_nic("modify", json_string("a"),
		      json_make("{s:s}", "ip", "198.51.100.2")),
	       "success");
	expect(op_nic("remove", json_string(uuid), json_object()), "success");
	expect(op_nic("remove", json_string("b"), json_object()),
	       "Cannot find NIC");
	nics = json_get(instance("web1"), "nics");
	cr_assert_eq(json_array_size(nics), 2);
	cr_assert_str_eq(json_str(json_array_get(nics, 1), "ip", ""),
			 "198.51.100.2");
}

Test(modify, what_is_not_supported_is_refused)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_modify("disk_template", json_string("diskless")),
	       "wrong_input");
	expect(op_nic("add", json_integer(-1), json_make("{s:s}", "speed", "")),
	       "wrong_input");
	expect(op_disk("modify", json_integer(0),
		       json_make("{s:i}", "bootindex", 1)),
	       "wrong_input");
}

/* --- mirrors and volumes --- */

static const char *template_of(const char *name)
{
	return config_instance_template(s.master->config, instance(name));
}

/* An instance with mirrors on the first two nodes, which may become volumes. */
static void make_mirrored(void)
{
	expect(json_make("{s:s, s:s, s:s, s:[s, s, s, s], s:{s:[s, s, s, s]}}",
			 "OP_ID", "OP_CLUSTER_SET_PARAMS", "vg_name", "xenvg",
			 "drbd_helper", "/bin/true", "enabled_disk_templates",
			 "drbd", "plain", "sharedfile", "diskless", "ipolicy",
			 "disk-templates", "drbd", "plain", "sharedfile",
			 "diskless"),
	       "success");
	expect(op_add("web1", s.nodes[0].name, false), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	sim_make_mirrored(&s, "web1", &s.nodes[0], &s.nodes[1], 0, 2);
}

static json_t *op_convert(const char *template, const char *secondary)
{
	json_t *op = op_modify("disk_template", json_string(template));

	json_set_bool(op, "ignore_ipolicy", true);
	if (secondary != NULL)
		json_set_str(op, "remote_node", secondary);
	return op;
}

Test(modify, values_are_checked)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_modify("beparams",
			 json_make("{s:i, s:i}", "minmem", 9, "maxmem", 4)),
	       "must not be greater");
	expect(op_nic("remove", json_integer(5), json_object()), "wrong_input");
	expect(op_disk("remove", json_integer(5), json_object()),
	       "wrong_input");
}

Test(modify, mirrors_become_volumes_and_volumes_mirrors)
{
	auto_strv struct strv secondaries = {0};
	size_t files = s.files.n;

	make_mirrored();
	cr_assert_eq(s.files.n, files + 8);
	expect(op_convert("plain", NULL), "success");
	cr_expect_str_eq(template_of("web1"), "plain");
	cr_expect_eq(s.files.n, files + 2, "only the data is left");
	expect(op_convert("drbd", s.nodes[0].name),
	       "is the same as the primary node of the instance");
	expect(op_convert("drbd", NULL), "success"); /* an allocator chooses */
	cr_expect_str_eq(template_of("web1"), "drbd");
	expect(op_convert("plain", NULL), "success");
	expect(op_convert("drbd", NODE3), "success");
	cr_expect_eq(s.files.n, files + 8);
	config_instance_secondaries(s.master->config, instance("web1"),
				    &secondaries);
	cr_assert_eq(secondaries.n, 1);
	cr_expect_str_eq(secondaries.items[0], s.nodes[2].uuid);
}

/* The side of the primary lost its disk, and the instance wrote to the other.
 */
Test(modify, a_side_without_the_newest_data_becomes_no_disk)
{
	static const char *const ways[] = {"plain", "sharedfile"};
	size_t files;

	make_mirrored();
	files = s.files.n;
	s.nodes[0].faulty_disks = true;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		expect(op_convert(ways[i], NULL), "replace-disks -p");
		cr_expect_str_eq(template_of("web1"), "drbd", "%s", ways[i]);
		cr_expect_eq(s.files.n, files, "%s", ways[i]);
		cr_expect_eq(s.nodes[0].stopped.n, 2, "as before");
		cr_expect_eq(s.nodes[1].stopped.n, 2, "as before");
	}
	s.nodes[0].faulty_disks = false;
	s.nodes[1].faulty_disks = true;
	expect(op_convert("plain", NULL), "success");
}

static int64_t size_of(const char *name, size_t i)
{
	auto_json json_t *disks =
		config_instance_disks(s.master->config, instance(name));

	return json_int(json_array_get(disks, i), "size", 0);
}

/* Disks of 64 MiB are volumes of 100. */
Test(modify, new_disks_hold_all_of_the_old_volumes)
{
	static const struct {
		const char *to;
		int64_t size;
	} way[] = {{"plain", 64}, {"sharedfile", 100}, {"plain", 100}};

	make_mirrored();
	s.nodes[0].extent_mib = 100;
	for (size_t i = 0; i < ARRAY_SIZE(way); i++) {
		expect(op_convert(way[i].to, NULL), "success");
		cr_expect_eq(size_of("web1", 0), way[i].size, "%s", way[i].to);
	}
	s.nodes[0].extent_mib = 128;
	expect(op_convert("drbd", NODE3), "success");
	cr_expect_eq(size_of("web1", 0), 128, "a mirror is not smaller");
	s.nodes[0].extent_mib = 150;
	expect(op_convert("sharedfile", NULL), "success");
	cr_expect_eq(size_of("web1", 0), 150);
}

Test(modify, exclusive_storage_is_left_by_volumes_alone)
{
	make_mirrored();
	expect(op_convert("plain", NULL), "success");
	expect(json_make("{s:s, s:{s:b}}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "ndparams", "exclusive_storage", 1),
	       "success");
	expect(op_convert("sharedfile", NULL),
	       "Cannot convert disk template from plain to sharedfile when "
	       "exclusive storage is enabled");
	expect(op_convert("drbd", NODE3), "from plain to drbd when exclusive");
}

Test(modify, volumes_stay_where_mirrors_cannot_be_made)
{
	size_t files;

	make_mirrored();
	expect(op_convert("plain", NULL), "success");
	files = s.files.n;
	s.nodes[2].fail_on = "blockdev_create";
	expect(op_convert("drbd", NODE3), "Can't create a device");
	s.nodes[2].fail_on = NULL;
	cr_expect_eq(s.files.n, files);
	cr_expect_str_eq(template_of("web1"), "plain");
	s.nodes[2].down = true;
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	s.nodes[2].down = false;
	expect(op_convert("drbd", NODE3), "success");
}

/* The volumes of the second disk, of which a plain one has one. */
static char *second_volume(void)
{
	const json_t *disk =
		config_get(s.master->config, CONFIG_DISK,
			   json_string_value(json_array_get(
				   json_get(instance("web1"), "disks"), 1)));

	return sim_volume(s.nodes[0].uuid, disk);
}

static struct sim_submission cut;

static bool has_made(struct sim *sim, void *arg)
{
	size_t n = *(size_t *)arg;

	for (size_t i = 0; i < sim->calls->n && n > 0; i++)
		n -= str_starts(sim->calls->items[i], "blockdev_create");
	return n == 0;
}

/* Begin to make mirrors, and lose the master at the nth device. */
static void lose_the_master_at(size_t n)
{
	auto_strv struct strv calls = {0};

	json_decref(cut.ops);
	cut = (struct sim_submission){0};
	s.calls = &calls;
	sim_submission_begin(&cut, &s.nodes[0], op_convert("drbd", NODE3));
	cr_assert(sim_run(&s, 60000, has_made, &n), "%zu", n);
	s.calls = NULL;
	sim_crash(&s, n);
	sim_restart(&s);
	sim_run(&s, 60000, NULL, NULL);
}

static bool has_volumes(const struct sim_node *n, const char *part)
{
	auto_strv struct strv names = {0};
	bool found = false;

	sim_find_volumes(&s, n->uuid, &names);
	for (size_t i = 0; i < names.n; i++)
		found |= strstr(names.items[i], part) != NULL;
	return found;
}

/* As its administrator does with what verify finds: the names are new. */
static void drop_orphans(const struct sim_node *n, const char *part)
{
	auto_strv struct strv names = {0};

	sim_find_volumes(&s, n->uuid, &names);
	for (size_t i = 0; i < names.n; i++)
		if (strstr(names.items[i], part) != NULL)
			table_remove(&s.files, names.items[i]);
}

#define N_DEVICES 10 /* that the conversion of two disks makes */

/* Wherever it is lost, the instance has its disks, and a repeat takes the place
 * of what it has left. */
Test(modify, volumes_are_where_they_were_when_the_master_is_lost)
{
	auto_free char *volume = NULL;

	make_mirrored();
	expect(op_convert("plain", NULL), "success");
	volume = second_volume();
	for (size_t n = 1; n <= N_DEVICES; n++) {
		lose_the_master_at(n);
		cr_assert_str_eq(template_of("web1"), "plain");
		cr_assert_not_null(table_get(&s.files, volume), "%zu", n);
		expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
		expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
		drop_orphans(&s.nodes[0], "_meta");
		drop_orphans(&s.nodes[2], "_meta");
		expect(op_convert("drbd", NODE3), "success");
		expect(op_convert("plain", NULL), "success");
		cr_assert_not(has_volumes(&s.nodes[2], ""), "%zu", n);
	}
	json_decref(cut.ops);
}

/* What no job has noted is somebody's. */
Test(modify, a_volume_in_the_way_of_a_mirror_stays)
{
	auto_free char *volume = NULL, *in_the_way = NULL;
	size_t files;

	make_mirrored();
	expect(op_convert("plain", NULL), "success");
	volume = second_volume();
	in_the_way = xprintf("%s%s", s.nodes[2].uuid, strchr(volume, ':'));
	table_put(&s.files, in_the_way, &s);
	files = s.files.n;
	expect(op_convert("drbd", NODE3), "has a volume xenvg/");
	cr_expect_eq(s.files.n, files);
	table_remove(&s.files, in_the_way);
	expect(op_convert("drbd", NODE3), "success");
	cr_expect_not_null(table_get(&s.files, volume), "it keeps its name");
}

#define N_VOLUMES 6 /* that the conversion makes before the mirrors */

static struct sim_submission other;

/* The disk is full from behind so many of one call until so many of another,
 * the undo. */
static struct {
	const char *from, *until;
	size_t n_from, n_until;
} full;

/* Another job's change is the first that finds no room in a file: the log has
 * some left. */
static void fill_the_disk(struct sim *sim)
{
	size_t begun = 0, undone = 0;

	for (size_t i = 0; i < sim->calls->n; i++) {
		const char *call = sim->calls->items[i];

		begun += str_starts(call, full.from);
		undone += str_starts(call, full.until);
	}
	sim->nodes[0].disk.full = begun > full.n_from && undone < full.n_until;
	if (sim->nodes[0].disk.full && other.node == NULL)
		sim_submission_begin(&other, &sim->nodes[0],
				     json_make("{s:s, s:s, s:[s]}", "OP_ID",
					       "OP_TAGS_SET", "kind", "cluster",
					       "tags", "other"));
}

/* It cannot be recorded; the other job is done while the call that fills the
 * disk is under way.  What it had changed on nodes is undone. */
static void expect_full(json_t *op STEALS)
{
	auto_strv struct strv calls = {0};
	size_t files = s.files.n;

	for (size_t i = 0; i < 3; i++)
		s.nodes[i].slow = full.from;
	json_decref(other.ops);
	other = (struct sim_submission){0};
	s.calls = &calls;
	s.watch = fill_the_disk;
	expect(op, "is full");
	s.watch = NULL;
	s.calls = NULL;
	s.nodes[0].disk.full = false;
	for (size_t i = 0; i < 3; i++)
		s.nodes[i].slow = NULL;
	sim_run(&s, 60000, NULL, NULL);
	cr_expect_eq(s.files.n, files);
}

Test(modify, volumes_are_left_alone_where_nothing_can_be_recorded)
{
	make_mirrored();
	expect(op_convert("plain", NULL), "success");
	full.from = "blockdev_create";
	full.n_from = N_VOLUMES;
	full.until = "blockdev_shutdown";
	full.n_until = 1;
	expect_full(op_convert("drbd", NODE3));
	cr_expect_str_eq(template_of("web1"), "plain");
	expect(op_convert("drbd", NODE3), "success");
}

static json_t *op_detach(void)
{
	return op_disk("detach", json_integer(1), json_object());
}

Test(modify, files_have_their_names_again_where_nothing_can_be_recorded)
{
	auto_free char *uuid = NULL;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op_disk("add", json_integer(-1), json_make("{s:i}", "size", 8)),
	       "success");
	uuid = xstrdup(json_string_value(
		json_array_get(json_get(instance("web1"), "disks"), 1)));
	full.from = full.until = "blockdev_rename";
	full.n_from = 0;
	full.n_until = 2;
	expect_full(op_detach());
	expect(op_detach(), "success");
	for (int i = 0; i < 2; i++)
		expect_full(op_disk("attach", json_integer(-1),
				    json_make("{s:s}", "uuid", uuid)));
	expect(op_disk("attach", json_integer(-1),
		       json_make("{s:s}", "uuid", uuid)),
	       "success");
}

Test(modify, a_folder_has_its_name_again_where_nothing_can_be_recorded)
{
	json_t *op = op_named("OP_INSTANCE_RENAME", "web1");

	json_set_str(op, "new_name", "web2");
	json_set_bool(op, "name_check", false);
	json_set_bool(op, "ip_check", false);
	expect(op_add("web1", NODE2, true), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	full.from = full.until = "file_storage_dir_rename";
	full.n_from = 0;
	full.n_until = 2;
	expect_full(json_incref(op));
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op, "success");
}

Test(modify, new_disks_that_cannot_be_recorded_are_removed)
{
	make_mirrored();
	expect(op_convert("sharedfile", NULL), "success");
	full.from = "blockdev_create";
	full.n_from = 0;
	full.until = "blockdev_remove";
	full.n_until = 1;
	expect_full(op_disk("add", json_integer(-1),
			    json_make("{s:i}", "size", 8)));
	expect_full(op_convert("plain", NULL));
	cr_expect_str_eq(template_of("web1"), "sharedfile");
	expect(op_convert("plain", NULL), "success");
}

/* --- the state of record --- */

Test(modify, an_instance_that_is_down_keeps_its_memory)
{
	expect(op_node_state(NODE2, 500), "success");
	expect(add_sized("web1", NODE2, 300, 300), "success");
	expect(add_sized("web2", NODE2, 300, 300),
	       "needed 300 MiB, available 200 MiB");
	expect(op_named("OP_INSTANCE_STARTUP", "web1"), "success");
}

Test(modify, minmem_is_guaranteed_and_maxmem_promised)
{
	expect(op_node_state(NODE2, 500), "success");
	expect(op_policy("oversubscription-ratio", json_real(2.0)), "success");
	expect(add_sized("web1", NODE2, 300, 600), "success");
	expect(add_sized("web2", NODE2, 100, 600),
	       "needed 600 MiB, available 400 MiB");
	expect(add_sized("web2", NODE2, 300, 400),
	       "needed 300 MiB, available 200 MiB");
	expect(add_sized("web2", NODE2, 200, 400), "success");
	expect(op_modify("beparams", json_make("{s:i}", "maxmem", 700)),
	       "Not enough memory");
	expect(op_modify("beparams", json_make("{s:i}", "maxmem", 500)),
	       "success");
}

Test(modify, failover_needs_what_was_guaranteed)
{
	expect(op_node_state(NODE2, 600), "success");
	expect(op_node_state(NODE3, 300), "success");
	expect(add_sized("web1", NODE2, 200, 600), "success");
	expect(add_sized("web2", NODE3, 50, 300), "success");
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3), "success");
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE2), "success");
	expect(op_modify("beparams", json_make("{s:i}", "minmem", 260)),
	       "success");
	expect(op_move("OP_INSTANCE_FAILOVER", "web1", NODE3),
	       "needed 260 MiB, available 248 MiB");
}

Test(modify, a_recorded_cluster_is_asked_for_signs_of_life_only)
{
	unsigned before;

	expect(op_refresh(), "success");
	before = s.nodes[2].n_calls;
	s.nodes[2].fail_on = "node_info";
	expect(op_add("web1", NODE2, true), "success");
	expect(add_sized("web2", NULL, 128, 128), "success");
	s.nodes[2].fail_on = NULL;
	cr_assert_gt(s.nodes[2].n_calls, before);
}

Test(modify, refresh_keeps_what_somebody_set)
{
	struct node_memory m;

	expect(op_node_state(NODE2, 500), "success");
	expect(op_refresh(), "success");
	resources_memory(s.master->config, s.nodes[1].uuid, NULL, &m);
	cr_assert_eq(m.total, 65536);
	cr_assert_eq(m.node, 0);
	s.nodes[2].down = true;
	expect(op_refresh(), "success");
	s.nodes[2].down = false;
}

static json_t *op_std(int64_t memory)
{
	auto_json json_t *bound =
		json_make("{s:i, s:i, s:i, s:i, s:i, s:i}", "memory-size", 16,
			  "cpu-count", 1, "disk-count", 0, "disk-size", 1,
			  "nic-count", 0, "spindle-use", 0);
	auto_json json_t *high =
		json_make("{s:i, s:i, s:i, s:i, s:i, s:i}", "memory-size", 4096,
			  "cpu-count", 8, "disk-count", 8, "disk-size", 4096,
			  "nic-count", 8, "spindle-use", 8);

	return json_make(
		"{s:s, s:{s:[{s:O, s:O}], s:{s:I, s:i, s:i, s:i, s:i, s:i}}}",
		"OP_ID", "OP_CLUSTER_SET_PARAMS", "ipolicy", "minmax", "min",
		bound, "max", high, "std", "memory-size", (json_int_t)memory,
		"cpu-count", 2, "disk-count", 1, "disk-size", 40, "nic-count",
		1, "spindle-use", 1);
}

/* No instance has less memory. */
static json_t *op_memory_min(int mib)
{
	auto_json json_t *limits = json_deep_copy(json_array_get(
		json_get(json_get(config_cluster(s.master->config), "ipolicy"),
			 "minmax"),
		0));
	json_t *op;

	json_set_int(json_object_get(limits, "min"), "memory-size", mib);
	op = op_policy("minmax", json_make("[O]", limits));
	json_object_set_new(json_object_get(op, "ipolicy"), "std",
			    json_make("{s:i}", "memory-size", 128));
	return op;
}

Test(modify, standard_sizes_fill_in_where_somebody_chose_them)
{
	json_t *op = op_add("web1", NODE2, true);
	const json_t *be;

	expect(op_std(512), "success");
	json_object_set_new(op, "disks", json_make("[{}]"));
	json_object_set_new(op, "beparams", json_make("{s:i}", "vcpus", 1));
	expect(op, "success");
	be = json_get(instance("web1"), "beparams");
	cr_assert_eq(json_int(be, "minmem", 0), 512);
	cr_assert_eq(json_int(be, "maxmem", 0), 512);
	cr_assert_eq(json_int(be, "vcpus", 0), 1);
	cr_assert_null(json_object_get(be, "spindle_use"));
	/* 128 is what every policy has: the back-end default counts */
	expect(op_std(128), "success");
	expect(op_add("web2", NODE2, true), "success");
	cr_assert_null(json_object_get(json_get(instance("web2"), "beparams"),
				       "maxmem"));
}

Test(modify, what_is_outside_the_policy_can_still_be_changed)
{
	json_t *op = op_add("web1", NODE2, true);

	json_object_set_new(
		op, "beparams",
		json_make("{s:i, s:i}", "minmem", 32, "maxmem", 48));
	expect(op, "success");
	expect(op_memory_min(64), "success");
	expect(op_modify("osparams", json_make("{s:s}", "key", "value")),
	       "success");
	expect(op_modify("beparams", json_make("{s:i}", "vcpus", 2)),
	       "memory-size value 48 is not in range");
	expect(op_modify("beparams", json_make("{s:i}", "maxmem", 96)),
	       "memory-size value 32 is not in range");
	expect(op_modify("beparams",
			 json_make("{s:i, s:i}", "minmem", 64, "maxmem", 96)),
	       "success");
}

/* Without disks it is diskless, which a policy for disks does not mean. */
Test(modify, the_last_disk_goes_whatever_the_policy_wants)
{
	json_t *op = op_add("web1", NODE2, true);
	auto_json json_t *limits = json_deep_copy(json_array_get(
		json_get(json_get(config_cluster(s.master->config), "ipolicy"),
			 "minmax"),
		0));

	json_set_bool(op, "start", false);
	expect(op, "success");
	json_set_int(json_object_get(limits, "min"), "disk-count", 1);
	op = op_policy("minmax", json_make("[O]", limits));
	json_object_set_new(json_object_get(op, "ipolicy"), "std",
			    json_make("{s:i}", "disk-count", 1));
	expect(op, "success");
	expect(op_disk("remove", json_integer(0), json_object()), "success");
	cr_assert_eq(json_array_size(json_get(instance("web1"), "disks")), 0);
}

static json_t *op_disk_state(const char *node, int64_t total)
{
	const char *folder = json_str(config_cluster(s.master->config),
				      "shared_file_storage_dir", "");

	return json_make("{s:s, s:s, s:{s:{s:{s:I, s:i}}}}", "OP_ID",
			 "OP_NODE_SET_PARAMS", "node_name", node, "disk_state",
			 "sharedfile", folder, "disk_total", (json_int_t)total,
			 "disk_overhead", 0);
}

/* Two jobs on two nodes; the space is for one of them. */
static void race_for_space(void)
{
	uint64_t ids[2];
	const json_t *all;

	for (size_t i = 0; i < 2; i++) {
		auto_free char *name = xprintf("web%zu", i);

		ids[i] = sim_submit(
			&s, add_sized(name, s.nodes[i + 1].name, 8, 8), NULL);
	}
	for (size_t i = 0; i < 2; i++)
		sim_wait(&s, ids[i]);
	all = config_all(s.master->config, CONFIG_INSTANCE);
	cr_assert_eq(json_object_size(all), 1);
	expect(op_named("OP_INSTANCE_REMOVE",
			json_str(json_object_iter_value(
					 json_object_iter(json_unconst(all))),
				 "name", "")),
	       "success");
}

Test(modify, shared_space_is_not_booked_twice)
{
	s.max_delay_ms = 50;
	for (size_t i = 0; i < 3; i++) {
		expect(op_node_state(s.nodes[i].name, 1000), "success");
		expect(op_disk_state(s.nodes[i].name, 100), "success");
	}
	for (size_t round = 0; round < 8; round++)
		race_for_space();
}

Test(modify, two_that_both_fit_but_not_together)
{
	uint64_t a, b;

	s.max_delay_ms = 50;
	for (size_t i = 0; i < 3; i++)
		expect(op_node_state(s.nodes[i].name, 1000), "success");
	expect(op_policy("max-node-failures", json_integer(1)), "success");
	expect(op_policy("vcpu-ratio", json_integer(64)), "success");
	for (size_t i = 0; i < 3; i++) {
		auto_free char *name = xprintf("base%zu", i);

		expect(add_sized(name, s.nodes[i].name, 400, 400), "success");
	}
	a = sim_submit(&s, add_sized("web1", NODE2, 300, 300), NULL);
	b = sim_submit(&s, add_sized("web2", NODE3, 300, 300), NULL);
	sim_wait(&s, a);
	sim_wait(&s, b);
	cr_assert_eq((instance("web1") != NULL) + (instance("web2") != NULL),
		     1);
}

/* --- nodes are asked --- */

static void add_kvm(void)
{
	json_t *op = op_add("web1", s.nodes[0].name, false);

	expect(json_make("{s:s, s:[s, s]}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "enabled_hypervisors", "fake", "kvm"),
	       "success");
	json_set_str(op, "hypervisor", "kvm");
	json_set_bool(op, "start", false);
	expect(op, "success");
	sim_make_mirrored(&s, "web1", &s.nodes[0], &s.nodes[1], 0, 1);
}

static json_t *op_osparam(void)
{
	json_t *op = op_modify("osparams", json_make("{s:s}", "key", "value"));

	json_set_bool(op, "ignore_ipolicy", true);
	return op;
}

static json_t *op_mask(const char *mask)
{
	json_t *op =
		op_modify("hvparams", json_make("{s:s}", "cpu_mask", mask));

	json_set_bool(op, "ignore_ipolicy", true);
	return op;
}

Test(modify, parameters_are_checked_on_all_nodes_of_the_instance)
{
	add_kvm();
	s.nodes[1].fail_on = "os_validate";
	expect(op_osparam(), "with these parameters is refused");
	s.nodes[1].fail_on = "hypervisor_validate_params";
	expect(op_mask("0"), "validation failed on node " NODE2);
	s.nodes[1].fail_on = "node_info";
	expect(op_mask("0"), "Cannot get current information from node " NODE2);
	s.nodes[1].fail_on = NULL;
	expect(op_mask("3,16"), "has 16 physical CPUs, but 17 are required");
	expect(op_mask("3,15"), "success");
	expect(op_osparam(), "success");
}

Test(modify, an_instance_leaves_no_node_that_does_not_answer)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_modify("pnode", json_string(NODE3)),
	       "Instance is still running on " NODE2);
	s.nodes[1].fail_on = "instance_info";
	expect(op_modify("pnode", json_string(NODE3)),
	       "Node " NODE2 " does not answer, so instance web1, which is "
	       "meant to run, may still run there; --force");
	s.nodes[1].fail_on = NULL;
	expect(op_named("OP_INSTANCE_SHUTDOWN", "web1"), "success");
	expect(op_modify("pnode", json_string(NODE3)), "success");
}

Test(modify, none_is_nothing_in_any_case)
{
	const json_t *nic;
	auto_json json_t *disks = NULL;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_nic("add", json_integer(-1),
		      json_make("{s:s, s:s}", "ip", "None", "name", "NONE")),
	       "success");
	nic = json_array_get(inst_nics(instance("web1")), 0);
	cr_expect_null(nic_ip(nic));
	cr_expect_null(nic_name(nic));
	expect(op_disk("add", json_integer(-1),
		       json_make("{s:i, s:s}", "size", 8, "name", "None")),
	       "success");
	disks = config_instance_disks(s.master->config, instance("web1"));
	cr_expect_null(disk_name(json_array_get(disks, 1)));
}

/* --- detached disks --- */

static json_t *op_attach(const char *name, const char *key, const char *value)
{
	json_t *op = op_disk("attach", json_integer(-1),
			     json_make("{s:s}", key, value));

	json_set_str(op, "instance_name", name);
	return op;
}

/* Detach the first disk; returns its UUID, to be freed. */
static char *detach(const char *name)
{
	char *uuid = xstrdup(json_string_value(
		json_array_get(inst_disks(instance(name)), 0)));
	json_t *op = op_disk("detach", json_integer(0), json_object());

	json_set_str(op, "instance_name", name);
	expect(op, "success");
	return uuid;
}

static void add_down(const char *name, const char *node)
{
	json_t *op = op_add(name, node, true);

	json_set_bool(op, "start", false);
	expect(op, "success");
}

Test(modify, a_disk_is_attached_to_one_of_two_at_once)
{
	auto_free char *uuid = NULL, *first = NULL, *second = NULL;
	uint64_t a, b;

	s.max_delay_ms = 50;
	add_down("web1", NODE2);
	add_down("web2", NODE3);
	uuid = detach("web1");
	a = sim_submit(&s, op_attach("web1", "uuid", uuid), NULL);
	b = sim_submit(&s, op_attach("web2", "uuid", uuid), NULL);
	first = xstrdup(sim_wait(&s, a));
	second = xstrdup(sim_wait(&s, b));
	cr_expect_eq((strcmp(first, "success") == 0) +
			     (strcmp(second, "success") == 0),
		     1, "%s; %s", first, second);
	cr_expect_eq(json_array_size(inst_disks(instance("web1"))) +
			     json_array_size(inst_disks(instance("web2"))),
		     2);
	expect(op_attach("web2", "uuid", uuid), "is attached to instance");
}

static void name_disk(const char *name)
{
	json_t *op = op_disk("modify", json_integer(0),
			     json_make("{s:s}", "name", "data"));

	json_set_str(op, "instance_name", name);
	expect(op, "success");
}

Test(modify, a_name_means_the_disk_that_is_detached)
{
	auto_free char *first = NULL, *second = NULL;

	for (size_t i = 1; i <= 3; i++) {
		auto_free char *name = xprintf("web%zu", i);

		add_down(name, NODE2);
		name_disk(name);
	}
	first = detach("web1");
	expect(op_attach("web1", "name", "data"), "success");
	expect(op_attach("web1", "name", "data"), "is attached to instance");
	expect(op_attach("web1", "name", "other"), "No disk was found");
	free(first);
	first = detach("web1");
	second = detach("web2");
	expect(op_attach("web1", "name", "data"), first);
	expect(op_attach("web1", "name", "data"), second);
	expect(op_modify("disks", json_make("[[s, i, {s:s}], [s, i, {s:s}]]",
					    "attach", -1, "uuid", second,
					    "attach", -1, "uuid", second)),
	       "is just being attached");
	expect(op_attach("web1", "uuid", second), "success");
	expect(op_attach("web2", "name", "data"), "success");
}

Test(modify, mirrors_of_an_instance_are_on_the_same_nodes)
{
	const json_t *elsewhere =
		sim_mirror("other", 7, s.nodes[0].uuid, s.nodes[2].uuid);

	make_mirrored();
	config_put(s.master->config, CONFIG_DISK, json_unconst(elsewhere));
	expect(op_attach("web1", "uuid", disk_uuid(elsewhere)),
	       "is not on node2.example.com, the instance's secondary node");
	config_remove(s.master->config, CONFIG_DISK, disk_uuid(elsewhere));
}

/* --- devices of the host --- */

#define DEVICE(name) "/dev/disk/by-id/" name

static json_t *op_adopt(const char *name, const char *device)
{
	json_t *op = op_add(name, NODE2, true);

	json_set_str(op, "disk_template", "blockdev");
	json_object_set_new(op, "disks", json_make("[{s:s}]", "adopt", device));
	json_set_bool(op, "start", false);
	return op;
}

static json_t *op_more(const char *device)
{
	return op_disk("add", json_integer(-1),
		       json_make("{s:s}", "adopt", device));
}

static void allow_devices(void)
{
	expect(json_make("{s:s, s:[s], s:{s:[s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "enabled_disk_templates",
			 "blockdev", "ipolicy", "disk-templates", "blockdev"),
	       "success");
}

/* In the simulation those with the same last letter are one device. */
Test(modify, a_device_of_the_host_has_one_user_by_whatever_name)
{
	auto_free char *uuid = NULL;
	json_t *op = op_adopt("web3", DEVICE("b"));

	allow_devices();
	table_put(&s.files, DEVICE("a"), &s);
	expect(op_adopt("web1", DEVICE("a")), "success");
	expect(op_adopt("web2", "/dev/disk/by-path/a"),
	       "Block device /dev/disk/by-path/a is /dev/disk/by-id/a, which "
	       "is used by instance web1");
	expect(op_more("/dev/disk/by-path/a"), "is /dev/disk/by-id/a, which");
	json_array_append_new(
		json_object_get(op, "disks"),
		json_make("{s:s}", "adopt", "/dev/disk/by-path/b"));
	expect(op, "/dev/disk/by-id/b and /dev/disk/by-path/b are the same "
		   "block device");
	expect(op_more(DEVICE("b")), "success");
	uuid = xstrdup(json_string_value(
		json_array_get(inst_disks(instance("web1")), 1)));
	expect(op_disk("detach", json_integer(1), json_object()), "success");
	expect(op_more("/dev/disk/by-path/b"), uuid);
	expect(op_attach("web1", "uuid", uuid), "success");
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
}

/* In the simulation it is known by its last letter, too: "web10_data". */
Test(modify, a_volume_of_an_instance_is_no_device_of_the_host)
{
	const char *device = DEVICE("dm-name-xenvg-data");

	make_mirrored();
	expect(json_make("{s:s, s:[s, s], s:{s:[s, s]}}", "OP_ID",
			 "OP_CLUSTER_SET_PARAMS", "enabled_disk_templates",
			 "blockdev", "drbd", "ipolicy", "disk-templates",
			 "blockdev", "drbd"),
	       "success");
	expect(op_adopt("web2", device), "used by instance web1");
}

Test(modify, a_device_of_the_host_has_one_user)
{
	auto_json json_t *disks = NULL;

	allow_devices();
	/* Only disks that nodes make are known to them. */
	table_put(&s.files, DEVICE("a"), &s);
	expect(op_adopt("web1", DEVICE("a")), "success");
	expect(op_adopt("web2", DEVICE("a")), "used by another instance");
	expect(op_more(DEVICE("a")), "used by another instance");
	expect(op_more("/dev/sda"), "lies outside /dev/disk/");
	expect(op_disk("add", json_integer(-1), json_make("{s:i}", "size", 8)),
	       "requires disk adoption");
	expect(json_make("{s:s, s:b}", "OP_ID", "OP_CLUSTER_SET_PARAMS",
			 "prealloc_wipe_disks", 1),
	       "success");
	expect(op_more(DEVICE("b")), "success");
	cr_expect_null(s.nodes[1].wiped, "what is on it is somebody's");
	disks = config_instance_disks(s.master->config, instance("web1"));
	cr_expect_eq(disk_size_mib(json_array_get(disks, 1)), 64);
	expect(op_named("OP_INSTANCE_REMOVE", "web1"), "success");
}

Test(modify, what_is_renamed_is_adopted_by_new_instances_only)
{
	expect(op_add("web1", NODE2, true), "success");
	expect(op_more("/srv/ganeti/shared-file-storage/a"),
	       "only a new instance can adopt");
}
