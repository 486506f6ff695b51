/* SPDX-License-Identifier: BSD-2-Clause */
/* The terms that a node obeys and its copies, on a disk that forgets. */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/replica/candidate.h"
#include "tests/lib/compat.h"
#include "tests/lib/fake_disk.h"
#include "tests/lib/root.h"

#define JOURNAL (64 * 1024)

static struct fake_disk disk;
static struct paths *paths;
static struct candidate c;
static struct error err;
static bool taken; /* the queue's lock, by anybody */
static bool runs;  /* the node's master daemon */

static int lock(void *arg, struct error *e)
{
	(void)arg;
	if (taken)
		return error_set(e, ERR_QUEUE, NULL, "somebody has the queue");
	taken = true;
	return 0;
}

static void unlock(void *arg, int handle)
{
	(void)arg;
	(void)handle;
	taken = false;
}

static bool owner_runs(void *arg)
{
	(void)arg;
	return runs;
}

static void start(void)
{
	candidate_init(&c, &disk.disk, paths,
		       (struct replica_config){.journal_size = JOURNAL,
					       .owner_runs = owner_runs,
					       .lock = lock,
					       .unlock = unlock});
}

static void begin(void)
{
	mem_init();
	test_loop_start();
	fake_disk_init(&disk);
	cr_assert_eq(disk.disk.mkdirs(&disk.disk, "/root/var/lib/ganeti", 0755,
				      &err),
		     0);
	paths = paths_create("/root", "node1.example.com");
	taken = runs = false;
	start();
}

static void finish_task(void *arg)
{
	(void)arg;
	replica_finish(c.queue);
}

static void run_finish(void)
{
	task_spawn("finish", finish_task, NULL);
	test_run_tasks();
}

static void end(void)
{
	run_finish();
	candidate_done(&c);
	cr_expect(!taken);
	test_loop_stop();
	paths_destroy(paths);
	fake_disk_done(&disk);
}

TestSuite(candidate, .init = begin, .fini = end, .timeout = 60);

/* Each runs in a task of its own to its end. */
struct step {
	const char *name, *text, *folder;
	bool own;
	int rc;
	json_t *result;
};

static int run(task_fn *fn, struct step *s)
{
	task_spawn("step", fn, s);
	test_run_tasks();
	return s->rc;
}

static void write_task(void *arg)
{
	struct step *s = arg;
	struct replica_file f = {.name = mem_unconst(s->name)};

	if (s->text != NULL) {
		f.text = xstrdup(s->text);
		f.len = strlen(f.text);
	}
	s->rc = replica_update(c.queue, &f, 1, &err);
	free(f.text);
}

static int write_file(const char *name, const char *text)
{
	return run(write_task, &(struct step){.name = name, .text = text});
}

static void state_task(void *arg)
{
	((struct step *)arg)->result =
		candidate_state(&c, "node9", false, &err);
}

static json_t *state(void)
{
	struct step s = {0};

	run(state_task, &s);
	cr_assert_not_null(s.result);
	return s.result;
}

static void list_task(void *arg)
{
	struct step *s = arg;

	s->result = replica_list(c.queue, s->folder, s->own, &err);
}

static json_t *list(const char *folder)
{
	struct step s = {.folder = folder};

	run(list_task, &s);
	return s.result;
}

static json_t *list_own(void)
{
	struct step s = {.folder = "", .own = true};

	run(list_task, &s);
	return s.result;
}

static void power_cut(void)
{
	candidate_done(&c);
	fake_disk_crash(&disk, 7);
	start();
}

/* --- terms --- */

Test(candidate, a_lower_term_is_stale_after_a_crash)
{
	cr_assert_eq(candidate_check(&c, 5, &err), CANDIDATE_SERVE);
	cr_assert_eq(candidate_check(&c, 4, &err), CANDIDATE_STALE);
	cr_assert_not_null(strstr(err.text, "term 5"));
	power_cut();
	cr_assert_eq(candidate_check(&c, 4, &err), CANDIDATE_STALE);
	cr_assert_eq(candidate_check(&c, 5, &err), CANDIDATE_SERVE);
	cr_assert_eq(candidate_check(&c, 0, &err), CANDIDATE_SERVE);
}

