/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks as node calls carry them: a node daemon reads each parameter of a
 * device, and fails where one is missing. */
#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "tests/sim/sim.h"

/* One of those that such a device always has; the others come with it. */
static const char *expected(const json_t *device)
{
	static const char *const kinds[][2] = {
		{"plain", "stripes"}, {"drbd", "disabled-barriers"},
		{"rbd", "pool"},      {"gluster", "volume"},
		{"ext", "access"},
	};
	const char *type = json_str(device, "dev_type", "");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i][0], type) == 0)
			return kinds[i][1];
	return NULL;
}

/* A mirror's node is told which of the two it is. */
static bool knows_its_side(const struct sim_node *n, const json_t *device)
{
	const json_t *id = json_get(device, "logical_id");
	const json_t *minor =
		json_get(json_get(device, "dynamic_params"), "local-minor");
	bool first = str_eq(json_string_value(json_array_get(id, 0)), n->uuid);
	bool second = str_eq(json_string_value(json_array_get(id, 1)), n->uuid);

	if (!str_eq(json_str(device, "dev_type", ""), "drbd") ||
	    (!first && !second))
		return true;
	return json_equal(json_unconst(minor),
			  json_array_get(id, first ? 3 : 4));
}

/* Nothing is deeper than what the volumes of a mirror of an instance are. */
void sim_check_devices(const struct sim_node *n, const json_t *value)
{
	const char *key, *name = expected(value);
	json_t *item;
	size_t i;

	assert(name == NULL || json_get(json_get(value, "params"), name));
	assert(knows_its_side(n, value));
	json_object_foreach (json_unconst(value), key, item)
		sim_check_devices(n, item);
	json_array_foreach (value, i, item)
		sim_check_devices(n, item);
}
