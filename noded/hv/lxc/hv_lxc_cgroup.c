/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: control groups, by which the kernel limits and counts what a container
 * uses.  A host may have version 1, where each controller is mounted by itself,
 * version 2, or both, with each controller in one of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/lxc/hv_lxc.h"

#define MOUNTS_MAX (1024 * 1024)
#define VALUE_MAX (64 * 1024)
#define MOUNT_TIMEOUT_MS 30000
#define PAYLOAD "/lxc.payload."

/* What each container needs. */
static const char *const needed[] = {"cpuset", "memory", "devices", "cpuacct"};

/* --- what is mounted --- */

/* The n-th word of a line; to be freed. */
static char *word_of(const char *line, size_t n)
{
	for (; n > 0 && *line != '\0' && *line != '\n'; n--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	return xstrndup(line, strcspn(line, " \n"));
}

/* The line of a file system of that type, with that option (NULL: any). */
static const char *find_mount(const char *mounts, const char *type,
			      const char *option)
{
	const char *line = mounts;

	while (*line != '\0') {
		auto_free char *its_type = word_of(line, 2);
		auto_free char *options = word_of(line, 3);
		auto_strv struct strv words = {0};

		str_split(&words, options, ',');
		if (strcmp(its_type, type) == 0 &&
		    (option == NULL || strv_has(&words, option)))
			return line;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return NULL;
}

void lxc_cgroups_parse(struct lxc_cgroups *ret, const char *mounts,
		       const char *controllers)
{
	const char *line = find_mount(mounts, "cgroup2", NULL);

	*ret = (struct lxc_cgroups){
		.mounts = xstrdup(mounts),
		.v2_mount = line != NULL ? word_of(line, 1) : NULL,
		.controllers = xstrdup(controllers),
	};
}

int lxc_cgroups_read(struct lxc_cgroups *ret, struct error *err)
{
	auto_free char *mounts =
		fs_read("/proc/self/mounts", MOUNTS_MAX, NULL, err);
	auto_free char *file = NULL, *controllers = NULL;
	struct error ignored;

	if (mounts == NULL)
		return -1;
	lxc_cgroups_parse(ret, mounts, "");
	if (ret->v2_mount == NULL)
		return 0;
	file = xprintf("%s/cgroup.controllers", ret->v2_mount);
	controllers = fs_read(file, VALUE_MAX, NULL, &ignored);
	if (controllers == NULL)
		return 0;
	controllers[strcspn(controllers, "\n")] = '\0';
	free(ret->controllers);
	ret->controllers = steal(&controllers);
	return 0;
}

void lxc_cgroups_done(struct lxc_cgroups *g)
{
	free(g->mounts);
	free(g->v2_mount);
	free(g->controllers);
	*g = (struct lxc_cgroups){0};
}

/* Version 2 has these without naming them. */
static bool is_implied(const char *controller)
{
	static const char *const names[] = {"cpuacct", "devices", "freezer",
					    "perf_event"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], controller) == 0)
			return true;
	return false;
}

int lxc_cgroups_find(const struct lxc_cgroups *g, const char *controller,
		     char **ret_mount)
{
	const char *line = find_mount(g->mounts, "cgroup", controller);
	auto_strv struct strv names = {0};

	if (line != NULL) {
		if (ret_mount != NULL)
			*ret_mount = word_of(line, 1);
		return 1;
	}
	str_split(&names, g->controllers, ' ');
	/* What is implied counts for a host that uses version 2 at all. */
	if (g->v2_mount == NULL ||
	    !(strv_has(&names, controller) ||
	      (is_implied(controller) && strv_has(&names, "memory"))))
		return 0;
	if (ret_mount != NULL)
		*ret_mount = xstrdup(g->v2_mount);
	return 2;
}

/* With version 2 only groups below the root have it. */
bool lxc_cgroups_count_swap(const struct lxc_cgroups *g)
{
	auto_free char *mount = NULL, *file = NULL;
	auto_strv struct strv names = {0};
	struct error none;
	bool found = false;
	int version = lxc_cgroups_find(g, "memory", &mount);

	if (version == 1) {
		file = xprintf("%s/memory.memsw.limit_in_bytes", mount);
		return fs_exists(file);
	}
	if (version == 0 || fs_list(mount, &names, &none) < 0)
		return false;
	for (size_t i = 0; !found && i < names.n; i++) {
		auto_free char *below =
			xprintf("%s/%s/memory.swap.max", mount, names.items[i]);

		found = fs_exists(below);
	}
	return found;
}

/* --- mounting --- */

/* Below the folder of this hypervisor, as Ganeti does. */
static WAITS int mount_controller(const struct paths *p, const char *controller,
				  struct error *err)
{
	auto_free char *folder =
		xprintf("%s/cgroup/%s", path(p, PATH_LXC_DIR), controller);
	const char *const argv[] = {"mount",	"-t",	    "cgroup", "-o",
				    controller, controller, folder,   NULL};

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	return proc_check(argv, MOUNT_TIMEOUT_MS, err);
}

static WAITS int need(const struct paths *p, const struct lxc_cgroups *g,
		      const char *controller, struct error *err)
{
	auto_strv struct strv names = {0};

	if (lxc_cgroups_find(g, controller, NULL) != 0)
		return 0;
	str_split(&names, g->controllers, ' ');
	if (g->v2_mount != NULL && strv_has(&names, "memory"))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "The cgroup controller '%s' is not enabled on "
				 "this node (%s/cgroup.controllers does not "
				 "name it)",
				 controller, g->v2_mount);
	if (mount_controller(p, controller, err) < 0)
		return error_wrap(err, "Failed to mount cgroup subsystem '%s'",
				  controller);
	return 0;
}

