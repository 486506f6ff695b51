/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of many changes gives the best score?
 *
 * The score that counts is computed from nothing, over all nodes.  Here it is
 * first estimated from what a change touches; only those close to the best
 * estimate are then computed, so the answer is exact.
 */
#ifndef IALLOCATORS_MODEL_CONTEST_H
#define IALLOCATORS_MODEL_CONTEST_H

#include "iallocators/model/score.h"

/* Make change i; false if it is not possible (and nothing has changed). */
typedef bool (*contest_fn)(void *arg, int i);

struct contest {
	struct cluster *c;
	const struct nodeset *scope; /* whose score */
	contest_fn try;
	void *arg;
	int n;
	/* A score that is no number loses against the next, unless: */
	bool strange_stay;

	/* Private. */
	struct stats base;
	struct score_sheet sheet;
	double *score;
	double *off; /* at most so far from the exact one */
	bool *exact;
	bool *out;
};

/* With the public members set, try each change. */
void contest_init(struct contest *t);

/* The one with the lowest score, of equal ones the last; NO_INDEX if none is
 * left. */
int contest_best(struct contest *t);

/* Its score. */
double contest_score(const struct contest *t, int i);

/* The score of any one that is possible and not taken out, else false. */
bool contest_exact(struct contest *t, int i, double *ret_score);

/* Take one out. */
void contest_reject(struct contest *t, int i);
void contest_done(struct contest *t);

/* All of it at once: the best, without a trace in the cluster. */
int contest_run(struct contest *t, double *ret_score);

/* Update the statistics of the scope by all changes since the mark. */
void contest_update(const struct cluster *c, const struct nodeset *scope,
		    size_t mark, struct stats *stats);

#endif
