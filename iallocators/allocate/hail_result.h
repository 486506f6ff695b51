/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to a request as values, and its text.  Names and reasons live as
 * long as the cluster that it is about. */
#ifndef IALLOCATORS_ALLOCATE_HAIL_RESULT_H
#define IALLOCATORS_ALLOCATE_HAIL_RESULT_H

#include "iallocators/input/request.h"
#include "iallocators/model/opcodes.h"
#include "lib/base/str.h"

/* Primary and secondary, or one of them. */
struct hail_nodes {
	const char *names[2];
	size_t n;
};

struct hail_placed {
	const char *instance;
	struct hail_nodes nodes;
};

struct hail_failed {
	const char *instance, *reason;
};

#define HAIL_OPS_MAX 4

/* Where an instance is after the opcodes of its job. */
struct hail_moved {
	const char *instance, *group;
	struct hail_nodes nodes;
	struct opcode ops[HAIL_OPS_MAX];
	size_t n_ops;
};

/* Zeroed is empty.  Which members count is up to the type; without success only
 * the info does. */
struct hail_result {
	enum request_type type;
	bool success;
	struct buf info;	    /* for people */
	struct hail_nodes nodes;    /* allocate, relocate; the secondary */
	struct hail_placed *placed; /* multi-allocate */
	struct hail_moved *moved;   /* change-group, node-evacuate */
	struct hail_failed *failed; /* of all three */
	size_t n_placed, n_moved, n_failed;
};

/* Free what is not the cluster's, not the struct itself. */
void hail_result_done(struct hail_result *r);

/* Add the text of the answer, one JSON object in a line, in which the result
 * has the key given. */
void hail_result_text(const struct hail_result *r, const char *key,
		      struct buf *out);

#endif
