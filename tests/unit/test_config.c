/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/config/config.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "tests/lib/root.h"

#define NODE1 "b0e955da-2905-45c3-9ff8-0b43b4e69d52"
#define NODE2 "cf9913a1-8ecd-4d8a-b04b-114fb57a49b5"
#define NODE3 "92ae36ee-0dda-420f-8fa8-6707b30a77c8"
#define INST5 "5ca70c38-b918-4ac8-ad10-d712111062cb"
#define INST48 "1056e113-5491-4fe1-9b99-5ebad5b8f462"
#define GROUP "e4677306-5d6d-4a5b-8d6b-eee896e0db7a"

static struct test_root root;
static struct config *config;
static struct error err;
static struct disk disk; /* the real one that counts and can fail */
static int writes, fatals, distributions, with_ssconf;
static size_t n_ssconf; /* values that went out the last time */
static bool disk_full, disk_broken;

static int counting_write(struct disk *d, const char *file, const void *data,
			  size_t len, mode_t mode, struct error *e)
{
	(void)d;
	if (strcmp(file, path(root.paths, PATH_CONFIG_DATA)) == 0)
		writes++;
	if (disk_full)
		return error_set(e, ERR_SYSTEM, ECODE_NOSPACE, "no space left");
	if (disk_broken)
		return error_set(e, ERR_SYSTEM, NULL, "input/output error");
	return disk_real()->write_atomic(disk_real(), file, data, len, mode, e);
}

static void on_fatal(void *arg, const struct error *e)
{
	(void)arg;
	(void)e;
	fatals++;
}

static void on_distribute(void *arg, const json_t *ssconf)
{
	(void)arg;
	distributions++;
	if (ssconf != NULL)
		with_ssconf++;
	n_ssconf = json_object_size(ssconf);
	task_yield(); /* give others the chance to change something */
}

static void setup(void)
{
	mem_init();
	test_root_create(&root);
	test_root_add_config(&root);
	disk = *disk_real();
	disk.write_atomic = counting_write;
	config = config_load(&disk, root.paths, &err);
	cr_assert_not_null(config, "%s", err.text);
	config_set_distribute(config, on_distribute, NULL);
	config_set_fatal(config, on_fatal, NULL);
	test_loop_start();
}

static void teardown(void)
{
	test_run_tasks();
	test_loop_stop();
	config_free(config);
	test_root_destroy(&root);
}

TestSuite(config, .init = setup, .fini = teardown);

static json_t *on_disk(void)
{
	json_t *document = json_read_file(path(root.paths, PATH_CONFIG_DATA),
					  COMPAT_FILE_MAX, &err);

	cr_assert_not_null(document, "%s", err.text);
	return document;
}

static void commit(void *arg)
{
	int *result = arg;
	struct error e;

	*result = config_commit(config, &e);
}

static void redistribute(void *arg)
{
	int *result = arg;
	struct error e;

	*result = config_redistribute(config, &e);
}

static int run(task_fn *fn)
{
	int result = 77;

	task_spawn("test", fn, &result);
	test_run_tasks();
	return result;
}

static json_t *edit(enum config_kind kind, const char *uuid)
{
	return config_edit(config_get(config, kind, uuid));
}

Test(config, what_is_loaded_is_written)
{
	auto_json json_t *before = on_disk();
	auto_json json_t *document = config_document(config);
	auto_json json_t *after = NULL;
	const char *key_before, *key_after;
	void *i, *k;

	cr_assert(json_same(before, document));
	cr_assert_eq(run(redistribute), 0);
	after = on_disk();
	cr_assert(json_same(before, after));
	i = json_object_iter(before);
	k = json_object_iter(after);
	for (; i != NULL && k != NULL; i = json_object_iter_next(before, i),
				       k = json_object_iter_next(after, k)) {
		key_before = json_object_iter_key(i);
		key_after = json_object_iter_key(k);
		cr_assert_str_eq(key_before, key_after);
	}
}

