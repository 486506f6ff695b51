/* SPDX-License-Identifier: BSD-2-Clause */
/* A plain disk is one volume on the primary node.  The logical_id of a DRBD
 * disk begins with its two nodes, and each of its child volumes exists on both
 * of them under the same name. */
#include "masterd/lu/parts/volumes.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/parts/lu_instance.h"

json_t *volumes_member(json_t *object, const char *key, json_t *preset)
{
	json_t *value = json_object_get(object, key);

	if (value != NULL) {
		json_decref(preset);
		return value;
	}
	json_object_set_new(object, key, preset);
	return preset;
}

static void add(json_t *ret, const char *node, const json_t *disk,
		const json_t *inst)
{
	const json_t *id = disk_logical_id(disk);
	auto_free char *name =
		xprintf("%s/%s", json_string_value(json_array_get(id, 0)) ?: "",
			json_string_value(json_array_get(id, 1)) ?: "");

	if (node != NULL)
		json_set_str(volumes_member(ret, node, json_object()), name,
			     inst_name(inst));
}

void volumes_add(json_t *ret, const json_t *inst, const json_t *disk)
{
	const json_t *id = disk_logical_id(disk);
	const json_t *children = disk_children(disk);
	const char *type = disk_dev_type(disk);

	if (template_is_volume(type))
		add(ret, inst_primary_node(inst), disk, inst);
	if (!template_is_pair(type))
		return;
	for (size_t n = 0; n < 2; n++)
		for (size_t i = 0; i < json_array_size(children); i++)
			add(ret, json_string_value(json_array_get(id, n)),
			    json_array_get(children, i), inst);
}

static int bad_pattern(const char *pattern, int code, const regex_t *re,
		       struct error *err)
{
	char why[128];

	regerror(code, re, why, sizeof(why));
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'%s' in the list of reserved volumes is no regular "
			 "expression: %s",
			 pattern, why);
}

int volumes_pattern(const char *pattern, regex_t *ret, struct error *err)
{
	auto_free char *whole = xprintf("^(%s)$", pattern);
	int code = regcomp(ret, pattern, REG_EXTENDED | REG_NOSUB);

	/* By itself first: "a)(b" is one only inside of parentheses. */
	if (code != 0)
		return bad_pattern(pattern, code, ret, err);
	regfree(ret);
	code = regcomp(ret, whole, REG_EXTENDED | REG_NOSUB);
	return code == 0 ? 0 : bad_pattern(pattern, code, ret, err);
}
