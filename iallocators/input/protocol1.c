/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of a request are shared and constant, so objects that get members are
 * copied, without what is in them. */
#include "iallocators/input/protocol1.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/table.h"
#include "lib/model/kinds/template.h"

/* Version 1 knows no groups and no limits. */
static const char groups_text[] =
	"{\"default\":{\"name\":\"default\",\"alloc_policy\":\"preferred\","
	"\"networks\":[],\"tags\":[],\"ipolicy\":{\"minmax\":[],\"std\":{"
	"\"memory-size\":128,\"cpu-count\":1,\"disk-size\":1024,"
	"\"disk-count\":1,\"nic-count\":1,\"spindle-use\":1},"
	"\"disk-templates\":[\"drbd\",\"plain\",\"file\",\"diskless\","
	"\"sharedfile\",\"blockdev\",\"rbd\",\"ext\",\"gluster\"],"
	"\"vcpu-ratio\":-1,\"spindle-ratio\":1000000}}}";
static const char ndparams_text[] =
	"{\"exclusive_storage\":false,\"spindle_count\":1}";

static const struct jval *constant(struct arena *a, const char *text)
{
	struct error never;
	size_t len = strlen(text);

	return jtext_parse(a, arena_strndup(a, text, len), len, &never);
}

/* --- objects that get members --- */

static struct jval *copy(struct arena *a, const struct jval *v)
{
	struct jval *new = arena_alloc(a, sizeof(*new));

	*new = *v;
	return new;
}

/* A copy of the object whose members can be replaced and added. */
static struct jval *open_object(struct arena *a, const struct jval *object)
{
	struct jval *new = copy(a, object);

	for (struct jval **at = &new->first; *at != NULL; at = &(*at)->next)
		*at = copy(a, *at);
	return new;
}

/* Replace the first member with that key, or add one; *value is copied. */
static void put(struct arena *a, struct jval *object, const char *key,
		const struct jval *value)
{
	struct jval **at = &object->first, *new = copy(a, value);

	while (*at != NULL && strcmp((*at)->key, key) != 0)
		at = &(*at)->next;
	new->key = key;
	new->next = *at == NULL ? NULL : (*at)->next;
	object->n += *at == NULL;
	*at = new;
}

static void add(struct arena *a, struct jval *object, const char *key,
		struct jval value)
{
	if (jtext_get(object, key) == NULL)
		put(a, object, key, &value);
}

static struct jval number(int64_t i)
{
	return (struct jval){.kind = JT_NUMBER, .i = i, .d = (double)i};
}

static struct jval boolean(bool flag)
{
	return (struct jval){.kind = JT_BOOL, .flag = flag};
}

static struct jval string(const char *s)
{
	return (struct jval){.kind = JT_STRING, .str = s};
}

static bool is_object(const struct jval *v)
{
	return v != NULL && v->kind == JT_OBJECT;
}

static int64_t number_of(const struct jval *object, const char *key)
{
	const struct jval *v = jtext_get(object, key);

	return v != NULL && v->kind == JT_NUMBER ? v->i : 0;
}

static bool is_string(const struct jval *v, const char *text)
{
	return v != NULL && v->kind == JT_STRING && strcmp(v->str, text) == 0;
}

/* --- instances --- */

static int64_t disk_space(const struct jval *instance)
{
	const struct jval *disks = jtext_get(instance, "disks"), *disk;
	const struct jval *v = jtext_get(instance, "disk_template");
	const char *template =
		v != NULL && v->kind == JT_STRING ? v->str : NULL;
	int64_t overhead = template_get(template)->overhead_mib;
	int64_t sum = 0;

	if (disks == NULL || disks->kind != JT_ARRAY)
		return 0;
	jtext_each(disk, disks) sum += number_of(disk, "size") + overhead;
	return sum;
}

static bool runs(const struct jval *instance)
{
	const struct jval *v = jtext_get(instance, "should_run");

	return v == NULL || v->kind != JT_BOOL || v->flag;
}

