/* SPDX-License-Identifier: BSD-2-Clause */
/* Filled values: what is in force for an object once the defaults of those
 * above it are put below its own. */
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"

/* base with over on top; takes base. */
static json_t *put_over(json_t *base STEALS, const json_t *over)
{
	if (json_is_object(over))
		json_object_update(base, json_unconst(over));
	return base;
}

static const json_t *member2(const json_t *object, const char *key,
			     const char *key2)
{
	return json_object_get(json_object_get(object, key), key2);
}

json_t *params_fill_hv(const json_t *cluster, const char *hypervisor,
		       const char *os, const json_t *custom)
{
	const json_t *base = member2(cluster, "hvparams", hypervisor);
	json_t *filled = json_is_object(base) ? json_copy(json_unconst(base))
					      : params_default_hv(hypervisor);

	if (filled == NULL)
		filled = json_object();
	if (os != NULL)
		put_over(filled, json_object_get(member2(cluster, "os_hvp", os),
						 hypervisor));
	return put_over(filled, custom);
}

static json_t *fill(const json_t *base, json_t *(*presets)(void),
		    const json_t *custom)
{
	json_t *filled = json_is_object(base) ? json_copy(json_unconst(base))
					      : presets();

	return put_over(filled, custom);
}

json_t *params_fill_be(const json_t *cluster, const json_t *custom)
{
	return fill(member2(cluster, "beparams", "default"), params_default_be,
		    custom);
}

json_t *params_fill_nic(const json_t *cluster, const json_t *custom)
{
	return fill(member2(cluster, "nicparams", "default"),
		    params_default_nic, custom);
}

json_t *params_fill_nd(const json_t *cluster, const json_t *group,
		       const json_t *node)
{
	json_t *filled =
		fill(json_object_get(cluster, "ndparams"), params_default_nd,
		     json_object_get(group, "ndparams"));

	return put_over(filled, json_object_get(node, "ndparams"));
}

json_t *params_fill_disk(const json_t *cluster, const json_t *group,
			 const char *template)
{
	json_t *filled = json_object();

	put_over(filled, member2(cluster, "diskparams", template));
	return put_over(filled, member2(group, "diskparams", template));
}

json_t *params_fill_ipolicy(const json_t *cluster, const json_t *group)
{
	json_t *filled = fill(json_object_get(cluster, "ipolicy"),
			      params_default_ipolicy, NULL);
	const json_t *std = json_object_get(filled, "std");
	auto_json json_t *kept = json_ref(std);

	put_over(filled, json_object_get(group, "ipolicy"));
	if (kept != NULL) /* parameters of a whole cluster */
		json_object_set(filled, "std", kept);
	return filled;
}

static json_t *fill_os(const json_t *cluster, const char *member,
		       const char *os, const json_t *custom)
{
	auto_free char *name = xstrndup(os, strcspn(os, "+"));
	json_t *filled = json_object();

	put_over(filled, member2(cluster, member, name));
	if (strcmp(name, os) != 0)
		put_over(filled, member2(cluster, member, os));
	return put_over(filled, custom);
}

json_t *params_fill_os(const json_t *cluster, const char *os,
		       const json_t *custom)
{
	return fill_os(cluster, "osparams", os, custom);
}

json_t *params_fill_os_private(const json_t *cluster, const char *os,
			       const json_t *custom)
{
	return fill_os(cluster, "osparams_private_cluster", os, custom);
}

/* Add the members of more to all; names that are there already also go into
 * twice. */
static void add_class(json_t *all, const json_t *more, struct strv *twice)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(more), name, value) {
		if (json_object_get(all, name) != NULL)
			strv_add_unique(twice, name);
		json_object_set(all, name, value);
	}
}

int params_fill_os_all(const json_t *cluster, const char *os,
		       const struct params_os *own, json_t **ret,
		       struct error *err)
{
	auto_json json_t *all = params_fill_os(cluster, os, own->public);
	auto_json json_t *private =
		params_fill_os_private(cluster, os, own->private);
	auto_strv struct strv twice = {0};
	auto_free char *names = NULL;

	add_class(all, private, &twice);
	add_class(all, own->secret, &twice);
	if (twice.n == 0) {
		*ret = steal(&all);
		return 0;
	}
	strv_sort(&twice);
	names = strv_join(&twice, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "OS parameters of '%s' are given in more than one of "
			 "the classes public, private and secret: %s",
			 os, names);
}
