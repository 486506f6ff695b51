/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator framework: the requests, and running the program through the
 * master node's daemon.  The message is iallocator_message.c's business, the
 * answer iallocator_answer.c's. */
#include "masterd/allocator/iallocator.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/resources/resources.h"
#include "masterd/rpc/noderpc.h"

int iallocator_required_nodes(const char *disk_template)
{
	return template_is_pair(disk_template) ? 2 : 1;
}

/* --- requests --- */

static json_t *or_null(const char *text)
{
	return text == NULL ? json_null() : json_string(text);
}

/* The disks, each with its type. */
static json_t *typed_disks(const json_t *disks, const char *template)
{
	json_t *list = json_array(), *disk;
	size_t i;

	json_array_foreach (disks, i, disk) {
		json_t *own = json_copy(disk);

		if (json_object_get(own, "dev_type") == NULL)
			json_set_str(own, "dev_type", template);
		json_array_append_new(list, own);
	}
	return list;
}

/* As in Ganeti, mode and link of a NIC are in nicparams; old programs look for
 * them beside the address. */
static json_t *request_nics(const json_t *nics)
{
	static const char *const keys[] = {"mode", "link", "vlan"};
	json_t *list = json_array();
	const json_t *nic;
	size_t i;

	json_array_foreach (nics, i, nic) {
		json_t *entry = json_copy(json_unconst(nic));
		json_t *params = json_object();

		for (size_t k = 0; k < 3; k++)
			if (json_get(nic, keys[k]) != NULL)
				json_object_set(params, keys[k],
						json_object_get(nic, keys[k]));
		if (nic_nicparams(nic) == NULL)
			json_object_set(entry, "nicparams", params);
		json_decref(params);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *list_or_empty(const json_t *list)
{
	return list == NULL ? json_array() : json_ref(list);
}

json_t *iallocator_allocate(struct master *m,
			    const struct iallocator_instance *inst)
{
	json_t *r = json_object();

	json_set_str(r, "name", inst->name);
	json_set_str(r, "disk_template", inst->disk_template);
	json_object_set_new(r, "group_name", or_null(inst->group_name));
	json_object_set_new(r, "tags", list_or_empty(inst->tags));
	json_object_set_new(r, "os", or_null(inst->os));
	json_set_int(r, "vcpus", inst->vcpus);
	json_set_int(r, "memory", inst->memory);
	json_set_int(r, "spindle_use", inst->spindle_use);
	json_object_set_new(r, "disks",
			    typed_disks(inst->disks, inst->disk_template));
	json_set_int(r, "disk_space_total",
		     resources_disk_sum(inst->disks, inst->disk_template));
	json_object_set_new(r, "nics", request_nics(inst->nics));
	json_set_int(r, "required_nodes",
		     iallocator_required_nodes(inst->disk_template));
	json_set_str(r, "hypervisor", inst->hypervisor);
	if (inst->node_whitelist != NULL)
		json_object_set(r, "restrict-to-nodes",
				json_unconst(inst->node_whitelist));
	if (iallocator_promises_failures(m))
		iallocator_set_extra(r, inst->memory, inst->minmem,
				     inst->stays);
	json_set_str(r, "type", "allocate");
	return r;
}

json_t *iallocator_multi_allocate(json_t *instances STEALS)
{
	size_t i;
	json_t *inst;

	json_array_foreach (instances, i, inst)
		json_object_del(inst, "type");
	return json_make("{s:o, s:s, s:b}", "instances", instances, "type",
			 "multi-allocate", "skip_failed", true);
}

json_t *iallocator_relocate(struct master *m, const json_t *instance,
			    const struct strv *relocate_from)
{
	auto_json json_t *disks = config_instance_disks(m->config, instance);
	int64_t space = resources_disk_sum(
		disks, config_instance_template(m->config, instance));

	return json_make("{s:s, s:I, s:i, s:o, s:s}", "name",
			 inst_name(instance), "disk_space_total",
			 (json_int_t)space, "required_nodes", 1,
			 "relocate_from", json_from_strv(relocate_from), "type",
			 "relocate");
}

json_t *iallocator_allocate_secondary(const json_t *instance)
{
	return json_make("{s:s, s:s}", "name", inst_name(instance), "type",
			 "allocate-secondary");
}

json_t *iallocator_node_evacuate(const struct strv *instance_names,
				 const char *evac_mode)
{
	return json_make("{s:o, s:s, s:s}", "instances",
			 json_from_strv(instance_names), "evac_mode", evac_mode,
			 "type", "node-evacuate");
}

json_t *iallocator_change_group(const struct strv *instance_names,
				const struct strv *group_uuids)
{
	return json_make("{s:o, s:o, s:s}", "instances",
			 json_from_strv(instance_names), "target_groups",
			 json_from_strv(group_uuids), "type", "change-group");
}

/* --- running --- */

/* The options for the program: those of the cluster, and those of this run. */
static json_t *options(const struct master *m, const struct iallocator_how *how)
{
	json_t *params = json_overlay(
		cluster_default_iallocator_params(config_cluster(m->config)),
		NULL);

	if (how->ignore_soft_errors)
		json_object_set_new(params, "ignore-soft-errors", json_null());
	if (how->explain)
		json_set_str(params, "explain", "json");
	return params;
}

static void give_output(char **ret_output, const char *text)
{
	if (ret_output == NULL || text == NULL)
		return;
	free(*ret_output);
	*ret_output = xstrdup(text);
}

/* The program's standard output, to be freed. */
static WAITS char *run_program(struct master *m, const char *name,
			       char *message, const json_t *params,
			       char **ret_output, struct error *err)
{
	struct node_result *result;
	char *output = NULL;

	if (iallocator_is_builtin(m, name, params))
		return iallocator_run_builtin(message, params, err);
	result = node_results_new(1);

	result->node = json_ref(config_master(m->config));
	noderpc_call_many(
		m->rpc, result, 1,
		rpc_iallocator_runner(name, message, json_ref(params)));
	if (result->err != NULL) {
		*err = *result->err;
		give_output(ret_output, result->failure);
		error_wrap(err, "Failure while running iallocator '%s'", name);
	} else if (!json_is_string(result->payload)) {
		error_set(err, ERR_EXEC, NULL,
			  "The node daemon's answer for iallocator '%s' has no "
			  "output",
			  name);
	} else {
		output = xstrdup(json_string_value(result->payload));
	}
	node_results_free(result, 1);
	return output;
}

char *iallocator_ask(struct master *m, const json_t *request,
		     const struct iallocator_how *how, char **ret_output,
		     struct error *err)
{
	auto_json json_t *message =
		iallocator_message(m, json_ref(request), how);
	auto_json json_t *params = options(m, how);
	auto_free char *text = json_text(message);

	return run_program(m, how->name, text, params, ret_output, err);
}

/* By a call of our own hail. */
static WAITS json_t *run_builtin(struct master *m, const json_t *request,
				 const struct iallocator_how *how,
				 const json_t *params, struct error *err)
{
	struct iallocator_answer answer;
	json_t *result;

	if (iallocator_call_builtin(m, request, how, params, &answer, err) < 0)
		return NULL;
	result = iallocator_check_result(m->config, how->name, request, &answer,
					 err);
	iallocator_answer_done(&answer);
	return result;
}

json_t *iallocator_run(struct master *m, json_t *request STEALS,
		       const struct iallocator_how *how, char **ret_output,
		       struct error *err)
{
	auto_json json_t *own = request, *params = options(m, how);
	auto_free char *output = NULL;
	json_t *result;

	if (iallocator_is_builtin(m, how->name, params))
		return run_builtin(m, own, how, params, err);
	output = iallocator_ask(m, own, how, ret_output, err);
	if (output == NULL)
		return NULL;
	result =
		iallocator_check_answer(m->config, how->name, own, output, err);
	if (result == NULL && err->kind == ERR_EXEC)
		give_output(ret_output, output);
	return result;
}