Test(config, real_ganetis_file_survives)
{
	auto_json json_t *theirs =
		compat_read_shared("state/node1/var-lib-ganeti/config.data");
	auto_json json_t *ours = NULL;
	auto_free char *text = NULL;

	config_free(config);
	text = json_text(theirs);
	cr_assert_eq(fs_write_atomic(path(root.paths, PATH_CONFIG_DATA), text,
				     strlen(text), 0640, &err),
		     0);
	config = config_load(&disk, root.paths, &err);
	cr_assert_not_null(config, "%s", err.text);
	cr_assert_eq(run(redistribute), 0);
	ours = on_disk();
	compat_assert_same(ours, theirs);
}

Test(config, a_change_raises_serial_numbers)
{
	auto_json json_t *kept =
		json_ref(config_get(config, CONFIG_NODE, NODE1));
	int64_t top = config_serial(config);
	int64_t own = json_int(kept, "serial_no", 0);
	json_t *node = edit(CONFIG_NODE, NODE1);
	const json_t *now;

	json_set_bool(node, "drained", true);
	now = config_put(config, CONFIG_NODE, node);
	cr_assert_eq(json_int(now, "serial_no", 0), own + 1);
	cr_assert_gt(json_num(now, "mtime", 0), json_num(kept, "mtime", 0) - 1);
	cr_assert_eq(config_serial(config), top + 1);
	cr_assert_not(json_bool(kept, "drained", true), "the old one lives");
	cr_assert(config_find(config, CONFIG_NODE, "node1") == now);
}

Test(config, commit_writes_what_changed)
{
	json_t *node = edit(CONFIG_NODE, NODE3);
	auto_json json_t *after = NULL;

	json_set_bool(node, "offline", true);
	config_put(config, CONFIG_NODE, node);
	cr_assert_eq(run(commit), 0);
	cr_assert_eq(writes, 1);
	after = on_disk();
	cr_assert(json_bool(json_get(json_get(after, "nodes"), NODE3),
			    "offline", false));
	cr_assert_eq(json_int(after, "serial_no", 0), config_serial(config));
	cr_assert_eq(run(commit), 0);
	cr_assert_eq(writes, 1, "nothing changed, nothing written");
}

static void change_and_commit(void *arg)
{
	int *done = arg;
	struct error e;

	config_put(config, CONFIG_INSTANCE, edit(CONFIG_INSTANCE, INST48));
	if (config_commit(config, &e) == 0)
		(*done)++;
}

Test(config, many_commits_share_a_write)
{
	int done = 0;

	for (int i = 0; i < 100; i++)
		task_spawn("job", change_and_commit, &done);
	test_run_tasks();
	cr_assert_eq(done, 100);
	cr_assert_leq(writes, 3);
	cr_assert_eq(distributions, writes);
}

Test(config, ssconf_goes_out_when_it_changed)
{
	json_t *instance;

	cr_assert_eq(run(redistribute), 0);
	cr_assert_eq(with_ssconf, 1);
	cr_assert_gt(n_ssconf, 30);
	instance = edit(CONFIG_INSTANCE, INST48);
	json_set_str(instance, "admin_state", "down");
	config_put(config, CONFIG_INSTANCE, instance);
	cr_assert_eq(run(commit), 0);
	cr_assert_eq(with_ssconf, 1, "no ssconf file shows that");
	config_remove(config, CONFIG_INSTANCE, INST48);
	cr_assert_eq(run(commit), 0);
	cr_assert_eq(with_ssconf, 2, "instance_list is another one now");
	cr_assert_eq(n_ssconf, 1, "and nothing else");
	cr_assert_eq(run(redistribute), 0);
	cr_assert_gt(n_ssconf, 30, "all of it again");
}

Test(config, a_failed_write_is_fatal)
{
	disk_broken = true;
	config_put(config, CONFIG_NODE, edit(CONFIG_NODE, NODE1));
	cr_assert_eq(run(commit), -1);
	cr_assert_eq(fatals, 1);
	disk_broken = false;
	cr_assert_eq(run(commit), -1, "it never lies afterwards");
	cr_assert_eq(writes, 1);
}

/* --- a full disk --- */

