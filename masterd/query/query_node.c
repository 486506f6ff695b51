/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of nodes; the live fields are those of one node_info call to each. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/constants.h"
#include "lib/model/params/params.h"
#include "masterd/query/query_live.h"
#include "masterd/query/query_private.h"
#include "masterd/resources/resources.h"

static const char *uuid_of(const struct query_row *row)
{
	return node_uuid(row->object);
}

static bool flag(const struct query_row *row, const char *key, bool fallback)
{
	return json_bool(row->object, key, fallback);
}

static const json_t *group_of(const struct query *q,
			      const struct query_row *row)
{
	return config_get(q->m->config, CONFIG_GROUP,
			  node_group_or(row->object, NULL));
}

static bool is_master(const struct query *q, const struct query_row *row)
{
	return config_is_master(q->m->config, uuid_of(row));
}

/* --- from the configuration --- */

static struct query_cell get_group(const struct query *q, struct query_row *row,
				   const struct query_field *field)
{
	(void)field;
	return query_text(group_name_or(group_of(q, row), NULL));
}

static struct query_cell get_role(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	(void)field;
	if (is_master(q, row))
		return query_text("M");
	if (flag(row, "master_candidate", false))
		return query_text("C");
	if (flag(row, "drained", false))
		return query_text("D");
	return query_text(flag(row, "offline", false) ? "O" : "R");
}

static struct query_cell get_master(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	(void)field;
	return query_value(json_boolean(is_master(q, row)));
}

/* Only with a program for power control does the record mean anything. */
static struct query_cell get_powered(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	(void)field;
	if (*nd_oob_program(query_filled_nd(q, row)) == '\0')
		return query_none(QUERY_UNAVAIL);
	return query_value(json_boolean(flag(row, "powered", true)));
}

/* arg: which of the node's instances. */
static void list_instances(const struct query *q, const struct query_row *row,
			   const struct query_field *field, struct strv *ret)
{
	if (strcmp(field->arg, "primary") == 0)
		config_node_primaries(q->m->config, uuid_of(row), ret);
	else
		config_node_secondaries(q->m->config, uuid_of(row), ret);
}

static struct query_cell get_instance_count(const struct query *q,
					    struct query_row *row,
					    const struct query_field *field)
{
	auto_strv struct strv uuids = {0};

	list_instances(q, row, field, &uuids);
	return query_value(json_integer((json_int_t)uuids.n));
}

static struct query_cell get_instances(const struct query *q,
				       struct query_row *row,
				       const struct query_field *field)
{
	auto_strv struct strv uuids = {0};

	list_instances(q, row, field, &uuids);
	return query_value(query_names(q, CONFIG_INSTANCE, &uuids));
}

/* --- recorded resources --- */

/* All hypervisors for which something is recorded. */
static struct query_cell get_hv_state(const struct query *q,
				      struct query_row *row,
				      const struct query_field *field)
{
	auto_json json_t *states = state_fill_hv_all(
		config_cluster(q->m->config), group_of(q, row), row->object);

	(void)field;
	if (json_object_size(states) == 0)
		return query_none(QUERY_UNAVAIL);
	return query_value(steal(&states));
}

/* {storage: {name: numbers}} */
static struct query_cell get_disk_state(const struct query *q,
					struct query_row *row,
					const struct query_field *field)
{
	auto_json json_t *states = state_fill_disk_all(
		config_cluster(q->m->config), group_of(q, row), row->object);

	(void)field;
	if (json_object_size(states) == 0)
		return query_none(QUERY_UNAVAIL);
	return query_value(steal(&states));
}

static struct query_cell number_if(bool known, int64_t number)
{
	return known ? query_value(json_integer(number))
		     : query_none(QUERY_UNAVAIL);
}

/* index: which of the numbers. */
enum { MEM_TOTAL, MEM_FREE, MEM_GUARANTEE, CPU_BOOKED };

static struct query_cell get_memory(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	struct node_memory m;

	resources_memory(q->m->config, uuid_of(row), NULL, &m);
	if (field->index == CPU_BOOKED)
		return number_if(true, m.vcpus);
	if (field->index == MEM_TOTAL)
		return number_if(m.recorded, m.total);
	return number_if(m.recorded, field->index == MEM_FREE
					     ? resources_mem_free(&m)
					     : resources_mem_guarantee(&m));
}

enum { DISK_TOTAL, DISK_FREE };

static struct query_cell get_disk(const struct query *q, struct query_row *row,
				  const struct query_field *field)
{
	struct node_disk d;

	resources_disk(q->m->config, uuid_of(row),
		       resources_template(config_cluster(q->m->config)), &d);
	return number_if(d.recorded, field->index == DISK_TOTAL
					     ? d.total
					     : resources_disk_free(&d));
}

/* --- live --- */

