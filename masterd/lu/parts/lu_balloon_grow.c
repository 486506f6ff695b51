/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of running instances' sizes without a new instance: on request, and
 * when memory has become free. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "masterd/core/balloon_turns.h"
#include "masterd/lu/parts/lu_balloon_private.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"
#include "queue/queue.h"

/* The lowest priority: nobody waits for this job. */
#define GROW_PRIORITY 10

/* --- by hand --- */

static WAITS int resize(struct lu *lu, const json_t *inst, int64_t mib,
			bool force, struct error *err)
{
	const char *node = inst_primary_node(inst);
	auto_floor struct floor f = {.lu = lu, .node = node, .self = inst};
	const struct balloon_want w = {.node = node, .inst = inst};

	if (!force && lu_balloon_is_tight(lu, node)) {
		if (floor_look(&f, err) < 0)
			return -1;
		if (floor_free(&f) < mib)
			return lu_balloon_refuse(lu, &w, mib, floor_free(&f),
						 err);
	}
	return lu_balloon_set_size(lu, inst, node, mib, err);
}

int lu_balloon_resize(struct lu *lu, const json_t *inst, int64_t mib,
		      bool force, struct error *err)
{
	auto_free char *node = xstrdup(inst_primary_node(inst));
	int rc;

	if (lu_balloon_take_turn(lu, node, err) < 0)
		return -1;
	rc = resize(lu, inst, mib, force, err);
	lu_balloon_give_turn(lu, node);
	return rc;
}

/* --- growing --- */

bool lu_balloon_may_grow(const struct lu *lu)
{
	return state_own(config_cluster(lu->m->config), "memory_growth", 1) !=
	       0;
}

/* Whether an instance that should run there may have less than it could. */
static bool anybody_could_grow(struct lu *lu, const char *node)
{
	struct config *c = lu->m->config;
	auto_strv struct strv uuids = {0};

	config_node_primaries(c, node, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, uuids.items[i]);
		struct balloon_guest g = lu_balloon_guest_of(lu, inst, 0);

		if (str_eq(inst_admin_state(inst), "up") && g.min < g.most)
			return true;
	}
	return false;
}

/* Whether a job that has not begun yet will do it. */
static bool is_planned(struct lu *lu, const char *node)
{
	uint64_t id = balloon_turns_job(lu->m->turns, node);
	const struct job *j = id == 0 ? NULL : queue_job(lu->m->queue, id);

	return j != NULL && queue_lives(lu->m->queue, id) &&
	       j->ops[0].exec_us == 0;
}

static WAITS void submit_growth(struct lu *lu, const char *node)
{
	auto_json json_t *result = NULL;
	struct error err;

	result = lu_submit_jobs(lu,
				json_make("[[{s:s, s:s, s:i}]]", "OP_ID",
					  "OP_NODE_GROW_INSTANCES", "node_name",
					  lu_node_name(lu, node), "priority",
					  GROW_PRIORITY),
				NULL, &err);
	if (result == NULL) {
		/* A drained queue takes no jobs; this one can be left out. */
		lu_info(lu, "No job lets instances on node %s grow: %s",
			lu_node_name(lu, node), err.text);
		return;
	}
	if (!lu_plans(lu))
		balloon_turns_note_job(
			lu->m->turns, node,
			(uint64_t)json_integer_value(json_array_get(
				json_array_get(json_get(result, "jobs"), 0),
				1)));
}

void lu_balloon_freed(struct lu *lu, const char *node_uuid)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);
	auto_free char *uuid = xstrdup(node_uuid);
	struct node_memory m;

	if (node == NULL || node_offline(node) || lu->run->killed ||
	    lu->common.dry_run || !lu_balloon_may_grow(lu))
		return;
	resources_memory(lu->m->config, uuid, NULL, &m);
	if (m.recorded && anybody_could_grow(lu, uuid) && !is_planned(lu, uuid))
		submit_growth(lu, uuid);
}

static WAITS json_t *grow(struct lu *lu, const char *node, struct error *err)
{
	auto_floor struct floor f = {.lu = lu, .node = node};
	auto_free int64_t *before = NULL;
	auto_json json_t *rows = json_array();

	if (floor_look(&f, err) < 0)
		return NULL;
	before = floor_sizes(&f);
	balloon_grow(f.guests, f.n, floor_free(&f));
	floor_apply(&f, before, rows, false, err);
	return steal(&rows);
}

json_t *lu_balloon_grow(struct lu *lu, const char *node_uuid, struct error *err)
{
	json_t *rows;

	if (lu_balloon_take_turn(lu, node_uuid, err) < 0)
		return NULL;
	rows = grow(lu, node_uuid, err);
	lu_balloon_give_turn(lu, node_uuid);
	return rows;
}