static size_t count(void (*list)(const struct config *c, const char *uuid,
				 struct strv *ret),
		    const char *uuid)
{
	auto_strv struct strv v = {0};

	list(config, uuid, &v);
	return v.n;
}

static void change_everything(void *arg)
{
	int *result = arg;
	json_t *node = edit(CONFIG_NODE, NODE3);
	json_t *instance = edit(CONFIG_INSTANCE, INST48);
	json_t *cluster = config_edit(config_cluster(config));
	struct error e;

	json_set_bool(node, "offline", true);
	json_set_str(node, "group", "elsewhere");
	config_put(config, CONFIG_NODE, node);
	json_set_str(instance, "name", "other.example.com");
	json_set_str(instance, "primary_node", NODE3);
	config_put(config, CONFIG_INSTANCE, instance);
	config_remove(config, CONFIG_INSTANCE, INST5);
	json_set_str(cluster, "cluster_name", "another");
	config_put_cluster(config, cluster);
	config_put(config, CONFIG_DISK,
		   json_make("{s:s, s:s, s:[]}", "uuid", "d1", "dev_type",
			     "file", "logical_id"));
	*result = config_commit(config, &e);
	if (*result < 0)
		err = e;
}

Test(config, a_change_without_room_is_taken_back)
{
	auto_json json_t *document = config_document(config);
	auto_json json_t *before = json_deep_copy(document);
	auto_json json_t *after = NULL, *written = NULL;
	int64_t serial = config_serial(config);
	size_t n;

	disk_full = true;
	cr_assert_eq(run(change_everything), -1);
	cr_assert_not_null(strstr(err.text, "is full"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "The file system /"));
	cr_assert_eq(fatals, 0);
	after = config_document(config);
	cr_assert(json_equal(before, after));
	cr_assert_eq(config_serial(config), serial);
	cr_assert_null(config_find(config, CONFIG_INSTANCE, "other"));
	cr_assert_not_null(config_find(config, CONFIG_INSTANCE, "inst48"));
	cr_assert_not_null(config_find(config, CONFIG_INSTANCE, "inst5"));
	cr_assert_eq(count(config_node_primaries, NODE1), 3);
	cr_assert_eq(count(config_group_nodes, GROUP), 3);
	cr_assert_eq(run(commit), 0, "nothing is left to be written");
	disk_full = false;
	n = (size_t)with_ssconf;
	cr_assert_eq(run(change_everything), 0);
	cr_assert_eq((size_t)with_ssconf, n + 1);
	written = on_disk();
	cr_assert_not_null(json_get(json_get(written, "disks"), "d1"));
	cr_assert_eq(json_int(written, "serial_no", 0), serial + 5);
}

static void change_and_wait(void *arg)
{
	int *result = arg;
	struct error e;

	config_put(config, CONFIG_NODE, edit(CONFIG_NODE, NODE2));
	for (int i = 0; i < 20; i++)
		task_yield();
	*result = config_commit(config, &e);
}

static void fail_and_succeed(void *arg)
{
	int *result = arg;
	struct error e;

	config_put(config, CONFIG_NODE, edit(CONFIG_NODE, NODE1));
	*result = config_commit(config, &e);
	disk_full = false;
	config_put(config, CONFIG_NODE, edit(CONFIG_NODE, NODE1));
	*result = *result < 0 ? config_commit(config, &e) : -2;
}

/* Its change is gone with that of the other one, which nobody told it yet. */
Test(config, who_commits_late_is_told_as_well)
{
	int late = 77, other = 77;

	tasks_set_simulated(true);
	disk_full = true;
	task_spawn("late", change_and_wait, &late);
	task_spawn("other", fail_and_succeed, &other);
	test_run_tasks();
	tasks_set_simulated(false);
	cr_assert_eq(other, 0);
	cr_assert_eq(late, -1);
}

Test(config, redistribution_without_room_fails_and_goes_out_later)
{
	disk_full = true;
	cr_assert_eq(run(redistribute), -1);
	disk_full = false;
	cr_assert_eq(distributions, 0);
	config_put(config, CONFIG_NODE, edit(CONFIG_NODE, NODE1));
	cr_assert_eq(run(commit), 0);
	cr_assert_gt(n_ssconf, 30, "nobody has the ssconf files yet");
}

