/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator of the scripted nodes. */
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "tests/sim/sim.h"

/* The plan of an evacuation: each instance migrates to any of the nodes that is
 * not its own; without one it cannot move. */
static json_t *evacuation(const json_t *message, const json_t *names,
			  const char **found, size_t n_found)
{
	json_t *moved = json_array(), *failed = json_array();
	json_t *jobs = json_array(), *name;
	size_t i;

	json_array_foreach (names, i, name) {
		const json_t *inst = json_get(json_get(message, "instances"),
					      json_string_value(name));
		const char *own = json_string_value(
			json_array_get(json_get(inst, "nodes"), 0));
		const char *to = NULL;

		for (size_t k = 0; k < n_found; k++)
			if (!str_eq(found[k], own))
				to = found[k];
		if (to == NULL) {
			json_array_append_new(
				failed, json_make("[O, s]", name, "no node"));
			continue;
		}
		json_array_append_new(
			moved, json_make("[O, s, [s]]", name, "default", to));
		json_array_append_new(
			jobs,
			json_make("[{s:s, s:O, s:s, s:b}]", "OP_ID",
				  "OP_INSTANCE_MIGRATE", "instance_name", name,
				  "target_node", to, "allow_failover", 1));
	}
	return json_make("{s:b, s:s, s:[o, o, o]}", "success", 1, "info", "",
			 "result", moved, failed, jobs);
}

/* Any of them, or two where mirrors need them. */
static json_t *places(const json_t *request, const char *const *found,
		      size_t n_found)
{
	size_t first = random_below(n_found);
	json_t *names = json_make("[s]", found[first]);

	if (json_int(request, "required_nodes", 1) > 1)
		json_array_append_new(
			names, json_string(found[(first + 1) % n_found]));
	return names;
}

static json_t *placement(const json_t *instances, const char *const *found,
			 size_t n_found)
{
	json_t *placed = json_array();

	for (size_t i = 0; i < json_array_size(instances); i++) {
		const json_t *one = json_array_get(instances, i);

		json_array_append_new(
			placed, json_make("[s, o]", json_str(one, "name", ""),
					  places(one, found, n_found)));
	}
	return json_make("{s:b, s:s, s:[o, []]}", "success", 1, "info", "",
			 "result", placed);
}

/* Has the group of the node what the NICs of a new instance need? */
static bool has_networks(const json_t *message, const json_t *node)
{
	const json_t *group = json_get(json_get(message, "nodegroups"),
				       json_str(node, "group", ""));
	const json_t *nics = json_get(json_get(message, "request"), "nics");
	const json_t *nic;
	size_t i;

	json_array_foreach (nics, i, nic) {
		const char *network = json_str(nic, "network", NULL);

		if (network != NULL &&
		    !json_array_has_str(json_get(group, "networks"), network))
			return false;
	}
	return true;
}

/* Whether the request lets it go there. */
static bool is_target(const json_t *request, const char *name,
		      const json_t *node)
{
	const json_t *groups = json_get(request, "target_groups");
	const json_t *free_ones = json_get(request, "restrict-to-nodes");

	if (free_ones != NULL && !json_array_has_str(free_ones, name))
		return false;
	return groups == NULL ||
	       json_array_has_str(groups, json_str(node, "group", ""));
}

/* The node that cannot be meant: the one that is left, or the primary of the
 * instance that gets a secondary. */
static const char *not_here(const json_t *message, const json_t *request)
{
	const json_t *inst = json_get(json_get(message, "instances"),
				      json_str(request, "name", ""));
	bool secondary =
		str_eq(json_str(request, "type", ""), "allocate-secondary");
	const json_t *nodes = secondary ? json_get(inst, "nodes")
					: json_get(request, "relocate_from");

	return json_string_value(json_array_get(nodes, 0));
}

json_t *sim_iallocator(struct sim_node *n, const json_t *args)
{
	const char *text = json_string_value(json_array_get(args, 1));
	struct error err;
	auto_json json_t *message = json_parse(text, strlen(text), &err);
	const json_t *request = json_get(message, "request");
	const char *not_this = not_here(message, request);
	auto_free char *answer = NULL;
	auto_json json_t *reply = NULL;
	const char *found[SIM_NODES_MAX], *name;
	size_t n_found = 0;
	json_t *node;

	json_decref(n->asked);
	n->asked = json_ref(request);
	json_decref(n->told);
	n->told = json_ref(json_get(message, "nodes"));
	json_object_foreach (json_unconst(json_get(message, "nodes")), name,
			     node)
		if (!json_bool(node, "offline", false) &&
		    !json_bool(node, "drained", false) &&
		    !str_eq(name, not_this) && has_networks(message, node) &&
		    is_target(request, name, node))
			found[n_found++] = name;
	if (json_get(request, "target_groups") != NULL ||
	    str_eq(json_str(request, "type", ""), "node-evacuate"))
		reply = evacuation(message, json_get(request, "instances"),
				   found, n_found);
	else if (n_found == 0)
		reply = json_make("{s:b, s:s, s:[]}", "success", 0, "info",
				  "no node is left", "result");
	else if (str_eq(json_str(request, "type", ""), "allocate-secondary"))
		reply = json_make("{s:b, s:s, s:s}", "success", 1, "info", "",
				  "result", found[random_below(n_found)]);
	else if (str_eq(json_str(request, "type", ""), "multi-allocate"))
		reply = placement(json_get(request, "instances"), found,
				  n_found);
	else
		reply = json_make("{s:b, s:s, s:o}", "success", 1, "info", "",
				  "result", places(request, found, n_found));
	answer = json_text(reply);
	return json_make("[b, s]", 1, answer);
}
