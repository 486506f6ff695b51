/* SPDX-License-Identifier: BSD-2-Clause */
/* What a message has of the configuration becomes config.data, and the numbers
 * of nodes become the answers of scripted nodes, or records. */
#include "tests/lib/message_master.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/model/files/paths.h"
#include "lib/model/kinds/template.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"

#define CONFIG_MAX ((size_t)8 << 20)

/* --- the configuration --- */

static char *uuid_of(const char *kind, size_t number)
{
	return xprintf("00000000-%s-4000-8000-%012zu", kind, number);
}

static json_t *object_of(const char *uuid, const char *name)
{
	return json_make("{s:s, s:s, s:i, s:f, s:f}", "uuid", uuid, "name",
			 name, "serial_no", 1, "ctime", 1.0, "mtime", 1.0);
}

static void copy_members(json_t *to, const json_t *from,
			 const char *const *keys)
{
	for (; *keys != NULL; keys++)
		if (json_get(from, *keys) != NULL)
			json_object_set(to, *keys,
					json_object_get(from, *keys));
}

/* The networks that groups have. */
static json_t *networks_of(const json_t *groups)
{
	json_t *all = json_object(), *group, *none;
	const char *uuid, *network;

	json_object_foreach (json_unconst(groups), uuid, group)
		json_object_foreach (json_object_get(group, "networks"),
				     network, none) {
			json_t *own = object_of(network, network);

			json_set_str(own, "network", "192.0.2.0/30");
			json_set_str(own, "reservations", "0000");
			json_set_str(own, "ext_reservations", "0000");
			json_object_set_new(own, "tags", json_array());
			json_object_set_new(all, network, own);
		}
	return all;
}

static json_t *groups_of(const json_t *message)
{
	static const char *const keys[] = {"alloc_policy", "ipolicy", "tags",
					   NULL};
	json_t *all = json_object(), *group;
	const char *uuid;

	json_object_foreach (json_object_get(message, "nodegroups"), uuid,
			     group) {
		json_t *own = object_of(uuid, json_str(group, "name", ""));
		json_t *networks = json_object(), *network;
		const json_t *extra = json_get(group, "ipolicy_extra");
		auto_json json_t *policy =
			json_overlay(json_get(group, "ipolicy"), extra);
		size_t i;

		json_array_foreach (json_object_get(group, "networks"), i,
				    network)
			json_object_set_new(
				networks, json_string_value(network),
				json_make("{s:s, s:s}", "mode", "bridged",
					  "link", "br0"));
		copy_members(own, group, keys);
		json_object_set(own, "ipolicy", policy);
		json_object_set_new(own, "networks", networks);
		json_object_set_new(own, "members", json_array());
		json_object_set_new(own, "ndparams", json_object());
		json_object_set_new(own, "diskparams", json_object());
		json_object_set_new(all, uuid, own);
	}
	return all;
}

/* The numbers of a node as a record. */
static void record(json_t *node, const json_t *told, const json_t *cluster)
{
	const json_t *hypervisors = json_get(cluster, "enabled_hypervisors");
	json_t *hv = json_object();
	size_t i;
	json_t *name;

	json_array_foreach (hypervisors, i, name)
		json_object_set_new(
			hv, json_string_value(name),
			json_make("{s:I, s:I, s:i, s:I, s:I}", "mem_total",
				  json_int(told, "total_memory", 0), "mem_node",
				  json_int(told, "reserved_memory", 0),
				  "mem_hv", 16, "cpu_total",
				  json_int(told, "total_cpus", 0), "cpu_node",
				  json_int(told, "reserved_cpus", 0)));
	json_object_set_new(node, "hv_state_static", hv);
	json_object_set_new(
		node, "disk_state_static",
		json_make("{s:{s:{s:I}}, s:{s:{s:I}}}", "plain",
			  json_str(cluster, "volume_group_name", ""),
			  "disk_total", json_int(told, "total_disk", 0),
			  "sharedfile",
			  json_str(cluster, "shared_file_storage_dir", ""),
			  "disk_total", json_int(told, "total_disk", 0)));
}

/* The master knows nodes by their addresses. */
static void set_address(json_t *node, size_t number)
{
	auto_free char *address =
		xprintf("192.0.%zu.%zu", number / 250, number % 250 + 1);

	json_set_str(node, "primary_ip", address);
	json_set_str(node, "secondary_ip", address);
}

