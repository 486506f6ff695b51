/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: parameters, devices and state of an instance.
 *
 * check builds the instance as it will be and decides whether that is possible
 * (instance_modify_check.c, _nics.c, _disks.c); exec makes the node calls and
 * records the new instance.  The result lists what has changed, [[what, value],
 * ...], in Ganeti's order and words. */
#include "masterd/lu/modify/instance_modify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/state.h"
#include "lib/model/params/params.h"
#include "masterd/lu/modify/instance_convert.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"

struct modify *modify_of(struct lu *lu)
{
	return container_of(lu, struct modify, lu);
}

void modify_row(json_t *rows, json_t *value STEALS, const char *fmt, ...)
{
	auto_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvprintf(fmt, ap);
	va_end(ap);
	json_array_append_new(rows, json_make("[s, o]", what, value));
}

/* --- expand --- */

static int modify_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	m->inst = lu_instance(lu, op->instance_name, err);
	if (m->inst == NULL)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(m->inst), true);
	lu_want(lu, LOCK_NODE_RES, inst_primary_node(m->inst), true);
	lu_want(lu, LOCK_NODE, inst_primary_node(m->inst), false);
	m->new_primary = NULL;
	if (op->pnode != NULL) {
		const json_t *node = lu_node(lu, op->pnode, err);

		if (node == NULL)
			return -1;
		m->new_primary = node_uuid(node);
		lu_want(lu, LOCK_NODE_RES, m->new_primary, true);
		lu_want(lu, LOCK_NODE, m->new_primary, false);
	}
	return convert_expand(lu, op, m->inst, err);
}

/* --- check --- */

static int check_any(const struct op_instance_set_params *op, struct error *err)
{
	if (json_array_size(op->nics) > 0 || json_array_size(op->disks) > 0 ||
	    json_object_size(op->hvparams) > 0 ||
	    json_object_size(op->beparams) > 0 ||
	    json_object_size(op->osparams) > 0 ||
	    json_object_size(op->osparams_private) > 0 || op->os_name != NULL ||
	    op->offline >= 0 || op->runtime_mem != OP_UNSET ||
	    op->pnode != NULL || op->disk_template != NULL ||
	    op->instance_communication >= 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL, "No changes submitted");
}

static int set_backend(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	const json_t *cluster = config_cluster(lu->m->config);
	json_t *be = NULL;
	int64_t min, max;

	if (params_update_be(inst_beparams(m->inst), op->beparams, &be, err) <
	    0)
		return -1;
	inst_set_beparams(m->changed, be);
	m->before_be = params_fill_be(cluster, inst_beparams(m->inst));
	m->after_be = params_fill_be(cluster, be);
	min = be_minmem(m->after_be);
	max = be_maxmem(m->after_be);
	/* The cluster's values may have come between: then it can still be
	 * changed in other things. */
	if (min <= max || json_object_size(op->beparams) == 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "minmem (%jd MiB) is more than maxmem (%jd MiB)",
			 (intmax_t)min, (intmax_t)max);
}

static int set_hypervisor(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	json_t *hv = NULL;

	if (params_check_hv_own(op->hvparams, err) < 0 ||
	    params_update_hv(inst_hypervisor(m->inst), inst_hvparams(m->inst),
			     op->hvparams, &hv, err) < 0)
		return -1;
	inst_set_hvparams(m->changed, hv);
	m->after_hv = inst_filled_hv(lu, m->changed);
	return 0;
}

/* A CPU mask: one list of CPUs for each vCPU, or one for all. */
static int check_cpu_mask(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	const struct modify *m = modify_of(lu);
	const char *mask = json_str(m->after_hv, "cpu_mask", "");
	int64_t vcpus = be_vcpus(m->after_be);
	auto_strv struct strv lists = {0};

	if (json_object_size(op->hvparams) == 0 &&
	    json_object_size(op->beparams) == 0)
		return 0;
	str_split(&lists, mask, ':');
	if (lists.n <= 1 || (int64_t)lists.n == vcpus)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Number of vCPUs [%jd] does not match the CPU mask "
			 "[%s]",
			 (intmax_t)vcpus, mask);
}

