/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_NODE_REFRESH_STATE: record the resources of nodes as they report them now.
 *
 * The totals are facts.  What the node needs itself can only be estimated from
 * outside: memory, or disk space, that is neither free nor an instance's.  Such
 * an estimate is recorded once and then stays until somebody sets it or removes
 * it ("default"), as it must not follow the load of the moment. */
#include "masterd/lu/node/node_refresh.h"

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/params/params.h"
#include "masterd/resources/resources.h"
#include "masterd/resources/running.h"

static json_t *all_hypervisors(const json_t *cluster)
{
	const json_t *list = cluster_enabled_hypervisors(cluster);
	json_t *specs = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *hv = json_string_value(json_array_get(list, i));

		json_array_append_new(
			specs,
			json_make("[s, o]", hv,
				  params_fill_hv(cluster, hv, NULL, NULL)));
	}
	return specs;
}

/* --- from answers to numbers --- */

struct record {
	const struct config *config;
	const json_t *group;
	json_t *node;
	json_t *changes; /* [[what, old, new], ...] */
};

static void note(struct record *r, const char *where, const char *number,
		 const json_t *state, int64_t new)
{
	auto_free char *what = xprintf("%s %s", where, number);
	json_t *old = json_unconst(json_get(state, number));

	if (old != NULL && json_integer_value(old) == new)
		return;
	json_array_append_new(r->changes, json_make("[s, O?, I]", what, old,
						    (json_int_t) new));
}

static int64_t used_memory(const json_t *instances)
{
	int64_t sum = 0;
	const char *name;
	json_t *one;

	json_object_foreach (json_unconst(instances), name, one)
		sum += json_int(one, "memory", 0);
	return sum;
}

static int64_t not_negative(int64_t n)
{
	return n > 0 ? n : 0;
}

/* An estimate is recorded once, unless somebody has chosen the number. */
static void measure_hypervisor(struct record *r, const char *hv, int64_t needs)
{
	const json_t *cluster = config_cluster(r->config);

	if (state_hv_measured(r->node, hv, "mem_node") != NULL ||
	    state_hv_is_chosen(cluster, r->group, r->node, hv, "mem_node"))
		return;
	note(r, hv, "mem_node", NULL, not_negative(needs));
	state_measure_hv(r->node, hv, "mem_node", not_negative(needs));
}

static void measure_storage(struct record *r, const char *type,
			    const char *name, const char *where, int64_t others)
{
	const json_t *cluster = config_cluster(r->config);

	if (state_disk_measured(r->node, type, name, "disk_overhead") != NULL ||
	    state_disk_is_chosen(cluster, r->group, r->node, type, name,
				 "disk_overhead"))
		return;
	note(r, where, "disk_overhead", NULL, not_negative(others));
	state_measure_disk(r->node, type, name, "disk_overhead",
			   not_negative(others));
}

static void record_hypervisor(struct record *r, const char *hv,
			      const json_t *info, int64_t used)
{
	const json_t *all = node_hv_state_static(r->node);
	auto_json json_t *before = json_ref(json_get(all, hv));
	int64_t total = json_int(info, "memory_total", 0);
	auto_json json_t *changes = NULL;
	struct error ignored;

	if (total <= 0)
		return;
	changes = json_make("{s:{s:I, s:I}}", hv, "mem_total",
			    (json_int_t)total, "cpu_total",
			    (json_int_t)json_int(info, "cpu_total", 1));
	note(r, hv, "mem_total", before, total);
	note(r, hv, "cpu_total", before, json_int(info, "cpu_total", 1));
	state_set_hv(r->node, changes, &ignored);
	measure_hypervisor(r, hv,
			   total - used - json_int(info, "memory_free", 0));
}

static void record_storage(struct record *r, const json_t *unit)
{
	const char *type = resources_unit_type(config_cluster(r->config), unit);
	const char *name = json_str(unit, "name", "");
	int64_t total = json_int(unit, "storage_size", 0);
	auto_free char *where = NULL;
	auto_json json_t *changes = NULL;
	struct node_disk d;
	struct error ignored;

	if (total <= 0 || type == NULL)
		return;
	where = xprintf("%s %s", type, name);
	/* The type of the storage is also the name of a template. */
	resources_disk(r->config, node_uuid(r->node), type, &d);
	note(r, where, "disk_total",
	     json_get(json_get(node_disk_state_static(r->node), type), name),
	     total);
	changes = json_make("{s:{s:{s:I}}}", type, name, "disk_total",
			    (json_int_t)total);
	state_set_disk(r->node, changes, &ignored);
	measure_storage(r, type, name, where,
			total - d.used - json_int(unit, "storage_free", total));
}

/* Put the answers of node_info (about these hypervisors) and all_instances_info
 * into the node object. */
static json_t *record_answers(struct lu *lu, json_t *node,
			      const json_t *hypervisors, const json_t *info,
			      const json_t *running)
{
	json_t *changes = json_array();
	struct record r = {
		.config = lu->m->config,
		.group = config_get(lu->m->config, CONFIG_GROUP,
				    node_group(node)),
		.node = node,
		.changes = changes,
	};
	const json_t *units = json_array_get(info, 1);
	const json_t *answers = json_array_get(info, 2);

	for (size_t i = 0;
	     i < json_array_size(answers) && i < json_array_size(hypervisors);
	     i++)
		record_hypervisor(&r,
				  json_string_value(json_array_get(
					  json_array_get(hypervisors, i), 0)),
				  json_array_get(answers, i),
				  used_memory(running));
	for (size_t i = 0; i < json_array_size(units); i++)
		record_storage(&r, json_array_get(units, i));
	return changes;
}

