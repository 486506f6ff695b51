/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes that do not answer are set offline where the cluster allows it
 * (auto_offline), and set back when they answer again (auto_readmit).
 *
 * A node is set offline when its daemon has not answered in several runs, and
 * its SSH server does not either.  When more than a third of a group is silent
 * it is rather this node that cannot be reached: then nothing is done.  What
 * runs there is not touched; that is the failover's part. */
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/opcode/opcode.h"

static const char *name_of(const json_t *node)
{
	return json_str(node, "name", "");
}

/* Whether it could answer: nobody expects that of the others. */
static bool is_expected(const json_t *node)
{
	return !json_bool(node, "offline", false) &&
	       json_bool(node, "powered", true);
}

static bool answers(const json_t *node)
{
	return json_str(node, "bootid", NULL) != NULL;
}

/* Whoever sets the flag takes the tag away (OP_NODE_SET_PARAMS), so it is set
 * after that. */
static void plan_flag(const json_t *node, bool offline, json_t *jobs)
{
	const char *name = name_of(node);
	auto_free char *why = xprintf(offline ? "Node %s does not answer"
					      : "Node %s answers again",
				      name);
	json_t *set =
		watcher_op(&op_class_node_set_params, "node_name", name, why);
	json_t *ops = json_make("[o]", set), *tag;

	json_set_bool(set, "offline", offline);
	json_set_bool(set, "auto_promote", true);
	if (offline) {
		tag = watcher_op(&op_class_tags_set, "name", name, why);
		json_set_str(tag, "kind", "node");
		json_object_set_new(tag, "tags", json_make("[s]", WATCHER_TAG));
		json_array_append_new(ops, tag);
	}
	watcher_jobs_add(jobs, name, ops,
			 offline ? "set node %s offline, which does not answer"
				 : "readmit node %s, which answers again",
			 name);
}

/* --- offline --- */

static void plan_silent(struct watcher_report *r, int64_t missed, bool storm,
			const json_t *node, const struct watcher_policy *policy,
			const struct watcher_probe *probe, json_t *jobs)
{
	const char *name = name_of(node);

	if (json_bool(node, "master", false))
		watcher_did_not(r, "Node %s, the master, does not answer",
				name);
	else if (!policy->offline)
		watcher_did_not(r,
				"Node %s does not answer, and stays online: "
				"auto_offline is off (gnt-node modify "
				"--offline=yes)",
				name);
	else if (storm)
		watcher_did_not(r,
				"Node %s does not answer, and stays online: "
				"more than a third of its group are silent, so "
				"it may be the network of this node",
				name);
	else if (missed < WATCHER_MISSES)
		watcher_did_not(r,
				"Node %s does not answer, in %jd of %d runs "
				"after which it is set offline",
				name, (intmax_t)missed, WATCHER_MISSES);
	else if (probe->ssh(probe->arg, node))
		watcher_did_not(r,
				"Node %s stays online: its daemon does not "
				"answer, but SSH does (start gantry-noded "
				"there)",
				name);
	else
		plan_flag(node, true, jobs);
}

static void plan_offline(struct watcher_report *r, struct watcher_state *s,
			 const struct watcher_view *v,
			 const struct watcher_policy *policy,
			 const struct watcher_probe *probe, json_t *jobs)
{
	size_t i, silent = 0, expected = 0;
	json_t *node;

	json_array_foreach (v->nodes, i, node) {
		expected += is_expected(node);
		silent += is_expected(node) && !answers(node);
	}
	json_array_foreach (v->nodes, i, node) {
		int64_t missed;

		if (!is_expected(node))
			continue;
		missed = watcher_state_missed(s, name_of(node), answers(node));
		if (missed > 0)
			plan_silent(r, missed,
				    silent > 1 && silent * 3 > expected, node,
				    policy, probe, jobs);
	}
}

/* --- back --- */

/* One that it set offline itself.  Others are not asked whether they answer:
 * that takes time where they do not, and changes nothing. */
static void plan_back(struct watcher_report *r, const json_t *node,
		      const struct watcher_policy *policy,
		      const struct watcher_probe *probe, json_t *jobs)
{
	const char *name = name_of(node);

	if (!policy->readmit)
		watcher_did_not(r,
				"Node %s is offline since it did not answer, "
				"and stays so: auto_readmit is off (gnt-node "
				"modify --offline=no)",
				name);
	else if (!json_bool(node, "powered", true) ||
		 !probe->noded(probe->arg, node))
		watcher_did_not(r, "Node %s is still silent", name);
	else
		plan_flag(node, false, jobs);
}

void watcher_plan_nodes(struct watcher_report *r, struct watcher_state *s,
			const struct watcher_view *v,
			const struct watcher_policy *policy,
			const struct watcher_probe *probe, json_t *jobs)
{
	json_t *node;
	size_t i;

	plan_offline(r, s, v, policy, probe, jobs);
	json_array_foreach (v->nodes, i, node)
		if (json_bool(node, "offline", false) &&
		    json_array_has_str(json_get(node, "tags"), WATCHER_TAG))
			plan_back(r, node, policy, probe, jobs);
}