static const struct jval *instance_of(struct arena *a, const struct jval *v)
{
	struct jval *new = open_object(a, v);

	add(a, new, "disk_space_total", number(disk_space(v)));
	add(a, new, "spindle_use", number(1));
	add(a, new, "admin_state", string(runs(v) ? "up" : "down"));
	return new;
}

/* --- nodes --- */

/* What the primary instances that run use of each node's memory. */
static void sum_memory(struct arena *a, const struct jval *instances,
		       struct table *ret)
{
	const struct jval *inst;

	jtext_each(inst, instances)
	{
		const struct jval *nodes = jtext_get(inst, "nodes");
		int64_t *sum;

		if (nodes == NULL || nodes->kind != JT_ARRAY ||
		    nodes->first == NULL || nodes->first->kind != JT_STRING ||
		    !runs(inst))
			continue;
		sum = table_get(ret, nodes->first->str);
		if (sum == NULL) {
			sum = arena_alloc(a, sizeof(*sum));
			table_put(ret, nodes->first->str, sum);
		}
		*sum += number_of(inst, "memory");
	}
}

static const struct jval *node_of(struct arena *a, const struct jval *v,
				  const struct table *used)
{
	const int64_t *instances = table_get(used, v->key);
	struct jval *new = open_object(a, v);
	int64_t own = number_of(v, "total_memory") -
		      number_of(v, "free_memory") -
		      (instances == NULL ? 0 : *instances);

	add(a, new, "reserved_memory", number(own > 0 ? own : 0));
	add(a, new, "total_cpus", number(1)); /* all alike, and no limit */
	add(a, new, "reserved_cpus", number(0));
	add(a, new, "free_spindles", number(0));
	add(a, new, "offline", boolean(false));
	add(a, new, "drained", boolean(false));
	add(a, new, "group", string("default"));
	add(a, new, "ndparams", *constant(a, ndparams_text));
	return new;
}

/* --- all of it --- */

/* Put the members of another object in place of its own. */
static void become(struct jval *v, const struct jval *other)
{
	v->first = other->first;
	v->n = other->n;
}

static const struct jval *instances_of(struct arena *a,
				       const struct jval *instances)
{
	struct jval *new = open_object(a, instances);

	for (struct jval *v = new->first; v != NULL; v = v->next)
		if (v->kind == JT_OBJECT)
			become(v, instance_of(a, v));
	return new;
}

static const struct jval *nodes_of(struct arena *a, const struct jval *nodes,
				   const struct jval *instances)
{
	struct jval *new = open_object(a, nodes);
	struct table used = {0};

	sum_memory(a, instances, &used);
	for (struct jval *v = new->first; v != NULL; v = v->next)
		if (v->kind == JT_OBJECT)
			become(v, node_of(a, v, &used));
	table_done(&used, NULL);
	return new;
}

static bool has_type(const struct jval *request)
{
	const struct jval *type = jtext_get(request, "type");

	return type == NULL || is_string(type, "allocate") ||
	       is_string(type, "relocate");
}

/* Parts that are missing or mistyped are left to the reader of requests. */
const struct jval *protocol1_request(struct arena *a, const struct jval *top,
				     struct error *err)
{
	const struct jval *request = jtext_get(top, "request");
	const struct jval *nodes = jtext_get(top, "nodes");
	const struct jval *instances = jtext_get(top, "instances");
	struct jval *new;

	if (!is_object(top) || !is_object(request) || !is_object(nodes) ||
	    !is_object(instances))
		return top;
	if (!has_type(request)) {
		error_set(err, ERR_REQUEST, NULL,
			  "Protocol version 1 has the request types allocate "
			  "and relocate only");
		return NULL;
	}
	new = open_object(a, top);
	add(a, new, "nodegroups", *constant(a, groups_text));
	add(a, new, "enabled_hypervisors", (struct jval){.kind = JT_ARRAY});
	put(a, new, "nodes", nodes_of(a, nodes, instances));
	put(a, new, "instances", instances_of(a, instances));
	if (is_string(jtext_get(request, "type"), "allocate"))
		put(a, new, "request", instance_of(a, request));
	return new;
}
