/* SPDX-License-Identifier: BSD-2-Clause */
/* Why an instance is not taken, finer than enum fail: which check, what it
 * needs and what there is.  For --explain; nothing is decided by it. */
#ifndef IALLOCATORS_MODEL_REFUSAL_H
#define IALLOCATORS_MODEL_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/str.h"

/* Of the node itself, of the policy, of the checks in change.c and move.c, of
 * what must hold afterwards. */
#define REFUSALS(X)                                                            \
	X(OFFLINE, "offline")                                                  \
	X(DRAINED, "drained")                                                  \
	X(NOT_VM_CAPABLE, "not-vm-capable")                                    \
	X(RESTRICTED, "restricted")                                            \
	X(LEFT, "to-be-left")                                                  \
	X(POLICY, "policy")                                                    \
	X(MEMORY, "memory")                                                    \
	X(RESERVED_MEMORY, "reserved-memory")                                  \
	X(DISK, "disk")                                                        \
	X(MIN_DISK, "min-disk")                                                \
	X(SPINDLES, "spindles")                                                \
	X(SPINDLE_USE, "spindle-use")                                          \
	X(CPU, "cpu")                                                          \
	X(TAGS, "exclusion-tags")                                              \
	X(TEMPLATE, "template")                                                \
	X(MIGRATION, "migration-tags")                                         \
	X(NO_SECONDARY, "no-secondary")                                        \
	X(N1, "n+1")                                                           \
	X(FAILURES, "max-node-failures")

enum refusal_kind {
#define X(id, name) REFUSAL_##id,
	REFUSALS(X)
#undef X
		REFUSAL_COUNT
};

extern const char *const refusal_names[REFUSAL_COUNT];

struct refusal {
	enum refusal_kind kind;
	int node;	    /* which one has it, or cannot be emptied */
	int64_t need, have; /* MiB, number; of TAGS `need` is the tag */
	bool forthcoming;   /* counting instances that are only planned */
	const char *what;   /* of a policy: which value */
	const char *step;   /* of a move in several steps; or NULL */
};

struct cluster;
struct instance;

/* A sentence about it, without the kind's name. */
void refusal_describe(const struct cluster *c, const struct instance *inst,
		      const struct refusal *r, struct buf *out);

#endif
