/* SPDX-License-Identifier: BSD-2-Clause */
/* The call that tells which calls are under way.  A new master asks it for what
 * its predecessors have begun (doc/design/failover.md).
 *
 * What a call is about is known by the names of its arguments. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"

/* The object of an instance, or its name. */
static void add_instance(json_t *row, const json_t *value)
{
	const char *name = json_is_string(value) ? json_string_value(value)
						 : json_str(value, "name", "");

	if (*name != '\0')
		json_set_str(row, "instance", name);
}

static void add_disk(json_t *row, const json_t *value)
{
	const char *uuid = json_str(value, "uuid", "");

	if (*uuid == '\0')
		return;
	if (json_get(row, "disks") == NULL)
		json_object_set_new(row, "disks", json_array());
	json_array_append_new(json_object_get(row, "disks"), json_string(uuid));
}

static void add_disks(json_t *row, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		add_disk(row, json_array_get(value, i));
}

/* [[disk, new logical_id], ...] */
static void add_pairs(json_t *row, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		add_disk(row, json_array_get(json_array_get(value, i), 0));
}

static void add_file(json_t *row, const json_t *value)
{
	if (json_is_string(value))
		json_set_str(row, "file", json_string_value(value));
}

static const struct object {
	const char *argument;
	void (*add)(json_t *row, const json_t *value);
} objects[] = {
	{"instance", add_instance}, {"instance_name", add_instance},
	{"owner", add_instance},    {"disk", add_disk},
	{"disks", add_disks},	    {"pairs", add_pairs},
	{"file", add_file},	    {"folder", add_file},
	{"from", add_file},
};

static void add_object(json_t *row, const char *argument, const json_t *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (strcmp(objects[i].argument, argument) == 0)
			objects[i].add(row, value);
}

static json_t *row_of(const struct call *c)
{
	const struct rpc_procedure *procedure = rpc_find(c->procedure);
	int64_t us = clock_mono_us() - c->began_us;
	json_t *row =
		json_make("{s:s, s:I, s:f}", "procedure", c->procedure, "term",
			  (json_int_t)c->term, "seconds", (double)us / 1e6);

	for (size_t i = 0; i < procedure->n_args; i++)
		add_object(row, procedure->args[i].name,
			   json_array_get(c->args, i));
	return row;
}

json_t *call_calls_running(struct call *c, struct error *err)
{
	json_t *rows = json_array();
	const struct call *other;

	(void)err;
	list_each (other, &c->n->calls, under_way)
		if (other != c)
			json_array_append_new(rows, row_of(other));
	return rows;
}
