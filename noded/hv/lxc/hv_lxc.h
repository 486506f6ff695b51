/* SPDX-License-Identifier: BSD-2-Clause */
/* LXC: what the class (hv_lxc.c) and its parts (hv_lxc_*.c) share.
 *
 * The folder lxc/instance is what LXC calls its path (-P): each container has a
 * folder with its name in it, with config (made at each start), console.log and
 * rootfs, where its disk is mounted. */
#ifndef NODED_HV_LXC_HV_LXC_H
#define NODED_HV_LXC_HV_LXC_H

#include <sys/types.h>

#include "noded/hv/hv.h"

#define LXC_ROOTFS "rootfs"

/* No order to a container takes longer, except its start. */
#define LXC_COMMAND_MS 30000

/* instance/<name>/<file>; to be freed. */
char *lxc_file(const struct paths *p, const char *name, const char *file);

/* Run a program of LXC's for that container, with up to LXC_WORDS_MAX further
 * words (NULL ends); -1 with what it says. */
#define LXC_WORDS_MAX 6
WAITS int lxc_command(const struct paths *p, const char *program,
		      const char *name, const char *const *words,
		      struct error *err);

/* Its init process; 0: it does not run; -1 with err. */
WAITS pid_t lxc_pid(const struct paths *p, const char *name, struct error *err);

/* --- cgroups (hv_lxc_cgroup.c) --- */

/* What is mounted on this host. */
struct lxc_cgroups {
	char *mounts;	   /* as in /proc/mounts */
	char *v2_mount;	   /* of version 2, or NULL */
	char *controllers; /* that version 2 has here */
};
#define auto_cgroups __attribute__((cleanup(lxc_cgroups_done), unused))

/* Read it; free it with lxc_cgroups_done(). */
int lxc_cgroups_read(struct lxc_cgroups *ret, struct error *err);
/* The same from texts. */
void lxc_cgroups_parse(struct lxc_cgroups *ret, const char *mounts,
		       const char *controllers);
void lxc_cgroups_done(struct lxc_cgroups *g);

/* The version that has this controller, 1 or 2, and where it is mounted, to be
 * freed (NULL: not asked); 0: none has. */
int lxc_cgroups_find(const struct lxc_cgroups *g, const char *controller,
		     char **ret_mount);

/* Whether there are limits for what is swapped. */
bool lxc_cgroups_count_swap(const struct lxc_cgroups *g);

/* Mount controllers that the kernel has and nobody has mounted: those that each
 * container needs, and those of extra_cgroups.  A host with version 2 has to
 * have them there. */
WAITS int lxc_cgroups_prepare(const struct paths *p, const json_t *hv,
			      struct error *err);

/* The folder of a container below a mount point: from the text of
 * /proc/<pid>/cgroup, of version 1's controller, or of version 2 (NULL).  To be
 * freed; NULL: it is in none. */
char *lxc_cgroup_folder(const char *text, const char *controller);

/* The version of a controller's group that this process of a container is in,
 * 1 or 2, and the folder of the container's group, to be freed; -1 with err. */
int lxc_cgroup_place(pid_t pid, const char *controller, char **ret_folder,
		     struct error *err);

/* A value of the cgroup of a process, whose name differs between the versions
 * (v2 NULL: there is none).  Read: to be freed; NULL with err.  Write: -1 with
 * err and errno. */
struct lxc_key {
	const char *controller, *v1, *v2;
};
char *lxc_cgroup_read(pid_t pid, const struct lxc_key *key, struct error *err);
int lxc_cgroup_write(pid_t pid, const struct lxc_key *key, const char *value,
		     int *ret_errno, struct error *err);

/* Memory limit (MiB; of the host where there is none), CPUs, seconds. */
int lxc_cgroup_info(pid_t pid, struct hv_info *ret, struct error *err);

/* --- memory (hv_lxc_balloon.c) --- */

/* Member of the class: another limit for a container that runs. */
WAITS int lxc_balloon(const struct paths *p, const json_t *instance,
		      int64_t memory, struct error *err);

/* The bytes that the group of version 2 in this folder cannot do without: what
 * it uses except what the kernel could take back at once, which is what it
 * keeps of files, and of its own notes about them.  -1 with err. */
int lxc_memory_needed(const char *folder, int64_t *ret, struct error *err);

/* --- what must be true (hv_lxc_check.c) --- */

/* Members of the class. */
WAITS int lxc_verify(const struct paths *p, const json_t *hvparams,
		     struct error *err);
WAITS int lxc_validate(const struct paths *p, const json_t *hvparams,
		       struct error *err);
/* Parameters alone. */
int lxc_check_params(const json_t *hv, struct error *err);

/* --- its configuration (hv_lxc_config.c) --- */

/* What the text says of the host. */
struct lxc_host {
	struct lxc_cgroups cgroups;
	bool counts_swap;
};

/* The text, to be freed; NULL with err. */
char *lxc_config(const struct paths *p, const json_t *instance,
		 const struct lxc_host *host, struct error *err);

/* Whether it starts without this capability. */
bool lxc_drops(const json_t *hv, const char *capability);

/* --- starting (hv_lxc_start.c) --- */

/* Members of the class. */
WAITS int lxc_start(const struct paths *p, const json_t *instance,
		    const struct hv_disk *disks, size_t n_disks, bool paused,
		    const struct hv_caller *caller, struct error *err);
WAITS int lxc_cleanup(const struct paths *p, const char *name,
		      struct error *err);

/* The errors in a log of LXC's since that place, for people; to be freed. */
char *lxc_log_errors(const char *file, size_t from);

#endif
