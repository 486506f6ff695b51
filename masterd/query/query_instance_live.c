/* SPDX-License-Identifier: BSD-2-Clause */
/* What nodes say of instances: which run where (one all_instances_info call to
 * each node), and how to reach consoles. */
#include <string.h>

#include "lib/base/table.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/query/query_instance.h"
#include "masterd/query/query_live.h"
#include "masterd/resources/running.h"

struct instance_live {
	struct query_live *info;
	struct query_live *consoles; /* NULL: not wanted */
	struct table wrong_nodes; /* instance that runs where it is not primary
				   * -> its report */
};

/* The numbers with which hypervisors report an instance that runs, and one that
 * has shut down. */
#define STATE_SHUTDOWN 1

/* --- asking --- */

static const json_t *primary_of(const struct query *q,
				const struct query_row *row)
{
	return config_get(q->m->config, CONFIG_NODE,
			  inst_primary_node_or(row->object, NULL));
}

static bool can_be_asked(const json_t *node)
{
	return node != NULL && !node_offline(node) && node_vm_capable(node);
}

static void ask_info(const struct query *q, struct query_live *live,
		     const char *uuid)
{
	const json_t *node = config_get(q->m->config, CONFIG_NODE, uuid);

	if (can_be_asked(node) && query_live_find(live, uuid) == NULL)
		query_live_add(live, node, (struct rpc_request){0});
}

/* All nodes when all instances are asked for; else those where the instances
 * may be. */
static struct query_live *plan_info(const struct query *q)
{
	const json_t *nodes = config_all(q->m->config, CONFIG_NODE);
	struct query_live *live = query_live_new(json_object_size(nodes));
	const char *uuid;
	json_t *node;

	if (q->all_rows) {
		json_object_foreach (json_unconst(nodes), uuid, node)
			ask_info(q, live, uuid);
		return live;
	}
	for (size_t i = 0; i < q->n_rows; i++) {
		const json_t *instance = q->rows[i].object;
		auto_strv struct strv secondaries = {0};

		ask_info(q, live, inst_primary_node(instance));
		config_instance_secondaries(q->m->config, instance,
					    &secondaries);
		for (size_t j = 0; j < secondaries.n; j++)
			ask_info(q, live, secondaries.items[j]);
	}
	return live;
}

static json_t *console_request(const struct query *q,
			       const struct query_row *row)
{
	const json_t *i = row->object;
	const json_t *cluster = config_cluster(q->m->config);
	const json_t *node = primary_of(q, row);
	const json_t *group = query_node_group(q, node_uuid_or(node, NULL));

	return json_make("{s:O, s:O, s:O?, s:o, s:o}", "instance", i, "node",
			 node, "group", group, "hvParams",
			 params_fill_hv(cluster, inst_hypervisor(i),
					inst_os_or(i, NULL), inst_hvparams(i)),
			 "beParams", params_fill_be(cluster, inst_beparams(i)));
}

/* Each primary node is asked for all of its instances. */
static struct query_live *plan_consoles(const struct query *q)
{
	struct query_live *live = query_live_new(
		json_object_size(config_all(q->m->config, CONFIG_NODE)));

	for (size_t i = 0; i < q->n_rows; i++) {
		const json_t *node = primary_of(q, &q->rows[i]);
		const char *uuid = node_uuid(node);
		const struct node_result *result;

		if (!can_be_asked(node))
			continue;
		if (query_live_find(live, uuid) == NULL)
			/* Its body is an object, no list of arguments. */
			query_live_add(live, node,
				       rpc_unchecked("instance_console_info",
						     json_object()));
		result = query_live_find(live, uuid);
		json_object_set_new(result->own.args,
				    inst_name(q->rows[i].object),
				    console_request(q, &q->rows[i]));
	}
	return live;
}

/* Note the instances of one node's answer that have another primary. */
static void find_strangers(const struct query *q, struct instance_live *live,
			   const struct node_result *result)
{
	const char *uuid = node_uuid(result->node);
	const char *name;
	json_t *report;

	json_object_foreach (result->payload, name, report) {
		const json_t *instance =
			config_find(q->m->config, CONFIG_INSTANCE, name);

		if (instance != NULL &&
		    !str_eq(inst_primary_node_or(instance, NULL), uuid) &&
		    json_int(report, "state", 0) != STATE_SHUTDOWN)
			table_put(&live->wrong_nodes, name, report);
	}
}

void query_instance_collect(struct query *q)
{
	struct instance_live *live = xalloc(sizeof(*live));
	const struct node_result *result;
	struct node_result *asked;
	size_t n;

	q->live = live;
	live->info = plan_info(q);
	if (query_wants(q, "console"))
		live->consoles = plan_consoles(q);
	asked = query_live_results(live->info, &n);
	running_look(q->m->rpc, q->m->config, asked, n);
	if (live->consoles != NULL)
		query_live_call(q->m->rpc, live->consoles);
	for (size_t i = 0; (result = query_live_at(live->info, i)) != NULL; i++)
		find_strangers(q, live, result);
}

