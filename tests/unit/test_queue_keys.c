/* SPDX-License-Identifier: BSD-2-Clause */
/* Submissions under a key are one job, also after a crash. */
#include "lib/store/store.h"
#include "tests/lib/queue_world.h"

TestSuite(queue_keys, .init = world_begin, .fini = world_teardown,
	  .timeout = 60);

#define KEY_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define KEY_C "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"

struct once {
	const char *key, *digest, *act;
	uint64_t id;
	int rc;
	struct error err;
};

static void do_submit(void *arg)
{
	struct once *o = arg;
	auto_json json_t *ops =
		json_make("[{s:s, s:s}]", "OP_ID", "OP_TEST", "act", o->act);

	o->rc = queue_submit_once(world.queue, ops, o->key, o->digest, &o->id,
				  &o->err);
}

static uint64_t submit(const char *key, const char *digest)
{
	struct once o = {.key = key, .digest = digest, .act = "ok"};

	world_do(do_submit, &o);
	cr_assert_eq(o.rc, 0, "%s", o.err.text);
	return o.id;
}

static void refused(const char *key, const char *digest, const char *act,
		    const char *ecode)
{
	struct once o = {.key = key, .digest = digest, .act = act};

	world_do(do_submit, &o);
	cr_assert_eq(o.rc, -1);
	cr_expect(ecode == NULL || error_is(&o.err, ecode), "%s", o.err.text);
}

Test(queue_keys, the_same_key_is_the_same_job)
{
	uint64_t id = submit(KEY_A, "d1");

	cr_expect_eq(submit(KEY_A, "d1"), id);
	cr_expect_neq(submit(KEY_B, "d1"), id);
	refused(KEY_A, "d2", "ok", ECODE_REUSED);
	cr_expect_eq(submit(KEY_A, "d1"), id);
}

Test(queue_keys, what_was_refused_leaves_no_key)
{
	refused(KEY_A, "d1", "bad", ECODE_INVAL);
	submit(KEY_A, "d2");
}

Test(queue_keys, they_outlive_a_crash)
{
	uint64_t id = submit(KEY_A, "d1");

	world_crash(1);
	world_reopen();
	cr_expect_eq(submit(KEY_A, "d1"), id);
	refused(KEY_A, "d2", "ok", ECODE_REUSED);
}

Test(queue_keys, a_day_later_they_are_forgotten)
{
	uint64_t id = submit(KEY_A, "d1"), second;

	world.now_us += (QUEUE_KEY_S + 1) * INT64_C(1000000);
	second = submit(KEY_A, "d2");
	cr_expect_neq(second, id);
	world_crash(1);
	world_reopen();
	cr_expect_eq(submit(KEY_A, "d2"), second);
}

static bool has_file(const char *key)
{
	auto_free char *path = xprintf("/q/key-%s", key);

	return fake_disk_text(&world.disk, path) != NULL;
}

Test(queue_keys, a_clock_that_was_ahead_keeps_none_for_ever)
{
	const int64_t year_us = INT64_C(365) * 86400 * 1000000,
		      day_us = (QUEUE_KEY_S + 1) * INT64_C(1000000);

	world.now_us += year_us;
	submit(KEY_A, "d1");
	world.now_us -= year_us;
	submit(KEY_B, "d1");
	world.now_us += day_us;
	submit(KEY_C, "d1");
	world_stop();
	cr_expect_not(has_file(KEY_A));
	cr_expect_not(has_file(KEY_B));
	cr_expect(has_file(KEY_C));
}

static void both(void *arg)
{
	struct once *o = arg;

	do_submit(&o[0]);
}

static void second(void *arg)
{
	struct once *o = arg;

	do_submit(&o[1]);
}

Test(queue_keys, while_the_first_is_under_way_the_second_is_told)
{
	struct once o[2] = {{.key = KEY_A, .digest = "d", .act = "ok"},
			    {.key = KEY_A, .digest = "d", .act = "ok"}};

	task_spawn("first", both, o);
	task_spawn("second", second, o);
	world_settle();
	cr_expect_eq(o[0].rc, 0);
	cr_expect_eq(o[1].rc, -1);
	cr_expect(error_is(&o[1].err, ECODE_UNDERWAY));
}

/* --- in a log that others have, too --- */

#define LARGE (3 * 1024 * 1024)

static uint64_t n_records;
static bool job_seen;
/* The first record with the job's file has that of its key, too. */
static bool together;

static bool has(const char *bytes, size_t len, const char *name)
{
	return memmem(bytes, len, name, strlen(name)) != NULL;
}

static WAITS int log_commit(void *arg, char *bytes STEALS, size_t len,
			    struct error *err)
{
	auto_free char *owned = bytes;

	(void)arg;
	if (!job_seen && has(owned, len, "job-1")) {
		job_seen = true;
		together = has(owned, len, "key-" KEY_A);
	}
	return store_take_record(world.store, ++n_records, owned, len, err);
}

static void open_in_log(void *arg)
{
	struct error err;

	(void)arg;
	world.store =
		store_open(&(struct store_config){.disk = &world.disk.disk,
						  .dir = "/q",
						  .commit = log_commit},
			   &err);
	cr_assert_not_null(world.store, "%s", err.text);
	cr_assert_eq(world_open(&err), 0, "%s", err.text);
}

static void submit_large(void *arg)
{
	auto_free char *value = xalloc(LARGE + 1);
	auto_json json_t *ops = NULL;
	struct error err;
	uint64_t id;

	(void)arg;
	memset(value, 'x', LARGE);
	ops = json_make("[{s:s, s:s, s:s}]", "OP_ID", "OP_TEST", "act", "ok",
			"value", value);
	cr_assert_eq(
		queue_submit_once(world.queue, ops, KEY_A, "d1", &id, &err), 0,
		"%s", err.text);
	cr_assert_eq(id, 1);
}

/* Were the key in a later record, a master that ends in between would leave a
 * job that is run twice. */
Test(queue_keys, a_large_job_is_in_one_record_with_its_key)
{
	world_stop();
	world_do(open_in_log, NULL);
	world_start();
	world_do(submit_large, NULL);
	cr_expect(together);
	world_stop();
	store_close(world.store);
}