Test(config, finds_by_name)
{
	cr_assert_str_eq(
		json_str(config_find(config, CONFIG_NODE, "node2.example.com"),
			 "uuid", ""),
		NODE2);
	cr_assert_not_null(config_find(config, CONFIG_NODE, "node2"));
	cr_assert_not_null(config_find(config, CONFIG_NODE, "node2.example"));
	cr_assert_not_null(config_find(config, CONFIG_NODE, NODE2));
	cr_assert_null(config_find(config, CONFIG_NODE, "node"));
	cr_assert_null(config_find(config, CONFIG_NODE, ""));
	cr_assert_not_null(config_find(config, CONFIG_GROUP, "default"));
	cr_assert_null(config_find(config, CONFIG_GROUP, "def"));
	cr_assert_null(config_expect(config, CONFIG_NODE, "x", &err));
	cr_assert_str_eq(err.text, "Node 'x' not known");
	cr_assert_str_eq(err.ecode, ECODE_NOENT);
}

Test(config, a_prefix_of_two_is_none)
{
	json_t *twin = edit(CONFIG_INSTANCE, INST5);

	json_set_str(twin, "name", "inst5.example.org");
	json_set_str(twin, "uuid", "11111111-1111-4111-8111-111111111111");
	config_put(config, CONFIG_INSTANCE, twin);
	cr_assert_null(config_find(config, CONFIG_INSTANCE, "inst5"));
	cr_assert_not_null(
		config_find(config, CONFIG_INSTANCE, "inst5.example.org"));
}

Test(config, indexes_follow_changes)
{
	json_t *instance = edit(CONFIG_INSTANCE, INST48);
	json_t *node;

	cr_assert_eq(count(config_node_primaries, NODE1), 3);
	json_set_str(instance, "primary_node", NODE3);
	json_set_str(instance, "name", "other.example.com");
	config_put(config, CONFIG_INSTANCE, instance);
	cr_assert_eq(count(config_node_primaries, NODE1), 2);
	cr_assert_eq(count(config_node_primaries, NODE3), 2);
	cr_assert_null(config_find(config, CONFIG_INSTANCE, "inst48"));
	cr_assert_not_null(config_find(config, CONFIG_INSTANCE, "other"));
	config_remove(config, CONFIG_INSTANCE, INST48);
	cr_assert_eq(count(config_node_primaries, NODE3), 1);
	cr_assert_null(config_find(config, CONFIG_INSTANCE, "other"));

	cr_assert_eq(count(config_group_nodes, GROUP), 3);
	node = edit(CONFIG_NODE, NODE3);
	json_set_str(node, "group", "g");
	config_put(config, CONFIG_NODE, node);
	cr_assert_eq(count(config_group_nodes, GROUP), 2);
	cr_assert_eq(count(config_group_nodes, "g"), 1);
}

static void put_drbd(const char *uuid, const char *a, const char *b)
{
	config_put(config, CONFIG_DISK,
		   json_make("{s:s, s:s, s:[s,s,i,i,i,s], s:[]}", "uuid", uuid,
			     "dev_type", "drbd", "logical_id", a, b, 11000, 0,
			     0, "secret", "children"));
}

Test(config, secondaries_come_from_drbd_disks)
{
	json_t *instance = edit(CONFIG_INSTANCE, INST48);
	auto_strv struct strv nodes = {0};

	json_object_set_new(instance, "disks", json_make("[s]", "d1"));
	config_put(config, CONFIG_INSTANCE, instance);
	cr_assert_eq(count(config_node_secondaries, NODE2), 0);
	put_drbd("d1", NODE1, NODE2);
	cr_assert_eq(count(config_node_secondaries, NODE2), 1);
	config_instance_secondaries(
		config, config_get(config, CONFIG_INSTANCE, INST48), &nodes);
	cr_assert_eq(nodes.n, 1);
	cr_assert_str_eq(nodes.items[0], NODE2);
	put_drbd("d1", NODE1, NODE3);
	cr_assert_eq(count(config_node_secondaries, NODE2), 0);
	cr_assert_eq(count(config_node_secondaries, NODE3), 1);
	config_remove(config, CONFIG_DISK, "d1");
	cr_assert_eq(count(config_node_secondaries, NODE3), 0);
}

