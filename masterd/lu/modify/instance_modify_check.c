/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS: whether nodes and policy allow the change. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/modify/instance_modify.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/spec/instance_spec.h"
#include "masterd/resources/capacity.h"
#include "masterd/resources/resources.h"

static bool is_offline(const json_t *inst)
{
	return str_eq(inst_admin_state(inst), "offline");
}

static bool is_up(const json_t *inst)
{
	return str_eq(inst_admin_state(inst), "up");
}

static void all_nodes(struct lu *lu, struct strv *ret)
{
	const struct modify *m = modify_of(lu);

	strv_add(ret, inst_primary_node(m->inst));
	config_instance_secondaries(lu->m->config, m->inst, ret);
}

static WAITS void look(struct lu *lu)
{
	struct modify *m = modify_of(lu);
	struct error err;

	m->running = false;
	m->silent = inst_is_running(lu, m->inst, NULL, &m->running, &err) < 0;
	if (!m->silent)
		return;
	m->running = is_up(m->inst);
	lu_warn(lu, "Can't get instance runtime information: %s", err.text);
}

WAITS int modify_check_state(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);

	if (op->offline >= 0 && is_up(m->inst))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance '%s' is marked to be up, can't "
				 "change to offline without being down first",
				 inst_name(m->inst));
	if (op->offline < 0 && op->runtime_mem == OP_UNSET && op->pnode == NULL)
		return 0;
	look(lu);
	if (op->offline >= 0 && m->running)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s is running, can't change to "
				 "offline without being down first",
				 inst_name(m->inst));
	return 0;
}

/* --- memory, CPUs, space --- */

static int check_runtime_memory(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	int64_t min = be_minmem(m->after_be);
	int64_t max = be_maxmem(m->after_be);

	if (op->runtime_mem == OP_UNSET)
		return 0;
	if (!m->running)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Instance %s is not running",
				 inst_name(m->inst));
	if (op->force || (op->runtime_mem >= min && op->runtime_mem <= max))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Instance %s must have memory between %jd and %jd MB "
			 "of memory unless --force is given",
			 inst_name(m->inst), (intmax_t)min, (intmax_t)max);
}

/* An instance that was offline books its resources again when it comes back. */
static int64_t booked(const struct modify *m, const char *key)
{
	return is_offline(m->inst) ? 0 : json_int(m->before_be, key, 0);
}

static int64_t wanted(const struct modify *m, const char *key)
{
	return is_offline(m->changed) ? 0 : json_int(m->after_be, key, 0);
}

/* With more minmem its secondary has to be able to take over more. */
static int check_reserve(struct lu *lu, const char *why, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_strv struct strv secondaries = {0};

	config_instance_secondaries(lu->m->config, m->inst, &secondaries);
	if (op->ignore_ipolicy || secondaries.n == 0 ||
	    !be_auto_balance(m->after_be))
		return 0;
	return lu_check_reserve(
		lu, secondaries.items[0], inst_primary_node(m->inst),
		wanted(m, "minmem") - booked(m, "minmem"), why, err);
}

static WAITS int check_memory(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	int64_t min = wanted(m, "minmem"), max = wanted(m, "maxmem");
	bool more_min = min > booked(m, "minmem");
	bool more_max = max > booked(m, "maxmem");
	auto_free char *why =
		xprintf("changing instance %s", inst_name(m->inst));
	const struct memory_need need = {
		.node = inst_primary_node(m->inst),
		.reason = why,
		.hypervisor = inst_hypervisor(m->inst),
		.min = more_min ? min : 0,
		.booked_min = more_min ? booked(m, "minmem") : 0,
		.max = more_max && !op->ignore_ipolicy ? max : 0,
		.spare_reserve = !op->ignore_ipolicy,
		.booked_max = booked(m, "maxmem"),
		/* A running instance has its memory, and needs only the
		 * difference. */
		.live = more_max && is_up(m->inst)
				? max - be_maxmem(m->before_be)
				: 0,
	};

	/* With --force the new size may be too large for a start, as in Ganeti;
	 * but memory that is guaranteed to other instances cannot be taken by
	 * force. */
	if ((op->force && op->offline < 0) || (!more_min && !more_max))
		return 0;
	return lu_check_memory(lu, &need, err) < 0
		       ? -1
		       : check_reserve(lu, why, err);
}

/* The template it will have: without disks it is diskless. */
static const char *template_after(struct lu *lu, const struct modify *m)
{
	const struct op_instance_set_params *op = lu->op;
	const json_t *first = json_array_get(m->disks, 0);

	if (op->disk_template != NULL)
		return op->disk_template;
	return first == NULL ? "diskless"
			     : disk_dev_type_or(
				       first, config_instance_template(
						      lu->m->config, m->inst));
}

