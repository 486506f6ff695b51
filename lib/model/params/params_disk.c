/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of disk templates in the form that devices have.  A template
 * has one set of parameters for everything that a disk of it consists of; each
 * device gets its share of them, under the names that node daemons know.  Names
 * of Ganeti 3.0.2. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/params/params.h"
#include "lib/model/params/params_table.h"

/* The parameters of a mirror: their names on the device and in the template.
 * Those of its volumes follow below. */
static const struct {
	const char *device, *template;
} mirror_names[] = {
	{"resync-rate", "resync-rate"},
	{"disabled-barriers", "disk-barriers"},
	{"disable-meta-flush", "meta-barriers"},
	{"default-metavg", "metavg"},
	{"disk-custom", "disk-custom"},
	{"net-custom", "net-custom"},
	{"protocol", "protocol"},
	{"dynamic-resync", "dynamic-resync"},
	{"c-plan-ahead", "c-plan-ahead"},
	{"c-fill-target", "c-fill-target"},
	{"c-delay-target", "c-delay-target"},
	{"c-max-rate", "c-max-rate"},
	{"c-min-rate", "c-min-rate"},
};

static const char *const mirror_stripes[] = {"data-stripes", "meta-stripes"};

/* All values in force of a template, also those that the configuration leaves
 * out; NULL if there is no such template.  Those of ours are not among them: a
 * disk has them from its creation on or not at all. */
static json_t *in_force(const json_t *cluster, const json_t *group,
			const char *template)
{
	const struct param *table = params_table(FAMILY_DISK, template);
	json_t *filled;

	if (table == NULL)
		return NULL;
	filled = params_fill_disk(cluster, group, template);
	for (; table->name != NULL; table++)
		if (table->preset == NULL)
			json_object_del(filled, table->name);
		else if (json_object_get(filled, table->name) == NULL)
			json_object_set_new(filled, table->name,
					    params_table_preset(table));
	return filled;
}

/* The device's own parameters win. */
static void annotate(json_t *device, const json_t *params)
{
	json_object_set_new(device, "params",
			    json_overlay(params, json_get(device, "params")));
}

static json_t *annotated_volumes(const json_t *children, const json_t *filled)
{
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(children); i++) {
		json_t *volume = json_copy(json_array_get(children, i));
		auto_json json_t *params = json_object();

		if (i < ARRAY_SIZE(mirror_stripes))
			json_object_set(
				params, "stripes",
				json_object_get(filled, mirror_stripes[i]));
		annotate(volume, params);
		json_array_append_new(list, volume);
	}
	return list;
}

static json_t *mirror_params(const json_t *filled)
{
	json_t *params = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(mirror_names); i++)
		json_object_set(
			params, mirror_names[i].device,
			json_object_get(filled, mirror_names[i].template));
	return params;
}

json_t *params_device(const json_t *cluster, const json_t *group,
		      const json_t *disk)
{
	const char *template = json_str(disk, "dev_type", "");
	auto_json json_t *filled = in_force(cluster, group, template);
	auto_json json_t *params = NULL;
	json_t *device = json_copy(json_unconst(disk));

	if (filled == NULL)
		return device;
	if (strcmp(template, "drbd") != 0) {
		annotate(device, filled);
		return device;
	}
	params = mirror_params(filled);
	annotate(device, params);
	json_object_set_new(
		device, "children",
		annotated_volumes(json_get(disk, "children"), filled));
	return device;
}

json_t *params_of_new_disk(const json_t *cluster, const json_t *group,
			   const char *template)
{
	const struct param *table = params_table(FAMILY_DISK, template);
	auto_json json_t *filled = params_fill_disk(cluster, group, template);
	json_t *kept = json_object();

	for (; table != NULL && table->name != NULL; table++)
		if (table->preset == NULL &&
		    json_object_get(filled, table->name) != NULL)
			json_object_set(kept, table->name,
					json_object_get(filled, table->name));
	return kept;
}

int params_check_disk(const json_t *cluster, const json_t *group,
		      struct error *err)
{
	auto_json json_t *drbd = in_force(cluster, group, "drbd");

	if (!json_bool(drbd, "dynamic-resync", false) ||
	    json_int(drbd, "c-plan-ahead", 0) > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Disk template drbd%s%s: dynamic-resync needs a "
			 "c-plan-ahead above 0, which turns the controller of "
			 "the resync's speed on; without dynamic-resync the "
			 "speed is resync-rate",
			 group == NULL ? "" : " of group ",
			 json_str(group, "name", ""));
}
