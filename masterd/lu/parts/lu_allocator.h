/* SPDX-License-Identifier: BSD-2-Clause */
/* How LUs ask an allocator. */
#ifndef MASTERD_LU_PARTS_LU_ALLOCATOR_H
#define MASTERD_LU_PARTS_LU_ALLOCATOR_H

#include "masterd/allocator/iallocator.h"
#include "masterd/lu/frame/lu.h"

/* As iallocator_run().  A node that answered anything since the LU began, and
 * not long ago, is not asked again whether it is there; what a failed program
 * said goes into the job's log.  how->heard_since_us is set here. */
WAITS json_t *lu_allocator(struct lu *lu, json_t *request STEALS,
			   struct iallocator_how how, struct error *err);

/* As iallocator_ask(), the same way. */
WAITS char *lu_allocator_ask(struct lu *lu, const json_t *request,
			     struct iallocator_how how, struct error *err);

/* What our hail says of each node; to be freed.  ERR_PREREQ when the allocator
 * explains nothing. */
WAITS json_t *lu_allocator_explain(struct lu *lu, const json_t *request,
				   const char *name, const char *template,
				   struct error *err);

#endif
