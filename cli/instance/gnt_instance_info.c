/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-instance info. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"

#define VNC_BASE_PORT 5900 /* of display 0 */

static void set_text(json_t *view, const char *key, char *text STEALS)
{
	auto_free char *own = text;

	json_set_str(view, key, own);
}

static void copy(json_t *view, const char *title, const json_t *from,
		 const char *key)
{
	const json_t *value = json_object_get(from, key);

	set_text(view, title, cli_str(value));
}

static void set_time(json_t *view, const char *title, const json_t *from,
		     const char *key)
{
	set_text(view, title, cli_time(json_num(from, key, 0)));
}

/* --- disks --- */

/* What blockdev_find says of a device, in its order. */
enum { PATH, MAJOR, MINOR, SYNCED, ETA, DEGRADED, LOCAL };
/* The last of these. */
enum { LOCAL_UNKNOWN = 3, LOCAL_FAULTY = 4 };

static void add_sync(struct buf *text, const json_t *status)
{
	const json_t *synced = json_array_get(status, SYNCED);
	double seconds = json_number_value(json_array_get(status, ETA));
	int64_t local = json_integer_value(json_array_get(status, LOCAL));

	if (!json_is_number(synced))
		buf_adds(text, " in sync");
	else if (seconds > 0)
		buf_addf(text, " *RECOVERING* %5.2f%%, ETA %.0fs",
			 json_number_value(synced), seconds);
	else
		buf_addf(text, " *RECOVERING* %5.2f%%, ETA unknown",
			 json_number_value(synced));
	buf_addf(text, ", status %s",
		 json_is_true(json_array_get(status, DEGRADED)) ? "*DEGRADED*"
								: "ok");
	if (local == LOCAL_FAULTY)
		buf_adds(text, " *MISSING DISK*");
	else if (local == LOCAL_UNKNOWN)
		buf_adds(text, " *UNCERTAIN STATE*");
}

static char *device_text(const char *type, const json_t *status)
{
	const json_t *major = json_array_get(status, MAJOR);
	const json_t *minor = json_array_get(status, MINOR);
	auto_free char *path = cli_str(json_array_get(status, PATH));
	auto_free char *a =
		json_is_null(major) ? xstrdup("N/A") : cli_str(major);
	auto_free char *b =
		json_is_null(minor) ? xstrdup("N/A") : cli_str(minor);
	auto_buf struct buf text = {0};

	buf_addf(&text, "%s (%s:%s)", path, a, b);
	if (template_is_pair(type))
		add_sync(&text, status);
	else if (template_is_volume(type) &&
		 json_integer_value(json_array_get(status, LOCAL)) ==
			 LOCAL_FAULTY)
		buf_adds(&text, " *FAILED* (failed drive?)");
	return buf_steal(&text);
}

static void add_device(json_t *view, const char *key, const json_t *disk,
		       const char *field)
{
	const json_t *status = json_get(disk, field);

	if (status != NULL)
		set_text(view, key,
			 device_text(json_str(disk, "dev_type", "?"), status));
}

/* Where the data are: a volume's path, both sides of a mirror. */
static void add_place(json_t *view, const json_t *disk)
{
	const json_t *id = json_get(disk, "logical_id");
	const json_t *pair = json_get(disk, "drbd_info");

	if (pair != NULL) {
		set_text(view, "nodeA",
			 xprintf("%s, minor=%jd",
				 json_str(pair, "primary_node", "?"),
				 (intmax_t)json_int(pair, "primary_minor", 0)));
		set_text(view, "nodeB",
			 xprintf("%s, minor=%jd",
				 json_str(pair, "secondary_node", "?"),
				 (intmax_t)json_int(pair, "secondary_minor",
						    0)));
		copy(view, "port", pair, "port");
	} else if (template_is_volume(json_str(disk, "dev_type", "?"))) {
		set_text(view, "logical_id", cli_join(id, "/"));
	} else if (id != NULL) {
		copy(view, "logical_id", disk, "logical_id");
	}
}