struct question {
	json_t *hypervisors;
	struct node_result *info, *running;
	size_t n;
};

static void question_done(struct question *q)
{
	json_decref(q->hypervisors);
	node_results_free(q->info, q->n);
	node_results_free(q->running, q->n);
}

/* Ask n nodes at the same time. */
static WAITS void ask(struct lu *lu, json_t *const *nodes, size_t n,
		      struct question *q)
{
	const json_t *cluster = config_cluster(lu->m->config);

	q->n = n;
	q->hypervisors = all_hypervisors(cluster);
	q->info = node_results_new(n);
	q->running = node_results_new(n);
	for (size_t i = 0; i < n; i++) {
		q->info[i].node = json_incref(nodes[i]);
		q->running[i].node = json_incref(nodes[i]);
	}
	noderpc_look_many(lu->m->rpc, q->info, n,
			  rpc_node_info(resources_all_units(cluster),
					json_ref(q->hypervisors)));
	noderpc_look_many(lu->m->rpc, q->running, n,
			  running_request(lu->m->config));
}

/* The changes of this node, to be freed; NULL with err. */
static json_t *record_result(struct lu *lu, const struct question *q, size_t i,
			     json_t *node, struct error *err)
{
	const struct error *failed =
		q->info[i].err != NULL ? q->info[i].err : q->running[i].err;

	if (failed != NULL) {
		*err = *failed;
		return NULL;
	}
	return record_answers(lu, node, q->hypervisors, q->info[i].payload,
			      q->running[i].payload);
}

WAITS json_t *node_record(struct lu *lu, json_t *node, struct error *err)
{
	__attribute__((cleanup(question_done))) struct question q = {0};

	ask(lu, &node, 1, &q);
	return record_result(lu, &q, 0, node, err);
}

/* --- the logical unit --- */

struct refresh {
	struct lu lu;
	struct strv uuids;
};

static struct refresh *refresh_of(struct lu *lu)
{
	return container_of(lu, struct refresh, lu);
}

static int refresh_expand(struct lu *lu, struct error *err)
{
	const struct op_node_refresh_state *op = lu->op;
	struct refresh *r = refresh_of(lu);

	strv_done(&r->uuids);
	if (json_array_size(op->node_names) == 0)
		config_sorted(lu->m->config, CONFIG_NODE, &r->uuids);
	for (size_t i = 0; i < json_array_size(op->node_names); i++) {
		const json_t *node = lu_node(
			lu,
			json_string_value(json_array_get(op->node_names, i)),
			err);

		if (node == NULL)
			return -1;
		strv_add_unique(&r->uuids, node_uuid(node));
	}
	for (size_t i = 0; i < r->uuids.n; i++) {
		lu_want(lu, LOCK_NODE, r->uuids.items[i], false);
		lu_want(lu, LOCK_NODE_RES, r->uuids.items[i], true);
	}
	return 0;
}

static bool can_tell(struct lu *lu, const json_t *node)
{
	const char *name = node_name(node);

	if (node_offline(node))
		lu_info(lu, "Node %s is offline, its record stays", name);
	else if (!node_vm_capable(node))
		lu_info(lu, "Node %s runs no instances, nothing is recorded",
			name);
	else
		return true;
	return false;
}

/* Store only these members: other jobs may have changed the object while its
 * node was asked. */
static void put_record(struct lu *lu, const char *uuid, const json_t *asked)
{
	static const char *const members[] = {"hv_state_static",
					      "disk_state_static"};
	json_t *node =
		config_edit(config_get(lu->m->config, CONFIG_NODE, uuid));

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *state = json_object_get(asked, members[i]);

		if (state != NULL)
			json_object_set(node, members[i], state);
	}
	config_put(lu->m->config, CONFIG_NODE, node);
}

static bool refresh_node(struct lu *lu, const struct question *q, size_t i,
			 json_t *node, json_t *result)
{
	struct error err;
	json_t *changes = record_result(lu, q, i, node, &err);

	if (changes == NULL) {
		lu_warn(lu, "%s; its record stays", err.text);
		return false;
	}
	if (json_array_size(changes) > 0)
		put_record(lu, node_uuid(node), node);
	json_array_append_new(result,
			      json_make("[s, o]", node_name(node), changes));
	return true;
}

/* Copies of the nodes that can be asked, for editing. */
static size_t choose_nodes(struct lu *lu, json_t **ret)
{
	struct refresh *r = refresh_of(lu);
	size_t n = 0;

	for (size_t i = 0; i < r->uuids.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						r->uuids.items[i]);

		if (can_tell(lu, node))
			ret[n++] = config_edit(node);
	}
	return n;
}

static WAITS json_t *refresh_exec(struct lu *lu, struct error *err)
{
	__attribute__((cleanup(question_done))) struct question q = {0};
	auto_free json_t **nodes =
		xalloc((refresh_of(lu)->uuids.n + 1) * sizeof(*nodes));
	auto_json json_t *result = json_array();
	size_t n = choose_nodes(lu, nodes), failed = 0;

	ask(lu, nodes, n, &q);
	for (size_t i = 0; i < n; i++) {
		failed += !refresh_node(lu, &q, i, nodes[i], result);
		json_decref(nodes[i]);
	}
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	if (failed == n && n > 0) {
		error_set(err, ERR_EXEC, NULL, "No node answered");
		return NULL;
	}
	return steal(&result);
}

static void refresh_done(struct lu *lu)
{
	strv_done(&refresh_of(lu)->uuids);
}

const struct lu_class lu_node_refresh_state = {
	.op = &op_class_node_refresh_state,
	.size = sizeof(struct refresh),
	.expand = refresh_expand,
	.exec = refresh_exec,
	.done = refresh_done,
};