static int64_t more_spindles(struct lu *lu, const struct modify *m)
{
	return lu_spindles(template_after(lu, m), m->after_be) -
	       lu_spindles(config_instance_template(lu->m->config, m->inst),
			   m->before_be);
}

/* Only additional resources: CPUs count fully for an instance that comes back
 * from being offline, which has given them up; its disks were kept. */
static int check_ratios(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_free char *why = xprintf("instance %s", inst_name(m->inst));
	auto_strv struct strv secondaries = {0};

	if (op->ignore_ipolicy)
		return 0;
	config_instance_secondaries(lu->m->config, m->inst, &secondaries);
	return lu_check_ratios(
		lu,
		&(struct ratio_need){
			.primary = inst_primary_node(m->inst),
			.secondary =
				secondaries.n > 0 ? secondaries.items[0] : NULL,
			.reason = why,
			.vcpus = wanted(m, "vcpus") - booked(m, "vcpus"),
			.spindles = more_spindles(lu, m)},
		err);
}

static int check_capacity(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_strv struct strv secondaries = {0};
	bool more = wanted(m, "minmem") > booked(m, "minmem") ||
		    wanted(m, "vcpus") > booked(m, "vcpus");

	if (!more || op->ignore_ipolicy)
		return 0;
	config_instance_secondaries(lu->m->config, m->inst, &secondaries);
	return capacity_check_new(
		lu->m->config,
		&(struct capacity_new){
			.uuid = inst_uuid(m->inst),
			.name = inst_name(m->inst),
			.template = config_instance_template(lu->m->config,
							     m->inst),
			.node = inst_primary_node(m->inst),
			.secondary =
				secondaries.n > 0 ? secondaries.items[0] : NULL,
			.memory = wanted(m, "minmem"),
			.vcpus = wanted(m, "vcpus"),
			.moves = be_auto_balance(m->after_be)},
		err);
}

static WAITS int check_space(struct lu *lu, struct error *err)
{
	struct modify *m = modify_of(lu);
	auto_json json_t *before =
		config_instance_disks(lu->m->config, m->inst);
	auto_free char *template =
		xstrdup(config_instance_template(lu->m->config, m->inst));
	auto_strv struct strv nodes = {0};

	all_nodes(lu, &nodes);
	return lu_check_spaces(lu, &nodes, template,
			       resources_disk_sum(m->disks, template) -
				       resources_disk_sum(before, template),
			       err);
}

static int check_policy_with(struct lu *lu, json_t *be, struct error *err)
{
	struct modify *m = modify_of(lu);
	const struct inst_spec spec = {
		.filled_be = be,
		.disks = m->disks,
		.nics = inst_own_nics(m->changed),
		.template = template_after(lu, m),
	};

	return spec_check_policy(lu, &spec, inst_primary_node(m->inst), err);
}

/* As with Ganeti, memory and CPUs count only where the opcode changes some of
 * them: an instance that is outside of a newer policy can still be changed
 * otherwise.  Both limits of its memory have to be inside. */
static int check_policy(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_json json_t *least = NULL;

	if (op->ignore_ipolicy)
		return 0;
	if (json_object_size(op->beparams) == 0)
		return check_policy_with(lu, NULL, err);
	least = json_overlay(m->after_be, NULL);
	json_set_int(least, "maxmem", be_minmem(m->after_be));
	return check_policy_with(lu, m->after_be, err) < 0
		       ? -1
		       : check_policy_with(lu, least, err);
}

WAITS int modify_check_resources(struct lu *lu, struct error *err)
{
	if (check_runtime_memory(lu, err) < 0 || check_memory(lu, err) < 0 ||
	    check_ratios(lu, err) < 0 || check_space(lu, err) < 0 ||
	    check_policy(lu, err) < 0)
		return -1;
	return check_capacity(lu, err);
}

/* --- parameters --- */

/* Ask these nodes, but not those that are marked offline.  The first that
 * refuses, a UUID, goes to *ret_node. */
static WAITS int ask_nodes(struct lu *lu, const struct strv *nodes,
			   struct rpc_request request, const char **ret_node,
			   struct error *err)
{
	size_t n;
	struct node_result *r = lu_call_nodes(lu, nodes, request, &n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (r[i].payload != NULL || r[i].offline)
			continue;
		*err = *r[i].err;
		*ret_node = lu_keep_str(lu, xstrdup(node_uuid(r[i].node)));
		rc = -1;
	}
	node_results_free(r, n);
	return rc;
}

/* A new OS has to be on the primary; new parameters are looked at by all nodes
 * that the instance may come to. */