Test(config, sorts_names_as_people_do)
{
	auto_strv struct strv uuids = {0};

	config_sorted(config, CONFIG_INSTANCE, &uuids);
	cr_assert_eq(uuids.n, 6);
	cr_assert_str_eq(config_name(config, CONFIG_INSTANCE, uuids.items[0]),
			 "inst5.example.com");
	cr_assert_str_eq(config_name(config, CONFIG_INSTANCE, uuids.items[5]),
			 "inst48.example.com");
}

Test(config, counts_candidates)
{
	json_t *node = edit(CONFIG_NODE, NODE3);
	size_t now, max, should;

	json_set_bool(node, "master_candidate", false);
	json_set_bool(node, "offline", true);
	config_put(config, CONFIG_NODE, node);
	config_candidate_stats(config, &now, &max, &should);
	cr_assert_eq(now, 2);
	cr_assert_eq(max, 2);
	cr_assert_eq(should, 2);
}

/* Each changes the good document; none may load. */
static void refuse(void (*spoil)(json_t *document), enum error_kind kind)
{
	auto_json json_t *document = config_document(config);
	auto_json json_t *copy = json_deep_copy(document);
	auto_free char *text = NULL;
	struct config *loaded;

	spoil(copy);
	text = json_text(copy);
	cr_assert_eq(fs_write_atomic(path(root.paths, PATH_CONFIG_DATA), text,
				     strlen(text), 0640, &err),
		     0);
	loaded = config_load(&disk, root.paths, &err);
	cr_assert_null(loaded);
	cr_assert_eq(err.kind, kind, "%s", err.text);
}

static void old_version(json_t *d)
{
	json_set_int(d, "version", 2160000);
}

/* Instances had their disks inside. */
static void much_older_version(json_t *d)
{
	json_t *inst = json_object_get(json_object_get(d, "instances"), INST5);

	json_set_int(d, "version", 2120000);
	json_object_set_new(inst, "disks", json_make("[{}]"));
}

static void nodes_list(json_t *d)
{
	json_object_set_new(d, "nodes", json_array());
}

static void no_master(json_t *d)
{
	json_object_set_new(json_object_get(d, "cluster"), "master_node",
			    json_integer(4));
}

static void wrong_uuid(json_t *d)
{
	json_set_str(json_object_get(json_object_get(d, "nodes"), NODE1),
		     "uuid", NODE2);
}

static void same_name(json_t *d)
{
	json_set_str(json_object_get(json_object_get(d, "nodes"), NODE1),
		     "name", "node2.example.com");
}

static void disks_number(json_t *d)
{
	json_set_int(json_object_get(json_object_get(d, "instances"), INST5),
		     "disks", 3);
}

Test(config, refuses_what_cannot_be_used)
{
	refuse(old_version, ERR_CONFIG_VERSION);
	refuse(much_older_version, ERR_CONFIG_VERSION);
	refuse(nodes_list, ERR_CONFIG);
	refuse(no_master, ERR_CONFIG);
	refuse(wrong_uuid, ERR_CONFIG);
	refuse(same_name, ERR_CONFIG);
	refuse(disks_number, ERR_CONFIG);
}

Test(config, reads_3_1_and_files_without_all_containers)
{
	auto_json json_t *document = config_document(config);
	auto_free char *text = NULL;

	json_set_int(document, "version", 3010000);
	json_object_del(document, "filters");
	json_object_del(document, "networks");
	json_set_str(document, "of_the_future", "kept");
	text = json_text(document);
	cr_assert_eq(fs_write_atomic(path(root.paths, PATH_CONFIG_DATA), text,
				     strlen(text), 0640, &err),
		     0);
	config_free(config);
	config = config_load(&disk, root.paths, &err);
	cr_assert_not_null(config, "%s", err.text);
	cr_assert_eq(json_object_size(config_all(config, CONFIG_NETWORK)), 0);
	json_decref(steal(&document));
	cr_assert_eq(run(redistribute), 0);
	document = on_disk();
	cr_assert_str_eq(json_str(document, "of_the_future", ""), "kept");
}

