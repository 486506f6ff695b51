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

/* Nothing is deeper than what the volumes of a mirror of an instance are. */
void sim_check_devices(const json_t *value)
{
	const char *key, *name = expected(value);
	json_t *item;
	size_t i;

	assert(name == NULL || json_get(json_get(value, "params"), name));
	json_object_foreach (json_unconst(value), key, item)
		sim_check_devices(item);
	json_array_foreach (value, i, item)
		sim_check_devices(item);
}
