/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/answer.h"

#include <string.h>

#include "iallocators/groups.h"
#include "iallocators/hformat.h"
#include "lib/base/mem.h"

/* What has been found: text for people, and JSON. */
struct result {
	bool success;
	struct buf info;
	struct buf json;
};

static void add_list_of_nodes(struct buf *b, const struct cluster *c,
			      const struct solution *s)
{
	buf_addc(b, '[');
	hf_json_string(b, c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX) {
		buf_addc(b, ',');
		hf_json_string(b, c->nodes[s->secondary].name);
	}
	buf_addc(b, ']');
}

/* Find a place for a new instance; on success it is there. */
static bool place_new(struct cluster *c, const struct new_instance *new,
		      const char *group_name, const struct place_options *o,
		      struct solution *ret, struct buf *ret_info)
{
	static const struct group_choice any = {.any = true};
	struct nodeset all = cluster_all_nodes(c);
	struct instance inst = new->inst;
	struct place p = {.c = c,
			  .inst = &inst,
			  .index = c->n_instances,
			  .required_nodes = (int)new->required_nodes,
			  .scope = &all,
			  .options = o};
	bool found;

	if (new->required_nodes != 1 && new->required_nodes != 2)
		p.required_nodes = 0;
	c->instances[p.index] = inst;
	found = group_name == NULL
			? groups_place_any(&p, &any, ret, ret_info)
			: groups_place_named(&p, group_name, ret, ret_info);
	if (!found)
		return false;
	place_apply(&p, ret);
	c->n_instances++;
	return true;
}

static void allocate(struct cluster *c, const struct request *r,
		     const struct place_options *o, struct result *ret)
{
	struct solution s;

	ret->success =
		place_new(c, &r->news[0], r->group_name, o, &s, &ret->info);
	if (ret->success)
		add_list_of_nodes(&ret->json, c, &s);
}

static void separate(struct buf *b)
{
	if (b->len > 0)
		buf_addc(b, ',');
}

/* Without a group the first instance without a place ends it all. */
static void multi_allocate(struct cluster *c, const struct request *r,
			   const struct place_options *o, struct result *ret)
{
	auto_buf struct buf placed = {0}, failed = {0};
	int n_placed = 0;

	for (int i = 0; i < r->n_news; i++) {
		auto_buf struct buf info = {0};
		struct solution s;
		const char *group = r->group_name != NULL
					    ? r->group_name
					    : r->news[i].group_name;
		bool found = place_new(c, &r->news[i], group, o, &s, &info);
		struct buf *out = found ? &placed : &failed;

		if (!found && r->group_name == NULL) {
			buf_add(&ret->info, info.data, info.len);
			return;
		}
		separate(out);
		buf_addc(out, '[');
		hf_json_string(out, r->news[i].inst.name);
		buf_addc(out, ',');
		if (found)
			add_list_of_nodes(out, c, &s);
		else
			hf_json_string(out, info.data);
		buf_addc(out, ']');
		n_placed += found;
	}
	ret->success = true;
	buf_addf(&ret->info,
		 "%d instances failed to allocate and %d were allocated "
		 "successfully",
		 r->n_news - n_placed, n_placed);
	buf_addf(&ret->json, "[[%s],[%s]]", placed.len > 0 ? placed.data : "",
		 failed.len > 0 ? failed.data : "");
}

static void answer_moves(struct evac_answer *moves, struct result *ret)
{
	ret->success = true;
	buf_addf(&ret->info,
		 "%d instances failed to move and %d were moved successfully",
		 moves->n_failed, moves->n_moved);
	buf_addf(&ret->json, "[[%s],[%s],[%s]]",
		 moves->moved.len > 0 ? moves->moved.data : "",
		 moves->failed.len > 0 ? moves->failed.data : "",
		 moves->jobs.len > 0 ? moves->jobs.data : "");
	evac_answer_done(moves);
}

static void answer_relocate(struct cluster *c, const struct request *r,
			    const struct place_options *o, struct result *ret)
{
	int node;

	ret->success =
		relocate(c, r->instances[0], r->required_nodes, r->nodes,
			 r->n_nodes, o->ignore_soft_errors, &node, &ret->info);
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
			  .options = o};
	struct solution s = {.found = false};

	if (inst.secondary != NO_INDEX) {
		buf_adds(&ret->info, "Instance already has a secondary");
		return;
	}
	change_remove_primary(c, primary, &inst, index);
	change_commit(c);
	inst.template = TEMPLATE_DRBD;
	c->instances[index].template = TEMPLATE_DRBD;
	others = mates(c, primary);
	place_secondary(&p, primary, &others, &s);
	solution_describe(c, &s, &ret->info);
	ret->success = s.found;
	if (!s.found)
		return;
	place_apply(&p, &s);
	hf_json_string(&ret->json, c->nodes[s.secondary].name);
}

static void print(const struct result *result, struct buf *out)
{
	auto_buf struct buf info = {0};

	buf_addf(&info, "Request %s: %s",
		 result->success ? "successful" : "failed",
		 result->info.len > 0 ? result->info.data : "");
	buf_addf(out, "{\"success\":%s,\"info\":",
		 result->success ? "true" : "false");
	hf_json_string(out, info.data);
	buf_addf(out, ",\"result\":%s}\n",
		 result->success ? result->json.data : "[]");
}

/* DRBD on one node could never be checked for redundancy. */
static int check_new(const struct request *r, struct error *err)
{
	for (int i = 0; i < r->n_news; i++) {
		const struct new_instance *new = &r->news[i];

		if (new->inst.template == TEMPLATE_DRBD &&new->required_nodes ==
		    1)
			return error_set(err, ERR_REQUEST, NULL,
					 "Instance %s of type drbd requires "
					 "two nodes, not one",
					 new->inst.name);
	}
	return 0;
}

int answer(struct cluster *c, const struct request *r,
	   const struct place_options *o, struct buf *out, struct error *err)
{
	struct result result = {.success = false};
	struct evac_answer moves = {.n_moved = 0};

	if (o->capacity_checks && check_new(r, err) < 0)
		return -1;
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
			     r->n_groups, &moves);
		answer_moves(&moves, &result);
		break;
	case REQUEST_EVACUATE:
		evacuate(c, r->instances, r->n_instances, r->mode,
			 o->ignore_soft_errors, &moves);
		answer_moves(&moves, &result);
		break;
	default:
		allocate_secondary(c, r, o, &result);
		break;
	}
	print(&result, out);
	buf_done(&result.info);
	buf_done(&result.json);
	return 0;
}
