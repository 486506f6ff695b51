/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests for locks with a letter each, and a trace of who was granted. */
#ifndef TESTS_LIB_LOCK_JOBS_H
#define TESTS_LIB_LOCK_JOBS_H

#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "queue/locks/locks.h"

#define WANTS_MAX 6

/* A request with a letter; the trace names who was granted, in order. */
struct job {
	struct lock_request request;
	struct lock_want wants[WANTS_MAX];
	char letter;
};

static struct locks *locks;
static struct buf trace;

static void on_granted(struct lock_request *r)
{
	struct job *j = container_of(r, struct job, request);

	cr_assert(locks_held(r));
	buf_addf(&trace, "%c ", j->letter);
}

/* Lower case: shared; upper case: exclusive. */
static struct job job(char letter, enum lock_level level, const char *name)
{
	return (struct job){
		.letter = letter,
		.request = {.n_wants = 1,
			    .owner = (uint64_t)letter,
			    .granted = on_granted},
		.wants = {{.level = level,
			   .name = name,
			   .exclusive = letter < 'a'}},
	};
}

static void also(struct job *j, enum lock_level level, const char *name)
{
	j->wants[j->request.n_wants++] = (struct lock_want){
		.level = level, .name = name, .exclusive = j->letter < 'a'};
}

static void request(struct job *j)
{
	struct error err;

	j->request.wants = j->wants;
	cr_assert_eq(locks_request(locks, &j->request, &err), 0);
}

static void release(struct job *j)
{
	locks_release(locks, &j->request);
}

static void expect(const char *expected)
{
	cr_assert_str_eq(trace.data == NULL ? "" : trace.data, expected);
}

static void setup(void)
{
	locks = locks_create();
}

static void teardown(void)
{
	locks_destroy(locks);
	buf_done(&trace);
}

#endif
