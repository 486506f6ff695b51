/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks whether an allocator's answer can be carried out.  Allocators are
 * programs of the site, so nothing in their output is trusted. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"

struct answer {
	const struct config *config;
	const char *name; /* of the allocator */
	const json_t *request;
};

static int bad(const struct answer *a, struct error *err, const char *what)
{
	return error_set(err, ERR_EXEC, NULL,
			 "Invalid answer of iallocator '%s' to a request of "
			 "type '%s': %s",
			 a->name, json_str(a->request, "type", ""), what);
}

static int bad_name(const struct answer *a, struct error *err, const char *what,
		    const json_t *name)
{
	auto_free char *text =
		name == NULL ? xstrdup("nothing") : json_text(name);

	return error_set(err, ERR_EXEC, NULL,
			 "Invalid answer of iallocator '%s' to a request of "
			 "type '%s': %s %.300s",
			 a->name, json_str(a->request, "type", ""), what, text);
}

/* The node with exactly this name; NULL: there is none. */
static const json_t *find_node(const struct answer *a, const json_t *name)
{
	const char *text = json_string_value(name);
	const json_t *node =
		text == NULL ? NULL : config_find(a->config, CONFIG_NODE, text);

	return str_eq(node_name_or(node, NULL), text) ? node : NULL;
}

static int check_nodes(const struct answer *a, const json_t *nodes,
		       struct error *err)
{
	size_t n = json_array_size(nodes);

	if (!json_is_array(nodes))
		return bad(a, err, "the nodes are not a list");
	for (size_t i = 0; i < n; i++) {
		const json_t *name = json_array_get(nodes, i);

		if (find_node(a, name) == NULL)
			return bad_name(a, err, "unknown node", name);
		for (size_t j = 0; j < i; j++)
			if (json_equal(json_array_get(nodes, j), name))
				return bad_name(a, err, "twice the same node",
						name);
	}
	return 0;
}

static int check_count(const struct answer *a, const json_t *nodes,
		       int64_t required, struct error *err)
{
	if (check_nodes(a, nodes, err) < 0)
		return -1;
	if ((int64_t)json_array_size(nodes) == required)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "iallocator '%s' returned an invalid number of nodes "
			 "(%zu), required %jd",
			 a->name, json_array_size(nodes), (intmax_t)required);
}

static int check_allocate(const struct answer *a, const json_t *result,
			  struct error *err)
{
	return check_count(a, result, json_int(a->request, "required_nodes", 1),
			   err);
}

/* The group of the primary node of the instance that the request names; NULL:
 * there is no such instance. */
static const char *primary_group(const struct answer *a)
{
	const json_t *inst = config_find(a->config, CONFIG_INSTANCE,
					 json_str(a->request, "name", ""));

	return inst == NULL ? NULL
			    : node_group_or(config_get(a->config, CONFIG_NODE,
						       inst_primary_node(inst)),
					    NULL);
}

/* A new node has to be in the same group.  An instance may be split over two,
 * as node groups change: then either will do, that of the node that it leaves
 * and that of its primary, which brings it together again. */
static int check_relocate(const struct answer *a, const json_t *result,
			  struct error *err)
{
	const json_t *from =
		json_array_get(json_object_get(a->request, "relocate_from"), 0);
	const json_t *to = json_array_get(result, 0);
	const char *group;

	if (check_allocate(a, result, err) < 0)
		return -1;
	group = node_group(find_node(a, to));
	if (str_eq(node_group_or(find_node(a, from), NULL), group) ||
	    str_eq(primary_group(a), group))
		return 0;
	return bad_name(a, err, "another group than the instance's has node",
			to);
}

/* The name of a node alone, of the primary's group. */
static int check_secondary(const struct answer *a, const json_t *result,
			   struct error *err)
{
	const json_t *node = find_node(a, result);

	if (!json_is_string(result))
		return bad(a, err, "it is not the name of a node");
	if (node == NULL)
		return bad_name(a, err, "unknown node", result);
	return str_eq(node_group(node), primary_group(a))
		       ? 0
		       : bad_name(a, err,
				  "another group than the instance's has node",
				  result);
}

/* --- many new instances --- */

/* Take the instance with this name out of those of which nothing has been said
 * yet; NULL with err. */
static const json_t *take(const struct answer *a, struct table *left,
			  const json_t *name, struct error *err)
{
	const char *text = json_string_value(name);
	const json_t *inst = text == NULL ? NULL : table_remove(left, text);

	if (inst == NULL)
		bad_name(a, err, "not asked about, or twice: instance", name);
	return inst;
}

