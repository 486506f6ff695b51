/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_SET_PARAMS: what instances and disks use stays possible.  Only
 * what the opcode takes away counts: what was not allowed before either is
 * nothing that this change could break. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/cluster/cluster_params.h"
#include "masterd/lu/group/group.h"

static bool is_dropped(const json_t *before, const json_t *after,
		       const char *name)
{
	return json_array_has_str(before, name) &&
	       !json_array_has_str(after, name);
}

static int refuse_template(struct lu *lu, const json_t *disk, struct error *err)
{
	const char *owner = config_disk_owner(lu->m->config, disk_uuid(disk));

	if (owner == NULL)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot disable disk template '%s', the "
				 "detached disk %s uses it",
				 disk_dev_type(disk), disk_uuid(disk));
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Cannot disable disk template '%s', instance %s uses "
			 "it",
			 disk_dev_type(disk),
			 config_name(lu->m->config, CONFIG_INSTANCE, owner));
}

static int check_disks(struct lu *lu, const json_t *cluster, struct error *err)
{
	const json_t *before =
		cluster_enabled_disk_templates(config_cluster(lu->m->config));
	const json_t *after = cluster_enabled_disk_templates(cluster);
	const char *uuid;
	json_t *disk;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_DISK)), uuid,
		disk)
		if (is_dropped(before, after, disk_dev_type(disk)))
			return refuse_template(lu, disk, err);
	return 0;
}

static int check_instance(struct lu *lu, const json_t *cluster,
			  const json_t *inst, struct error *err)
{
	const json_t *now = config_cluster(lu->m->config);
	const char *hv = inst_hypervisor(inst);

	if (json_array_size(inst_disks(inst)) == 0 &&
	    is_dropped(cluster_enabled_disk_templates(now),
		       cluster_enabled_disk_templates(cluster), "diskless"))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot disable disk template 'diskless', "
				 "instance %s uses it",
				 inst_name(inst));
	if (is_dropped(cluster_enabled_hypervisors(now),
		       cluster_enabled_hypervisors(cluster), hv))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot disable hypervisor '%s', instance %s "
				 "uses it",
				 hv, inst_name(inst));
	return 0;
}

static int check_lists(struct lu *lu, const json_t *cluster, struct error *err)
{
	const char *uuid;
	json_t *inst;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (check_instance(lu, cluster, inst, err) < 0)
			return -1;
	return check_disks(lu, cluster, err);
}

/* --- memory --- */

/* Whether its least memory is more than its most. */
static bool is_crossed(const json_t *cluster, const json_t *inst)
{
	auto_json json_t *be = params_fill_be(cluster, inst_beparams(inst));

	return be_minmem(be) > be_maxmem(be);
}

void cluster_in_use_warn(struct lu *lu, const json_t *cluster)
{
	const struct op_cluster_set_params *op = lu->op;
	const json_t *now = config_cluster(lu->m->config);
	auto_strv struct strv names = {0};
	auto_free char *text = NULL;
	const char *uuid;
	json_t *inst;

	if (json_object_size(op->beparams) == 0)
		return;
	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_INSTANCE)), uuid,
		inst)
		if (is_crossed(cluster, inst) && !is_crossed(now, inst))
			strv_add(&names, inst_name(inst));
	if (names.n == 0)
		return;
	strv_sort_nice(&names);
	text = strv_join(&names, ", ");
	lu_warn(lu,
		"These instances have a maxmem of their own below the "
		"cluster's new minmem, or a minmem above its maxmem: %s",
		text);
}

/* --- NICs --- */

static void check_nics(const json_t *cluster, const json_t *inst,
		       struct strv *ret_errors)
{
	json_t *nic;
	size_t i;

	json_array_foreach (inst_nics(inst), i, nic) {
		auto_json json_t *filled =
			params_fill_nic(cluster, nic_nicparams(nic));

		const char *mode = nicparams_mode(filled);
		bool routed = str_eq(mode, "routed");

		if (routed && str_empty(nic_ip(nic)))
			strv_addf(ret_errors,
				  "Instance %s, nic/%zu: routed NIC with no ip "
				  "address",
				  inst_name(inst), i);
		if (!routed && str_empty(nicparams_link(filled)))
			strv_addf(ret_errors,
				  "Instance %s, nic/%zu: a %s NIC needs the "
				  "name of a link",
				  inst_name(inst), i, mode);
	}
}

static int check_all_nics(struct lu *lu, const json_t *cluster,
			  struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	auto_strv struct strv uuids = {0}, errors = {0};
	auto_free char *text = NULL;

	if (json_object_size(op->nicparams) == 0)
		return 0;
	config_sorted(lu->m->config, CONFIG_INSTANCE, &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		check_nics(cluster,
			   config_get(lu->m->config, CONFIG_INSTANCE,
				      uuids.items[i]),
			   &errors);
	if (errors.n == 0)
		return 0;
	text = strv_join(&errors, "\n");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Cannot apply the change, errors:\n%s", text);
}

/* --- ways of access --- */

static int check_access(struct lu *lu, const json_t *cluster, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	const char *uuid;
	json_t *group;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_GROUP)), uuid,
		group)
		if (group_check_access(lu, cluster, group, op->diskparams,
				       err) < 0)
			return -1;
	return 0;
}

int cluster_in_use_check(struct lu *lu, const json_t *cluster,
			 struct error *err)
{
	if (check_lists(lu, cluster, err) < 0 ||
	    check_all_nics(lu, cluster, err) < 0)
		return -1;
	return check_access(lu, cluster, err);
}
