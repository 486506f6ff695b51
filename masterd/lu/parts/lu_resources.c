/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a node's total is recorded, what is free is computed from the
 * configuration and no node is called.  Otherwise the checks of memory and
 * space call node_info, and those of the reserve and of CPUs pass.  Spindles
 * are always computed from the configuration. */
#include "masterd/lu/parts/lu_resources.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"

static int no_memory(struct lu *lu, const struct memory_need *need,
		     int64_t needed, int64_t available, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough memory on node %s for %s: needed %jd MiB, "
			 "available %jd MiB",
			 lu_node_name(lu, need->node), need->reason,
			 (intmax_t)needed,
			 (intmax_t)(available > 0 ? available : 0));
}

static int check_recorded(struct lu *lu, const struct memory_need *need,
			  const struct node_memory *m, struct error *err)
{
	int64_t guarantee = (need->spare_reserve ? resources_mem_guarantee(m)
						 : resources_mem_available(m)) +
			    need->booked_min;
	int64_t promise = resources_mem_promise(m) + need->booked_max;

	if (guarantee < need->min)
		return no_memory(lu, need, need->min, guarantee, err);
	if (need->max == 0 || promise >= need->max)
		return 0;
	no_memory(lu, need, need->max, promise, err);
	if (m->ratio == 1.0)
		return -1;
	return error_wrap(err, "Oversubscription ratio %g", m->ratio);
}

WAITS int64_t lu_live_memory(struct lu *lu, const char *node_uuid,
			     const char *hypervisor, struct error *err)
{
	auto_json json_t *hv = params_fill_hv(config_cluster(lu->m->config),
					      hypervisor, NULL, NULL);
	auto_free char *name = xstrdup(lu_node_name(lu, node_uuid));
	auto_json json_t *info =
		lu_call(lu, node_uuid,
			rpc_node_info(json_array(),
				      json_make("[[s, O]]", hypervisor, hv)),
			err);
	int64_t available;

	if (info == NULL) {
		error_wrap(err, "Can't get data from node %s", name);
		return error_as(err, ERR_PREREQ, ECODE_ENVIRON);
	}
	available = json_int(json_array_get(json_array_get(info, 2), 0),
			     "memory_free", -1);
	return available >= 0
		       ? available
		       : error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				   "Can't compute free memory on node %s",
				   name);
}

static WAITS int check_live(struct lu *lu, const struct memory_need *need,
			    struct error *err)
{
	int64_t available =
		lu_live_memory(lu, need->node, need->hypervisor, err);

	if (available < 0)
		return -1;
	return available >= need->live
		       ? 0
		       : no_memory(lu, need, need->live, available, err);
}

WAITS int lu_check_memory(struct lu *lu, const struct memory_need *need,
			  struct error *err)
{
	struct node_memory m;

	resources_memory(lu->m->config, need->node, need->hypervisor, &m);
	if (m.recorded)
		return check_recorded(lu, need, &m, err);
	return need->live == 0 ? 0 : check_live(lu, need, err);
}

int lu_check_reserve(struct lu *lu, const char *secondary, const char *primary,
		     int64_t more, const char *reason, struct error *err)
{
	struct node_memory m;
	int64_t needed;

	resources_memory(lu->m->config, secondary, NULL, &m);
	needed = more +
		 resources_failover_memory(lu->m->config, secondary, primary);
	if (!m.recorded || more <= 0 || needed <= resources_mem_available(&m))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough memory on node %s for %s: should node %s "
			 "fail, %jd MiB are needed for its instances, "
			 "available %jd MiB",
			 lu_node_name(lu, secondary), reason,
			 lu_node_name(lu, primary), (intmax_t)needed,
			 (intmax_t)(resources_mem_available(&m) > 0
					    ? resources_mem_available(&m)
					    : 0));
}

/* --- ratios --- */

static json_t *policy_of(struct lu *lu, const json_t *node)
{
	const struct config *c = lu->m->config;

	return params_fill_ipolicy(
		config_cluster(c),
		config_get(c, CONFIG_GROUP, node_group(node)));
}

static int check_cpus(struct lu *lu, const struct ratio_need *need,
		      struct error *err)
{
	auto_json json_t *policy = policy_of(
		lu, config_get(lu->m->config, CONFIG_NODE, need->primary));
	double ratio = ipolicy_vcpu_ratio_or(policy, 1.0), left;
	struct node_memory mem;

