/* SPDX-License-Identifier: BSD-2-Clause */
/* hail without the program around it: from the text of a request to the text of
 * an answer, or from values to values.  No state outside of its arguments, so
 * it may run beside others; masterd calls it in place of the program. */
#ifndef IALLOCATORS_ALLOCATE_HAIL_ANSWER_H
#define IALLOCATORS_ALLOCATE_HAIL_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iallocators/model/place_options.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

struct cluster;
struct hail_result;
struct jval;

/* What a program does beside answering, where its options ask for it; each may
 * be NULL.  0, or -1 with err. */
struct hail_caller {
	/* Read the cluster to use instead of the request's. */
	int (*load)(void *arg, struct cluster *ret, struct error *err);
	/* Compute what follows from the request's, in place of
	 * cluster_finish(). */
	int (*finish)(void *arg, struct cluster *c, struct error *err);
	/* Show and save it before and after the answer. */
	int (*show)(void *arg, struct cluster *c, bool after,
		    struct error *err);
	void *arg;
};

/* Zeroed is what the program does when it is told nothing. */
struct hail_options {
	bool ignore_soft_errors; /* only what is impossible is refused */
	bool no_capacity_checks; /* do not keep any node evacuable */
	/* Exclusive storage counts in each group for itself. */
	bool dedicated_per_group;
	bool has_restriction; /* only these nodes for new instances */
	const char *const *restriction;
	size_t n_restriction;
	bool has_max_node_failures; /* in place of what the policies say */
	int max_node_failures;
	bool protocol1; /* read and answer as version 1 of the protocol has it
			 */
	enum explain_format explain;
	int explain_limit;   /* 0: as many as usual */
	bool has_kvm_memory; /* what a node with KVM needs itself, in MiB: */
	int64_t kvm_memory;  /* 0: as reported */
	const struct hail_caller *caller; /* or NULL */
};

/* The answer; what is strange about the data; the explanation as text. */
struct hail_output {
	struct buf answer, warnings, explanation;
};

/* Free the texts, not the struct itself. */
void hail_output_done(struct hail_output *out);

/* Answer a request of protocol version 2; -1 with err for one that cannot be
 * used.  The text is changed on the way. */
int hail_answer(char *text, size_t len, const struct hail_options *o,
		struct hail_output *out, struct error *err);

/* Answer a question about a cluster that has been built (build.h); this
 * completes it.  *ret is empty before, and its texts live as long as the
 * cluster; it is to be freed also after an error.  -1 with err when the
 * question cannot be used.  Options about texts do not count. */
int hail_place(struct cluster *c, const struct jval *question,
	       const struct hail_options *o, struct hail_result *ret,
	       struct buf *ret_warnings, struct error *err);

#endif
