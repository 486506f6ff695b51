/* SPDX-License-Identifier: BSD-2-Clause */
/* visit() tries one group, and policy_wins() compares it with the best so far:
 * first by allocation policy, then by the solution.  An unallocable group is
 * tried for its message only.  A group that is named is tried alone. */
#include "iallocators/place/groups.h"

#include <string.h>

#include "iallocators/model/change.h"
#include "iallocators/model/score.h"
#include "iallocators/place/explain.h"
#include "lib/base/mem.h"

static bool connected(const struct group *g, const char *network)
{
	for (size_t i = 0; i < g->n_networks; i++)
		if (strcmp(g->networks[i], network) == 0)
			return true;
	return false;
}

static bool has_networks(const struct group *g, const struct instance *inst)
{
	for (size_t i = 0; i < inst->n_networks; i++)
		if (!connected(g, inst->networks[i]))
			return false;
	return true;
}

static bool all_exclusive(const struct cluster *c, int group)
{
	const struct group *g = &c->groups[group];

	for (int i = 0; i < g->n_nodes; i++)
		if (!c->nodes[g->nodes[i]].exclusive_storage)
			return false;
	return true;
}

/* Whether placement is by lost allocations: all nodes in question have
 * exclusive storage.  As in the reference only a name counts, not a UUID. */
static bool is_dedicated(const struct cluster *c, const char *name)
{
	for (int g = 0; g < c->n_groups; g++) {
		bool asked = name != NULL ? strcmp(c->groups[g].name, name) == 0
					  : c->groups[g].alloc_policy !=
						    ALLOC_UNALLOCABLE;

		if (asked && !all_exclusive(c, g))
			return false;
	}
	return true;
}

/* The same for one group. */
static bool group_is_dedicated(const struct place *p, int group, bool all)
{
	return p->options->dedicated_per_group ? all_exclusive(p->c, group)
					       : all;
}

/* "<article> G is not connected ..." */
static void not_connected(const struct place *p, int group, const char *article,
			  struct buf *out)
{
	buf_addf(out,
		 "%s %s is not connected to a network required by instance %s",
		 article, p->c->groups[group].name, p->inst->name);
}

/* The score with the instance where the solution says. */
static double score_of(const struct place *p, const struct solution *s)
{
	size_t mark = change_mark(p->c);
	double score;

	place_put(p, s->primary, s->secondary);
	score = score_nodes(p->c, p->scope);
	change_undo(p->c, mark);
	return score;
}

/* One group's solution; always with a score, that groups of both kinds can be
 * compared. */
static int try_group(struct place *p, int group, bool dedicated,
		     struct solution *ret, struct error *err)
{
	struct nodeset candidates = place_candidates(p->c, group, p->options);

	if (!dedicated)
		return place_ordinary(p, &candidates, ret, err);
	if (place_dedicated(p, &candidates, ret, err) < 0)
		return -1;
	if (ret->found && p->options->dedicated_per_group)
		ret->score = score_of(p, ret);
	return 0;
}

static void add_message(struct buf *out, const char *text)
{
	if (out->len > 0)
		buf_adds(out, ", ");
	buf_adds(out, text);
}

static const char *verdict(const struct group *g, const struct solution *s)
{
	if (!s->found)
		return "no place";
	return g->alloc_policy == ALLOC_UNALLOCABLE
		       ? "unallocable by its policy"
		       : "possible, another one is better";
}

/* "Group G (POLICY): ...", also for --explain. */
static void describe(const struct place *p, int group, const struct solution *s,
		     struct buf *out)
{
	const struct group *g = &p->c->groups[group];
	auto_buf struct buf line = {0}, text = {0};

	solution_describe(p->c, s, &text);
	buf_addf(&line, "Group %s (%s): %s", g->name,
		 alloc_policy_names[g->alloc_policy], text.data);
	add_message(out, line.data);
	explain_group_end(p->options->explain, verdict(g, s), text.data);
}

static void describe_error(const struct place *p, int group, const char *text,
			   struct buf *out)
{
	auto_buf struct buf line = {0};

	buf_addf(&line, "Group %s: error %s", p->c->groups[group].name, text);
	add_message(out, line.data);
	explain_group_end(p->options->explain, "no place", text);
}

/* What is known while the groups are tried. */
struct search {
	struct place *p;
	bool dedicated; /* all groups */
	int best;	/* group */
	struct solution solution;
	struct buf unconnected; /* messages */
	struct buf messages;
};

