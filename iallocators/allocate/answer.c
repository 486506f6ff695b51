/* SPDX-License-Identifier: BSD-2-Clause */
/* One function for each type of request fills the result, and a text that says
 * what came of it.  A request that finds no place is answered, too, with
 * success false.  Only one that asks for DRBD on a single node ends in an
 * error. */
#include "iallocators/allocate/answer.h"

#include <string.h>

#include "iallocators/allocate/evacuate.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/groups.h"
#include "lib/base/mem.h"

/* What has been found; its info is still without the words in front. */
struct result {
	struct hail_result *out;
	struct buf info;
	bool unsound; /* DRBD on one node could never be checked */
};

static struct hail_nodes nodes_of(const struct cluster *c,
				  const struct solution *s)
{
	struct hail_nodes ret = {.names = {c->nodes[s->primary].name}, .n = 1};

	if (s->secondary != NO_INDEX)
		ret.names[ret.n++] = c->nodes[s->secondary].name;
	return ret;
}

static struct hail_nodes one_node(const struct cluster *c, int node)
{
	return (struct hail_nodes){.names = {c->nodes[node].name}, .n = 1};
}

/* Find a place for a new instance; on success it is there. */
static enum placed place_new(struct cluster *c, const struct new_instance *new,
			     const char *group_name,
			     const struct place_options *o,
			     struct solution *ret, struct result *result)
{
	static const struct group_choice any = {.any = true};
	struct nodeset all = cluster_all_nodes(c);
	struct instance inst = new->inst;
	struct place p = {.c = c,
			  .inst = &inst,
			  .index = c->n_instances,
			  .required_nodes = (int)new->required_nodes,
			  .scope = &all,
			  .options = o,
			  .ret_unsound = &result->unsound};
	enum placed placed;

	if (new->required_nodes != 1 && new->required_nodes != 2)
		p.required_nodes = 0;
	c->instances[p.index] = inst;
	explain_subject(o->explain, c, &inst, p.required_nodes);
	placed = group_name == NULL
			 ? groups_place_any(&p, &any, ret, &result->info)
			 : groups_place_named(&p, group_name, ret,
					      &result->info);
	explain_outcome(o->explain, placed == PLACED,
			result->info.len > 0 ? result->info.data : "");
	if (placed != PLACED)
		return placed;
	place_apply(&p, ret);
	c->n_instances++;
	return PLACED;
}

static void allocate(struct cluster *c, const struct request *r,
		     const struct place_options *o, struct result *ret)
{
	struct solution s;

	ret->out->success =
		place_new(c, &r->news[0], r->group_name, o, &s, ret) == PLACED;
	if (ret->out->success)
		ret->out->nodes = nodes_of(c, &s);
}

static void add_failed(struct hail_result *ret, struct cluster *c,
		       const char *name, const char *reason)
{
	ret->failed[ret->n_failed++] = (struct hail_failed){
		name, arena_strndup(&c->arena, reason, strlen(reason))};
}

void answer_restrict(struct place_options *o, const struct restriction *r)
{
	if (o->has_restriction || !r->given)
		return;
	o->has_restriction = true;
	o->restriction = r->names;
	o->n_restriction = r->n;
}

/* Place one of them.  Unless the request says otherwise, only in a named group
 * is it no reason to give up when nothing fits.  Dedicated placement leaves
 * out the group's name then. */
static bool multi_one(struct cluster *c, const struct new_instance *new,
		      const struct request *r, const struct place_options *o,
		      struct result *ret)
{
	struct hail_result *out = ret->out;
	const char *group_name = r->group_name;
	const char *group = group_name != NULL ? group_name : new->group_name;
	struct place_options own = *o;
	struct solution s = {.found = false};
	enum placed placed;

	answer_restrict(&own, &new->restriction);
	placed = place_new(c, new, group, &own, &s, ret);
	if (placed != PLACED && !r->skip_failed &&
	    (placed == PLACED_WRONGLY || group_name == NULL))
		return false;
	if (placed != PLACED && s.dedicated) {
		buf_consume(&ret->info, ret->info.len);
		solution_describe(c, &s, &ret->info);
	}
	if (placed == PLACED)
		out->placed[out->n_placed++] =
			(struct hail_placed){new->inst.name, nodes_of(c, &s)};
	else
		add_failed(out, c, new->inst.name, ret->info.data);
	buf_consume(&ret->info, ret->info.len);
	return true;
}

