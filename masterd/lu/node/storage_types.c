/* SPDX-License-Identifier: BSD-2-Clause */
/* Each enabled disk template lies on storage, whose parts can be listed on
 * their own (physical volumes).  The cluster's enabled templates are tried in
 * their order, and the first match counts.  Node calls take the place as a
 * string for LVM, else as a list. */
#include "masterd/lu/node/storage_types.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"

/* The storage of that type (NULL: any) if it, or what it is a part of, is below
 * the template and the cluster says where it is; NULL. */
static const struct storage_info *below(const char *template, const char *type)
{
	const struct storage_info *whole =
		template_storage(template_get(template));
	const struct storage_info *s =
		type == NULL ? whole : storage_find(type);

	if (s == NULL || s->place == NULL)
		return NULL;
	return s == whole || str_eq(s->part_of, whole->name) ? s : NULL;
}

static const struct storage_info *find_storage(const json_t *cluster,
					       const char *type)
{
	const json_t *enabled = cluster_enabled_disk_templates(cluster);

	for (size_t k = 0; k < json_array_size(enabled); k++) {
		const struct storage_info *s = below(
			json_string_value(json_array_get(enabled, k)), type);

		if (s != NULL)
			return s;
	}
	return NULL;
}

const char *storage_type_used(struct lu *lu, const char *type,
			      struct error *err)
{
	const struct storage_info *found =
		find_storage(config_cluster(lu->m->config), type);

	if (found != NULL)
		return found->name;
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "Storage of type '%s' is not used by any enabled disk "
		  "template",
		  type == NULL ? "any" : type);
	return NULL;
}

json_t *storage_type_args(struct lu *lu, const char *type)
{
	const json_t *cluster = config_cluster(lu->m->config);
	const struct storage_info *s = find_storage(cluster, type);
	const char *place = s == NULL ? "" : json_str(cluster, s->place, "");

	if (str_starts(type, "lvm-"))
		return json_make("[s]", place);
	return json_make("[[s]]", place);
}