void query_instance_live_done(struct query *q)
{
	struct instance_live *live = q->live;

	query_live_free(live->info);
	query_live_free(live->consoles);
	table_done(&live->wrong_nodes, NULL);
	free(live);
}

/* --- what it means --- */

/* Why nothing is known of this instance; QUERY_OK if it is. */
static enum query_status node_status(const struct query *q,
				     const struct query_row *row,
				     const struct query_live *live)
{
	const json_t *node = primary_of(q, row);
	const struct node_result *result =
		query_live_find(live, node_uuid(node));

	if (node_offline(node))
		return QUERY_OFFLINE;
	return result != NULL && running_is_known(result,
						  inst_hypervisor(row->object))
		       ? QUERY_OK
		       : QUERY_NODATA;
}

/* The report of the instance, NULL when it is nowhere. */
static const json_t *report_of(const struct query *q,
			       const struct query_row *row, bool *ret_wrong)
{
	struct instance_live *live = q->live;
	const char *name = inst_name(row->object);
	const struct node_result *result =
		query_live_find(live->info, inst_primary_node(row->object));
	const json_t *report = NULL;

	*ret_wrong = false;
	if (result != NULL && result->payload != NULL)
		report = json_object_get(result->payload, name);
	if (report != NULL)
		return report;
	report = table_get(&live->wrong_nodes, name);
	*ret_wrong = report != NULL;
	return report;
}

static bool user_shutdown_allowed(const struct query *q,
				  const struct query_row *row)
{
	const json_t *cluster = config_cluster(q->m->config);
	const json_t *i = row->object;
	const char *name = inst_hypervisor(i);
	auto_json json_t *hv = NULL;

	if (!cluster_enabled_user_shutdown(cluster))
		return false;
	if (params_table_find(params_table(FAMILY_HV, name), "user_shutdown") ==
	    NULL)
		return true;
	hv = params_fill_hv(cluster, name, inst_os_or(i, NULL),
			    inst_hvparams(i));
	return json_bool(hv, "user_shutdown", false);
}

static const char *status_not_running(const struct query *q,
				      const struct query_row *row,
				      const json_t *report)
{
	const json_t *i = row->object;
	const char *admin = inst_admin_state_or(i, "down");

	if (strcmp(admin, "offline") == 0)
		return "ADMIN_offline";
	if (strcmp(admin, "up") == 0)
		return report != NULL && user_shutdown_allowed(q, row)
			       ? "USER_down"
			       : "ERROR_down";
	if (str_eq(inst_admin_state_source_or(i, NULL), "user") &&
	    cluster_enabled_user_shutdown(config_cluster(q->m->config)))
		return "USER_down";
	return "ADMIN_down";
}

static bool runs(const json_t *report)
{
	return report != NULL && json_int(report, "state", 0) != STATE_SHUTDOWN;
}

static const char *status_of(const struct query *q, const struct query_row *row)
{
	const struct instance_live *live = q->live;
	enum query_status node = node_status(q, row, live->info);
	bool wrong;
	const json_t *report = report_of(q, row, &wrong);

	if (node == QUERY_OFFLINE)
		return "ERROR_nodeoffline";
	if (node != QUERY_OK)
		return "ERROR_nodedown";
	if (wrong)
		return "ERROR_wrongnode";
	if (!runs(report))
		return status_not_running(q, row, report);
	return str_eq(inst_admin_state_or(row->object, NULL), "up")
		       ? "running"
		       : "ERROR_up";
}

struct query_cell query_instance_status(const struct query *q,
					struct query_row *row,
					const struct query_field *field)
{
	(void)field;
	return query_text(status_of(q, row));
}

struct query_cell query_instance_running(const struct query *q,
					 struct query_row *row,
					 const struct query_field *field)
{
	const struct instance_live *live = q->live;
	bool wrong;

	(void)field;
	/* Only this field differs: the other ones say that the node is offline,
	 * as in Ganeti. */
	if (node_status(q, row, live->info) != QUERY_OK)
		return query_none(QUERY_NODATA);
	return query_value(json_boolean(runs(report_of(q, row, &wrong))));
}

struct query_cell query_instance_usage(const struct query *q,
				       struct query_row *row,
				       const struct query_field *field)
{
	const struct instance_live *live = q->live;
	enum query_status node = node_status(q, row, live->info);
	bool wrong;

	if (node != QUERY_OK)
		return query_none(node);
	return query_maybe(
		json_object_get(report_of(q, row, &wrong), field->arg));
}

struct query_cell query_instance_console(const struct query *q,
					 struct query_row *row,
					 const struct query_field *field)
{
	const struct instance_live *live = q->live;
	enum query_status node = node_status(q, row, live->consoles);
	const struct node_result *result =
		query_live_find(live->consoles, inst_primary_node(row->object));

	(void)field;
	if (node != QUERY_OK)
		return query_none(node);
	return query_maybe(
		json_object_get(result->payload, inst_name(row->object)));
}