Test(config, garbage_is_an_error)
{
	static const char *const texts[] = {"", "{", "[]", "7", "{\"a\":1}"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cr_assert_eq(fs_write_atomic(path(root.paths, PATH_CONFIG_DATA),
					     texts[i], strlen(texts[i]), 0640,
					     &err),
			     0);
		cr_assert_null(config_load(&disk, root.paths, &err));
	}
}

/* --- damage --- */

static struct timespec time_of(const char *file)
{
	struct stat st;

	cr_assert_eq(stat(file, &st), 0);
	return st.st_mtim;
}

/* At a time of its own: a file system's clock may tick only every few
 * milliseconds. */
static void write_text(const char *text)
{
	const char *file = path(root.paths, PATH_CONFIG_DATA);
	struct timespec times[2];

	cr_assert_eq(fs_write_atomic(file, text, strlen(text), 0640, &err), 0);
	times[0] = times[1] = time_of(file);
	times[0].tv_sec = ++times[1].tv_sec;
	cr_assert_eq(utimensat(AT_FDCWD, file, times, 0), 0);
}

/* The file's text with something else in it; to be freed. */
static char *other_text(const char *container, json_t *value STEALS)
{
	auto_json json_t *document = on_disk();
	char *text;

	if (value != NULL)
		json_object_set_new(document, container, value);
	text = json_text(document);
	return text;
}

static void reload(void)
{
	config_free(config);
	config = config_load(&disk, root.paths, &err);
}

Test(config, damage_that_is_still_json_is_named_with_its_path)
{
	auto_free char *a = other_text("instances", json_null());
	auto_free char *b = other_text("nodegroups", json_object());

	write_text(a);
	reload();
	cr_assert_null(config);
	cr_assert_eq(err.kind, ERR_CONFIG);
	cr_assert_not_null(strstr(err.text, "/instances: an object expected"),
			   "%s", err.text);
	write_text(b);
	reload();
	cr_assert_null(config);
	cr_assert_not_null(strstr(err.text, "/group: there is no '"), "%s",
			   err.text);
}

/* The same with the file's old time: nobody has written it. */
Test(config, what_nobody_wrote_is_damage_whatever_it_says)
{
	const char *file = path(root.paths, PATH_CONFIG_DATA);
	auto_free char *text = NULL;
	struct timespec times[2];
	char *digit;

	cr_assert_eq(run(redistribute), 0);
	times[0] = times[1] = time_of(file);
	text = other_text("", NULL);
	digit = strstr(text, "\"maxmem\":");
	cr_assert_not_null(digit);
	digit += strlen("\"maxmem\":");
	*digit = *digit == '9' ? '8' : (char)(*digit + 1);
	write_text(text);
	reload();
	cr_assert_not_null(config, "somebody wrote it: %s", err.text);
	cr_assert_eq(utimensat(AT_FDCWD, file, times, 0), 0);
	reload();
	cr_assert_null(config);
	cr_assert_not_null(strstr(err.text, "not what was written"), "%s",
			   err.text);
}

Test(config, what_somebody_edited_is_taken_under_a_new_serial)
{
	auto_strv struct strv problems = {0};
	auto_free char *text = NULL, *all = NULL;
	auto_json json_t *cluster = NULL, *written = NULL;
	int64_t serial;

	cr_assert_eq(run(redistribute), 0);
	serial = config_serial(config);
	cluster = json_deep_copy(config_cluster(config));
	json_set_str(cluster, "master_netdev", "eth7");
	text = other_text("cluster", steal(&cluster));
	write_text(text);
	reload();
	cr_assert_not_null(config, "%s", err.text);
	config_verify(config, &problems);
	all = strv_join(&problems, "|");
	cr_assert_not_null(strstr(all, "changed by hand"), "%s", all);
	cr_assert_eq(run(redistribute), 0);
	written = on_disk();
	cr_assert_eq(json_int(written, "serial_no", 0), serial + 1);
	cr_assert_str_eq(
		json_str(json_get(written, "cluster"), "master_netdev", ""),
		"eth7");
}

