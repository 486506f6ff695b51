/* SPDX-License-Identifier: BSD-2-Clause */
/* Redundancy is asked with the instance put in place for the time of the
 * question: of `tracker` if there is one, of all nodes anew if the instance
 * keeps its record, else of `redundancy`.  Which node is at fault is only
 * searched for where --explain wants it. */
#include "iallocators/place/promises.h"

#include "iallocators/place/explain.h"

void promises_init(struct promises *promises, const struct place *p, int group)
{
	*promises = (struct promises){.redundancy = {.c = NULL}};
	if (p->options->capacity_checks && !p->keeps_record)
		redundancy_init(&promises->redundancy, p->c, p->scope,
				p->options);
	survival_init(&promises->survival, p->c, group,
		      p->options->max_node_failures);
}

void promises_done(struct promises *promises)
{
	redundancy_done(&promises->redundancy);
	survival_done(&promises->survival);
}

static bool stays_redundant(struct tracker *tracker, const struct place *p)
{
	tracker_tried(tracker, p->inst->primary);
	if (p->inst->secondary != NO_INDEX)
		tracker_tried(tracker, p->inst->secondary);
	return tracker_holds(tracker);
}

/* It has been taken off again. */
static void tell_it_left(struct tracker *tracker, int primary, int secondary)
{
	tracker_tried(tracker, primary);
	if (secondary != NO_INDEX)
		tracker_tried(tracker, secondary);
}

static bool redundant(struct promises *promises, const struct place *p,
		      int primary, int secondary)
{
	size_t mark = change_mark(p->c);
	bool ok;

	if (!p->options->capacity_checks)
		return true;
	if (!p->keeps_record && promises->tracker == NULL)
		redundancy_look(&promises->redundancy);
	place_put(p, primary, secondary);
	if (promises->tracker != NULL)
		ok = stays_redundant(promises->tracker, p);
	else if (p->keeps_record)
		ok = redundancy_holds(p->c, p->scope, p->options);
	else
		ok = redundancy_with(&promises->redundancy, p->inst);
	change_undo(p->c, mark);
	if (promises->tracker != NULL)
		tell_it_left(promises->tracker, primary, secondary);
	return ok;
}

/* The first node that could not be emptied. */
static int culprit(struct promises *promises, const struct place *p,
		   int primary, int secondary)
{
	size_t mark = change_mark(p->c);
	int found = NO_INDEX;

	if (promises->redundancy.never)
		return promises->redundancy.culprit;
	place_put(p, primary, secondary);
	for (int i = 0; i < p->scope->n && found == NO_INDEX; i++)
		if (!redundancy_of_node(p->c, p->scope, p->scope->items[i]))
			found = p->scope->items[i];
	change_undo(p->c, mark);
	return found;
}

static void tell(const struct place *p, int primary, int secondary,
		 const struct refusal *why)
{
	explain_refused_for(p->options->explain,
			    secondary == NO_INDEX ? ROLE_PRIMARY : ROLE_PAIR,
			    primary, secondary, why);
}

bool promises_redundant(struct promises *promises, const struct place *p,
			int primary, int secondary)
{
	struct refusal why = {.kind = REFUSAL_N1, .node = NO_INDEX};

	if (redundant(promises, p, primary, secondary))
		return true;
	if (explain_wants(p->options->explain, REFUSAL_N1))
		why.node = culprit(promises, p, primary, secondary);
	tell(p, primary, secondary, &why);
	return false;
}

bool promises_survive(struct promises *promises, const struct place *p,
		      int primary, int secondary, struct solution *s)
{
	struct refusal why;

	if (survival_with(&promises->survival, p->inst, primary, secondary,
			  &why))
		return true;
	tell(p, primary, secondary, &why);
	s->unsurvived++;
	return false;
}

bool promises_hold(struct promises *promises, const struct place *p,
		   int primary, int secondary, struct solution *s)
{
	return promises_redundant(promises, p, primary, secondary) &&
	       promises_survive(promises, p, primary, secondary, s);
}

void promises_explain(struct promises *promises, const struct place *p)
{
	size_t n;
	struct explain_candidate *best = explain_best(p->options->explain, &n);

	for (size_t i = 0; i < n; i++) {
		struct explain_candidate *k = &best[i];
		int a = k->place.primary, b = k->place.secondary;
		struct refusal ignored;

		k->refused = true;
		if (!redundant(promises, p, a, b))
			k->why = REFUSAL_N1;
		else if (!survival_with(&promises->survival, p->inst, a, b,
					&ignored))
			k->why = REFUSAL_FAILURES;
		else
			k->refused = false;
	}
}
