/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of the remote API, as the master keeps them. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/store/store.h"
#include "masterd/core/tokens.h"
#include "tests/lib/fake_disk.h"

static struct fake_disk disk;
static struct store *store;
static struct tokens *tokens;

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

TestSuite(tokens, .init = setup, .fini = teardown, .timeout = 60);

static WAITS void begin(void)
{
	struct error err;

	store = store_open(
		&(struct store_config){.disk = &disk.disk, .dir = "/q"}, &err);
	cr_assert_not_null(store, "%s", err.text);
	cr_assert_eq(store_settle(store, &err), 0);
	tokens = tokens_create(store);
}

static WAITS void end(void)
{
	tokens_free(tokens);
	store_flush(store);
	store_close(store);
}

static void run(void (*fn)(void *arg))
{
	task_spawn("test", fn, NULL);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
}

/* Its id, and its hash, are the user's name and the number. */
static WAITS int add(const char *user, bool session, int number,
		     struct error *err)
{
	auto_free char *id = xprintf("%s-%d", user, number);

	return tokens_add(tokens,
			  json_make("{s:s, s:s, s:s, s:b, s:f, s:n}", "id", id,
				    "hash", id, "user", user, "session",
				    (int)session, "created", (double)number,
				    "expires"),
			  err);
}

static bool is_there(const char *user, int number)
{
	auto_free char *hash = xprintf("%s-%d", user, number);

	return tokens_find(tokens, hash) != NULL;
}

static WAITS void many_sessions(void *arg)
{
	struct error err;

	(void)arg;
	begin();
	cr_assert_eq(add("page", false, 0, &err), 0);
	cr_assert_eq(add("other", true, 0, &err), 0);
	for (int i = 1; i <= TOKENS_SESSIONS_MAX + 2; i++)
		cr_assert_eq(add("page", true, i, &err), 0);
	cr_expect_not(is_there("page", 1), "the oldest makes room");
	cr_expect_not(is_there("page", 2));
	cr_expect(is_there("page", 3));
	cr_expect(is_there("page", TOKENS_SESSIONS_MAX + 2));
	cr_expect(is_there("page", 0), "a token is no session");
	cr_expect(is_there("other", 0), "nor is one of somebody else");
	end();
}

Test(tokens, the_oldest_session_of_a_user_makes_room)
{
	run(many_sessions);
}

static WAITS void many_tokens(void *arg)
{
	struct error err;

	(void)arg;
	begin();
	for (int i = 0; i < TOKENS_USER_MAX; i++)
		cr_assert_eq(add("greedy", false, i, &err), 0);
	cr_expect_eq(add("greedy", false, TOKENS_USER_MAX, &err), -1);
	cr_expect_eq(err.kind, ERR_QUEUE_FULL);
	cr_expect(strstr(err.text, "greedy") != NULL, "%s", err.text);
	cr_expect_eq(add("greedy", true, TOKENS_USER_MAX + 1, &err), 0,
		     "he may log in");
	cr_expect_eq(add("other", false, 0, &err), 0);
	cr_assert_eq(tokens_remove(tokens, "greedy-7", "greedy", &err), 0);
	cr_expect_eq(add("greedy", false, TOKENS_USER_MAX, &err), 0);
	end();
}

Test(tokens, one_user_does_not_get_all_of_them)
{
	run(many_tokens);
}
