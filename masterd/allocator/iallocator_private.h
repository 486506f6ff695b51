/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the allocator framework share. */
#ifndef MASTERD_ALLOCATOR_IALLOCATOR_PRIVATE_H
#define MASTERD_ALLOCATOR_IALLOCATOR_PRIVATE_H

#include <stdint.h>

#include "masterd/allocator/iallocator.h"
#include "masterd/core/master.h"

struct config;

/* The hypervisor that a request is about: that of its instance; where it is
 * about several, the cluster's first. */
const char *iallocator_hypervisor(const struct master *m,
				  const json_t *request);

/* Whether the policy of any group has max-node-failures; if not, the message is
 * as Ganeti's. */
bool iallocator_promises_failures(const struct master *m);
/* Add the members that only our hail reads, where they make a difference. */
void iallocator_set_extra(json_t *entry, int64_t maxmem, int64_t minmem,
			  bool stays);

/* A reference to the list, a new one for NULL; to be freed. */
json_t *iallocator_list(const json_t *value);

/* Check an allocator's whole output, the answer to this request.  Returns the
 * "result", to be freed; NULL with err as iallocator_run() has it. */
json_t *iallocator_check_answer(const struct config *c, const char *name,
				const json_t *request, const char *text,
				struct error *err);

/* The same for an answer that is no text: what has happened to the nodes
 * meanwhile is checked. */
struct iallocator_answer {
	bool success;
	char *info;
	json_t *result; /* without success it does not matter */
};
json_t *iallocator_check_result(const struct config *c, const char *name,
				const json_t *request,
				const struct iallocator_answer *answer,
				struct error *err);

/* --- iallocator_builtin.c --- */

/* Whether this allocator with these options is our own hail, which need not be
 * run as a program. */
bool iallocator_is_builtin(struct master *m, const char *name,
			   const json_t *params);
/* Run our own hail; its output, to be freed, or NULL with ERR_EXEC as if a
 * program had failed.  The message is changed. */
WAITS char *iallocator_run_builtin(char *message, const json_t *params,
				   struct error *err);

/* The same by a call, from the configuration's values to the answer's: without
 * a message and without texts.  Free *ret with iallocator_answer_done(); -1
 * with ERR_EXEC as if a program had failed. */
WAITS int iallocator_call_builtin(struct master *m, const json_t *request,
				  const struct iallocator_how *how,
				  const json_t *params,
				  struct iallocator_answer *ret,
				  struct error *err);
void iallocator_answer_done(struct iallocator_answer *a);

#endif