static json_t *nodes_of(const json_t *message, const json_t *cluster,
			enum message_record records)
{
	static const char *const keys[] = {
		"drained",	  "group",    "master_candidate",
		"master_capable", "ndparams", "offline",

		"vm_capable",	  "tags",     NULL};
	json_t *all = json_object(), *node;
	const char *name;
	size_t n = 0;

	json_object_foreach (json_object_get(message, "nodes"), name, node) {
		auto_free char *uuid = uuid_of("0001", n);
		json_t *own = object_of(uuid, name);

		json_set_bool(own, "powered", true);
		json_object_set_new(own, "tags", json_array());
		json_set_bool(own, "vm_capable", true);
		copy_members(own, node, keys);
		set_address(own, n);
		if (records == RECORD_ALL ||
		    (records == RECORD_MOST && n % 4 != 2))
			record(own, node, cluster);
		json_object_set_new(all, uuid, own);
		n++;
	}
	return all;
}

/* The UUID of a node; "" for an unknown one. */
static char *node_uuid(const json_t *message, const json_t *name)
{
	const char *wanted = json_string_value(name), *key;
	json_t *node;
	size_t n = 0;

	json_object_foreach (json_object_get(message, "nodes"), key, node) {
		if (str_eq(key, wanted))
			return uuid_of("0001", n);
		n++;
	}
	return xstrdup("");
}

static json_t *disk_of(const json_t *inst, const json_t *disk, const char *uuid,
		       const char *primary, const char *secondary)
{
	const char *template = json_str(inst, "disk_template", "");
	json_t *own = object_of(uuid, "");

	json_object_del(own, "name");
	json_set_str(own, "dev_type", template);
	json_set_str(own, "iv_name", "disk/0");
	json_set_str(own, "mode", "rw");
	json_object_set_new(own, "params", json_object());
	json_object_set_new(own, "children", json_array());
	json_object_set_new(own, "nodes", json_make("[s]", primary));
	json_object_set(own, "size", json_object_get(disk, "size"));
	json_object_set(own, "spindles", json_object_get(disk, "spindles"));
	json_object_set_new(own, "logical_id",
			    template_is_pair(template)
				    ? json_make("[s, s, i, i, i, s]", primary,
						secondary, 11000, 0, 0,
						"secret")
				    : json_make("[s, s]", "loop", uuid));
	return own;
}

static json_t *nics_of(const json_t *inst, size_t number)
{
	json_t *all = json_array(), *nic;
	size_t i;

	json_array_foreach (json_object_get(inst, "nics"), i, nic) {
		auto_free char *uuid = uuid_of("0004", number * 10 + i);
		auto_free char *mac = xprintf(
			"aa:00:%02zx:%02zx:%02zx:%02zx", number >> 16 & 255,
			number >> 8 & 255, number & 255, i);

		json_array_append_new(
			all, json_make("{s:s, s:s, s:{s:s}}", "uuid", uuid,
				       "mac", mac, "nicparams", "mode",
				       json_str(nic, "mode", "bridged")));
	}
	return all;
}

static void add_instance(const json_t *message, const char *name,
			 const json_t *inst, size_t number, json_t *instances,
			 json_t *disks)
{
	const json_t *nodes = json_get(inst, "nodes");
	const json_t *extra = json_get(inst, "beparams_extra");
	auto_free char *uuid = uuid_of("0002", number);
	auto_free char *primary = node_uuid(message, json_array_get(nodes, 0));
	auto_free char *secondary =
		node_uuid(message, json_array_get(nodes, 1));
	json_t *own = object_of(uuid, name), *list = json_array(), *disk;
	int64_t memory = json_int(inst, "memory", 0);
	size_t i;

	json_array_foreach (json_object_get(inst, "disks"), i, disk) {
		auto_free char *of = uuid_of("0003", number * 100 + i);

		json_object_set_new(
			disks, of, disk_of(inst, disk, of, primary, secondary));
		json_array_append_new(list, json_string(of));
	}
	json_set_str(own, "primary_node", primary);
	json_set_str(own, "os", json_str(inst, "os", ""));
	json_set_str(own, "hypervisor", json_str(inst, "hypervisor", ""));
	json_set_str(own, "admin_state", json_str(inst, "admin_state", "up"));
	json_set_str(own, "admin_state_source", "admin");
	json_set_bool(own, "disks_active", true);
	json_object_set_new(own, "disks", list);
	json_object_set_new(own, "nics", nics_of(inst, number));
	json_object_set_new(own, "hvparams", json_object());
	json_object_set_new(own, "osparams", json_object());
	json_object_set_new(own, "osparams_private", json_object());
	json_object_set(own, "tags", json_object_get(inst, "tags"));
	json_object_set_new(
		own, "beparams",
		json_make("{s:I, s:I, s:I, s:I, s:b}", "maxmem", memory,
			  "minmem", json_int(extra, "minmem", memory), "vcpus",
			  json_int(inst, "vcpus", 0), "spindle_use",
			  json_int(inst, "spindle_use", 0), "auto_balance",
			  json_bool(extra, "auto_balance", true)));
	json_object_set_new(instances, uuid, own);
}

