/* SPDX-License-Identifier: BSD-2-Clause */
/* A table relates storage types to disk templates; LVM types serve two
 * templates each.  The cluster's enabled templates are tried in their order,
 * and the first match counts.  Node calls take the place as a string for LVM,
 * else as a list. */
#include "masterd/lu/node/storage_types.h"

#include "lib/base/array.h"
#include "lib/json/json.h"

/* The template that each serves, and where the cluster says where it is. */
static const struct storage {
	const char *type, *template, *place;
} storages[] = {
	{"file", "file", "file_storage_dir"},
	{"sharedfile", "sharedfile", "shared_file_storage_dir"},
	{"gluster", "gluster", "gluster_storage_dir"},
	{"lvm-vg", "plain", "volume_group_name"},
	{"lvm-vg", "drbd", "volume_group_name"},
	{"lvm-pv", "plain", "volume_group_name"},
	{"lvm-pv", "drbd", "volume_group_name"},
};
#define N_STORAGES ARRAY_SIZE(storages)

static const struct storage *find_storage(const json_t *cluster,
					  const char *type)
{
	const json_t *enabled = json_get(cluster, "enabled_disk_templates");

	for (size_t k = 0; k < json_array_size(enabled); k++)
		for (size_t i = 0; i < N_STORAGES; i++)
			if (str_eq(json_string_value(
					   json_array_get(enabled, k)),
				   storages[i].template) &&
			    (type == NULL || str_eq(type, storages[i].type)))
				return &storages[i];
	return NULL;
}

const char *storage_used_type(struct lu *lu, const char *type,
			      struct error *err)
{
	const struct storage *found =
		find_storage(config_cluster(lu->m->config), type);

	if (found != NULL)
		return found->type;
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "Storage of type '%s' is not used by any enabled disk "
		  "template",
		  type == NULL ? "any" : type);
	return NULL;
}

json_t *storage_args(struct lu *lu, const char *type)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const struct storage *s = find_storage(cluster, type);
	const char *place = s == NULL ? "" : json_str(cluster, s->place, "");

	if (str_starts(type, "lvm-"))
		return json_make("[s]", place);
	return json_make("[[s]]", place);
}