static const struct node_result *answer_of(const struct query *q,
					   const struct query_row *row)
{
	return query_live_find(q->live, uuid_of(row));
}

/* Why there is no answer. */
static struct query_cell no_answer(const struct query_row *row)
{
	return query_none(flag(row, "offline", false) ? QUERY_OFFLINE
						      : QUERY_NODATA);
}

static struct query_cell cell_from(const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return query_none(QUERY_NODATA);
	return query_value(json_ref(value));
}

static struct query_cell get_bootid(const struct query *q,
				    struct query_row *row,
				    const struct query_field *field)
{
	const struct node_result *answer = answer_of(q, row);

	(void)field;
	if (answer == NULL || answer->payload == NULL)
		return no_answer(row);
	return cell_from(json_array_get(answer->payload, 0));
}

/* From the first hypervisor's report. */
static struct query_cell get_hypervisor(const struct query *q,
					struct query_row *row,
					const struct query_field *field)
{
	const struct node_result *answer = answer_of(q, row);

	if (answer == NULL || answer->payload == NULL)
		return no_answer(row);
	return cell_from(json_object_get(
		json_array_get(json_array_get(answer->payload, 2), 0),
		field->arg));
}

/* From the report of storage unit number index. */
static struct query_cell get_storage(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	const struct node_result *answer = answer_of(q, row);

	if (answer == NULL || answer->payload == NULL)
		return no_answer(row);
	return cell_from(json_object_get(
		json_array_get(json_array_get(answer->payload, 1),
			       (size_t)field->index),
		field->arg));
}

/* The version of the node daemon, which is only asked for on request, as
 * Ganeti's does not have it. */
#define VERSION_FIELD "program_version"

/* Whether a report of a hypervisor is read.  One that does not work fails the
 * whole call, also for who only asks whether the node is there. */
static bool wants_hypervisor(const struct query *q)
{
	for (size_t i = 0; i < q->class->n_fields; i++)
		if (q->class->fields[i].get == get_hypervisor &&
		    query_wants(q, q->class->fields[i].name))
			return true;
	return false;
}

static struct rpc_request node_info_request(const struct query *q,
					    struct query_row *row)
{
	const json_t *cluster = config_cluster(q->m->config);
	const char *hv = json_string_value(
		json_array_get(cluster_enabled_hypervisors(cluster), 0));
	bool exclusive = nd_exclusive_storage(query_filled_nd(q, row));

	json_t *units = resources_units(cluster, resources_template(cluster),
					exclusive);
	json_t *params;

	if (hv == NULL || !wants_hypervisor(q))
		return rpc_node_info(units, json_array());
	params = params_fill_hv(cluster, hv, NULL, NULL);
	if (strv_has(&q->wanted, VERSION_FIELD))
		json_set_bool(params, NODE_INFO_VERSION, true);
	return rpc_node_info(units, json_make("[[s, o]]", hv, params));
}

static WAITS void collect(struct query *q)
{
	struct query_live *live = query_live_new(q->n_rows);

	for (size_t i = 0; i < q->n_rows; i++) {
		struct query_row *row = &q->rows[i];

		if (!flag(row, "offline", false))
			query_live_add(live, row->object,
				       node_info_request(q, row));
	}
	query_live_call(q->m->rpc, live);
	q->live = live;
}

static void live_done(struct query *q)
{
	query_live_free(q->live);
}

/* --- the table --- */

/* clang-format off */
#define LIVE(name, title, kind, doc, get, arg, index) \
	{name, title, kind, doc, get, arg, index, true}

