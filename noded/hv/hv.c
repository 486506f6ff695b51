/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of hypervisor classes, and what those share whose instances are
 * processes of a Linux host.  Free memory is read from /proc/meminfo; buffers
 * and the page cache count as free. */
#include "noded/hv/hv.h"

#include <stdlib.h>
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
/* What no host has. */
#define CPU_NUMBER_MAX 65535
#define SSH_PORT 22
/* A program that shows a console has connected after so long. */
#define CONSOLE_CONNECTS_S 3

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

bool hv_file_is_there(const char *file)
{
	bool is;

	task_leave(); /* the name is the caller's alone */
	is = fs_exists(file);
	task_enter();
	return is;
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

bool hv_has_program(const char *name)
{
	auto_strv struct strv folders = {0};
	const char *search = getenv("PATH");

	str_split(&folders, search != NULL ? search : "", ':');
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *file = xprintf("%s/%s", folders.items[i], name);

		if (fs_is_executable(file))
			return true;
	}
	return false;
}

int64_t hv_count_cpus(const char *list)
{
	auto_strv struct strv ranges = {0};
	uint64_t first, last;
	const char *rest;
	int64_t n = 0;

	str_split(&ranges, list, ',');
	for (size_t i = 0; i < ranges.n; i++) {
		if (!str_to_number(ranges.items[i], CPU_NUMBER_MAX, &first,
				   &rest))
			return 0;
		last = first;
		if (*rest == '-' &&
		    !str_to_number(rest + 1, CPU_NUMBER_MAX, &last, &rest))
			return 0;
		if (*rest != '\0' || last < first)
			return 0;
		n += (int64_t)(last - first) + 1;
	}
	return n;
}

json_t *hv_ssh_console(const json_t *node, const char *const *argv)
{
	json_t *command = json_array();

	for (; *argv != NULL; argv++)
		json_array_append_new(command, json_string(*argv));
	return json_make("{s:s, s:s, s:I, s:s, s:o}", "kind", "ssh", "host",
			 json_str(node, "name", ""), "port",
			 (json_int_t)json_int(json_get(node, "ndparams"),
					      "ssh_port", SSH_PORT),
			 "user", "root", "command", command);
}

/* The text is made of words of ours alone; what is the instance's comes as
 * arguments.  The terminal may be raw, so a line ends with both characters. */
json_t *hv_unpausing_console(const json_t *node, const struct hv_unpausing *u,
			     const char *const *argv)
{
	auto_free char *script =
		xprintf("at=$1; shift; "
			"(%s || exit; sleep %d; "
			"printf 'Instance %%s is paused, unpausing\\r\\n' "
			"\"$0\"; %s) & exec \"$@\"",
			u->is_paused, CONSOLE_CONNECTS_S, u->go_on);
	auto_strv struct strv words = {0};

	strv_add(&words, "sh");
	strv_add(&words, "-c");
	strv_add(&words, script);
	strv_add(&words, u->name);
	strv_add(&words, u->at);
	for (; *argv != NULL; argv++)
		strv_add(&words, *argv);
	return hv_ssh_console(node, (const char *const *)words.items);
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