Test(candidate, a_higher_term_is_kept_before_it_is_served)
{
	cr_assert_eq(candidate_check(&c, 8, &err), CANDIDATE_SERVE);
	power_cut();
	cr_assert_eq(candidate_check(&c, 7, &err), CANDIDATE_STALE);
	disk.fail_at = disk.n_ops + 1;
	cr_assert_eq(candidate_check(&c, 9, &err), CANDIDATE_ERROR);
	cr_assert_eq(candidate_check(&c, 8, &err), CANDIDATE_SERVE);
}

/* --- the copy of the queue --- */

Test(candidate, what_was_answered_survives_a_power_cut)
{
	auto_json json_t *found = NULL;

	cr_assert_eq(write_file("job-3", "three"), 0);
	cr_assert_eq(write_file("job-4", "four"), 0);
	power_cut();
	taken = false; /* the dead daemon's */
	found = list_own();
	cr_assert_not_null(json_get(found, "job-3"));
	cr_assert_not_null(json_get(found, "job-4"));
}

Test(candidate, the_list_has_hashes_and_sizes_of_archive_folders)
{
	auto_json json_t *all = NULL, *folder = NULL;

	cr_assert_eq(write_file("job-3", "three"), 0);
	cr_assert_eq(write_file("job-4", "four"), 0);
	cr_assert_eq(write_file("job-4", NULL), 0);
	cr_assert_eq(write_file("archive/1/job-10000", "old"), 0);
	all = list("");
	cr_assert_str_eq(json_str(all, "job-3", ""), "5a73f1720ca645a3");
	cr_assert_null(json_get(all, "job-4"));
	cr_assert_eq(json_int(all, "archive/1", 0), 1);
	folder = list("archive/1");
	cr_assert_not_null(json_get(folder, "archive/1/job-10000"));
	cr_assert_null(list("archive/../.."));
}