int lxc_cgroups_prepare(const struct paths *p, const json_t *hv,
			struct error *err)
{
	const char *extra = json_str(hv, "extra_cgroups", "");
	auto_cgroups struct lxc_cgroups g = {0};
	auto_strv struct strv names = {0};

	if (lxc_cgroups_read(&g, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		strv_add(&names, needed[i]);
	if (*extra != '\0')
		str_split(&names, extra, ',');
	for (size_t i = 0; i < names.n; i++)
		if (*names.items[i] != '\0' &&
		    need(p, &g, names.items[i], err) < 0)
			return -1;
	return 0;
}

/* --- a container's --- */

char *lxc_cgroup_folder(const char *text, const char *controller)
{
	auto_strv struct strv lines = {0};

	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv names = {0};
		char *at = strchr(lines.items[i], ':'), *folder, *end;

		folder = at != NULL ? strchr(at + 1, ':') : NULL;
		if (folder == NULL)
			continue;
		*folder++ = '\0';
		str_split(&names, at + 1, ',');
		if (controller != NULL ? !strv_has(&names, controller)
				       : at[1] != '\0')
			continue;
		/* Its init may have moved to a group of its own inside. */
		end = strstr(folder, PAYLOAD);
		if (end != NULL)
			end[1 + strcspn(end + 1, "/")] = '\0';
		return xstrdup(folder);
	}
	return NULL;
}

int lxc_cgroup_place(pid_t pid, const char *controller, char **ret_folder,
		     struct error *err)
{
	auto_free char *table = xprintf("/proc/%d/cgroup", (int)pid);
	auto_free char *text = fs_read(table, VALUE_MAX, NULL, err);
	auto_free char *mount = NULL, *folder = NULL;
	auto_cgroups struct lxc_cgroups g = {0};
	int version;

	if (text == NULL || lxc_cgroups_read(&g, err) < 0)
		return -1;
	version = lxc_cgroups_find(&g, controller, &mount);
	if (version != 0)
		folder = lxc_cgroup_folder(text,
					   version == 1 ? controller : NULL);
	if (folder == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Process %d is in no control group of the "
				 "controller %s",
				 (int)pid, controller);
	*ret_folder = xprintf("%s%s", mount, folder);
	return version;
}

static char *file_of(pid_t pid, const struct lxc_key *key, struct error *err)
{
	auto_free char *folder = NULL;
	int version = lxc_cgroup_place(pid, key->controller, &folder, err);
	const char *name = version == 1 ? key->v1 : key->v2;

	if (version < 0)
		return NULL;
	if (name != NULL)
		return xprintf("%s/%s", folder, name);
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Process %d has no %s in its control groups", (int)pid,
		  key->v1);
	return NULL;
}

char *lxc_cgroup_read(pid_t pid, const struct lxc_key *key, struct error *err)
{
	auto_free char *file = file_of(pid, key, err);
	char *value = file == NULL ? NULL : fs_read(file, VALUE_MAX, NULL, err);

	if (value != NULL && strlen(value) > 0 &&
	    value[strlen(value) - 1] == '\n')
		value[strlen(value) - 1] = '\0';
	return value;
}

int lxc_cgroup_write(pid_t pid, const struct lxc_key *key, const char *value,
		     int *ret_errno, struct error *err)
{
	auto_free char *file = file_of(pid, key, err);
	size_t len = strlen(value);
	int fd;

	if (file == NULL)
		return -1;
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, value, len) == (ssize_t)len) {
		close(fd);
		return 0;
	}
	*ret_errno = errno;
	error_set(err, ERR_HYPERVISOR, NULL, "Cannot write %s to %s: %s", value,
		  file, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- what it uses --- */

static int read_memory(pid_t pid, int64_t *ret_mib, struct error *err)
{
	static const struct lxc_key key = {"memory", "memory.limit_in_bytes",
					   "memory.max"};
	auto_free char *limit = lxc_cgroup_read(pid, &key, err);
	auto_json json_t *node = limit == NULL ? NULL : hv_linux_node_info(err);
	int64_t total, bytes = INT64_MAX;

	if (node == NULL)
		return -1;
	total = json_int(node, "memory_total", 0);
	if (!str_to_int64(limit, &bytes)) /* "max" */
		bytes = INT64_MAX;
	*ret_mib =
		bytes / (1024 * 1024) < total ? bytes / (1024 * 1024) : total;
	return 0;
}

static int read_seconds(pid_t pid, double *ret, struct error *err)
{
	static const struct lxc_key key = {"cpuacct", "cpuacct.usage",
					   "cpu.stat"};
	static const char usage[] = "usage_usec ";
	auto_free char *text = lxc_cgroup_read(pid, &key, err);
	uint64_t n = 0;
	const char *rest;

	if (text == NULL)
		return -1;
	if (str_starts(text, usage)) {
		str_to_number(text + strlen(usage), UINT64_MAX, &n, &rest);
		*ret = (double)n / 1e6;
		return 0;
	}
	str_to_number(text, UINT64_MAX, &n, &rest);
	*ret = (double)n / 1e9;
	return 0;
}

int lxc_cgroup_info(pid_t pid, struct hv_info *ret, struct error *err)
{
	static const struct lxc_key key = {"cpuset", "cpuset.cpus",
					   "cpuset.cpus.effective"};
	/* Where the host leaves CPUs alone there is no such file. */
	struct error none;
	auto_free char *cpus = lxc_cgroup_read(pid, &key, &none);

	if (read_memory(pid, &ret->memory, err) < 0 ||
	    read_seconds(pid, &ret->time, err) < 0)
		return -1;
	ret->vcpus = cpus != NULL ? hv_count_cpus(cpus)
				  : sysconf(_SC_NPROCESSORS_ONLN);
	return 0;
}
