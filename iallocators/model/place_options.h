/* SPDX-License-Identifier: BSD-2-Clause */
/* What a caller may ask of a placement. */
#ifndef IALLOCATORS_MODEL_PLACE_OPTIONS_H
#define IALLOCATORS_MODEL_PLACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct explain;

/* Why nodes were taken or refused: as text, or in the answer. */
enum explain_format { EXPLAIN_NOT, EXPLAIN_TEXT, EXPLAIN_JSON };

struct place_options {
	bool ignore_soft_errors;
	bool capacity_checks; /* the state afterwards must be redundant */
	bool accept_existing_errors; /* of offline nodes */
	/* Each group with exclusive storage by its lost allocations, also when
	 * other groups have none. */
	bool dedicated_per_group;
	bool has_restriction; /* only to these nodes */
	const char *const *restriction;
	size_t n_restriction;
	/* How many nodes each group must be able to lose; negative: as its
	 * policy says. */
	int max_node_failures;
	struct explain *explain; /* or NULL */
};

#endif