Test(candidate, only_files_of_the_queue_are_taken)
{
	static const char *const bad[] = {
		"lock",	       "journal",   "job-",    "job-1x",
		"../job-1",    "archive/1", "job-1/x", "archive//job-1",
		"archive/1/x", "history.db"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_assert_eq(write_file(bad[i], "x"), -1, "%s", bad[i]);
}

Test(candidate, nothing_is_taken_while_the_master_daemon_has_the_queue)
{
	taken = true;
	cr_assert_eq(write_file("job-3", "three"), -1);
	cr_assert_not_null(strstr(err.text, "somebody has the queue"));
	taken = false;
	cr_assert_eq(write_file("job-3", "three"), 0);
}

/* Or the master daemon that is started next could not have it. */
Test(candidate, who_looks_does_not_keep_the_queue)
{
	json_decref(list(""));
	cr_assert_not(taken);
}

static void read_task(void *arg)
{
	auto_json json_t *names = json_make("[s, s]", "job-3", "job-4");
	struct step *step = arg;

	step->result = replica_read(c.queue, names, &err);
}

/* A copy would be made without it. */
Test(candidate, a_file_that_cannot_be_read_is_not_one_that_is_gone)
{
	auto_json json_t *found = NULL;
	struct step step = {0};

	cr_assert_eq(write_file("job-3", "three"), 0);
	run_finish();
	run(read_task, &step);
	found = step.result;
	cr_assert_str_eq(json_str(found, "job-3", ""), "three");
	cr_assert_null(json_get(found, "job-4"));
	disk.die_at = disk.n_ops;
	run(read_task, &step);
	cr_assert_null(step.result);
	disk.die_at = 0;
}

static void tidy_task(void *arg)
{
	(void)arg;
	replica_tidy(c.queue);
}

Test(candidate, nor_does_who_tidies)
{
	cr_assert_eq(write_file("job-3", "three"), 0);
	power_cut();
	taken = false; /* the dead daemon's */
	task_spawn("tidy", tidy_task, NULL);
	test_run_tasks();
	cr_assert_not(taken);
}

Test(candidate, a_full_disk_refuses_and_recovers)
{
	disk.fail_log = true;
	cr_assert_eq(write_file("job-3", "three"), -1);
	disk.fail_log = false;
	cr_assert_eq(write_file("job-3", "three"), 0);
}

#define PARTS 3

static void write_much(void *arg)
{
	static char *const names[PARTS] = {"job-4", "job-5", "job-6"};
	struct replica_file files[PARTS];

	for (int i = 0; i < PARTS; i++) {
		files[i] = (struct replica_file){.name = names[i],
						 .text = xalloc(JOURNAL / 4),
						 .len = JOURNAL / 4 - 1};
		memset(files[i].text, 'x', files[i].len);
	}
	((struct step *)arg)->rc = replica_update(c.queue, files, PARTS, &err);
	for (int i = 0; i < PARTS; i++)
		free(files[i].text);
}

Test(candidate, a_disk_that_fills_up_within_a_change_recovers)
{
	auto_json json_t *found = NULL;

	cr_assert_eq(write_file("job-3", "three"), 0);
	disk.fail_log_after = 2;
	cr_assert_eq(run(write_much, &(struct step){0}), -1);
	cr_assert(disk.fail_log, "it has begun");
	cr_assert_eq(write_file("job-7", "seven"), -1);
	disk.fail_log = false;
	cr_assert_eq(write_file("job-7", "seven"), 0);
	cr_assert_eq(run(write_much, &(struct step){0}), 0);
	power_cut();
	taken = false; /* the dead daemon's */
	found = list_own();
	cr_assert_not_null(json_get(found, "job-3"));
	cr_assert_not_null(json_get(found, "job-6"));
	cr_assert_not_null(json_get(found, "job-7"));
}

Test(candidate, after_a_failed_sync_nothing_is_taken_any_more)
{
	cr_assert_eq(write_file("job-2", "two"), 0);
	disk.fail_syncs = true;
	cr_assert_eq(write_file("job-3", "three"), -1);
	disk.fail_syncs = false;
	cr_assert_eq(write_file("job-3", "three"), -1);
	cr_assert_not_null(strstr(err.text, "has failed before"));
}

Test(candidate, a_list_to_build_on_has_only_what_is_durable)
{
	auto_json json_t *seen = NULL, *found = NULL;

	cr_assert_eq(write_file("job-2", "two"), 0);
	disk.fail_syncs = true;
	cr_assert_eq(write_file("job-3", "three"), -1);
	seen = list("");
	cr_assert_not_null(json_get(seen, "job-3"), "it may be lost yet");
	cr_assert_null(list_own());
	cr_assert_not_null(strstr(err.text, "has failed before"));
	power_cut();
	taken = false; /* the dead daemon's */
	found = list_own();
	cr_assert_not_null(json_get(found, "job-2"));
	cr_assert_null(json_get(found, "job-3"));
}

Test(candidate, a_list_to_build_on_takes_the_queue)
{
	auto_json json_t *found = NULL;

	runs = taken = true;
	cr_assert_null(list_own());
	cr_assert_not_null(strstr(err.text, "somebody has the queue"));
	taken = false;
	found = list_own();
	cr_assert_not_null(found);
	cr_assert(taken);
}

/* --- the configuration --- */

/* Or another node would become master with it. */
Test(candidate, a_damaged_configuration_is_none)
{
	const char *file = path(paths, PATH_CONFIG_DATA);
	auto_json json_t *config = compat_read("config.data");
	auto_json json_t *whole = NULL, *damaged = NULL, *cut = NULL;
	auto_free char *text = json_text(config), *other = NULL;

	fake_disk_put(&disk, file, text);
	whole = state();
	cr_assert(json_is_integer(json_get(whole, "config")));
	json_object_set_new(config, "instances", json_null());
	other = json_text(config);
	fake_disk_put(&disk, file, other);
	damaged = state();
	cr_assert_null(json_get(damaged, "config"));
	other[strlen(other) / 2] = '\0';
	fake_disk_put(&disk, file, other);
	cut = state();
	cr_assert_null(json_get(cut, "config"));
}