static void set_os(struct lu *lu)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	inst_set_osparams(m->changed, params_update_os(inst_osparams(m->inst),
						       op->osparams));
	inst_set_osparams_private(
		m->changed, params_update_os(inst_osparams_private(m->inst),
					     op->osparams_private));
	if (op->os_name != NULL)
		inst_set_os(m->changed, op->os_name);
}

static void set_state(struct modify *m, op_tri offline)
{
	if (offline < 0)
		return;
	inst_set_admin_state(m->changed, offline ? "offline" : "down");
	inst_set_admin_state_source(m->changed, "admin");
}

static WAITS int build(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	m->changed = config_edit(m->inst);
	set_os(lu);
	set_state(m, op->offline);
	if (set_backend(lu, err) < 0 || set_hypervisor(lu, err) < 0 ||
	    check_cpu_mask(lu, err) < 0 || modify_nics(lu, op->nics, err) < 0)
		return -1;
	return modify_disks(lu, op->disks, err);
}

static WAITS int modify_check(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;

	if (check_any(op, err) < 0 || modify_check_hotplug(lu, err) < 0 ||
	    build(lu, err) < 0 || modify_check_bridges(lu, err) < 0 ||
	    modify_check_state(lu, err) < 0 ||
	    modify_check_primary(lu, err) < 0 ||
	    modify_check_params(lu, err) < 0 ||
	    convert_check(lu, op, modify_of(lu)->inst, err) < 0)
		return -1;
	return modify_check_resources(lu, err);
}

/* --- hooks --- */

/* Even before the change the hooks get the new memory, CPUs and NICs;
 * everything else as it is at the moment. */
static bool is_planned(const char *key)
{
	static const char *const keys[] = {"INSTANCE_MEMORY", "INSTANCE_MINMEM",
					   "INSTANCE_MAXMEM", "INSTANCE_VCPUS"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return str_starts(key, "INSTANCE_NIC");
}

static void tell_planned(struct lu *lu, json_t *env)
{
	auto_json json_t *planned = json_object();
	const char *key;
	json_t *value;
	void *next;

	inst_hook_env(lu, modify_of(lu)->changed, planned);
	json_object_foreach_safe(env, next, key, value) if (is_planned(key))
		json_object_del(env, key);
	json_object_foreach (planned, key, value)
		if (is_planned(key))
			json_object_set(env, key, value);
}

static void modify_env(struct lu *lu, json_t *ret_env)
{
	struct modify *m = modify_of(lu);
	const struct op_instance_set_params *op = lu->op;

	inst_hook_env(
		lu,
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid(m->inst)),
		ret_env);
	tell_planned(lu, ret_env);
	if (op->disk_template != NULL)
		json_set_str(ret_env, "NEW_DISK_TEMPLATE", op->disk_template);
	if (op->runtime_mem != OP_UNSET) {
		auto_free char *text =
			xprintf("%jd", (intmax_t)op->runtime_mem);

		json_set_str(ret_env, "RUNTIME_MEMORY", text);
	}
}

static void modify_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	inst_hook_nodes(lu, modify_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, modify_of(lu)->inst, ret_post);
}

/* --- exec --- */

static WAITS int balloon(struct lu *lu, json_t *rows, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	if (op->runtime_mem == OP_UNSET)
		return 0;
	if (lu_balloon_resize(lu, m->inst, op->runtime_mem, op->force, err) < 0)
		return error_wrap(err, "Cannot modify instance runtime memory");
	modify_row(rows, json_integer(op->runtime_mem), "runtime_memory");
	return 0;
}

static void report_params(json_t *rows, const char *prefix, const json_t *given)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(given), key, value)
		modify_row(rows, json_incref(value), "%s/%s", prefix, key);
}

/* The result has the words of Ganeti, and never the values. */
static void report_private(json_t *rows, const json_t *given)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(given), key, value) {
		auto_free char *shown = xprintf("Private(?, descr='%s')", key);

		modify_row(rows, json_string(shown), "os_private/%s", key);
	}
}