	resources_memory(lu->m->config, need->primary, NULL, &mem);
	left = (double)mem.cpu_total * ratio - (double)mem.cpu_node -
	       (double)mem.vcpus;
	if (!mem.recorded || left >= (double)need->vcpus)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough CPUs on node %s for %s: needed %jd "
			 "virtual CPUs, available %.0f at a ratio of %g",
			 lu_node_name(lu, need->primary), need->reason,
			 (intmax_t)need->vcpus, left > 0 ? left : 0, ratio);
}

static int check_spindles(struct lu *lu, const char *node_uuid,
			  const struct ratio_need *need, struct error *err)
{
	const struct config *c = lu->m->config;
	const json_t *node = config_get(c, CONFIG_NODE, node_uuid);
	auto_json json_t *policy = policy_of(lu, node);
	double ratio = ipolicy_spindle_ratio_or(policy, 1.0), left;
	auto_json json_t *nd = params_fill_nd(
		config_cluster(c),
		config_get(c, CONFIG_GROUP, node_group(node)), node);

	if (nd_exclusive_storage(nd))
		return 0;
	left = (double)nd_spindle_count(nd) * ratio -
	       (double)resources_spindle_use(c, node_uuid);
	if (left >= (double)need->spindles)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough spindles on node %s for %s: needed %jd, "
			 "available %.0f at a ratio of %g",
			 lu_node_name(lu, node_uuid), need->reason,
			 (intmax_t)need->spindles, left > 0 ? left : 0, ratio);
}

int64_t lu_spindles(const char *template, const json_t *filled_be)
{
	return template_is_on_volumes(template) ? be_spindle_use(filled_be) : 0;
}

int lu_check_ratios(struct lu *lu, const struct ratio_need *need,
		    struct error *err)
{
	if (need->vcpus > 0 && check_cpus(lu, need, err) < 0)
		return -1;
	if (need->spindles <= 0)
		return 0;
	if (check_spindles(lu, need->primary, need, err) < 0)
		return -1;
	return need->secondary == NULL
		       ? 0
		       : check_spindles(lu, need->secondary, need, err);
}

/* --- booking --- */

void lu_book(struct lu *lu, const json_t *inst, const char *node_uuid,
	     unsigned what)
{
	if (!lu->common.dry_run)
		config_book(lu->m->config, lu->job_id, inst_uuid(inst),
			    node_uuid, what);
}

void lu_unbook(struct lu *lu, const json_t *inst, const char *node_uuid,
	       unsigned what)
{
	if (!lu->common.dry_run)
		config_unbook(lu->m->config, lu->job_id, inst_uuid(inst),
			      node_uuid, what);
}

/* --- space --- */

/* Space that the node reports now; -1 with err, INT64_MAX if it cannot tell. */
static WAITS int64_t live_space(struct lu *lu, const char *node_uuid,
				const char *template, struct error *err)
{
	auto_json json_t *info = lu_call(
		lu, node_uuid,
		rpc_node_info(resources_units(config_cluster(lu->m->config),
					      template, false),
			      json_array()),
		err);

	if (info == NULL)
		return -1;
	return json_int(json_array_get(json_array_get(info, 1), 0),
			"storage_free", INT64_MAX);
}

WAITS int lu_check_space(struct lu *lu, const char *node_uuid,
			 const char *template, int64_t mib, struct error *err)
{
	int64_t available;
	const char *type, *name;
	struct node_disk d;

	if (mib <= 0 || !resources_storage(config_cluster(lu->m->config),
					   template, &type, &name))
		return 0;
	resources_disk(lu->m->config, node_uuid, template, &d);
	available = d.recorded ? resources_disk_free(&d)
			       : live_space(lu, node_uuid, template, err);
	if (available >= mib)
		return 0;
	if (!d.recorded && available < 0)
		return -1;
	return error_set(err, ERR_PREREQ, ECODE_NORES,
			 "Not enough disk space on node %s: needed %jd MiB, "
			 "available %jd MiB",
			 lu_node_name(lu, node_uuid), (intmax_t)mib,
			 (intmax_t)(available > 0 ? available : 0));
}

WAITS int lu_check_spaces(struct lu *lu, const struct strv *nodes,
			  const char *template, int64_t mib, struct error *err)
{
	for (size_t i = 0; i < nodes->n; i++)
		if (lu_check_space(lu, nodes->items[i], template, mib, err) < 0)
			return -1;
	return 0;
}
