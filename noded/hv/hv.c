/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of hypervisor classes, and what those share whose instances are
 * processes of a Linux host.  Free memory is read from /proc/meminfo; buffers
 * and the page cache count as free. */
#include "noded/hv/hv.h"

#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"

static const struct hv_class *const classes[] = {
#define DRIVEN(class) &hv_##class,
#define UNDRIVEN(class)
#define HYPERVISOR(class, driver, ...) driver(class)
#include "lib/model/kinds/hypervisors.def"
#undef DRIVEN
#undef UNDRIVEN
#undef HYPERVISOR
};

#define N_CLASSES ARRAY_SIZE(classes)
#define MEMINFO_MAX (64 * 1024)

const struct hv_class *hv_find(const char *name, struct error *err)
{
	for (size_t i = 0; i < N_CLASSES; i++)
		if (strcmp(classes[i]->name, name) == 0)
			return classes[i];
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hypervisor '%s' is not supported by this node daemon", name);
	return NULL;
}

const struct hv_class *hv_of(const json_t *instance, struct error *err)
{
	return hv_find(json_str(instance, "hypervisor", ""), err);
}

/* A line "<key>:   <n> kB" of /proc/meminfo in MiB; 0 when it is missing. */
static int64_t meminfo_mib(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		if (strncmp(line, key, len) == 0 && line[len] == ':')
			return strtoll(line + len + 1, NULL, 10) / 1024;
		line = end != NULL ? end + 1 : NULL;
	}
	return 0;
}

json_t *hv_linux_node_info(struct error *err)
{
	auto_free char *text = fs_read("/proc/meminfo", MEMINFO_MAX, NULL, err);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	json_t *info;

	if (text == NULL)
		return NULL;
	info = json_object();
	json_set_int(info, "memory_total", meminfo_mib(text, "MemTotal"));
	json_set_int(info, "memory_dom0", meminfo_mib(text, "Active"));
	json_set_int(info, "memory_free",
		     meminfo_mib(text, "MemFree") +
			     meminfo_mib(text, "Buffers") +
			     meminfo_mib(text, "Cached"));
	json_set_int(info, "cpu_total", cpus);
	json_set_int(info, "cpu_dom0", cpus);
	/* Clients only read that there is one of each. */
	json_set_int(info, "cpu_nodes", 1);
	json_set_int(info, "cpu_sockets", 1);
	return info;
}

int64_t hv_startup_memory(const json_t *instance, int64_t free_memory)
{
	const json_t *be = json_get(instance, "beparams");
	int64_t max = json_int(be, "maxmem", json_int(be, "memory", 0));
	int64_t min = json_int(be, "minmem", max);
	int64_t memory = max < free_memory ? max : free_memory;

	return memory > min ? memory : min;
}

int hv_in_force(const struct hv_caller *caller, struct error *err)
{
	return caller == NULL ? 0 : caller->in_force(caller->arg, err);
}
