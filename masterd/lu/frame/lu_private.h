/* SPDX-License-Identifier: BSD-2-Clause */
/* What exec.c and lu_common.c share: the locks and the kept objects of a
 * running LU.  LUs themselves use lu.h only. */
#ifndef MASTERD_LU_FRAME_LU_PRIVATE_H
#define MASTERD_LU_FRAME_LU_PRIVATE_H

#include "masterd/lu/frame/lu.h"

struct lu_locks {
	struct lock_want *wants; /* names are owned */
	size_t n, cap;
	struct table places; /* "level/name" -> its index in wants: size_t */
	unsigned at_least;
	bool *released; /* by lu_release(); n flags once granted */
	/* The objects of the exclusive wants when these were granted, n objects
	 * or NULLs: if one is gone at the end, those who wait for its lock are
	 * told. */
	json_t **objects;
	struct lock_request request;
	struct cond changed;
	struct lock_request more; /* of lu_lock_more() */
	struct lock_want more_want;
	bool canceled;
	char *gone; /* what was removed while we waited */
};

struct lu_keep {
	json_t **objects;
	size_t n_objects;
	struct strv strings;
};

/* Forget all wants, and free them. */
void lu_locks_clear(struct lu_locks *locks);

#endif