static bool policy_wins(const struct search *s, int group,
			const struct solution *solution)
{
	const struct group *groups = s->p->c->groups;

	if (s->best == NO_INDEX)
		return true;
	if (groups[group].alloc_policy != groups[s->best].alloc_policy)
		return groups[group].alloc_policy <
		       groups[s->best].alloc_policy;
	if (s->p->options->dedicated_per_group && !s->dedicated)
		return solution->score <= s->solution.score;
	return solution_wins(solution, &s->solution);
}

/* The group lacks a network; the two ways of placement say so differently. */
static void visit_unconnected(struct search *s, int group)
{
	auto_buf struct buf text = {0};

	not_connected(s->p, group, s->dedicated ? "The group" : "group", &text);
	if (s->dedicated)
		describe_error(s->p, group, text.data, &s->messages);
	else
		add_message(&s->unconnected, text.data);
	explain_group_end(s->p->options->explain,
			  "it lacks a network of the instance", text.data);
}

static void visit(struct search *s, int group)
{
	const struct group *g = &s->p->c->groups[group];
	struct solution solution;
	struct error err;

	explain_group(s->p->options->explain, group, NULL);
	if (g->n_nodes == 0) {
		explain_group_end(s->p->options->explain, "it has no nodes",
				  NULL);
		return;
	}
	if (!has_networks(g, s->p->inst)) {
		visit_unconnected(s, group);
		return;
	}
	if (try_group(s->p, group,
		      group_is_dedicated(s->p, group, s->dedicated), &solution,
		      &err) < 0) {
		describe_error(s->p, group, err.text, &s->messages);
		return;
	}
	describe(s->p, group, &solution, &s->messages);
	if (!solution.found || g->alloc_policy == ALLOC_UNALLOCABLE ||
	    !policy_wins(s, group, &solution))
		return;
	s->best = group;
	s->solution = solution;
}

static bool chosen(const struct group_choice *choice, int group)
{
	for (int i = 0; i < choice->n && !choice->any; i++)
		if (choice->groups[i] == group)
			return true;
	return choice->any;
}

/* Try all groups; messages are joined behind those about networks. */
static void search_groups(struct search *s, const struct group_choice *choice)
{
	s->best = NO_INDEX;
	for (int g = 0; g < s->p->c->n_groups; g++)
		if (chosen(choice, g))
			visit(s, g);
	if (s->best != NO_INDEX)
		explain_verdict(s->p->options->explain, s->best, "chosen",
				&s->solution);
	if (s->messages.len > 0)
		add_message(&s->unconnected, s->messages.data);
}

static void search_done(struct search *s)
{
	buf_done(&s->unconnected);
	buf_done(&s->messages);
}

static const char *search_text(const struct search *s)
{
	return s->unconnected.len > 0 ? s->unconnected.data : "";
}

enum placed groups_place_any(struct place *p, const struct group_choice *choice,
			     struct solution *ret, struct buf *ret_info)
{
	struct search s = {.p = p, .dedicated = is_dedicated(p->c, NULL)};
	bool found;

	search_groups(&s, choice);
	found = s.best != NO_INDEX;
	if (found) {
		buf_addf(ret_info, "Selected group: %s, ",
			 p->c->groups[s.best].name);
		*ret = s.solution;
	}
	buf_adds(ret_info, search_text(&s));
	search_done(&s);
	return found ? PLACED : PLACED_NOT;
}

int groups_best(struct place *p, const struct group_choice *choice,
		struct buf *ret_info)
{
	struct search s = {.p = p};

	search_groups(&s, choice);
	if (s.best == NO_INDEX)
		buf_adds(ret_info, search_text(&s));
	search_done(&s);
	return s.best;
}

enum placed groups_place_named(struct place *p, const char *name,
			       struct solution *ret, struct buf *ret_info)
{
	int group = cluster_find_group(p->c, name);
	struct nodeset scope;
	struct place within = *p;
	struct error err;

	if (group == NO_INDEX) {
		buf_addf(ret_info, "Wrong number of elems found with name %s",
			 name);
		return PLACED_WRONGLY;
	}
	if (!has_networks(&p->c->groups[group], p->inst)) {
		not_connected(p, group, "The group", ret_info);
		return PLACED_WRONGLY;
	}
	scope = cluster_group_nodes(p->c, group);
	within.scope = &scope;
	explain_group(p->options->explain, group, NULL);
	if (try_group(&within, group,
		      group_is_dedicated(p, group, is_dedicated(p->c, name)),
		      ret, &err) < 0) {
		buf_adds(ret_info, err.text);
		explain_group_end(p->options->explain, "no place", err.text);
		return PLACED_WRONGLY;
	}
	describe(p, group, ret, ret_info);
	if (!ret->found)
		return PLACED_NOT;
	explain_verdict(p->options->explain, group, "chosen", ret);
	return PLACED;
}