static void set_instances(const json_t *message, json_t *config)
{
	json_t *instances = json_object(), *disks = json_object(), *inst;
	const char *name;
	size_t n = 0;

	json_object_foreach (json_object_get(message, "instances"), name, inst)
		add_instance(message, name, inst, n++, instances, disks);
	json_object_set_new(config, "instances", instances);
	json_object_set_new(config, "disks", disks);
}

static void set_cluster(const json_t *message, json_t *cluster)
{
	static const char *const keys[] = {"enabled_hypervisors", "ipolicy",
					   NULL};
	json_t *templates = json_array();

	for (const char *const *t = template_names; *t != NULL; t++)
		json_array_append_new(templates, json_string(*t));
	copy_members(cluster, message, keys);
	json_object_set_new(cluster, "enabled_disk_templates", templates);
	json_object_set(cluster, "tags",
			json_object_get(message, "cluster_tags"));
	json_object_set_new(cluster, "hv_state_static", json_object());
	json_set_str(cluster, "volume_group_name", "xenvg");
}

static json_t *config_of(const json_t *message, enum message_record records,
			 struct error *err)
{
	json_t *config =
		json_read_file("tests/compat/config.data", CONFIG_MAX, err);
	json_t *cluster = json_object_get(config, "cluster");
	auto_free char *first = uuid_of("0001", 0);

	if (config == NULL)
		return NULL;
	set_cluster(message, cluster);
	json_set_str(cluster, "master_node", first);
	json_object_set_new(cluster, "candidate_certs", json_object());
	json_object_set_new(config, "nodegroups", groups_of(message));
	json_object_set_new(config, "networks",
			    networks_of(json_get(config, "nodegroups")));
	json_object_set_new(config, "nodes",
			    nodes_of(message, cluster, records));
	set_instances(message, config);
	return config;
}

/* --- the nodes --- */

static json_t *info_of(const json_t *node)
{
	return json_make("[s, [{s:s, s:s, s:I, s:I}, {s:s, s:s, s:I, s:I}], "
			 "[{s:I, s:I, s:I, s:I, s:I}]]",
			 "boot", "type", "lvm-vg", "name", "xenvg",
			 "storage_size", json_int(node, "total_disk", 0),
			 "storage_free", json_int(node, "free_disk", 0), "type",
			 "lvm-pv", "name", "xenvg", "storage_size",
			 json_int(node, "total_spindles", 0), "storage_free",
			 json_int(node, "free_spindles", 0), "memory_total",
			 json_int(node, "total_memory", 0), "memory_dom0",
			 json_int(node, "reserved_memory", 0), "memory_free",
			 json_int(node, "free_memory", 0), "cpu_total",
			 json_int(node, "total_cpus", 0), "cpu_dom0",
			 json_int(node, "reserved_cpus", 0));
}

/* Instances use all their memory, so that the free memory is what is left. */
static json_t *running_on(const json_t *message, const char *node)
{
	json_t *all = json_object(), *inst;
	const char *name;

	json_object_foreach (json_object_get(message, "instances"), name, inst)
		if (str_eq(json_string_value(
				   json_array_get(json_get(inst, "nodes"), 0)),
			   node))
			json_object_set_new(
				all, name,
				json_make("{s:I}", "memory",
					  json_int(inst, "memory", 0)));
	return all;
}

static json_t *answers_of(const json_t *message)
{
	json_t *all = json_object(), *node;
	const char *name;

	json_object_foreach (json_object_get(message, "nodes"), name, node)
		json_object_set_new(
			all, name,
			json_make("{s:o, s:o, s:i}", "node_info", info_of(node),
				  "all_instances_info",
				  running_on(message, name), "version", 1));
	return all;
}

