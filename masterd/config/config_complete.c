/* SPDX-License-Identifier: BSD-2-Clause */
/* Members that Ganeti's programs fill in when they load a configuration: its
 * older versions, and the tools that convert a file, leave some out.  Whoever
 * reads parameters here may rely on the cluster having all of them. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/config/config_private.h"

/* Give the member, an object of its own then, what it lacks. */
static void fill(json_t *object, const char *key, const json_t *presets,
		 bool *ret_changed)
{
	json_t *own = json_overlay(json_get(object, key), NULL);
	size_t before = json_object_size(own);

	json_object_update_missing(own, json_unconst(presets));
	*ret_changed |= json_object_size(own) != before;
	json_object_set_new(object, key, own);
}

/* The same for each set of parameters in the member. */
static void fill_each(json_t *cluster, const char *key, json_t *presets STEALS,
		      bool *ret_changed)
{
	json_t *all = json_overlay(json_get(cluster, key), NULL);
	const char *name;
	json_t *values;

	json_object_foreach (presets, name, values)
		fill(all, name, values, ret_changed);
	json_object_set_new(cluster, key, all);
	json_decref(presets);
}

/* The templates that are enabled are those that a new cluster allows. */
static void fill_policy(json_t *cluster, bool *ret_changed)
{
	auto_json json_t *presets = params_default_ipolicy();
	const json_t *enabled = cluster_enabled_disk_templates(cluster);

	if (enabled != NULL)
		ipolicy_set_disk_templates(presets, json_ref(enabled));
	fill(cluster, CONFIG_MEMBER(cluster, ipolicy), presets, ret_changed);
}

static void fill_parameters(json_t *cluster, bool *ret_changed)
{
	auto_json json_t *nd = params_default_nd();

	fill_each(cluster, CONFIG_MEMBER(cluster, hvparams),
		  params_default_hvparams(), ret_changed);
	fill_each(cluster, CONFIG_MEMBER(cluster, diskparams),
		  params_default_diskparams(), ret_changed);
	fill_each(cluster, CONFIG_MEMBER(cluster, beparams),
		  json_make("{s:o}", "default", params_default_be()),
		  ret_changed);
	fill_each(cluster, CONFIG_MEMBER(cluster, nicparams),
		  json_make("{s:o}", "default", params_default_nic()),
		  ret_changed);
	fill(cluster, CONFIG_MEMBER(cluster, ndparams), nd, ret_changed);
	fill_policy(cluster, ret_changed);
}

static size_t complete_cluster(struct config *c)
{
	json_t *cluster = config_edit(config_cluster(c));
	bool changed = false;

	fill_parameters(cluster, &changed);
	if (changed)
		config_put_cluster(c, cluster);
	else
		json_decref(cluster);
	return changed;
}

static size_t complete_disks(struct config *c)
{
	auto_strv struct strv found = {0};
	const char *uuid;
	json_t *disk;

	json_object_foreach (json_unconst(config_all(c, CONFIG_DISK)), uuid,
			     disk)
		if (!config_has_stamps(disk))
			strv_add(&found, uuid);
	for (size_t i = 0; i < found.n; i++)
		config_put(c, CONFIG_DISK,
			   config_edit(
				   config_get(c, CONFIG_DISK, found.items[i])));
	return found.n;
}

size_t config_complete(struct config *c)
{
	return complete_cluster(c) + complete_disks(c);
}