static const struct query_field fields[] = {
	{"name", "Node", KIND_TEXT, "Name of the node", query_get_member,
	 "name", 0, false, FILTER_HOSTNAME},
	{"pip", "PrimaryIP", KIND_TEXT, "Primary address", query_get_member,
	 "primary_ip"},
	{"sip", "SecondaryIP", KIND_TEXT, "Secondary address",
	 query_get_member, "secondary_ip"},
	{"group", "Group", KIND_TEXT, "Name of its node group", get_group},
	{"group.uuid", "GroupUUID", KIND_TEXT, "UUID of its node group",
	 query_get_member, "group"},
	{"role", "Role", KIND_TEXT,
	 "M: master, C: master candidate, R: regular, D: drained, O: offline",
	 get_role},
	{"master", "IsMaster", KIND_BOOL, "Whether it is the master",
	 get_master},
	{"master_candidate", "MasterC", KIND_BOOL,
	 "Whether it is a master candidate", query_get_member,
	 "master_candidate"},
	{"offline", "Offline", KIND_BOOL, "Whether it is marked offline",
	 query_get_member, "offline"},
	{"drained", "Drained", KIND_BOOL, "Whether it is drained",
	 query_get_member, "drained"},
	{"master_capable", "MasterCapable", KIND_BOOL,
	 "Whether it may become a master candidate", query_get_member,
	 "master_capable"},
	{"vm_capable", "VMCapable", KIND_BOOL, "Whether it may run instances",
	 query_get_member, "vm_capable"},
	{"powered", "Powered", KIND_BOOL,
	 "Whether it is recorded as powered on", get_powered},
	{"pinst_cnt", "Pinst", KIND_NUMBER,
	 "How many instances have it as primary", get_instance_count,
	 "primary"},
	{"sinst_cnt", "Sinst", KIND_NUMBER,
	 "How many instances have it as secondary", get_instance_count,
	 "secondary"},
	{"pinst_list", "PriInstances", KIND_OTHER,
	 "Instances that have it as primary", get_instances, "primary"},
	{"sinst_list", "SecInstances", KIND_OTHER,
	 "Instances that have it as secondary", get_instances, "secondary"},
	{"ndparams", "NodeParameters", KIND_OTHER,
	 "Node parameters in force", query_get_ndparams},
	{"custom_ndparams", "CustomNodeParameters", KIND_OTHER,
	 "Node parameters of its own", query_get_dict, "ndparams"},
	{"hv_state", "HypervisorState", KIND_OTHER,
	 "Recorded resources, for each hypervisor", get_hv_state},
	{"disk_state", "DiskState", KIND_OTHER,
	 "Recorded resources, for each storage", get_disk_state},
	{"mem_total", "RecMTotal", KIND_UNIT, "Memory as recorded",
	 get_memory, NULL, MEM_TOTAL, .own = true},
	{"mem_free", "RecMFree", KIND_UNIT,
	 "Recorded memory that no instance has booked", get_memory, NULL,
	 MEM_FREE, .own = true},
	{"mem_guarantee", "RecMGuarantee", KIND_UNIT,
	 "Recorded memory that can still be guaranteed (minmem)", get_memory,
	 NULL, MEM_GUARANTEE, .own = true},
	{"vcpus_booked", "RecVCPUs", KIND_NUMBER,
	 "Virtual CPUs that its instances have booked", get_memory, NULL,
	 CPU_BOOKED, .own = true},
	{"disk_total", "RecDTotal", KIND_UNIT,
	 "Space of the storage for disks as recorded", get_disk, NULL,
	 DISK_TOTAL, .own = true},
	{"disk_free", "RecDFree", KIND_UNIT,
	 "Recorded space that no instance has booked", get_disk, NULL,
	 DISK_FREE, .own = true},
	QUERY_ND_FIELDS,
	QUERY_COMMON_FIELDS("node"),
	LIVE("bootid", "BootID", KIND_TEXT,
	     "Changes with each start of the machine", get_bootid, NULL, 0),
	LIVE("cnodes", "CNodes", KIND_NUMBER, "Number of NUMA domains",
	     get_hypervisor, "cpu_nodes", 0),
	LIVE("cnos", "CNOs", KIND_NUMBER, "CPUs of the node itself",
	     get_hypervisor, "cpu_dom0", 0),
	LIVE("csockets", "CSockets", KIND_NUMBER, "Number of CPU sockets",
	     get_hypervisor, "cpu_sockets", 0),
	LIVE("ctotal", "CTotal", KIND_NUMBER, "Number of CPUs",
	     get_hypervisor, "cpu_total", 0),
	LIVE("mtotal", "MTotal", KIND_UNIT, "Memory of the machine",
	     get_hypervisor, "memory_total", 0),
	LIVE("mnode", "MNode", KIND_UNIT, "Memory used by the node itself",
	     get_hypervisor, "memory_dom0", 0),
	LIVE("mfree", "MFree", KIND_UNIT, "Memory free for instances",
	     get_hypervisor, "memory_free", 0),
	LIVE("dtotal", "DTotal", KIND_UNIT, "Size of the storage for disks",
	     get_storage, "storage_size", 0),
	LIVE("dfree", "DFree", KIND_UNIT, "Free space in that storage",
	     get_storage, "storage_free", 0),
	{VERSION_FIELD, "Program", KIND_TEXT,
	 "Version of the node daemon", get_hypervisor, NODE_INFO_VERSION,
	 .live = true, .own = true},
	LIVE("sptotal", "SpTotal", KIND_NUMBER, "Spindles of the storage",
	     get_storage, "storage_size", 1),
	LIVE("spfree", "SpFree", KIND_NUMBER, "Free spindles of the storage",
	     get_storage, "storage_free", 1),
};
/* clang-format on */

const struct query_class query_class_node = {
	.what = "node",
	.title = "Node",
	.name_field = "name",
	QUERY_TABLE(fields),
	.kind = CONFIG_NODE,
	.collect = collect,
	.live_done = live_done,
};
