/* SPDX-License-Identifier: BSD-2-Clause */
/* Each field is collected from the stored input of all opcodes.  The table
 * `naming` says which parameters name objects.  job_facts_of_op() shortens an
 * opcode to what the collectors read, so that they give the same answer for the
 * shortened one. */
#include "queue/jobs/job_facts.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"

/* Entries of the reason trail that only name the job. */
#define SOURCE_OPCODE "gnt:opcode:"

/* Parameters that name objects, one or a list. */
static const char *const naming[] = {
	"instance_name", "instances",	  "node_name",	  "node_names",
	"nodes",	 "on_nodes",	  "pnode",	  "snode",
	"remote_node",	 "target_node",	  "src_node",	  "group_name",
	"group",	 "target_groups", "network_name", "network",
	"name",		 "names",	  "new_name",
};

typedef void collect_fn(const json_t *op, struct strv *found);

static void add_text(struct strv *found, const json_t *value)
{
	const char *text = json_string_value(value);

	if (text != NULL && *text != '\0')
		strv_add_unique(found, text);
}

static void collect_opid(const json_t *op, struct strv *found)
{
	add_text(found, json_get(op, "OP_ID"));
}

static void collect_objects(const json_t *op, struct strv *found)
{
	for (size_t i = 0; i < ARRAY_SIZE(naming); i++) {
		const json_t *value = json_get(op, naming[i]), *item;
		size_t k;

		add_text(found, value);
		json_array_foreach (value, k, item)
			add_text(found, item);
	}
}

/* column 0: sources, 1: texts */
static void collect_trail(const json_t *op, size_t column, struct strv *found)
{
	const json_t *trail = json_get(op, "reason"), *entry;
	size_t i;

	json_array_foreach (trail, i, entry) {
		const char *source =
			json_string_value(json_array_get(entry, 0));

		if (source != NULL && json_array_size(entry) > 1 &&
		    !str_starts(source, SOURCE_OPCODE) &&
		    strcmp(source, JOB_DEATH_SOURCE) != 0)
			add_text(found, json_array_get(entry, column));
	}
}

static void collect_users(const json_t *op, struct strv *found)
{
	collect_trail(op, 0, found);
}

static void collect_reasons(const json_t *op, struct strv *found)
{
	collect_trail(op, 1, found);
}

static json_t *collect(const struct job *j, collect_fn *fn)
{
	auto_strv struct strv found = {0};

	for (size_t i = 0; i < j->n_ops; i++) {
		struct error ignored;
		auto_json json_t *op = json_parse(
			j->ops[i].input, strlen(j->ops[i].input), &ignored);

		fn(op, &found);
	}
	return json_from_strv(&found);
}

json_t *job_opids(const struct job *j)
{
	return collect(j, collect_opid);
}

json_t *job_objects(const struct job *j)
{
	return collect(j, collect_objects);
}

json_t *job_users(const struct job *j)
{
	return collect(j, collect_users);
}

json_t *job_reasons(const struct job *j)
{
	return collect(j, collect_reasons);
}

static json_t *texts_of(const json_t *list)
{
	json_t *texts = json_array();
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (json_is_string(item))
			json_array_append(texts, json_unconst(item));
	return texts;
}

static void keep_names(const json_t *op, json_t *facts)
{
	for (size_t i = 0; i < ARRAY_SIZE(naming); i++) {
		json_t *value = json_object_get(op, naming[i]);

		if (json_is_string(value))
			json_object_set(facts, naming[i], value);
		else if (json_array_size(value) > 0)
			json_object_set_new(facts, naming[i], texts_of(value));
	}
}

static void keep_trail(const json_t *op, json_t *facts)
{
	const json_t *trail = json_get(op, "reason"), *entry;
	json_t *kept = json_array();
	size_t i;

	json_array_foreach (trail, i, entry) {
		const char *source =
			json_string_value(json_array_get(entry, 0));

		if (source != NULL && json_array_size(entry) > 1 &&
		    !str_starts(source, SOURCE_OPCODE))
			json_array_append_new(
				kept, json_make("[s, O]", source,
						json_array_get(entry, 1)));
	}
	json_object_set_new(facts, "reason", kept);
}

json_t *job_facts_of_op(const char *input)
{
	struct error ignored;
	auto_json json_t *op = json_parse(input, strlen(input), &ignored);
	json_t *facts;

	if (json_get(op, "OP_ID") == NULL)
		return NULL;
	facts = json_object();
	json_object_set(facts, "OP_ID", json_object_get(op, "OP_ID"));
	keep_names(op, facts);
	keep_trail(op, facts);
	return facts;
}
