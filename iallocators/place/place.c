/* SPDX-License-Identifier: BSD-2-Clause */
/* What placement on one node and on two have in common. */
#include "iallocators/place/place.h"

#include <string.h>

#include "iallocators/model/hformat.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/promises.h"
#include "lib/base/mem.h"

static unsigned strictness(const struct place_options *o)
{
	return o->ignore_soft_errors ? 0 : CHANGE_STRICT;
}

/* Policy, then the node itself. */
enum fail place_add_primary(const struct place *p, int node)
{
	const struct node *n = &p->c->nodes[node];
	enum fail why =
		policy_refusal(&p->c->groups[n->group], n->exclusive_storage,
			       p->inst, &p->c->refused);

	if (why != FAIL_NONE)
		return why;
	return change_add_primary(p->c, node, p->inst, p->index,
				  strictness(p->options));
}

void place_put(const struct place *p, int primary, int secondary)
{
	struct instance *inst = p->inst;
	struct node *n = &p->c->nodes[primary];

	inst->primary = primary;
	inst->secondary = secondary;
	inst->location = 0;
	if (secondary != NO_INDEX)
		inst->location = tagset_common(
			&n->locations, &p->c->nodes[secondary].locations);
	change_add_primary(p->c, primary, inst, p->index, 0);
	if (secondary != NO_INDEX)
		change_add_secondary(p->c, secondary, inst, p->index, primary,
				     0);
	if (!p->keeps_record)
		change_store(p->c, inst, p->index);
}

void place_apply(const struct place *p, const struct solution *s)
{
	place_put(p, s->primary, s->secondary);
	change_commit(p->c);
}

void solution_offer(struct solution *s, int primary, int secondary,
		    double score)
{
	if (s->found && !(score <= s->score))
		return;
	s->found = true;
	s->primary = primary;
	s->secondary = secondary;
	s->score = score;
}

bool solution_wins(const struct solution *a, const struct solution *b)
{
	if (!b->found)
		return true;
	if (!a->dedicated)
		return a->score <= b->score;
	for (int i = 0; i < a->lost.n && i < b->lost.n; i++)
		if (a->lost.counts[i] != b->lost.counts[i])
			return a->lost.counts[i] < b->lost.counts[i];
	if (a->lost.n != b->lost.n)
		return a->lost.n < b->lost.n;
	return a->lost.free_disk <= b->lost.free_disk;
}

int place_check_count(const struct place *p, const struct nodeset *candidates,
		      struct error *err)
{
	if (p->required_nodes == 1 && candidates->n == 0)
		return error_set(err, ERR_PREREQ, NULL, "No online nodes");
	if (p->required_nodes == 2 && candidates->n < 2)
		return error_set(err, ERR_PREREQ, NULL,
				 "Not enough online nodes");
	if (p->required_nodes != 1 && p->required_nodes != 2)
		return error_set(err, ERR_PREREQ, NULL,
				 "Unsupported number of nodes, only one or "
				 "two  supported");
	return 0;
}

int place_ordinary(const struct place *p, const struct nodeset *candidates,
		   struct solution *ret, struct error *err)
{
	struct promises promises;

	memset(ret, 0, sizeof(*ret));
	if (place_check_count(p, candidates, err) < 0)
		return -1;
	promises_init(&promises, p, p->c->nodes[candidates->items[0]].group);
	if (p->required_nodes == 1)
		place_singles(p, &promises, candidates, ret);
	else
		place_pairs(p, &promises, candidates, ret);
	explain_count(p->options->explain, ret->successes,
		      p->required_nodes == 2);
	promises_explain(&promises, p);
	promises_done(&promises);
	return 0;
}

static void describe_fails(const struct solution *s, struct buf *out)
{
	bool first = true;

	for (int i = 1; i < FAIL_COUNT; i++) {
		if (s->fails[i] == 0)
			continue;
		buf_addf(out, "%s%s: %jd", first ? "" : ", ", fail_names[i],
			 (intmax_t)s->fails[i]);
		first = false;
	}
}

static int64_t total_fails(const struct solution *s)
{
	int64_t total = 0;

	for (int i = 1; i < FAIL_COUNT; i++)
		total += s->fails[i];
	return total;
}

static void describe_metric(const struct solution *s, struct buf *out)
{
	if (!s->dedicated) {
		hf_fixed(out, s->score, 8);
		return;
	}
	buf_adds(out, "([");
	for (int i = 0; i < s->lost.n; i++)
		buf_addf(out, "%s%jd", i == 0 ? "" : ",",
			 (intmax_t)s->lost.counts[i]);
	buf_addf(out, "],%jd)", (intmax_t)s->lost.free_disk);
}

void solution_describe(const struct cluster *c, const struct solution *s,
		       struct buf *out)
{
	if (!s->found) {
		buf_adds(out, "No valid allocation solutions, failure "
			      "reasons: ");
		if (total_fails(s) == 0)
			buf_adds(out, "unknown reasons");
		describe_fails(s, out);
		if (s->unsurvived > 0)
			buf_addf(out,
				 " (max-node-failures would not hold: %jd)",
				 (intmax_t)s->unsurvived);
		return;
	}
	buf_adds(out, "score: ");
	describe_metric(s, out);
	buf_addf(out, ", successes %jd, failures %jd (", (intmax_t)s->successes,
		 (intmax_t)total_fails(s));
	describe_fails(s, out);
	buf_addf(out, ") for node(s) %s", c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX)
		buf_addf(out, "/%s", c->nodes[s->secondary].name);
}

void solution_json(const struct cluster *c, const struct solution *s,
		   struct buf *out)
{
	buf_addc(out, '[');
	hf_json_string(out, c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX) {
		buf_addc(out, ',');
		hf_json_string(out, c->nodes[s->secondary].name);
	}
	buf_addc(out, ']');
}

static bool allowed(const struct place_options *o, const char *name)
{
	if (!o->has_restriction)
		return true;
	for (size_t i = 0; i < o->n_restriction; i++)
		if (strcmp(o->restriction[i], name) == 0)
			return true;
	return false;
}

enum refusal_kind place_why_offline(const struct node *n)
{
	if (n->drained)
		return REFUSAL_DRAINED;
	return n->not_vm_capable ? REFUSAL_NOT_VM_CAPABLE : REFUSAL_OFFLINE;
}

struct nodeset place_candidates(struct cluster *c, int group,
				const struct place_options *o)
{
	struct nodeset set = cluster_group_nodes(c, group), ret = {0};

	ret.items = arena_calloc(&c->arena, (size_t)set.n, sizeof(int));
	for (int i = 0; i < set.n; i++) {
		const struct node *n = &c->nodes[set.items[i]];

		if (n->offline)
			explain_left_out(o->explain, set.items[i],
					 place_why_offline(n));
		else if (!allowed(o, n->name))
			explain_left_out(o->explain, set.items[i],
					 REFUSAL_RESTRICTED);
		else
			ret.items[ret.n++] = set.items[i];
	}
	return ret;
}
