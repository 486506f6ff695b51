/* SPDX-License-Identifier: BSD-2-Clause */
/* Placement on one node: the scores are computed from nothing. */
#include "iallocators/model/contest.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/promises.h"
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

/* The best one that keeps the promises. */
static void choose(struct singles *s, struct contest *t,
		   struct promises *promises, struct solution *ret)
{
	int best;

	while ((best = contest_best(t)) != NO_INDEX) {
		int node = s->candidates->items[best];

		if (promises_hold(promises, s->p, node, NO_INDEX, ret)) {
			solution_offer(ret, node, NO_INDEX,
				       contest_score(t, best));
			return;
		}
		contest_reject(t, best);
		ret->successes--;
		ret->fails[FAIL_N1]++;
	}
}

/* Why which nodes were refused, and how good the others are. */
static void explain_nodes(struct singles *s, struct contest *t)
{
	struct explain *e = s->p->options->explain;

	for (int i = 0; i < s->candidates->n && e != NULL; i++) {
		struct solution place = {.primary = s->candidates->items[i],
					 .secondary = NO_INDEX};

		if (s->why[i] != FAIL_NONE) {
			try_one(s, i);
			explain_refused(e, ROLE_PRIMARY, place.primary,
					NO_INDEX);
			continue;
		}
		if (contest_exact(t, i, &place.score))
			explain_possible(e, &place);
	}
}

void place_singles(const struct place *p, struct promises *promises,
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
	choose(&s, &t, promises, ret);
	explain_nodes(&s, &t);
	contest_done(&t);
	free(s.why);
}