/* What a disk has and the volumes that it is made of have not. */
static void add_own(json_t *view, const json_t *disk)
{
	if (json_get(disk, "spindles") != NULL)
		copy(view, "spindles", disk, "spindles");
	if (json_get(disk, "format") != NULL)
		copy(view, "format", disk, "format");
	copy(view, "access mode", disk, "mode");
}

static json_t *disk_view(const json_t *disk, size_t index, bool child)
{
	json_t *view = json_object(), *children = json_array();
	const char *type = json_str(disk, "dev_type", "?");
	auto_free char *size = cli_size(json_num(disk, "size", 0), 'h');
	auto_free char *key = NULL;
	const json_t *member;
	size_t i;

	key = child ? xprintf("child %zu", index) : xprintf("disk/%zu", index);
	set_text(view, key, xprintf("%s, size %s", type, size));
	if (!child)
		add_own(view, disk);
	add_place(view, disk);
	add_device(view, "on primary", disk, "pstatus");
	add_device(view, "on secondary", disk, "sstatus");
	copy(view, "name", disk, "name");
	copy(view, "UUID", disk, "uuid");
	json_array_foreach (json_get(disk, "children"), i, member)
		json_array_append_new(children, disk_view(member, i, true));
	if (json_array_size(children) > 0)
		json_object_set(view, "child devices", children);
	json_decref(children);
	return view;
}

/* --- network interfaces --- */

/* [name, uuid, ip, mac, mode, link, vlan, network, netinfo] */
static json_t *nic_view(const json_t *nic, size_t index)
{
	static const struct {
		const char *title;
		size_t at;
	} fields[] = {{"MAC", 3},  {"IP", 2},	   {"mode", 4}, {"link", 5},
		      {"vlan", 6}, {"network", 7}, {"UUID", 1}, {"name", 0}};
	const json_t *network = json_get(json_array_get(nic, 8), "name");
	json_t *view = json_object();
	auto_free char *key = xprintf("nic/%zu", index);

	json_set_str(view, key, "");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		set_text(view, fields[i].title,
			 cli_str(json_array_get(nic, fields[i].at)));
	if (network != NULL)
		json_object_set(view, "network", json_unconst(network));
	return view;
}

/* --- the instance --- */

/* "node2 (group default, group UUID 1234), ..."; to be freed. */
static char *secondaries_text(const json_t *inst)
{
	auto_strv struct strv all = {0};
	const json_t *node;
	size_t i;

	json_array_foreach (json_get(inst, "snodes"), i, node) {
		auto_free char *group = cli_str(json_array_get(
			json_get(inst, "snodes_group_names"), i));
		auto_free char *uuid = cli_str(json_array_get(
			json_get(inst, "snodes_group_uuids"), i));

		strv_addf(&all, "%s (group %s, group UUID %s)",
			  json_string_value(node), group, uuid);
	}
	return strv_join(&all, ", ");
}

static json_t *nodes_view(const json_t *inst)
{
	auto_free char *secondaries = secondaries_text(inst);
	json_t *primary = json_object();

	copy(primary, "primary", inst, "pnode");
	set_text(primary, "group",
		 xprintf("%s (UUID %s)",
			 json_str(inst, "pnode_group_name", "?"),
			 json_str(inst, "pnode_group_uuid", "?")));
	return json_make("[o, {s:s}]", primary, "secondaries", secondaries);
}

static void add_state(json_t *view, const json_t *inst)
{
	const char *run = json_str(inst, "run_state", NULL);
	const char *config = json_str(inst, "config_state", "?");

	if (run == NULL)
		set_text(view, "State", xprintf("configured to be %s", config));
	else
		set_text(view, "State",
			 xprintf("configured to be %s, actual state is %s",
				 config, run));
}

/* Where a VNC client connects to, if the instance has such a console: on all
 * addresses of its node, on one of them, or at a socket. */
