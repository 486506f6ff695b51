/* SPDX-License-Identifier: BSD-2-Clause */
/* What exec.c and lu_common.c share: the locks and the kept objects of a
 * running LU.  LUs themselves use lu.h only. */
#ifndef MASTERD_LU_PRIVATE_H
#define MASTERD_LU_PRIVATE_H

#include "masterd/lu.h"

struct lu_locks {
	struct lock_want *wants; /* names are owned */
	size_t n, cap;
	bool *released; /* by lu_release(); n flags once granted */
	struct lock_request request;
	struct cond changed;
	bool canceled;
};

struct lu_keep {
	json_t **objects;
	size_t n_objects;
	struct strv strings;
};

void lu_locks_clear(struct lu_locks *locks);

#endif