/* It ran so before. */
Test(config, what_we_wrote_ourselves_is_no_reason_to_stay_down)
{
	json_t *instance = edit(CONFIG_INSTANCE, INST48);
	auto_strv struct strv problems = {0};
	auto_free char *all = NULL;

	json_set_str(instance, "primary_node", "nowhere");
	json_set_int(instance, "disks_active", 3);
	config_put(config, CONFIG_INSTANCE, instance);
	cr_assert_eq(run(commit), 0);
	reload();
	cr_assert_not_null(config, "%s", err.text);
	config_verify(config, &problems);
	all = strv_join(&problems, "|");
	cr_assert_not_null(strstr(all, "/disks_active: true or false expected"),
			   "%s", all);
}

Test(config, verify_names_what_is_wrong)
{
	auto_strv struct strv problems = {0};
	auto_free char *all = NULL;
	json_t *instance = edit(CONFIG_INSTANCE, INST48);

	config_verify(config, &problems);
	cr_assert_eq(problems.n, 0, "%s", problems.items[0]);
	json_set_str(instance, "primary_node", "nowhere");
	config_put(config, CONFIG_INSTANCE, instance);
	config_remove(config, CONFIG_INSTANCE, INST5);
	config_verify(config, &problems);
	all = strv_join(&problems, "|");
	cr_assert_not_null(strstr(all, "unknown primary node nowhere"));
	cr_assert_not_null(strstr(all, "belongs to no instance"));
}

static bool is_named(const struct strv *problems, const char *what)
{
	for (size_t i = 0; i < problems->n; i++)
		if (str_starts(problems->items[i], what))
			return true;
	return false;
}

/* An instance's NICs and disks say the same as its network and its disks do. */
Test(config, verify_names_what_is_said_in_two_ways)
{
	static const char *const wanted[] = {
		"network net1 reserves addresses that no NIC has (gnt-network "
		"modify --remove-reserved-ips frees them): 192.0.2.2, "
		"192.0.2.3",
		"network net1 does not reserve addresses that NICs have "
		"(gnt-network modify --add-reserved-ips does): 192.0.2.5",
		"instance inst5.example.com has wrongly named disks: name of "
		"disk 0 should be 'disk/0', but is 'disk/7'",
	};
	auto_strv struct strv problems = {0};
	json_t *inst = edit(CONFIG_INSTANCE, INST5);
	json_t *first;

	json_object_set_new(inst, "nics",
			    json_make("[{s:s, s:s, s:s, s:{}}]", "mac",
				      "aa:00:00:01:02:03", "ip", "192.0.2.5",
				      "network", "n1", "nicparams"));
	config_put(config, CONFIG_INSTANCE, inst);
	config_put(config, CONFIG_NETWORK,
		   json_make("{s:s, s:s, s:s, s:s, s:s}", "uuid", "n1", "name",
			     "net1", "network", "192.0.2.0/29", "reservations",
			     "0011", "ext_reservations", "10000001"));
	first = edit(
		CONFIG_DISK,
		json_string_value(json_array_get(
			json_get(config_get(config, CONFIG_INSTANCE, INST5),
				 "disks"),
			0)));
	json_set_str(first, "iv_name", "disk/7");
	config_put(config, CONFIG_DISK, first);
	config_verify(config, &problems);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect(is_named(&problems, wanted[i]), "%s", wanted[i]);
	cr_expect_eq(problems.n, ARRAY_SIZE(wanted), "%s",
		     problems.n > 0 ? problems.items[problems.n - 1] : "");
}

static const json_t *mirror(const char *uuid, int port, int minor)
{
	return config_put(config, CONFIG_DISK,
			  json_make("{s:s, s:s, s:[s, s, i, i, i, s], s:s}",
				    "uuid", uuid, "dev_type", "drbd",
				    "logical_id", NODE1, NODE2, port, minor,
				    minor + 1, "secret", "iv_name", ""));
}