static int check_placed(const struct answer *a, struct table *left,
			const json_t *row, struct error *err)
{
	const json_t *inst;

	if (json_array_size(row) != 2)
		return bad(a, err, "a placed instance is not [name, nodes]");
	inst = take(a, left, json_array_get(row, 0), err);
	return inst == NULL
		       ? -1
		       : check_count(a, json_array_get(row, 1),
				     json_int(inst, "required_nodes", 1), err);
}

/* The name of an instance, or hail's [name, reason]. */
static int check_failed(const struct answer *a, struct table *left,
			const json_t *row, struct error *err)
{
	const json_t *name = json_is_array(row) ? json_array_get(row, 0) : row;

	return take(a, left, name, err) == NULL ? -1 : 0;
}

static int check_all(const struct answer *a, struct table *left,
		     const json_t *placed, const json_t *failed,
		     struct error *err)
{
	size_t i;
	json_t *item, *inst;

	json_array_foreach (placed, i, item)
		if (check_placed(a, left, item, err) < 0)
			return -1;
	json_array_foreach (failed, i, item)
		if (check_failed(a, left, item, err) < 0)
			return -1;
	json_array_foreach (json_object_get(a->request, "instances"), i, inst)
		if (table_get(left, json_str(inst, "name", "")) != NULL)
			return bad_name(a, err, "nothing is said of instance",
					json_object_get(inst, "name"));
	return 0;
}

/* [[[name, [nodes]], ...], [names that found no place]], each instance of the
 * request in one of the lists: who wants all or none counts on it. */
static int check_multi(const struct answer *a, const json_t *result,
		       struct error *err)
{
	const json_t *placed = json_array_get(result, 0);
	const json_t *failed = json_array_get(result, 1);
	struct table left = {0};
	size_t i;
	json_t *inst;
	int rc;

	if (json_array_size(result) != 2 || !json_is_array(placed) ||
	    !json_is_array(failed))
		return bad(a, err, "not [[placed], [failed]]");
	json_array_foreach (json_object_get(a->request, "instances"), i, inst)
		table_put(&left, json_str(inst, "name", ""), inst);
	rc = check_all(a, &left, placed, failed, err);
	table_done(&left, NULL);
	return rc;
}

/* --- moves --- */

/* The request was about the instance with this name. */
static int check_asked(const struct answer *a, const struct table *asked,
		       const json_t *name, struct error *err)
{
	const char *text = json_string_value(name);

	return text != NULL && table_get(asked, text) != NULL
		       ? 0
		       : bad_name(a, err, "not asked about: instance", name);
}

static int check_moved(const struct answer *a, const struct table *asked,
		       const json_t *row, struct error *err)
{
	if (json_array_size(row) != 3 ||
	    !json_is_string(json_array_get(row, 0)) ||
	    !json_is_string(json_array_get(row, 1)))
		return bad(a, err,
			   "a moved instance is not [name, group, nodes]");
	return check_asked(a, asked, json_array_get(row, 0), err) < 0
		       ? -1
		       : check_nodes(a, json_array_get(row, 2), err);
}

/* The reason may be missing: null. */
static int check_not_moved(const struct answer *a, const struct table *asked,
			   const json_t *row, struct error *err)
{
	const json_t *reason = json_array_get(row, 1);

	if (json_array_size(row) != 2 ||
	    !json_is_string(json_array_get(row, 0)) ||
	    (!json_is_string(reason) && !json_is_null(reason)))
		return bad(a, err,
			   "an instance that stays is not [name, reason]");
	return check_asked(a, asked, json_array_get(row, 0), err);
}

/* It moves an instance of the request. */
static int check_opcode(const struct answer *a, const struct table *asked,
			const json_t *op, struct error *err)
{
	static const char *const allowed[] = {"OP_INSTANCE_FAILOVER",
					      "OP_INSTANCE_MIGRATE",
					      "OP_INSTANCE_REPLACE_DISKS"};
	const char *id = json_str(op, "OP_ID", "");
	size_t k = 0;

	while (k < 3 && !str_eq(id, allowed[k]))
		k++;
	if (k == 3)
		return bad_name(a, err, "not allowed in a job: opcode",
				json_get(op, "OP_ID"));
	return check_asked(a, asked, json_get(op, "instance_name"), err);
}

