/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking a virtual cluster down, and a power cut of one node of it.
 *
 * Pid files do not name all processes of a node: a create that was killed has
 * started some that have not written theirs yet.  So programs of ours are also
 * known by their environment, which names the node's root. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/vcluster/kind.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"

/* The time in which the kernel frees the memory of a big guest. */
#define GUEST_END_US 5000000
#define SWEEP_US 10000000
#define POLL_NS (5 * 1000 * 1000)
#define PROC_TEXT_MAX (1024 * 1024)

/* --- guests --- */

/* Whether the process belongs to this root (its command line names it). */
static bool is_guest_of(pid_t pid, const char *root)
{
	auto_free char *file = xprintf("/proc/%d/cmdline", (int)pid);
	struct error err;
	size_t len = 0;
	auto_free char *text = fs_read(file, PROC_TEXT_MAX, &len, &err);

	return text != NULL && memmem(text, len, root, strlen(root)) != NULL;
}

/* End the guests whose pid files the node daemon wrote. */
static void end_guests(const struct vcluster_node *node)
{
	auto_free char *folder =
		xprintf("%s/pid", path(node->paths, PATH_KVM_HYPERVISOR_DIR));
	auto_strv struct strv names = {0};
	struct error err;

	if (!fs_is_dir(folder) || fs_list(folder, &names, &err) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		auto_free char *file = xprintf("%s/%s", folder, names.items[i]);
		auto_free char *text = fs_read(file, 100, NULL, &err);
		int64_t pid = 0;
		int64_t deadline = clock_mono_us() + GUEST_END_US;

		if (text == NULL)
			continue;
		text[strcspn(text, "\n")] = '\0';
		if (!str_to_int64(text, &pid) || pid <= 1 ||
		    !is_guest_of((pid_t)pid, node->paths->root))
			continue;
		kill((pid_t)pid, SIGKILL);
		while (is_guest_of((pid_t)pid, node->paths->root) &&
		       clock_mono_us() < deadline)
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
}

/* --- what no pid file names --- */

/* Whether what runs there is a program of ours. */
static bool is_ours(const char *pid)
{
	auto_free char *link = xprintf("/proc/%s/exe", pid);
	char file[PATH_MAX];
	ssize_t n = readlink(link, file, sizeof(file) - 1);
	const char *name;

	if (n <= 0)
		return false;
	file[n] = '\0';
	name = strrchr(file, '/');
	return name != NULL &&
	       (str_starts(name, "/gantry-") || str_eq(name, "/gnt"));
}

/* The root that its environment names; to be freed.  NULL: none. */
static char *root_of(const char *pid)
{
	static const char key[] = "GANETI_ROOTDIR=";
	auto_free char *file = xprintf("/proc/%s/environ", pid);
	struct error err;
	size_t len = 0;
	auto_free char *text = fs_read(file, PROC_TEXT_MAX, &len, &err);

	for (size_t at = 0; text != NULL && at < len;
	     at += strlen(text + at) + 1)
		if (str_starts(text + at, key))
			return xstrdup(text + at + strlen(key));
	return NULL;
}

/* Whether it belongs to one of these nodes.  A power cut takes scripts and
 * transfers of a node as well; but what runs in our own session, as the shell
 * that we are called from, is the user's, even with the node's environment. */
static bool is_swept(const struct vcluster *v, const struct vcluster_node *one,
		     const char *pid, pid_t number)
{
	auto_free char *root = NULL;

	if (one == NULL ? !is_ours(pid) : getsid(number) == getsid(0))
		return false;
	root = root_of(pid);
	for (size_t i = 0; root != NULL && i < v->n; i++)
		if ((one == NULL || one == &v->nodes[i]) &&
		    strcmp(v->nodes[i].paths->root, root) == 0)
			return true;
	return false;
}

/* Kill each once; how many there were. */
static size_t sweep_once(const struct vcluster *v,
			 const struct vcluster_node *one)
{
	DIR *proc = opendir("/proc");
	size_t n = 0;

	if (proc == NULL)
		return 0;
	for (struct dirent *e = readdir(proc); e != NULL; e = readdir(proc)) {
		int64_t pid = 0;

		if (!str_all_digits(e->d_name) ||
		    !str_to_int64(e->d_name, &pid) || pid == getpid() ||
		    pid == getppid() ||
		    !is_swept(v, one, e->d_name, (pid_t)pid))
			continue;
		kill((pid_t)pid, SIGKILL);
		n++;
	}
	closedir(proc);
	return n;
}

/* End what belongs to this node, or (NULL) programs of ours of all nodes.
 * Those that are killed may have started others just before. */
static void sweep(const struct vcluster *v, const struct vcluster_node *one)
{
	int64_t deadline = clock_mono_us() + SWEEP_US;

	while (sweep_once(v, one) > 0 && clock_mono_us() < deadline)
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* --- the end --- */

/* What is there of a host that was switched on again has its disk alone. */
int vcluster_crash(struct vcluster *v, const struct vcluster_node *node,
		   struct error *err)
{
	char *words[] = {node->name, NULL};
	int rc = vcluster_stop(v, words, 1, true, err);

	sweep(v, node);
	end_guests(node);
	return rc < 0 ? -1
		      : fs_remove_tree(path(node->paths, PATH_RUN_DIR), err);
}

static int stop_all(struct vcluster *v, struct error *err)
{
	int rc = vcluster_stop(v, NULL, 0, true, err);

	sweep(v, NULL);
	for (size_t i = 0; i < v->n; i++)
		end_guests(&v->nodes[i]);
	return rc;
}

static int remove_node(const struct vcluster *v,
		       const struct vcluster_node *node, struct error *err)
{
	(void)v;
	return fs_remove_tree(node->paths->root, err);
}

int vcluster_destroy(struct vcluster *v, struct error *err)
{
	auto_free char *shared = xprintf("%s/shared-file-storage", v->dir);
	auto_free char *state = xprintf("%s/vcluster.json", v->dir);
	auto_free char *machine = xprintf("%s/.machine", v->dir);

	if (v->kind->are_hosts ? v->kind->remove(v, err) < 0
			       : stop_all(v, err) < 0)
		return -1;
	if (fs_remove_tree(machine, err) < 0)
		return -1;
	if (vcluster_each(v, 0, remove_node, err) < 0)
		return -1;
	if (fs_remove_tree(shared, err) < 0 || fs_remove(state, err) < 0)
		return -1;
	/* The folder stays if it contains other files. */
	if (rmdir(v->dir) < 0 && errno != ENOTEMPTY && errno != EEXIST)
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "Cannot remove %s: %s", v->dir,
				 strerror(errno));
	return 0;
}
