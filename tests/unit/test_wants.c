/* SPDX-License-Identifier: BSD-2-Clause */
/* The locks that a logical unit wants. */
#include <criterion/criterion.h>

#include "masterd/lu/frame/lu_private.h"

#define MANY 100000

static void want_many(struct lu *lu, bool exclusive)
{
	for (size_t i = 0; i < MANY; i++) {
		auto_free char *name = xprintf("a-node-with-a-name-%zu", i);

		lu_want(lu, LOCK_NODE, name, exclusive);
	}
}

/* A search through all of them for each would take a minute. */
Test(wants, each_of_many_is_found, .timeout = 20)
{
	struct lu_locks locks = {0};
	struct lu lu = {.locks = &locks};

	lu_want_all(&lu, LOCK_INSTANCE_DISKS, false);
	want_many(&lu, false);
	want_many(&lu, true);
	lu_want_all(&lu, LOCK_INSTANCE_DISKS, true);
	lu_want_all(&lu, LOCK_NODE, false);
	cr_assert_eq(locks.n, MANY + 2);
	for (size_t i = 0; i <= MANY; i++)
		cr_assert(locks.wants[i].exclusive);
	cr_assert_not(locks.wants[MANY + 1].exclusive);
	lu_locks_clear(&locks);
	cr_assert_eq(locks.n, 0);
	lu_want(&lu, LOCK_NODE, "n1", false);
	cr_assert_eq(locks.n, 1);
	lu_locks_clear(&locks);
	free(locks.wants);
}
