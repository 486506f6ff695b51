/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_SET_PARAMS: the volume group and the helper of DRBD.  Templates on
 * volumes need the group, mirrors need both; and all nodes that may have
 * instances must have what the cluster says.  The metadata of mirrors follow
 * the group. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/cluster/cluster_params.h"

/* The volume group for metadata of a cluster that has none of its own, as in
 * lib/model/params/params.def. */
#define METAVG_BUILT_IN "xenvg"

/* --- what the configuration says --- */

static bool any_of(const json_t *templates, bool (*is)(const char *name))
{
	for (size_t i = 0; i < json_array_size(templates); i++)
		if (is(json_string_value(json_array_get(templates, i))))
			return true;
	return false;
}

static bool is_enabled(const json_t *cluster, bool (*is)(const char *name))
{
	return any_of(cluster_enabled_disk_templates(cluster), is);
}

/* Whether no such template was enabled before. */
static bool gets_enabled(struct lu *lu, const json_t *cluster,
			 bool (*is)(const char *name))
{
	return is_enabled(cluster, is) &&
	       !is_enabled(config_cluster(lu->m->config), is);
}

static bool any_disk(struct lu *lu, bool (*is)(const char *name))
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (
		json_unconst(config_all(lu->m->config, CONFIG_DISK)), uuid,
		disk)
		if (is(disk_dev_type(disk)))
			return true;
	return false;
}

static int check_group(struct lu *lu, const json_t *cluster, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	bool enabled = is_enabled(cluster, template_is_on_volumes);
	bool has_group = cluster_volume_group_name_or(cluster, NULL) != NULL;

	if (has_group ||
	    (op->vg_name == NULL && op->enabled_disk_templates == NULL))
		return 0;
	if (enabled)
		return error_set(
			err, ERR_PREREQ, ECODE_INVAL,
			op->vg_name != NULL
				? "Cannot unset volume group if "
				  "lvm-based disk templates are or "
				  "get enabled."
				: "Please specify a volume group when "
				  "enabling lvm-based disk-templates.");
	if (op->vg_name != NULL && any_disk(lu, template_is_on_volumes))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot disable lvm storage while lvm-based "
				 "instances exist");
	return 0;
}

static int check_helper(struct lu *lu, const json_t *cluster, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;

	if (cluster_drbd_usermode_helper_or(cluster, NULL) != NULL)
		return 0;
	if (op->drbd_helper == NULL)
		return !gets_enabled(lu, cluster, template_is_pair)
			       ? 0
			       : error_set(err, ERR_PREREQ, ECODE_STATE,
					   "Cannot enable DRBD without a DRBD "
					   "usermode helper set.");
	if (is_enabled(cluster, template_is_pair))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot disable drbd helper while DRBD is "
				 "enabled.");
	if (any_disk(lu, template_is_pair))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot disable drbd helper while drbd-based "
				 "instances exist");
	return 0;
}

int cluster_storage_check(struct lu *lu, const json_t *cluster,
			  struct error *err)
{
	return check_group(lu, cluster, err) < 0
		       ? -1
		       : check_helper(lu, cluster, err);
}

/* --- metadata of mirrors --- */

/* Where they are unless somebody says otherwise. */
static const char *preset_metavg(const json_t *cluster)
{
	return cluster_volume_group_name_or(cluster, METAVG_BUILT_IN);
}

static const char *metavg_of(const json_t *diskparams)
{
	return json_str(json_get(diskparams, "drbd"), "metavg", NULL);
}

/* Whether the opcode leaves the group to the cluster. */
static bool metavg_follows(struct lu *lu)
{
	const struct op_cluster_set_params *op = lu->op;
	const json_t *now = config_cluster(lu->m->config);
	const char *asked = metavg_of(op->diskparams);

	if (asked != NULL)
		return str_eq(asked, "default");
	return !str_empty(op->vg_name) &&
	       str_eq(metavg_of(cluster_diskparams(now)), preset_metavg(now));
}

void cluster_storage_set_metavg(struct lu *lu, json_t *cluster)
{
	const json_t *all = cluster_diskparams(cluster);
	auto_json json_t *change =
		json_make("{s:s}", "metavg", preset_metavg(cluster));
	auto_json json_t *drbd = NULL;

	if (!metavg_follows(lu))
		return;
	drbd = json_make("{s:o}", "drbd",
			 json_overlay(json_get(all, "drbd"), change));
	cluster_set_diskparams(cluster, json_overlay(all, drbd));
}

/* --- what the nodes say --- */

static int check_size(const char *node, const json_t *groups, const char *name,
		      struct error *err)
{
	const json_t *size = json_get(groups, name);

	if (!json_is_number(size))
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Error on node '%s': volume group '%s' "
				 "missing",
				 node, name);
	if (json_number_value(size) < VG_MIN_MIB)
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Error on node '%s': volume group '%s' too "
				 "small (%d MiB required, %.0f MiB found)",
				 node, name, VG_MIN_MIB,
				 json_number_value(size));
	return 0;
}

/* A node that cannot tell gets a warning, as Ganeti's do: it may be down, or a
 * virtual one without volumes of its own. */
static WAITS int check_groups(struct lu *lu, const struct strv *nodes,
			      const char *name, struct error *err)
{
	size_t n;
	struct node_result *r = lu_call_nodes(lu, nodes, rpc_vg_list(), &n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		if (r[i].payload == NULL)
			lu_warn(lu,
				"Error while gathering data on node %s "
				"(ignoring node): %s",
				node_name(r[i].node), r[i].err->text);
		else
			rc = check_size(node_name(r[i].node), r[i].payload,
					name, err);
	node_results_free(r, n);
	return rc;
}

static int check_answer(struct lu *lu, const struct node_result *r,
			const char *helper, struct error *err)
{
	const char *found = json_string_value(r->payload);

	if (r->offline) {
		lu_info(lu, "Not checking drbd helper on offline node %s",
			node_name(r->node));
		return 0;
	}
	if (r->payload == NULL)
		return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
				 "Error checking drbd helper on node '%s': %s",
				 node_name(r->node), r->err->text);
	if (str_eq(found, helper))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			 "Error on node '%s': drbd helper is %s",
			 node_name(r->node), found == NULL ? "None" : found);
}

static WAITS int check_helpers(struct lu *lu, const struct strv *nodes,
			       const char *helper, struct error *err)
{
	size_t n;
	struct node_result *r = lu_call_nodes(lu, nodes, rpc_drbd_helper(), &n);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = check_answer(lu, &r[i], helper, err);
	node_results_free(r, n);
	return rc;
}

int cluster_storage_ask(struct lu *lu, const json_t *cluster, struct error *err)
{
	const struct op_cluster_set_params *op = lu->op;
	bool new_group = op->vg_name != NULL ||
			 gets_enabled(lu, cluster, template_is_on_volumes);
	bool new_helper = op->drbd_helper != NULL ||
			  gets_enabled(lu, cluster, template_is_pair);
	const char *group = cluster_volume_group_name_or(cluster, NULL);
	const char *helper = cluster_drbd_usermode_helper_or(cluster, NULL);
	auto_strv struct strv nodes = {0};

	cluster_os_nodes(lu->m->config, &nodes);
	if (new_group && group != NULL &&
	    is_enabled(cluster, template_is_on_volumes) &&
	    check_groups(lu, &nodes, group, err) < 0)
		return -1;
	if (!new_helper || helper == NULL ||
	    !is_enabled(cluster, template_is_pair))
		return 0;
	return check_helpers(lu, &nodes, helper, err);
}
