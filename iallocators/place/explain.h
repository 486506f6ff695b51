/* SPDX-License-Identifier: BSD-2-Clause */
/* --explain: why each node, or pair of nodes, was taken or refused.
 *
 * Placement tells what it finds as it goes; without --explain the struct
 * explain is NULL, and all functions that take one do nothing.  What is kept
 * does not grow with the number of pairs: the best candidates, and for each
 * reason how many it refused and the first of them.
 */
#ifndef IALLOCATORS_PLACE_EXPLAIN_H
#define IALLOCATORS_PLACE_EXPLAIN_H

#include "iallocators/place/solution.h"

/* As what somebody was refused. */
enum explain_role {
	ROLE_NODE, /* not tried at all */
	ROLE_PRIMARY,
	ROLE_SECONDARY,
	ROLE_PAIR, /* each node would do, but not both together */
	ROLE_COUNT
};

extern const char *const explain_role_names[ROLE_COUNT];

/* Those that one reason refused. */
struct explain_tally {
	int64_t count;
	struct strv names; /* "node" or "primary/secondary", the first ones */
	struct strv texts;
};

struct explain_candidate {
	struct solution place; /* nodes, and score or lost allocations */
	bool refused;	       /* when checked in the end, for: */
	enum refusal_kind why;
	bool taken;
};

/* What was looked for in one group. */
struct explain_group {
	int group;
	const char *purpose; /* or NULL: a place for the instance */
	const char *verdict;
	char *message;	  /* in the words of the answer */
	int64_t possible; /* candidates that passed the checks */
	bool by_pairs;
	struct explain_tally tallies[ROLE_COUNT][REFUSAL_COUNT];
	struct explain_candidate *best; /* after explain_group_end(): sorted */
	size_t n_best, cap_best;
};

/* One instance. */
struct explain_subject {
	char *name, *wish;
	bool placed;
	char *info; /* of the answer, or why not */
	struct explain_group *groups;
	size_t n_groups;
};

struct explain {
	int limit; /* of what is shown in full */
	struct cluster *c;
	const struct instance *inst; /* the present subject's */
	struct explain_subject *subjects;
	size_t n_subjects;
};

#define EXPLAIN_LIMIT 20
#define EXPLAIN_LIMIT_MAX 10000

/* Free what was collected, not the struct itself. */
void explain_done(struct explain *e);

/* A new subject; inst must live as long as it is the present one. */
void explain_subject(struct explain *e, struct cluster *c,
		     const struct instance *inst, int required_nodes);
/* What became of the present one. */
void explain_outcome(struct explain *e, bool found, const char *text);

/* A group is looked at, for a purpose that is a constant or NULL; all that
 * follows is about it. */
void explain_group(struct explain *e, int group, const char *purpose);
/* The end of it: the verdict is a constant; message may be NULL. */
void explain_group_end(struct explain *e, const char *verdict,
		       const char *message);
/* Another verdict for a group that has had one, and which place was taken
 * (NULL: none). */
void explain_verdict(struct explain *e, int group, const char *verdict,
		     const struct solution *taken);

/* Not tried. */
void explain_left_out(struct explain *e, int node, enum refusal_kind why);
/* Refused for the reason in c->refused; secondary is NO_INDEX unless it is
 * about a pair. */
void explain_refused(struct explain *e, enum explain_role role, int primary,
		     int secondary);
void explain_refused_for(struct explain *e, enum explain_role role, int primary,
			 int secondary, const struct refusal *why);

/* Whether one more of this kind, of a node or a pair, would be shown. */
bool explain_wants(const struct explain *e, enum refusal_kind why);

/* Places that are possible. */
void explain_possible(struct explain *e, const struct solution *place);
/* A row of pairs: score[i] is that of secondary i, those of `out` are none. */
void explain_row(struct explain *e, int primary,
		 const struct nodeset *secondaries, const double *score,
		 double out);
/* How many there are in all. */
void explain_count(struct explain *e, int64_t possible, bool by_pairs);

/* The best of the present group, in order, for what has to be checked of each
 * at the end; NULL and 0 without --explain. */
struct explain_candidate *explain_best(struct explain *e, size_t *ret_n);

/* All of it: for people; as a JSON object, with that text in it. */
void explain_text(const struct explain *e, struct buf *out);
void explain_json(const struct explain *e, struct buf *out);

#endif
