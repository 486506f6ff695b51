/* SPDX-License-Identifier: BSD-2-Clause */
/* A plain disk is one volume on the primary node.  The logical_id of a DRBD
 * disk begins with its two nodes, and each of its child volumes exists on both
 * of them under the same name. */
#include "masterd/lu/parts/volumes.h"

#include <string.h>

#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/filter/filter_regex.h"
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

/* --- the list of reserved volumes --- */

/* NULL with err: it is no pattern.  By itself first: "a)(b" is one only inside
 * of parentheses. */
static struct regex *compile(struct regexes *r, const char *pattern,
			     struct error *err)
{
	auto_json json_t *own = json_string(pattern);
	auto_free char *text = xprintf("^(?:%s)$", pattern);
	auto_json json_t *whole = json_string(text);
	struct regex *alone = regex_compile(r, own, err);

	if (alone == NULL)
		return NULL;
	regex_free(alone);
	return regex_compile(r, whole, err);
}

int volumes_check_pattern(const char *pattern, struct error *err)
{
	struct regexes *r = regexes_create();
	struct error why;
	struct regex *x = compile(r, pattern, &why);

	regexes_destroy(r);
	if (x != NULL) {
		regex_free(x);
		return 0;
	}
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "'%s' in the list of reserved volumes is no regular "
			 "expression: %s",
			 pattern, why.text);
}

bool volumes_match(const char *pattern, const char *volume)
{
	struct regexes *r = regexes_create();
	struct error ignored;
	struct regex *x = compile(r, pattern, &ignored);
	auto_json json_t *text = json_string(volume);
	uint64_t steps = 0;
	bool found = x != NULL && text != NULL &&
		     regex_match(r, x, text, REGEX_STEPS, &steps) == 1;

	if (x != NULL)
		regex_free(x);
	regexes_destroy(r);
	return found;
}
