/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that hypervisors.def becomes. */
#include "lib/model/kinds/hypervisor.h"

#include "lib/base/array.h"
#include "lib/base/str.h"

/* clang-format off */
static const struct hypervisor_info hypervisors[] = {
#define HYPERVISOR(class, driver, name_, ...) {.name = name_, __VA_ARGS__},
#include "lib/model/kinds/hypervisors.def"
#undef HYPERVISOR
};

const char *const hypervisor_names[] = {
#define HYPERVISOR(class, driver, name, ...) name,
#include "lib/model/kinds/hypervisors.def"
#undef HYPERVISOR
	NULL};
/* clang-format on */

static const struct hypervisor_info unknown = {.tells_node_memory = true};

const struct hypervisor_info *hypervisor_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(hypervisors); i++)
		if (str_eq(hypervisors[i].name, name))
			return &hypervisors[i];
	return NULL;
}

const struct hypervisor_info *hypervisor_get(const char *name)
{
	const struct hypervisor_info *found = hypervisor_find(name);

	return found == NULL ? &unknown : found;
}