static WAITS int check_os(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	const char *os = inst_os(m->changed), *node;
	const struct params_os own = {
		.public = inst_osparams(m->changed),
		.private = inst_osparams_private(m->changed)};
	bool has_params = json_object_size(op->osparams) > 0 ||
			  json_object_size(op->osparams_private) > 0;
	auto_json json_t *params = NULL;
	auto_strv struct strv nodes = {0};

	if (*os == '\0' || (op->os_name != NULL && op->force) ||
	    (op->os_name == NULL && !has_params))
		return 0;
	if (params_fill_os_all(config_cluster(lu->m->config), os, &own, &params,
			       err) < 0)
		return -1;
	strv_add(&nodes, inst_primary_node(m->inst));
	if (has_params)
		config_instance_secondaries(lu->m->config, m->inst, &nodes);
	if (ask_nodes(lu, &nodes,
		      rpc_os_validate(true, os, json_make("[s]", "parameters"),
				      json_ref(params), op->force_variant),
		      &node, err) < 0)
		return inst_os_refused(lu, node, os, err);
	return inst_check_os_supports(lu, inst_primary_node(m->inst), os,
				      inst_hypervisor(m->inst), NULL, true,
				      err);
}

/* --- CPUs that the instance is bound to --- */

/* The highest number in a mask; -1: it has none. */
static int64_t highest_cpu(const char *mask)
{
	int64_t highest = -1;

	while (*mask != '\0') {
		size_t n = strspn(mask, "0123456789");
		auto_free char *digits = xstrndup(mask, n);
		int64_t cpu;

		if (str_to_int64(digits, &cpu) && cpu > highest)
			highest = cpu;
		mask += n > 0 ? n : 1;
	}
	return highest;
}

static int check_cpus_of(const struct node_result *r, int64_t needed,
			 struct error *err)
{
	const json_t *total = json_get(
		json_array_get(json_array_get(r->payload, 2), 0), "cpu_total");

	if (r->offline)
		return 0;
	if (r->payload == NULL)
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Cannot get current information from node %s: "
				 "%s",
				 node_name(r->node), r->err->text);
	if (!json_is_integer(total))
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Can't compute the number of physical CPUs on "
				 "node %s",
				 node_name(r->node));
	if (json_integer_value(total) >= needed)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Node %s has %jd physical CPUs, but %jd are required",
			 node_name(r->node),
			 (intmax_t)json_integer_value(total), (intmax_t)needed);
}

static WAITS int check_cpus(struct lu *lu, const struct strv *nodes,
			    struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	const char *hv = inst_hypervisor(modify_of(lu)->inst);
	int64_t needed =
		highest_cpu(json_str(op->hvparams, "cpu_mask", "")) + 1;
	struct node_result *r;
	size_t n;
	int rc = 0;

	if (needed == 0)
		return 0;
	r = lu_call_nodes(
		lu, nodes,
		rpc_node_info(
			json_array(),
			json_make("[[s, o]]", hv,
				  params_fill_hv(config_cluster(lu->m->config),
						 hv, NULL, NULL))),
		&n);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = check_cpus_of(&r[i], needed, err);
	node_results_free(r, n);
	return rc;
}

WAITS int modify_check_params(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	auto_strv struct strv nodes = {0};
	const char *node;

	all_nodes(lu, &nodes);
	if (json_object_size(op->hvparams) > 0 &&
	    ask_nodes(lu, &nodes,
		      rpc_hypervisor_validate_params(inst_hypervisor(m->inst),
						     json_ref(m->after_hv)),
		      &node, err) < 0) {
		lu_not_valid(err);
		return error_wrap(err,
				  "Hypervisor parameter validation failed on "
				  "node %s",
				  lu_node_name(lu, node));
	}
	return check_cpus(lu, &nodes, err) < 0 ? -1 : check_os(lu, err);
}

/* Ganeti's only warns; but then it would be started beside the one that may
 * still run. */
static int refuse_unheard(struct lu *lu, struct error *err)
{
	const struct modify *m = modify_of(lu);

	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Node %s does not answer, so instance %s, which is "
			 "meant to run, may still run there; --force changes "
			 "its primary node all the same",
			 lu_node_name(lu, inst_primary_node(m->inst)),
			 inst_name(m->inst));
}

int modify_check_primary(struct lu *lu, struct error *err)
{
	const struct op_instance_set_params *op = lu->op;
	struct modify *m = modify_of(lu);
	const char *old = inst_primary_node(m->inst);

	if (m->new_primary == NULL || strcmp(m->new_primary, old) == 0)
		return 0;
	if (m->running && !op->force)
		return m->silent ? refuse_unheard(lu, err)
				 : error_set(err, ERR_PREREQ, ECODE_STATE,
					     "Instance is still running on %s",
					     lu_node_name(lu, old));
	inst_set_primary_node(m->changed, m->new_primary);
	return 0;
}