static void report(struct lu *lu, json_t *rows)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	modify_step_rows(m->disk_steps, rows);
	modify_step_rows(m->nic_steps, rows);
	report_params(rows, "hv", op->hvparams);
	report_params(rows, "be", op->beparams);
	report_params(rows, "os", op->osparams);
	report_private(rows, op->osparams_private);
	if (op->offline >= 0)
		modify_row(rows, json_string(op->offline ? "offline" : "down"),
			   "admin_state");
}

/* A runtime size that somebody asks for stays until the instance starts anew;
 * asking for the maximum means no choice. */
static void choose_size(struct lu *lu, const json_t *inst)
{
	const struct op_instance_set_params *op = lu->op;
	const struct modify *m = modify_of(lu);
	const char *uuid = inst_uuid(inst);
	json_t *cluster;

	if (op->runtime_mem == OP_UNSET)
		return;
	cluster = config_edit(config_cluster(lu->m->config));
	if (op->runtime_mem < be_maxmem(m->after_be))
		state_set_own(cluster, uuid, op->runtime_mem);
	else
		state_forget_own(cluster, uuid);
	config_put_cluster(lu->m->config, cluster);
}

/* Change only the members that the opcode is about, on the present object:
 * hooks and node calls took time. */
static json_t *current(struct lu *lu)
{
	static const char *const members[] = {
		"beparams",    "hvparams", "osparams",	  "osparams_private",
		"os",	       "nics",	   "admin_state", "admin_state_source",
		"primary_node"};
	struct modify *m = modify_of(lu);
	json_t *inst = config_edit(
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid(m->inst)));

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(m->changed, members[i]);

		if (value != json_object_get(m->inst, members[i]))
			json_object_set(inst, members[i], value);
	}
	choose_size(lu, inst);
	return inst;
}

/* A running instance may ask for its metadata at any time; one that is down
 * gets it at its start. */
static WAITS void feed_metadata(struct lu *lu)
{
	const json_t *before = modify_of(lu)->inst;
	const json_t *inst =
		lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE,
				       inst_uuid(before)));
	struct error err;

	if (str_eq(inst_admin_state(inst), "up") &&
	    (inst_communicates(before) || inst_communicates(inst)) &&
	    inst_feed_metadata(lu, inst, NULL, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

static WAITS json_t *modify_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_json json_t *rows = json_array();

	if (balloon(lu, rows, err) < 0 ||
	    convert_disks(lu, lu->op, m->inst, rows, err) < 0)
		return NULL;
	if (json_array_size(m->disk_steps) > 0) {
		if (modify_apply_disks(lu, current(lu), err) < 0)
			return NULL;
	} else {
		config_put(lu->m->config, CONFIG_INSTANCE, current(lu));
		if (config_commit(lu->m->config, err) < 0)
			return NULL;
	}
	modify_plug_nics(lu);
	feed_metadata(lu);
	if (op->runtime_mem != OP_UNSET || json_object_size(op->beparams) > 0)
		lu_balloon_freed(lu, inst_primary_node(m->inst));
	report(lu, rows);
	/* Last, as it may take hours. */
	return modify_sync_disks(lu, err) < 0 ? NULL : steal(&rows);
}

static void modify_done(struct lu *lu)
{
	struct modify *m = modify_of(lu);
	json_t *const owned[] = {m->changed,  m->before_be, m->after_be,
				 m->after_hv, m->nic_steps, m->disk_steps,
				 m->disks,    m->leaving,   m->made};

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		json_decref(owned[i]);
}

const struct lu_class lu_instance_set_params = {
	.op = &op_class_instance_set_params,
	.size = sizeof(struct modify),
	.hook_path = "instance-modify",
	.object_type = "INSTANCE",
	.expand = modify_expand,
	.check = modify_check,
	.hook_env = modify_env,
	.hook_nodes = modify_nodes,
	.exec = modify_exec,
	.done = modify_done,
};