static void add_console(json_t *view, const json_t *inst)
{
	const char *key = "console connection";
	const char *address =
		json_str(json_get(inst, "hv_actual"), "vnc_bind_address", "");
	const char *node = json_str(inst, "pnode", "?");
	int64_t port = json_int(inst, "network_port", 0);
	int64_t display = port - VNC_BASE_PORT;
	struct in_addr ignored;

	if (*address == '\0')
		return;
	if (display > 0 && strcmp(address, "0.0.0.0") == 0)
		set_text(view, key,
			 xprintf("vnc to %s:%jd (display %jd)", node,
				 (intmax_t)port, (intmax_t)display));
	else if (display > 0 && inet_pton(AF_INET, address, &ignored) == 1)
		set_text(view, key,
			 xprintf("vnc to %s:%jd (node %s) (display %jd)",
				 address, (intmax_t)port, node,
				 (intmax_t)display));
	else
		set_text(view, key, xprintf("vnc to %s:%s", node, address));
}

/* maxmem was called memory once, and still is by some. */
static void add_beparams(json_t *view, const json_t *inst)
{
	auto_json json_t *actual =
		json_copy(json_unconst(json_get(inst, "be_actual")));
	const json_t *maxmem = json_get(actual, "maxmem");

	if (maxmem != NULL)
		json_object_set(actual, "memory", json_unconst(maxmem));
	cli_info_params(view, "Back-end parameters",
			json_get(inst, "be_instance"), actual);
}

static void add_lists(json_t *view, const json_t *inst)
{
	json_t *nics = json_array(), *disks = json_array();
	const json_t *member;
	size_t i;

	json_array_foreach (json_get(inst, "nics"), i, member)
		json_array_append_new(nics, nic_view(member, i));
	json_object_set_new(view, "NICs", nics);
	copy(view, "Disk template", inst, "disk_template");
	json_array_foreach (json_get(inst, "disks"), i, member)
		json_array_append_new(disks, disk_view(member, i, false));
	json_object_set_new(view, "Disks", disks);
}

static json_t *instance_view(const json_t *inst)
{
	json_t *view = json_object();

	copy(view, "Instance name", inst, "name");
	copy(view, "UUID", inst, "uuid");
	copy(view, "Serial number", inst, "serial_no");
	set_time(view, "Creation time", inst, "ctime");
	set_time(view, "Modification time", inst, "mtime");
	add_state(view, inst);
	json_object_set_new(view, "Nodes", nodes_view(inst));
	copy(view, "Operating system", inst, "os");
	cli_info_params(view, "Operating system parameters",
			json_get(inst, "os_instance"),
			json_get(inst, "os_actual"));
	copy(view, "Allocated network port", inst, "network_port");
	copy(view, "Hypervisor", inst, "hypervisor");
	add_console(view, inst);
	cli_info_params(view, "Hypervisor parameters",
			json_get(inst, "hv_instance"),
			json_get(inst, "hv_actual"));
	add_beparams(view, inst);
	add_lists(view, inst);
	return view;
}

static json_t *query(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_instance_query_data);
	json_t *names = cli_args(cli, 0);
	bool is_static = cli_given(cli, &OPT_STATIC);

	json_object_set_new(op, "instances", names);
	json_set_bool(op, "static", is_static);
	json_set_bool(op, "use_locking", !is_static);
	return cli_run_op(cli, op, err);
}

static int info(struct cli *cli, struct error *err)
{
	auto_json json_t *result = NULL, *views = json_array();
	const char *name;
	json_t *inst;

	if ((cli->n_args == 0) != cli_given(cli, &OPT_ALL))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give the names of instances, or --all for "
				 "all of them");
	result = query(cli, err);
	if (result == NULL)
		return -1;
	json_object_foreach (result, name, inst)
		json_array_append_new(views, cli_wants_data(cli)
						     ? json_incref(inst)
						     : instance_view(inst));
	if (cli_wants_data(cli))
		cli_print_data(cli, views);
	else if (json_array_size(views) == 0)
		printf("No instances.\n");
	else
		cli_print_info(views);
	return json_array_size(views) == 0 ? CLI_FAILURE : CLI_OK;
}

const struct cli_command instance_info = {
	.name = "info",
	.alias = "show",
	.args = "[-s] {--all | <instance-name>...}",
	.help = "Show all about instances",
	.max_args = -1,
	.options = {&OPT_STATIC, &OPT_ALL, &OPT_ROMAN, OPTS_INFO, &OPT_PRIORITY,
		    &OPT_PLAN},
	.run = info,
};