static void give_nic(const char *uuid, const char *mac, const char *ip)
{
	json_t *inst = edit(CONFIG_INSTANCE, uuid);

	json_object_set_new(inst, "nics",
			    json_make("[{s:s, s:s, s:{}}]", "mac", mac, "ip",
				      ip, "nicparams"));
	json_set_int(inst, "network_port", 11003);
	config_put(config, CONFIG_INSTANCE, inst);
}

Test(config, verify_names_what_more_than_one_has)
{
	static const char *const wanted[] = {
		"IP address 203.0.113.9 on bridged/",
		"IP address 127.0.2.1 is used by more than one: node node",
		"MAC address aa:00:00:01:02:03 is used by more than one: NIC 0 "
		"of instance",
		"Port 11003 is used by more than one: ",
		"Port 11007 is used by more than one: ",
		"DRBD minor 4 of node node1",
		"DRBD minor 5 of node node2",
	};
	auto_strv struct strv problems = {0};
	json_t *cluster = config_edit(config_cluster(config));
	json_t *node = edit(CONFIG_NODE, NODE2);

	json_set_str(node, "secondary_ip", "127.0.2.1");
	config_put(config, CONFIG_NODE, node);
	node = edit(CONFIG_NODE, NODE3);
	json_set_str(node, "secondary_ip", "127.0.2.1");
	config_put(config, CONFIG_NODE, node);
	json_object_set_new(cluster, "tcpudp_port_pool",
			    json_make("[i, i]", 11007, 11008));
	config_put_cluster(config, cluster);
	give_nic(INST5, "aa:00:00:01:02:03", "203.0.113.9");
	give_nic(INST48, "aa:00:00:01:02:03", "203.0.113.9");
	mirror("d1", 11006, 4);
	mirror("d2", 11007, 4);
	config_verify(config, &problems);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		cr_expect(is_named(&problems, wanted[i]), "%s", wanted[i]);
	cr_expect_eq(problems.n, ARRAY_SIZE(wanted));
	if (problems.n != ARRAY_SIZE(wanted))
		for (size_t i = 0; i < problems.n; i++)
			cr_log_error("%s", problems.items[i]);
}

static void drop(json_t *cluster, const char *key, const char *key2,
		 const char *name)
{
	json_t *all = json_deep_copy(json_object_get(cluster, key));
	json_t *set = key2 == NULL ? all : json_object_get(all, key2);

	cr_assert_eq(json_object_del(set, name), 0, "%s", name);
	json_object_set_new(cluster, key, all);
}

/* As a file has it that Ganeti's have not loaded since it was converted. */
Test(config, parameters_that_a_file_lacks_are_put_there)
{
	auto_json json_t *whole = json_ref(config_cluster(config));
	json_t *cluster = config_edit(whole);

	cr_expect_eq(config_complete(config), 0);
	drop(cluster, "hvparams", "kvm", "disk_aio");
	drop(cluster, "hvparams", NULL, "lxc");
	drop(cluster, "beparams", "default", "always_failover");
	drop(cluster, "nicparams", "default", "vlan");
	drop(cluster, "ndparams", NULL, "ssh_port");
	drop(cluster, "diskparams", "drbd", "protocol");
	drop(cluster, "ipolicy", NULL, "std");
	drop(cluster, "ipolicy", NULL, "disk-templates");
	config_put_cluster(config, cluster);
	cr_expect_eq(config_complete(config), 1);
	for (size_t i = 0; i < 5; i++) {
		static const char *const keys[] = {"hvparams", "beparams",
						   "nicparams", "ndparams",
						   "diskparams"};

		cr_expect(json_equal(json_get(whole, keys[i]),
				     json_get(config_cluster(config), keys[i])),
			  "%s", keys[i]);
	}
	cluster = json_unconst(json_get(config_cluster(config), "ipolicy"));
	cr_expect_eq(json_int(json_get(cluster, "std"), "disk-size", 0), 1024);
	cr_expect(json_equal(json_get(cluster, "disk-templates"),
			     json_get(whole, "enabled_disk_templates")));
	cr_expect_eq(config_complete(config), 0);
}
