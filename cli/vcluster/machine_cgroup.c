/* SPDX-License-Identifier: BSD-2-Clause */
/* Control groups of nodes: "gantry-vc-<id>/<n>" in each hierarchy that can
 * limit something, below the group of who makes the cluster (version 1), or
 * below the root of the one hierarchy (version 2).  A machine may have either.
 */
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/vcluster/machine.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define TOP "/sys/fs/cgroup"
#define PROCESSES_MAX 8192
#define GROUPS_TEXT_MAX 65536
#define REMOVE_TRIES 400
#define POLL_NS (10 * 1000 * 1000)

/* cpuset is none of them: its groups take nobody in before they have processors
 * and memory. */
static const char *const controllers[] = {"memory", "pids", "cpu", "freezer",
					  "devices"};

static bool is_unified(void)
{
	return fs_exists(TOP "/cgroup.controllers");
}

/* Of this machine, as seen before /sys was one of the node's own. */
static bool was_unified;

/* The group of a process in the hierarchy of a controller; to be freed. */
static char *group_of(pid_t pid, const char *controller)
{
	auto_free char *file = xprintf("/proc/%d/cgroup", (int)pid);
	struct error err;
	auto_free char *text = fs_read(file, GROUPS_TEXT_MAX, NULL, &err);
	auto_strv struct strv lines = {0};

	str_split(&lines, text == NULL ? "" : text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv parts = {0};
		auto_strv struct strv names = {0};

		str_split(&parts, lines.items[i], ':');
		if (parts.n != 3)
			continue;
		str_split(&names, parts.items[1], ',');
		if (strv_has(&names, controller))
			return xstrdup(str_eq(parts.items[2], "/")
					       ? ""
					       : parts.items[2]);
	}
	return xstrdup("");
}

/* The folder of the cluster's groups in a hierarchy (NULL: in the one there
 * is); to be freed.  NULL where there is none. */
static char *cluster_group(const struct vcluster *v, const char *controller)
{
	auto_free char *own = NULL;

	if (controller == NULL)
		return xprintf(TOP "/gantry-vc-%s", v->id);
	if (!fs_exists(TOP) || is_unified())
		return NULL;
	own = xprintf(TOP "/%s/tasks", controller);
	if (!fs_exists(own))
		return NULL;
	free(own);
	own = group_of(getpid(), controller);
	return xprintf(TOP "/%s%s/gantry-vc-%s", controller, own, v->id);
}

static int put(const char *folder, const char *name, const char *text)
{
	auto_free char *file = xprintf("%s/%s", folder, name);
	FILE *f = fopen(file, "we");
	int rc;

	if (f == NULL)
		return -1;
	rc = fputs(text, f) < 0 ? -1 : 0;
	return fclose(f) != 0 ? -1 : rc;
}

/* Limits that this hierarchy has files for. */
static int limit(const struct vcluster *v, const char *folder,
		 struct error *err)
{
	auto_free char *memory =
		xprintf("%jd", (intmax_t)v->memory_mib * 1024 * 1024);
	auto_free char *processes = xprintf("%d", PROCESSES_MAX);
	const char *const names[] = {"memory.max", "memory.limit_in_bytes"};

	put(folder, "pids.max", processes);
	for (size_t i = 0; v->memory_mib > 0 && i < ARRAY_SIZE(names); i++) {
		auto_free char *file = xprintf("%s/%s", folder, names[i]);

		if (fs_exists(file) && put(folder, names[i], memory) < 0)
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "Cannot limit memory by %s: %s", file,
					 strerror(errno));
	}
	return 0;
}

/* Put this process into a group. */
static int enter(const char *folder, struct error *err)
{
	if (put(folder, "cgroup.procs", "0") == 0)
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "Cannot enter the control group %s: %s", folder,
			 strerror(errno));
}

static int join(const struct vcluster *v, const struct vcluster_node *node,
		const char *group, struct error *err)
{
	auto_free char *folder =
		xprintf("%s/%zu", group, (size_t)(node - v->nodes) + 1);

	if (fs_mkdirs(folder, 0755, err) < 0)
		return -1;
	if (is_unified())
		put(group, "cgroup.subtree_control", "+memory +pids +cpu");
	return limit(v, folder, err) < 0 ? -1 : enter(folder, err);
}

int machine_cgroup_join(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err)
{
	was_unified = is_unified();
	if (was_unified) {
		auto_free char *group = cluster_group(v, NULL);

		put(TOP, "cgroup.subtree_control", "+memory +pids +cpu");
		return join(v, node, group, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		auto_free char *group = cluster_group(v, controllers[i]);

		if (group != NULL && join(v, node, group, err) < 0)
			return -1;
	}
	return 0;
}

int machine_cgroup_follow(const struct vcluster *v,
			  const struct vcluster_node *node, pid_t pid,
			  struct error *err)
{
	if (is_unified())
		return machine_cgroup_join(v, node, err);
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		auto_free char *ours = cluster_group(v, controllers[i]);
		auto_free char *group = group_of(pid, controllers[i]);
		auto_free char *folder =
			xprintf(TOP "/%s%s", controllers[i], group);

		if (ours != NULL && enter(folder, err) < 0)
			return -1;
	}
	return 0;
}

void machine_cgroup_mount(void)
{
	if (was_unified) {
		mount("cgroup2", TOP, "cgroup2", 0, NULL);
		return;
	}
	if (mount("cgroup", TOP, "tmpfs", 0, "mode=755") < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		auto_free char *folder = xprintf(TOP "/%s", controllers[i]);

		if (mkdir(folder, 0755) == 0 &&
		    mount("cgroup", folder, "cgroup", 0, controllers[i]) < 0)
			rmdir(folder);
	}
}

/* Remove a group and those in it, inner ones first; false: something is left.
 */
static bool remove_groups(const char *group)
{
	char *const tops[] = {mem_unconst(group), NULL};
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	bool all = true;

	if (walk == NULL)
		return false;
	for (FTSENT *e = fts_read(walk); e != NULL; e = fts_read(walk))
		if (e->fts_info == FTS_DP && rmdir(e->fts_path) < 0)
			all = false;
	fts_close(walk);
	return all;
}

/* A process that was killed leaves its group a moment later. */
static int remove_group(const char *group, struct error *err)
{
	for (int i = 0; i < REMOVE_TRIES && fs_exists(group); i++) {
		if (remove_groups(group))
			return 0;
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	if (!fs_exists(group))
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
			 "The control group %s still has processes", group);
}

/* Remove the groups of the cluster, wherever in a hierarchy they are: each node
 * has its own below the session that switched it on, which need not be this
 * one.
 */
static int remove_from(const char *top, const char *name, struct error *err)
{
	char *const tops[] = {mem_unconst(top), NULL};
	FTS *walk = fts_open(tops, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int rc = 0;

	if (walk == NULL)
		return 0;
	for (FTSENT *e = fts_read(walk); e != NULL && rc == 0;
	     e = fts_read(walk)) {
		if (e->fts_info != FTS_D || strcmp(e->fts_name, name) != 0)
			continue;
		fts_set(walk, e, FTS_SKIP);
		rc = remove_group(e->fts_path, err);
	}
	fts_close(walk);
	return rc;
}

int machine_cgroup_remove(const struct vcluster *v, struct error *err)
{
	auto_free char *name = xprintf("gantry-vc-%s", v->id);

	if (is_unified()) {
		auto_free char *group = cluster_group(v, NULL);

		return remove_group(group, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		auto_free char *top = xprintf(TOP "/%s", controllers[i]);

		if (fs_exists(top) && remove_from(top, name, err) < 0)
			return -1;
	}
	return 0;
}
