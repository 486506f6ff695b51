/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_QUERY_DATA: everything about instances, for gnt-instance info. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/parts/lu_instance.h"

static int query_data_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_query_data *op = lu->op;

	if (op->static_ && !op->use_locking)
		return 0;
	if (json_array_size(op->instances) == 0)
		lu_want_all(lu, LOCK_INSTANCE, false);
	for (size_t i = 0; i < json_array_size(op->instances); i++) {
		const json_t *inst = lu_instance(
			lu, json_string_value(json_array_get(op->instances, i)),
			err);

		if (inst == NULL)
			return -1;
		lu_want(lu, LOCK_INSTANCE, inst_name(inst), false);
	}
	return 0;
}

static json_t *nic_row(struct lu *lu, const json_t *nic)
{
	auto_json json_t *params = params_fill_nic(
		config_cluster(lu->m->config), nic_nicparams(nic));
	const char *network = nic_network(nic);
	const json_t *details =
		network == NULL
			? NULL
			: config_get(lu->m->config, CONFIG_NETWORK, network);

	return json_make("[s?, s, s?, s, s, s, s, s?, O?]", nic_name(nic),
			 nic_uuid(nic), nic_ip(nic), nic_mac(nic),
			 nicparams_mode(params), nicparams_link(params),
			 nicparams_vlan(params), network, details);
}

/* Where the disks of an instance are looked at. */
struct sides {
	const char *primary, *secondary; /* UUIDs; NULL: there is none */
	bool is_static;			 /* no node is asked */
};

/* [path, major, minor, sync %, time left, degraded, local status], null.  disk:
 * in the form of node calls. */
static WAITS json_t *disk_status(struct lu *lu, const char *node,
				 const json_t *disk, bool is_static)
{
	auto_json json_t *found = NULL;
	struct error err;
	static const char *const keys[] = {
		"dev_path",	  "major",	 "minor",	"sync_percent",
		"estimated_time", "is_degraded", "ldisk_status"};
	json_t *row;

	if (is_static || node == NULL)
		return json_null();
	found = lu_call(lu, node, rpc_blockdev_find(json_ref(disk)), &err);
	if (!json_is_object(found))
		return json_null();
	row = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(found, keys[i]);

		json_array_append(row, value == NULL ? json_null() : value);
	}
	return row;
}

/* The logical id of a mirror: [node, node, port, minor, minor, secret]. */
enum { NODE_A, NODE_B, PORT, MINOR_A, MINOR_B, SECRET, ID_LENGTH };

/* Who reads the report need not be allowed to read a mirror's traffic. */
static json_t *shown_id(const json_t *disk)
{
	json_t *id = json_copy(json_unconst(disk_logical_id(disk)));

	if (template_is_pair(disk_dev_type(disk)) &&
	    json_array_size(id) == ID_LENGTH)
		json_array_set_new(id, SECRET, json_null());
	return id;
}

/* The two sides of a mirror, the primary's first; null for other disks.  Sets
 * the secondary that its volumes are on as well. */
static json_t *pair_info(struct lu *lu, struct sides *sides, const json_t *disk)
{
	const json_t *id = disk_logical_id(disk);
	bool first = str_eq(json_string_value(json_array_get(id, NODE_A)),
			    sides->primary);

	if (!template_is_pair(disk_dev_type(disk)) ||
	    json_array_size(id) != ID_LENGTH)
		return json_null();
	sides->secondary =
		json_string_value(json_array_get(id, first ? NODE_B : NODE_A));
	return json_make("{s:s?, s:O, s:s?, s:O, s:O}", "primary_node",
			 lu_node_name(lu, sides->primary), "primary_minor",
			 json_array_get(id, first ? MINOR_A : MINOR_B),
			 "secondary_node", lu_node_name(lu, sides->secondary),
			 "secondary_minor",
			 json_array_get(id, first ? MINOR_B : MINOR_A), "port",
			 json_array_get(id, PORT));
}

/* What Ganeti has no word for is told only where there is something to tell. */
static void add_format(json_t *row, const json_t *disk)
{
	const json_t *params = disk_params(disk);
	const char *format = json_str(params, "format", "raw");

	if (strcmp(format, "raw") != 0)
		json_object_set_new(row, "format", json_string(format));
}

/* A disk, or a volume that one is made of, in the form of node calls. */
static WAITS json_t *disk_row(struct lu *lu, struct sides sides,
			      const json_t *disk)
{
	json_t *children = json_array(), *pstatus, *sstatus, *row;
	json_t *pair = pair_info(lu, &sides, disk);
	const json_t *parts = disk_children(disk);

	pstatus = disk_status(lu, sides.primary, disk, sides.is_static);
	sstatus = disk_status(lu, sides.secondary, disk, sides.is_static);
	for (size_t i = 0; i < json_array_size(parts); i++)
		json_array_append_new(
			children,
			disk_row(lu, sides, json_array_get(parts, i)));
	row = json_make("{s:s, s:s, s:o?, s:o, s:o, s:o, s:o, s:s, s:I, "
			"s:O?, s:s?, s:s}",
			"iv_name", disk_iv_name_or(disk, ""), "dev_type",
			disk_dev_type(disk), "logical_id", shown_id(disk),
			"drbd_info", pair, "pstatus", pstatus, "sstatus",
			sstatus, "children", children, "mode", disk_mode(disk),
			"size", (json_int_t)disk_size_mib(disk), "spindles",
			disk_spindles_value(disk), "name", disk_name(disk),
			"uuid", disk_uuid(disk));
	add_format(row, disk);
	return row;
}

