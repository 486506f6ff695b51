/* SPDX-License-Identifier: BSD-2-Clause */
/* How LUs ask an allocator. */
#ifndef MASTERD_LU_PARTS_LU_ALLOCATOR_H
#define MASTERD_LU_PARTS_LU_ALLOCATOR_H

#include "masterd/allocator/iallocator.h"
#include "masterd/lu/frame/lu.h"

/* As iallocator_run().  A node that has answered anything since the LU began,
 * and recently, is not asked whether it is alive.  The output of a failed
 * program goes into the job's log.  Sets how->heard_since_us. */
WAITS json_t *lu_allocator(struct lu *lu, json_t *request STEALS,
			   struct iallocator_how how, struct error *err);

/* As iallocator_ask(), the same way. */
WAITS char *lu_allocator_ask(struct lu *lu, const json_t *request,
			     struct iallocator_how how, struct error *err);

/* The explanation of our hail; to be freed.  ERR_PREREQ when the allocator does
 * not explain. */
WAITS json_t *lu_allocator_explain(struct lu *lu, const json_t *request,
				   const char *name, const char *template,
				   struct error *err);

#endif
