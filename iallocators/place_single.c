/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement on one node: the scores are computed from nothing. */
#include "iallocators/contest.h"
#include "iallocators/place.h"
#include "iallocators/redundancy.h"
#include "lib/base/mem.h"

struct singles {
	const struct place *p;
	const struct nodeset *candidates;
	enum fail *why; /* of each candidate */
};

static bool try_one(void *arg, int i)
{
	struct singles *s = arg;
	int node = s->candidates->items[i];

	s->p->inst->primary = node;
	s->p->inst->secondary = NO_INDEX;
	s->p->inst->location = 0;
	s->why[i] = place_add_primary(s->p, node);
	return s->why[i] == FAIL_NONE;
}

/* The best one that leaves everything redundant. */
static void choose(struct singles *s, struct contest *t,
		   const struct redundancy *r, struct solution *ret)
{
	int best;

	while ((best = contest_best(t)) != NO_INDEX) {
		int node = s->candidates->items[best];

		if (place_stays_redundant(s->p, r, node, NO_INDEX)) {
			solution_offer(ret, node, NO_INDEX,
				       contest_score(t, best));
			return;
		}
		contest_reject(t, best);
		ret->successes--;
		ret->fails[FAIL_N1]++;
	}
}

void place_singles(const struct place *p, const struct redundancy *r,
		   const struct nodeset *candidates, struct solution *ret)
{
	struct singles s = {
		.p = p,
		.candidates = candidates,
		.why = xcalloc((size_t)candidates->n, sizeof(*s.why)),
	};
	struct contest t = {.c = p->c,
			    .scope = p->scope,
			    .try = try_one,
			    .arg = &s,
			    .n = candidates->n,
			    .strange_stay = true};
	int n;

	contest_init(&t);
	for (int i = 0; i < candidates->n; i++)
		ret->fails[s.why[i]]++;
	n = (int)ret->fails[FAIL_NONE];
	ret->fails[FAIL_NONE] = 0;
	ret->successes = n;
	if (n > 0 && p->ret_unsound != NULL && p->options->capacity_checks &&
	    p->inst->template == TEMPLATE_DRBD)
		*p->ret_unsound = true;
	choose(&s, &t, r, ret);
	contest_done(&t);
	free(s.why);
}