/* The run state; NULL: unknown.  An instance that does not run is "down",
 * unless it is known that its user has shut it down. */
static WAITS const char *run_state(struct lu *lu, const json_t *inst,
				   bool is_static)
{
	const char *wanted = inst_admin_state(inst);
	struct error err;
	bool running;

	if (is_static || inst_is_running(lu, inst, NULL, &running, &err) < 0)
		return NULL;
	if (running)
		return "up";
	if (strcmp(wanted, "offline") == 0)
		return wanted;
	if (strcmp(wanted, "down") == 0 &&
	    strcmp(inst_admin_state_source(inst), "user") == 0)
		return "user down";
	return "down";
}

static void add_secondaries(struct lu *lu, const json_t *inst, json_t *row)
{
	auto_strv struct strv nodes = {0};
	json_t *names = json_array(), *groups = json_array(),
	       *group_names = json_array();

	config_instance_secondaries(lu->m->config, inst, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const json_t *node =
			config_get(lu->m->config, CONFIG_NODE, nodes.items[i]);
		const char *group = node_group(node);

		json_array_append_new(names, json_string(node_name(node)));
		json_array_append_new(groups, json_string(group));
		json_array_append_new(
			group_names,
			json_string(config_name(lu->m->config, CONFIG_GROUP,
						group)));
	}
	json_object_set_new(row, "snodes", names);
	json_object_set_new(row, "snodes_group_uuids", groups);
	json_object_set_new(row, "snodes_group_names", group_names);
}

static WAITS void add_devices(struct lu *lu, const json_t *inst, json_t *row,
			      bool is_static)
{
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	const json_t *nics = inst_nics(inst);
	struct sides sides = {.primary = inst_primary_node(inst),
			      .is_static = is_static};
	json_t *nic_rows = json_array(), *disk_rows = json_array();

	for (size_t i = 0; i < json_array_size(nics); i++)
		json_array_append_new(nic_rows,
				      nic_row(lu, json_array_get(nics, i)));
	for (size_t i = 0; i < json_array_size(disks); i++)
		json_array_append_new(
			disk_rows,
			disk_row(lu, sides, json_array_get(disks, i)));
	json_object_set_new(row, "nics", nic_rows);
	json_set_str(row, "disk_template",
		     config_instance_template(lu->m->config, inst));
	json_object_set_new(row, "disks", disk_rows);
}

static json_t *without_globals(json_t *hv STEALS)
{
	static const char *const globals[] = {"migration_bandwidth",
					      "migration_mode",
					      "migration_port", "xen_cmd"};

	for (size_t i = 0; i < ARRAY_SIZE(globals); i++)
		json_object_del(hv, globals[i]);
	return hv;
}

static json_t *dict_or_empty(const json_t *value)
{
	return value == NULL ? json_object() : json_ref(value);
}

static void add_parameters(struct lu *lu, const json_t *inst, json_t *row)
{
	json_set_str(row, "hypervisor", inst_hypervisor(inst));
	json_object_set_new(row, "network_port",
			    inst_has_network_port(inst)
				    ? json_integer(inst_network_port(inst))
				    : json_null());
	json_object_set_new(row, "hv_instance",
			    dict_or_empty(inst_hvparams(inst)));
	json_object_set_new(row, "hv_actual",
			    without_globals(inst_filled_hv(lu, inst)));
	json_object_set_new(row, "be_instance",
			    dict_or_empty(inst_beparams(inst)));
	json_object_set_new(row, "be_actual", inst_filled_be(lu, inst));
	json_object_set_new(row, "os_instance",
			    dict_or_empty(inst_osparams(inst)));
	json_object_set_new(row, "os_actual",
			    params_fill_os(config_cluster(lu->m->config),
					   inst_os(inst), inst_osparams(inst)));
	json_set_int(row, "serial_no", inst_serial_no(inst));
	json_object_set(row, "mtime", json_unconst(inst_mtime_value(inst)));
	json_object_set(row, "ctime", json_unconst(inst_ctime_value(inst)));
	json_set_str(row, "uuid", inst_uuid(inst));
}

static WAITS json_t *row_of(struct lu *lu, const json_t *inst, bool is_static)
{
	const char *state = run_state(lu, inst, is_static);
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));
	const char *group = node_group(node);
	json_t *row = json_make(
		"{s:s, s:s, s:s?, s:s, s:s, s:s}", "name", inst_name(inst),
		"config_state", inst_admin_state(inst), "run_state", state,
		"pnode", node_name(node), "pnode_group_uuid", group,
		"pnode_group_name",
		config_name(lu->m->config, CONFIG_GROUP, group));

	add_secondaries(lu, inst, row);
	json_set_str(row, "os", inst_os(inst));
	add_devices(lu, inst, row, is_static);
	add_parameters(lu, inst, row);
	return row;
}

static WAITS json_t *query_data_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_query_data *op = lu->op;
	auto_strv struct strv names = {0};
	auto_json json_t *result = json_object();

	json_to_strv(op->instances, &names);
	if (names.n == 0)
		config_sorted(lu->m->config, CONFIG_INSTANCE, &names);
	for (size_t i = 0; i < names.n; i++) {
		const json_t *inst = lu_instance(lu, names.items[i], err);

		if (inst == NULL)
			return NULL;
		json_object_set_new(result, inst_name(inst),
				    row_of(lu, inst, op->static_));
	}
	return steal(&result);
}

const struct lu_class lu_instance_query_data = {
	.op = &op_class_instance_query_data,
	.size = sizeof(struct lu),
	.takes_forthcoming = true,
	.expand = query_data_expand,
	.exec = query_data_exec,
};
