/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may do what, and how often somebody may be wrong. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "rapi/access/auth.h"
#include "rapi/access/guard.h"
#include "rapi/access/users.h"
#include "rapi/frame/reply.h"
#include "rapi/frame/route.h"

static struct users users;

static void setup(void)
{
	mem_init();
	users_init(&users, "/nonexistent/users");
	users_parse(&users, "# a comment\n"
			    "\n"
			    "  rw secret read,write\n"
			    "ro\tpass\t read , other\r\n"
			    "none word\n"
			    "alone\n"
			    "odd {NEW}x write\n");
}

static void teardown(void)
{
	users_done(&users);
}

TestSuite(rapi_users, .init = setup, .fini = teardown);

Test(rapi_users, lines_are_users)
{
	cr_expect_eq(users_find(&users, "rw")->rights,
		     ROUTE_READ | ROUTE_WRITE);
	cr_expect_eq(users_find(&users, "ro")->rights, ROUTE_READ);
	cr_expect_eq(users_find(&users, "none")->rights, ROUTE_NONE);
	cr_expect_null(users_find(&users, "alone"));
	cr_expect_null(users_find(&users, "#"));
}

Test(rapi_users, passwords_are_plain_or_hashed)
{
	static const struct {
		const char *stored;
		bool good;
	} cases[] = {
		{"pw", true},
		{"PW", false},
		{"{cleartext}pw", true},
		{"{HA1}a5d91d0b1bd5fb3b0a9e3cf1ac1a9e2d", false},
		{"{CRYPT}*", false},
		{"{CRYPT}", false},
		{"{CRYPT}pw", false},
		{"{OTHER}pw", false},
		{"{pw", false},
		{"", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect_eq(users_verify("u", "pw", cases[i].stored),
			     cases[i].good, "%s", cases[i].stored);
}

/* Made by md5sum of ha:Ganeti Remote API:pw, and by crypt() of Python. */
Test(rapi_users, hashes_of_other_programs_are_read)
{
	cr_expect(users_verify("ha", "pw",
			       "{HA1}b1e761bd5a03f9b9960f40beabe7f097"));
	cr_expect_not(users_verify("hb", "pw",
				   "{HA1}b1e761bd5a03f9b9960f40beabe7f097"));
	cr_expect(users_verify("x", "pw",
			       "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$"
			       "U4SOHmDd8SvW5vCUKSMR6N835VPwFAtgYNhQ9mFFeL5"));
	cr_expect_not(
		users_verify("x", "pW",
			     "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$"
			     "U4SOHmDd8SvW5vCUKSMR6N835VPwFAtgYNhQ9mFFeL5"));
}

/* Each takes 16 MiB while it is made. */
#define GUESSERS 48
#define GROWTH_KIB (256L * 1024)

static void *guess(void *arg)
{
	cr_assert_not(
		users_verify("x", "pW",
			     "{CRYPT}$y$j9T$F5Jx5fExrKuPp53xLKQ..1$"
			     "U4SOHmDd8SvW5vCUKSMR6N835VPwFAtgYNhQ9mFFeL5"));
	return arg;
}

static long most_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

Test(rapi_users, many_who_guess_take_no_memory, .timeout = 60)
{
	pthread_t threads[GUESSERS];
	long before = most_kib();

	for (size_t i = 0; i < GUESSERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, guess, NULL), 0);
	for (size_t i = 0; i < GUESSERS; i++)
		pthread_join(threads[i], NULL);
	cr_expect_lt(most_kib() - before, GROWTH_KIB, "%ld KiB more",
		     most_kib() - before);
}

Test(rapi_users, the_file_is_read_when_it_changes)
{
	char file[] = "/tmp/test_rapi_users.XXXXXX";
	const char *const first = "a x read\n", *const second = "b x read\n";
	struct users own;
	struct error err;

	close(mkstemp(file));
	users_init(&own, file);
	cr_assert_eq(fs_write_atomic(file, first, strlen(first), 0600, &err),
		     0);
	users_load(&own, false);
	cr_expect_not_null(users_find(&own, "a"));
	cr_assert_eq(fs_write_atomic(file, second, strlen(second), 0600, &err),
		     0);
	users_load(&own, false);
	cr_expect_null(users_find(&own, "a"));
	cr_expect_not_null(users_find(&own, "b"));
	unlink(file);
	users_load(&own, false);
	cr_expect_null(users_find(&own, "b"));
	users_done(&own);
}

/* --- the header --- */

static int status_of(const char *header, bool needed, unsigned rights)
{
	struct auth auth;
	struct error err;
	int rc = auth_read(&auth, &users, header, needed, &err);

	if (rc == 0)
		rc = auth_check(&auth, rights, &err);
	auth_done(&auth);
	return rc == 0 ? 200 : reply_status(&err);
}

Test(rapi_users, a_header_names_a_user)
{
	/* cnc6c2VjcmV0 is rw:secret, cm86cGFzcw== is ro:pass. */
	cr_expect_eq(status_of(NULL, false, 0), 200);
	cr_expect_eq(status_of(NULL, true, ROUTE_READ), 401);
	cr_expect_eq(status_of("Basic cnc6c2VjcmV0", true, ROUTE_WRITE), 200);
	cr_expect_eq(status_of(" bAsIc  cnc6c2VjcmV0", true, ROUTE_WRITE), 200);
	cr_expect_eq(status_of("Basic cm86cGFzcw==", true, ROUTE_WRITE), 403);
	cr_expect_eq(
		status_of("Basic cm86cGFzcw==", true, ROUTE_READ | ROUTE_WRITE),
		200);
	cr_expect_eq(status_of("Basic cm86cGFzcw==", false, 0), 200);
	/* rw:wrong, nobody:x, without a colon, a NUL in it */
	cr_expect_eq(status_of("Basic cnc6d3Jvbmc=", false, 0), 401);
	cr_expect_eq(status_of("Basic bm9ib2R5Ong=", false, 0), 401);
	cr_expect_eq(status_of("Basic cncK", false, 0), 401);
	cr_expect_eq(status_of("Basic cnc6c2VjcmV0AHg=", false, 0), 401);
	cr_expect_eq(status_of("Basic !!!", false, 0), 401);
	cr_expect_eq(status_of("Basic", false, 0), 400);
	cr_expect_eq(status_of("", false, 0), 401);
	cr_expect_eq(status_of("Digest cnc6c2VjcmV0", false, 0), 401);
}

/* --- guessing --- */

#define S INT64_C(1000000)

Test(rapi_users, who_is_wrong_waits_ever_longer)
{
	static struct guard g;
	int64_t now = S;
	int before = 0;

	cr_expect_eq(guard_turn(&g, "a", now), 0);
	for (int i = 0; i < 8; i++) {
		int ms;

		guard_wrong(&g, "a", "rw", now);
		ms = guard_turn(&g, "a", now);
		cr_expect_gt(ms, before, "%d", ms);
		cr_expect_leq(ms, GUARD_LONGEST_MS);
		before = ms < GUARD_LONGEST_MS ? ms : 0;
		now += ms * INT64_C(1000);
	}
	cr_expect_eq(guard_turn(&g, "b", now), 0, "others do not wait");
}

Test(rapi_users, attempts_side_by_side_gain_nothing)
{
	static struct guard g;
	int refused = 0, last = 0;

	for (int i = 0; i < 4; i++)
		guard_wrong(&g, "a", "rw", S);
	for (int i = 0; i < 100; i++) {
		int ms = guard_turn(&g, "a", S);

		refused += ms < 0;
		cr_expect(ms < 0 || ms > last);
		last = ms < 0 ? last : ms;
	}
	cr_expect_gt(refused, 80);
	cr_expect_leq(last, GUARD_WAIT_MS);
}

/* Nobody knows yet that somebody guesses. */
Test(rapi_users, the_first_attempts_are_checked_one_by_one)
{
	static struct guard g;
	struct guard_attempt one = {0}, other = {0};

	cr_expect(guard_begin(&g, &one, "2001:db8::1", "rw"));
	cr_expect_not(guard_begin(&g, &other, "2001:db8::2", "root"));
	cr_expect_not(guard_end(&g, &other));
	cr_expect(guard_begin(&g, &other, "2001:db8:1::1", "rw"));
	cr_expect(guard_end(&g, &one));
	cr_expect_not(guard_end(&g, &one), "it has ended");
	cr_expect(guard_begin(&g, &one, "2001:db8::2", "root"));
	cr_expect(guard_end(&g, &one));
	cr_expect(guard_end(&g, &other));
}

Test(rapi_users, who_knows_a_password_has_many_connections)
{
	static struct guard g;
	struct guard_attempt one = {0}, other = {0};

	guard_right(&g, "a", "rw");
	cr_expect(guard_is_proven(&g, "a", "rw"));
	cr_expect(guard_begin(&g, &one, "a", "rw"));
	cr_expect(guard_begin(&g, &other, "a", "rw"));
	cr_expect_not(guard_end(&g, &one));
	cr_expect(guard_begin(&g, &one, "a", "root"));
	cr_expect_not(guard_begin(&g, &other, "a", "root"), "not his own");
	cr_expect(guard_begin(&g, &other, "a", "rw"));
	cr_expect(guard_end(&g, &one));
	guard_wrong(&g, "a", "rw", S);
	cr_expect_not(guard_is_proven(&g, "a", "rw"));
}

Test(rapi_users, the_right_password_and_time_end_it)
{
	static struct guard g;

	guard_wrong(&g, "a", "rw", S);
	guard_right(&g, "a", "other");
	cr_expect_gt(guard_turn(&g, "a", S), 0);
	guard_right(&g, "a", "rw");
	cr_expect_eq(guard_turn(&g, "a", S), 0);
	guard_wrong(&g, "a", "rw", S);
	cr_expect_eq(guard_turn(&g, "a", S + (GUARD_FORGET_S + 1) * S), 0);
}

Test(rapi_users, many_addresses_take_no_memory)
{
	static struct guard g;
	char address[30];

	for (int i = 0; i < 10 * GUARD_ADDRESSES; i++) {
		snprintf(address, sizeof(address), "10.0.%d.%d", i / 250,
			 i % 250);
		guard_wrong(&g, address, "rw", S + i);
	}
	cr_expect_gt(guard_turn(&g, address, S), 0);
	cr_expect_eq(guard_turn(&g, "10.0.0.0", S), 0);
}