static void answer(void *arg, const struct noderpc_call *call)
{
	const struct message_master *w = arg;
	const json_t *payload = json_get(json_get(w->answers, call->node_name),
					 call->procedure);
	auto_json json_t *reply =
		json_make("[b, o]", 1,
			  payload == NULL ? json_array() : json_ref(payload));
	auto_free char *text = json_text(reply);

	free(call->body);
	call->on_reply(call->arg, text, strlen(text), NULL);
}

/* --- the whole --- */

static int write_config(struct message_master *w, json_t *config STEALS,
			struct error *err)
{
	auto_json json_t *own = config;
	auto_free char *text = json_text(own);

	if (fs_mkdirs(path(w->m.paths, PATH_DATA_DIR), 0755, err) < 0)
		return -1;
	return fs_write_atomic(path(w->m.paths, PATH_CONFIG_DATA), text,
			       strlen(text), 0640, err);
}

int message_master_begin(struct message_master *w, const json_t *message,
			 enum message_record record, struct error *err)
{
	const struct noderpc_transport transport = {.arg = w, .send = answer};
	char name[] = "/tmp/gantry-test-XXXXXX";
	json_t *config = config_of(message, record, err);
	auto_free char *root = NULL;

	*w = (struct message_master){.top = NULL};
	if (config == NULL)
		return -1;
	if (mkdtemp(name) == NULL)
		abort();
	w->top = xstrdup(name);
	root = xprintf("%s/node1.example.com", name);
	w->m.paths = paths_create(root, "node1.example.com");
	w->answers = answers_of(message);
	w->m.rpc = noderpc_create(&transport);
	w->m.kept = iallocator_kept_create();
	if (write_config(w, config, err) == 0)
		w->m.config = config_load(disk_real(), w->m.paths, err);
	if (w->m.config != NULL)
		return 0;
	message_master_end(w);
	return -1;
}

void message_master_end(struct message_master *w)
{
	struct error ignored;

	iallocator_kept_free(w->m.kept);
	noderpc_destroy(w->m.rpc);
	if (w->m.config != NULL)
		config_free(w->m.config);
	paths_destroy(w->m.paths);
	json_decref(w->answers);
	fs_remove_tree(w->top, &ignored);
	free(w->top);
}

/* --- both ways --- */

static struct iallocator_how how_for(const json_t *request)
{
	return (struct iallocator_how){
		.name = "hail",
		.disk_template = json_str(request, "disk_template", "plain")};
}

static WAITS json_t *by_text(struct master *m, const json_t *request,
			     const struct iallocator_how *how)
{
	auto_json json_t *params = json_object();
	auto_json json_t *message =
		iallocator_message(m, json_ref(request), how);
	auto_free char *text = json_text(message);
	struct error err;
	auto_free char *output = iallocator_run_builtin(text, params, &err);
	json_t *answer = NULL;

	if (output != NULL)
		answer = json_parse(output, strlen(output), &err);
	return answer != NULL ? answer : json_make("{s:s}", "error", err.text);
}

static WAITS json_t *by_call(struct master *m, const json_t *request,
			     const struct iallocator_how *how)
{
	auto_json json_t *params = json_object();
	struct iallocator_answer answer;
	struct error err;
	json_t *ret;

	if (iallocator_call_builtin(m, request, how, params, &answer, &err) < 0)
		return json_make("{s:s}", "error", err.text);
	ret = json_make("{s:b, s:s, s:o}", "success", answer.success, "info",
			answer.info, "result",
			answer.result == NULL ? json_array()
					      : json_ref(answer.result));
	iallocator_answer_done(&answer);
	return ret;
}

WAITS json_t *message_master_call(struct message_master *w,
				  const json_t *request)
{
	const struct iallocator_how how = how_for(request);

	return by_call(&w->m, request, &how);
}

WAITS json_t *message_master_ask(struct message_master *w,
				 const json_t *request, struct error *err)
{
	const struct iallocator_how how = how_for(request);
	auto_json json_t *text = by_text(&w->m, request, &how);
	json_t *call = by_call(&w->m, request, &how);

	if (!json_equal(text, call)) {
		auto_free char *one = json_text(text), *other = json_text(call);

		error_set(err, ERR_EXEC, NULL, "by text %.600s, by call %.600s",
			  one, other);
		json_decref(call);
		return NULL;
	}
	return call;
}
