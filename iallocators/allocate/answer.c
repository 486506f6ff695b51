/* SPDX-License-Identifier: BSD-2-Clause */
/* One function for each type of request fills a struct result with a text and
 * JSON, and print() makes one object of it.  A request that finds no place is
 * answered, too, with success false.  Only one that asks for DRBD on a single
 * node ends in an error. */
#include "iallocators/allocate/answer.h"

#include <string.h>

#include "iallocators/allocate/evacuate.h"
#include "iallocators/model/hformat.h"
#include "iallocators/place/explain.h"
#include "iallocators/place/groups.h"
#include "lib/base/mem.h"

/* What has been found: text for people, and JSON. */
struct result {
	bool success;
	struct buf info;
	struct buf json;
	bool unsound; /* DRBD on one node could never be checked */
};

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

	ret->success =
		place_new(c, &r->news[0], r->group_name, o, &s, ret) == PLACED;
	if (ret->success)
		solution_json(c, &s, &ret->json);
}

static void separate(struct buf *b)
{
	if (b->len > 0)
		buf_addc(b, ',');
}

/* Both lists of a multi-allocate. */
struct multi {
	struct buf placed, failed;
	int n_placed, n_failed;
};

static void add_placed(struct multi *m, const struct cluster *c,
		       const char *name, const struct solution *s)
{
	separate(&m->placed);
	buf_addc(&m->placed, '[');
	hf_json_string(&m->placed, name);
	buf_addc(&m->placed, ',');
	solution_json(c, s, &m->placed);
	buf_addc(&m->placed, ']');
	m->n_placed++;
}

static void add_failed(struct multi *m, const char *name, const char *reason)
{
	separate(&m->failed);
	buf_addc(&m->failed, '[');
	hf_json_string(&m->failed, name);
	buf_addc(&m->failed, ',');
	hf_json_string(&m->failed, reason);
	buf_addc(&m->failed, ']');
	m->n_failed++;
}

/* Place one of them.  Unless the request says otherwise, only in a named group
 * is it no reason to give up when nothing fits.  Dedicated placement leaves
 * out the group's name then. */
static bool multi_one(struct cluster *c, const struct new_instance *new,
		      const struct request *r, const struct place_options *o,
		      struct multi *m, struct result *ret)
{
	const char *group_name = r->group_name;
	const char *group = group_name != NULL ? group_name : new->group_name;
	struct solution s = {.found = false};
	enum placed placed = place_new(c, new, group, o, &s, ret);

	if (placed != PLACED && !r->skip_failed &&
	    (placed == PLACED_WRONGLY || group_name == NULL))
		return false;
	if (placed != PLACED && s.dedicated) {
		buf_consume(&ret->info, ret->info.len);
		solution_describe(c, &s, &ret->info);
	}
	if (placed == PLACED)
		add_placed(m, c, new->inst.name, &s);
	else
		add_failed(m, new->inst.name, ret->info.data);
	buf_consume(&ret->info, ret->info.len);
	return true;
}

static const char *text_of(const struct buf *b)
{
	return b->len > 0 ? b->data : "";
}

static void multi_allocate(struct cluster *c, const struct request *r,
			   const struct place_options *o, struct result *ret)
{
	struct multi m = {.n_placed = 0};

	ret->success = true;
	for (int i = 0; i < r->n_news && ret->success; i++)
		ret->success = multi_one(c, &r->news[i], r, o, &m, ret);
	if (ret->success) {
		buf_addf(&ret->info,
			 "%d instances failed to allocate and %d were "
			 "allocated successfully",
			 m.n_failed, m.n_placed);
		buf_addf(&ret->json, "[[%s],[%s]]", text_of(&m.placed),
			 text_of(&m.failed));
	}
	buf_done(&m.placed);
	buf_done(&m.failed);
}

static void answer_moves(struct evac_answer *moves, struct result *ret)
{
	ret->success = true;
	buf_addf(&ret->info,
		 "%d instances failed to move and %d were moved successfully",
		 moves->n_failed, moves->n_moved);
	buf_addf(&ret->json, "[[%s],[%s],[%s]]", text_of(&moves->moved),
		 text_of(&moves->failed), text_of(&moves->jobs));
	evac_answer_done(moves);
}

static void answer_relocate(struct cluster *c, const struct request *r,
			    const struct place_options *o, struct result *ret)
{
	int node;

	ret->success =
		evacuate_relocate(c, r->instances[0], r->required_nodes,
				  r->nodes, r->n_nodes, o, &node, &ret->info);
	if (!ret->success)
		return;
	buf_adds(&ret->info, "success");
	buf_addc(&ret->json, '[');
	hf_json_string(&ret->json, c->nodes[node].name);
	buf_addc(&ret->json, ']');
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
	ret->success = s.found;
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
	hf_json_string(&ret->json, c->nodes[s.secondary].name);
}

static void print(const struct result *result, const char *key, struct buf *out)
{
	auto_buf struct buf info = {0};

	buf_addf(&info, "Request %s: %s",
		 result->success ? "successful" : "failed",
		 result->info.len > 0 ? result->info.data : "");
	buf_addf(out, "{\"success\":%s,\"info\":",
		 result->success ? "true" : "false");
	hf_json_string(out, info.data);
	buf_addf(out, ",\"%s\":%s}\n", key,
		 result->success ? result->json.data : "[]");
}

void answer_add(struct buf *answer, const char *key, const char *value)
{
	answer->len -= strlen("}\n");
	buf_addf(answer, ",\"%s\":", key);
	buf_adds(answer, value);
	buf_adds(answer, "}\n");
}

int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, const char *result_key,
	   struct buf *out, struct error *err)
{
	struct result result = {.success = false};
	struct evac_answer moves = {.n_moved = 0};

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
			     r->n_groups, o, &moves);
		answer_moves(&moves, &result);
		break;
	case REQUEST_EVACUATE:
		evacuate(c, r->instances, r->n_instances, r->mode, o, &moves);
		answer_moves(&moves, &result);
		break;
	default:
		allocate_secondary(c, r, o, &result);
		break;
	}
	if (!result.unsound)
		print(&result, result_key, out);
	buf_done(&result.info);
	buf_done(&result.json);
	if (result.unsound)
		return error_set(err, ERR_REQUEST, NULL,
				 "An instance of type drbd requires two nodes, "
				 "not one");
	return 0;
}
