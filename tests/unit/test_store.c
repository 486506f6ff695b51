/* SPDX-License-Identifier: BSD-2-Clause */
/* The store without a journal, whose records are those of a log. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/event/task.h"
#include "lib/store/store_private.h"
#include "tests/lib/fake_disk.h"

#define DIR "/q"

static struct fake_disk disk;
static struct store *store;

static WAITS int no_commit(void *arg, char *bytes STEALS, size_t len,
			   struct error *err)
{
	(void)arg;
	(void)len;
	free(bytes);
	return error_set(err, ERR_QUEUE, NULL, "nobody commits here");
}

static void setup(void)
{
	tasks_init(uv_default_loop());
	tasks_set_simulated(true);
	fake_disk_init(&disk);
}

static void teardown(void)
{
	tasks_set_simulated(false);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	fake_disk_done(&disk);
}

TestSuite(store, .init = setup, .fini = teardown, .timeout = 20);

static WAITS void begin(void)
{
	struct error err;

	store = store_open(&(struct store_config){.disk = &disk.disk,
						  .dir = DIR,
						  .commit = no_commit},
			   &err);
	cr_assert_not_null(store, "%s", err.text);
}

static WAITS void end(void)
{
	store_flush(store);
	store_close(store);
}

static void run(void (*fn)(void *arg))
{
	task_spawn("test", fn, NULL);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

static WAITS void another_log(void *arg)
{
	struct error err;

	(void)arg;
	begin();
	store_begin_at(store, 500);
	store_take_file(store, "job-1", xstrdup("old"));
	cr_assert_eq(store_write_out(store, &err), 0);
	store_begin_at(store, 1);
	store_take_file(store, "job-2", xstrdup("new"));
	cr_assert_leq(store_written(store), 1, "it is in no file yet");
	cr_assert_eq(store_write_out(store, &err), 0);
	cr_assert_eq(store_written(store), UINT64_MAX);
	end();
}

/* What was in the files under the number of a former log says nothing. */
Test(store, numbers_of_a_former_log_do_not_count)
{
	run(another_log);
}

/* While the folder is read, what is not in the files yet gets there. */
static WAITS void write_once(void)
{
	struct error err;

	tasks_set_came_in(NULL);
	cr_assert_eq(store_write_out(store, &err), 0);
}

static WAITS void list_beside(void *arg)
{
	auto_strv struct strv names = {0};
	struct error err;

	(void)arg;
	begin();
	store_take_file(store, "job-1", xstrdup("text"));
	tasks_set_came_in(write_once);
	cr_assert_eq(store_list(store, "", &names, &err), 0);
	cr_assert(strv_has(&names, "job-1"));
	end();
}

Test(store, a_file_that_is_written_while_the_folder_is_read_is_listed)
{
	run(list_beside);
}

static bool is_written(void)
{
	return fake_disk_text(&disk, DIR "/job-1") != NULL;
}

static WAITS void in_time(void *arg)
{
	(void)arg;
	begin();
	store_begin_at(store, 1);
	store_take_file(store, "job-1", xstrdup("text"));
	/* The former write is done but for its memory. */
	store->writing_files = true;
	timer_stop(&store->timer);
	store_on_timer(&store->timer);
	store->writing_files = false;
	for (int i = 0; i < 10 && !is_written(); i++)
		task_sleep(STORE_IDLE_US / 1000);
	cr_expect(is_written());
	end();
}

Test(store, a_time_that_comes_during_a_write_is_not_lost)
{
	run(in_time);
}