/* One job: a list of opcodes. */
static int check_job(const struct answer *a, const struct table *asked,
		     const json_t *ops, struct error *err)
{
	size_t i;
	json_t *op;

	if (!json_is_array(ops))
		return bad(a, err, "a job is not a list of opcodes");
	json_array_foreach (ops, i, op)
		if (check_opcode(a, asked, op, err) < 0)
			return -1;
	return 0;
}

static int check_parts(const struct answer *a, const struct table *asked,
		       const json_t *result, struct error *err)
{
	static int (*const checks[])(
		const struct answer *, const struct table *, const json_t *,
		struct error *) = {check_moved, check_not_moved, check_job};

	for (size_t part = 0; part < 3; part++) {
		const json_t *list = json_array_get(result, part);
		size_t i;
		json_t *item;

		if (!json_is_array(list))
			return bad(a, err,
				   "not [[moved], [not moved], [jobs]]");
		json_array_foreach (list, i, item)
			if (checks[part](a, asked, item, err) < 0)
				return -1;
	}
	return 0;
}

/* [[moved], [not moved], [jobs]] */
static int check_moves(const struct answer *a, const json_t *result,
		       struct error *err)
{
	struct table asked = {0};
	size_t i;
	json_t *name;
	int rc;

	if (json_array_size(result) != 3)
		return bad(a, err, "not [[moved], [not moved], [jobs]]");
	json_array_foreach (json_object_get(a->request, "instances"), i, name)
		table_put(&asked, json_string_value(name), name);
	rc = check_parts(a, &asked, result, err);
	table_done(&asked, NULL);
	return rc;
}

static int check_result(const struct answer *a, const json_t *result,
			struct error *err)
{
	static const struct {
		const char *type;
		int (*check)(const struct answer *, const json_t *,
			     struct error *);
	} types[] = {
		{"allocate", check_allocate},
		{"relocate", check_relocate},
		{"multi-allocate", check_multi},
		{"node-evacuate", check_moves},
		{"change-group", check_moves},
		{"allocate-secondary", check_secondary},
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (str_eq(json_str(a->request, "type", ""), types[i].type))
			return types[i].check(a, result, err);
	return bad(a, err, "nobody knows this type");
}

/* Parse the output: an object with success, info and a result. */
static json_t *parse(const struct answer *a, const char *text,
		     struct error *err)
{
	struct error why;
	auto_json json_t *answer = json_parse(text, strlen(text), &why);

	if (answer == NULL) {
		error_set(err, ERR_EXEC, NULL,
			  "Can't parse the output of iallocator '%s': %s",
			  a->name, why.text);
		return NULL;
	}
	if (!json_is_object(answer))
		bad(a, err, "it is not a dictionary");
	else if (!json_is_boolean(json_object_get(answer, "success")))
		bad(a, err, "no 'success' that is true or false");
	else if (!json_is_string(json_object_get(answer, "info")))
		bad(a, err, "no 'info' that is a string");
	else
		return steal(&answer);
	return NULL;
}

static json_t *checked(const struct answer *a, bool success, const char *info,
		       const json_t *result, struct error *err)
{
	if (!success) {
		error_set(err, ERR_PREREQ, ECODE_NORES,
			  "Can't compute nodes using iallocator '%s': %s",
			  a->name, info);
		return NULL;
	}
	return check_result(a, result, err) < 0 ? NULL : json_ref(result);
}

json_t *iallocator_check_answer(const struct config *c, const char *name,
				const json_t *request, const char *text,
				struct error *err)
{
	const struct answer a = {c, name, request};
	auto_json json_t *answer = parse(&a, text, err);
	json_t *result = json_object_get(answer, "result");

	if (answer == NULL)
		return NULL;
	if (result == NULL) /* what "result" was called in version 1 */
		result = json_object_get(answer, "nodes");
	if (result == NULL) {
		auto_free char *what =
			xprintf("neither 'result' nor 'nodes'; it says: %.300s",
				json_str(answer, "info", ""));

		bad(&a, err, what);
		return NULL;
	}
	return checked(&a, json_bool(answer, "success", false),
		       json_str(answer, "info", ""), result, err);
}

json_t *iallocator_check_result(const struct config *c, const char *name,
				const json_t *request,
				const struct iallocator_answer *answer,
				struct error *err)
{
	const struct answer a = {c, name, request};

	return checked(&a, answer->success, answer->info, answer->result, err);
}