static void multi_allocate(struct cluster *c, const struct request *r,
			   const struct place_options *o, struct result *ret)
{
	struct hail_result *out = ret->out;
	size_t n = (size_t)r->n_news;

	out->placed = arena_calloc(&c->arena, n, sizeof(*out->placed));
	out->failed = arena_calloc(&c->arena, n, sizeof(*out->failed));
	out->success = true;
	for (int i = 0; i < r->n_news && out->success; i++)
		out->success = multi_one(c, &r->news[i], r, o, ret);
	if (out->success)
		buf_addf(&ret->info,
			 "%zu instances failed to allocate and %zu were "
			 "allocated successfully",
			 out->n_failed, out->n_placed);
}

static void answer_moves(struct result *ret)
{
	ret->out->success = true;
	buf_addf(&ret->info,
		 "%zu instances failed to move and %zu were moved successfully",
		 ret->out->n_failed, ret->out->n_moved);
}

static void answer_relocate(struct cluster *c, const struct request *r,
			    const struct place_options *o, struct result *ret)
{
	int node;

	ret->out->success =
		evacuate_relocate(c, r->instances[0], r->required_nodes,
				  r->nodes, r->n_nodes, o, &node, &ret->info);
	if (!ret->out->success)
		return;
	buf_adds(&ret->info, "success");
	ret->out->nodes = one_node(c, node);
}

/* All other nodes of the primary's group. */
static struct nodeset mates(struct cluster *c, int primary)
{
	struct nodeset group = cluster_group_nodes(c, c->nodes[primary].group);
	struct nodeset ret = {0};

	ret.items = arena_calloc(&c->arena, (size_t)group.n, sizeof(int));
	for (int i = 0; i < group.n; i++)
		if (group.items[i] != primary)
			ret.items[ret.n++] = group.items[i];
	return ret;
}

/* A plain instance becomes DRBD: its primary stays. */
static void allocate_secondary(struct cluster *c, const struct request *r,
			       const struct place_options *o,
			       struct result *ret)
{
	int index = r->instances[0];
	struct instance inst = c->instances[index];
	int primary = inst.primary;
	struct nodeset all = cluster_all_nodes(c), others;
	struct place p = {.c = c,
			  .inst = &inst,
			  .index = index,
			  .required_nodes = 2,
			  .scope = &all,
			  .options = o,
			  .keeps_record = true};
	struct solution s = {.found = false};
	size_t mark;

	if (inst.secondary != NO_INDEX) {
		buf_adds(&ret->info, "Instance already has a secondary");
		return;
	}
	mark = change_mark(c);
	change_remove_primary(c, primary, &inst, index);
	inst.template = TEMPLATE_DRBD;
	others = mates(c, primary);
	explain_subject(o->explain, c, &inst, 2);
	explain_group(o->explain, c->nodes[primary].group, NULL);
	place_secondary(&p, primary, &others, &s);
	solution_describe(c, &s, &ret->info);
	ret->out->success = s.found;
	explain_group_end(o->explain, s.found ? "chosen" : "no place",
			  ret->info.data);
	if (s.found)
		explain_verdict(o->explain, c->nodes[primary].group, "chosen",
				&s);
	if (!s.found) {
		change_undo(c, mark);
		return;
	}
	place_apply(&p, &s);
	c->instances[index] = inst;
	ret->out->nodes = one_node(c, s.secondary);
}

int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, struct hail_result *ret,
	   struct error *err)
{
	struct result result = {.out = ret};

	ret->type = r->type;
	switch (r->type) {
	case REQUEST_ALLOCATE:
		allocate(c, r, o, &result);
		break;
	case REQUEST_MULTI:
		multi_allocate(c, r, o, &result);
		break;
	case REQUEST_RELOCATE:
		answer_relocate(c, r, o, &result);
		break;
	case REQUEST_CHANGE_GROUP:
		change_group(c, r->instances, r->n_instances, r->groups,
			     r->n_groups, o, ret);
		answer_moves(&result);
		break;
	case REQUEST_EVACUATE:
		evacuate(c, r->instances, r->n_instances, r->mode, o, ret);
		answer_moves(&result);
		break;
	default:
		allocate_secondary(c, r, o, &result);
		break;
	}
	buf_addf(&ret->info, "Request %s: %s",
		 ret->success ? "successful" : "failed",
		 result.info.len > 0 ? result.info.data : "");
	buf_done(&result.info);
	if (result.unsound)
		return error_set(err, ERR_REQUEST, NULL,
				 "An instance of type drbd requires two nodes, "
				 "not one");
	return 0;
}
