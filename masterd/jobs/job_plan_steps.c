/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of a plan as JSON (doc/protocol/luxi.md). */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/jobs/job_plan_private.h"

/* Whether steps are still recorded: none is after a call without an answer. */
static bool is_known(const struct job_plan *p)
{
	return p->steps != NULL && p->unknown == NULL;
}

static json_t *last_step(const struct job_plan *p)
{
	size_t n = json_array_size(p->steps);

	return n == 0 ? NULL : json_array_get(p->steps, n - 1);
}

/* Add the step, or only its node to the last one if they are alike. */
static void add_call(struct job_plan *p, json_t *step STEALS, const char *node)
{
	json_t *last = last_step(p);
	auto_json json_t *before = last == NULL ? json_null() : json_copy(last);
	json_t *nodes = json_object_get(last, "nodes");

	json_object_del(before, "nodes");
	if (json_equal(before, step) && !json_array_has_str(nodes, node)) {
		json_array_append_new(nodes, json_string(node));
		json_decref(step);
		return;
	}
	json_object_set_new(step, "nodes", json_make("[s]", node));
	json_array_append_new(p->steps, step);
}

/* What a call is about, as far as its arguments have names: disks, an instance;
 * otherwise its first argument if it is a text (a path). */
static json_t *subjects(const json_t *args)
{
	const json_t *first = json_array_get(args, 0);
	json_t *list = json_array(), *arg;
	size_t i;

	json_array_foreach (args, i, arg) {
		const char *name = json_get(arg, "dev_type") != NULL
					   ? json_str(arg, "iv_name", NULL)
					   : json_str(arg, "name", NULL);

		if (name != NULL && *name != '\0')
			json_array_append_new(list, json_string(name));
	}
	if (json_array_size(list) == 0 && json_is_string(first))
		json_array_append(list, json_unconst(first));
	return list;
}

static json_t *hooks_step(const json_t *args)
{
	return json_make("{s:s, s:O, s:O}", "do", "hooks", "path",
			 json_array_get(args, 0), "phase",
			 json_array_get(args, 1));
}

void job_plan_note_call(struct job_plan *p, const struct noderpc_call *call,
			const json_t *args, bool looks)
{
	json_t *step;

	if (!is_known(p))
		return;
	step = strcmp(call->procedure, "hooks_runner") == 0
		       ? hooks_step(args)
		       : json_make("{s:s, s:s, s:o}", "do",
				   looks ? "look" : "call", "procedure",
				   call->procedure, "about", subjects(args));
	add_call(p, step, call->node_name);
}

void job_plan_note_text(struct job_plan *p, const char *text)
{
	if (is_known(p))
		json_array_append_new(p->steps, json_make("{s:s, s:s}", "do",
							  "say", "text", text));
}

void job_plan_note_jobs(struct job_plan *p, json_t *ids STEALS)
{
	if (is_known(p))
		json_array_append_new(
			p->steps,
			json_make("{s:s, s:O}", "do", "submit", "jobs", ids));
	json_decref(ids);
}

/* --- changes of the configuration --- */

static const struct {
	enum config_kind kind;
	const char *container, *word;
} kinds[] = {
	{CONFIG_NODE, "nodes", "node"},
	{CONFIG_GROUP, "nodegroups", "group"},
	{CONFIG_INSTANCE, "instances", "instance"},
	{CONFIG_DISK, "disks", "disk"},
	{CONFIG_NETWORK, "networks", "network"},
	{CONFIG_FILTER, "filters", "filter"},
};

static const char *shown_name(const json_t *object)
{
	const char *name = object_name_or(object, NULL);

	if (name == NULL)
		name = disk_iv_name_or(object, NULL);
	return name != NULL ? name : object_uuid(object);
}

/* Members that only count changes. */
static bool is_stamp(const char *member)
{
	return strcmp(member, "serial_no") == 0 || strcmp(member, "mtime") == 0;
}

static bool same_member(const json_t *a, const json_t *b, const char *member)
{
	const json_t *x = json_get(a, member), *y = json_get(b, member);

	return x == y || (x != NULL && y != NULL && json_equal(x, y));
}

/* The names of the members in which two versions differ; the values may be
 * secret. */
static json_t *changed_members(const json_t *before, const json_t *after)
{
	json_t *list = json_array(), *value;
	const char *member;

	json_object_foreach (json_unconst(after), member, value)
		if (!is_stamp(member) && !same_member(before, after, member))
			json_array_append_new(list, json_string(member));
	json_object_foreach (json_unconst(before), member, value)
		if (json_object_get(after, member) == NULL)
			json_array_append_new(list, json_string(member));
	return list;
}

static void add_change(json_t *changes, const char *how, const char *word,
		       const json_t *object, json_t *members STEALS)
{
	json_t *change = json_make("{s:s, s:s, s:s}", "change", how, "kind",
				   word, "name", shown_name(object));

	if (members != NULL)
		json_object_set_new(change, "members", members);
	json_array_append_new(changes, change);
}

/* An unchanged object is the same pointer in both. */
static void compare(const char *word, const json_t *before, const json_t *after,
		    json_t *changes)
{
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(after), uuid, object) {
		const json_t *old = json_object_get(before, uuid);

		if (old == NULL)
			add_change(changes, "add", word, object, NULL);
		else if (old != object)
			add_change(changes, "modify", word, object,
				   changed_members(old, object));
	}
	json_object_foreach (json_unconst(before), uuid, object)
		if (json_object_get(after, uuid) == NULL)
			add_change(changes, "remove", word, object, NULL);
}

static json_t *all_changes(const json_t *before, const json_t *after)
{
	const json_t *old = document_cluster(before);
	const json_t *new = document_cluster(after);
	json_t *changes = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		compare(kinds[i].word, json_get(before, kinds[i].container),
			json_get(after, kinds[i].container), changes);
	if (old != new)
		json_array_append_new(
			changes,
			json_make("{s:s, s:s, s:s, s:o}", "change", "modify",
				  "kind", "cluster", "name", cluster_name(new),
				  "members", changed_members(old, new)));
	return changes;
}

/* The other master candidates, which get each new configuration. */
static json_t *candidates(const struct config *c)
{
	auto_strv struct strv uuids = {0};
	json_t *list = json_array();

	config_sorted(c, CONFIG_NODE, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		const json_t *node = config_get(c, CONFIG_NODE, uuids.items[i]);

		if (node_master_candidate(node) && !node_offline(node) &&
		    !config_is_master(c, uuids.items[i]))
			json_array_append_new(list,
					      json_string(node_name(node)));
	}
	return list;
}

void job_plan_note_changes(struct job_plan *p, bool written)
{
	struct config *c = p->own.config;
	auto_json json_t *after = config_document(c);
	auto_json json_t *changes = all_changes(p->document, after);
	bool ssconf = config_take_ssconf(c);

	json_decref(p->document);
	p->document = steal(&after);
	if ((!written && json_array_size(changes) == 0) || !is_known(p))
		return;
	json_array_append_new(p->steps,
			      json_make("{s:s, s:O, s:o, s:b}", "do", "write",
					"changes", changes, "candidates",
					candidates(c), "ssconf", ssconf));
}
