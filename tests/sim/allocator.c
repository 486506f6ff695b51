/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator of the scripted nodes. */
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "tests/sim/sim.h"

static const json_t *told_instance(const json_t *message, const char *name)
{
	return json_get(json_get(message, "instances"), name);
}

/* One of the nodes that is not the instance's; NULL. */
static const char *elsewhere(const json_t *inst, const char *const *found,
			     size_t n_found)
{
	for (size_t k = n_found; k > 0; k--)
		if (!json_array_has_str(json_get(inst, "nodes"), found[k - 1]))
			return found[k - 1];
	return NULL;
}

static json_t *migration(const char *name, const char *to)
{
	return json_make("{s:s, s:s, s:s*, s:b}", "OP_ID",
			 "OP_INSTANCE_MIGRATE", "instance_name", name,
			 "target_node", to, "allow_failover", 1);
}

/* How it leaves its primary node, or with this mode its secondary: mirrors go
 * from one to the other, what is on shared storage to the node `to`. */
static json_t *departure(const char *mode, const json_t *inst, const char *name,
			 const char *to)
{
	bool mirrored = str_eq(json_str(inst, "disk_template", ""), "drbd");

	if (mirrored && str_eq(mode, "secondary-only"))
		return json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
				 "OP_INSTANCE_REPLACE_DISKS", "instance_name",
				 name, "mode", "replace_new_secondary",
				 "remote_node", to);
	return migration(name,
			 mirrored && str_eq(mode, "primary-only") ? NULL : to);
}

/* The plan of an evacuation; without a node to go to an instance fails. */
static json_t *evacuation(const json_t *message, const json_t *request,
			  const char *const *found, size_t n_found)
{
	json_t *moved = json_array(), *failed = json_array();
	json_t *jobs = json_array(), *item;
	size_t i;

	json_array_foreach (json_get(request, "instances"), i, item) {
		const char *name = json_string_value(item);
		const json_t *inst = told_instance(message, name);
		const char *to = elsewhere(inst, found, n_found);

		if (to == NULL) {
			json_array_append_new(
				failed, json_make("[s, s]", name, "no node"));
			continue;
		}
		json_array_append_new(
			moved, json_make("[s, s, [s]]", name, "default", to));
		json_array_append_new(
			jobs,
			json_make("[o]",
				  departure(json_str(request, "evac_mode", ""),
					    inst, name, to)));
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

/* Whether it is the instance's already that gets another node. */
static bool is_here(const json_t *message, const json_t *request,
		    const char *name)
{
	const json_t *inst =
		told_instance(message, json_str(request, "name", ""));

	return json_array_has_str(json_get(inst, "nodes"), name);
}

json_t *sim_iallocator(struct sim_node *n, const json_t *args)
{
	const char *text = json_string_value(json_array_get(args, 1));
	struct error err;
	auto_json json_t *message = json_parse(text, strlen(text), &err);
	const json_t *request = json_get(message, "request");
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
		    !is_here(message, request, name) &&
		    has_networks(message, node) &&
		    is_target(request, name, node))
			found[n_found++] = name;
	if (json_get(request, "target_groups") != NULL ||
	    str_eq(json_str(request, "type", ""), "node-evacuate"))
		reply = evacuation(message, request, found, n_found);
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
