/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypervisors: one class each (hv_<name>.c), found by name.
 *
 * All functions run in the task of a call and may wait.  `instance` is the
 * instance object of the call with filled parameters; its name is a valid host
 * name.  A class keeps what it has to remember below the run folder, so that
 * instances survive a restart of the daemon. */
#ifndef NODED_HV_HV_H
#define NODED_HV_HV_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* A disk that has been assembled on this node for an instance. */
struct hv_disk {
	const json_t *disk; /* its object */
	char *path;	    /* of the file or device, with the root */
	/* Where QEMU opens it itself in place of the path; NULL: nowhere. */
	char *uri;
};

/* Who wants something done: a master, which another one may replace while a
 * function here waits.  From then on nothing more may be done for it, for the
 * new one may have given the instance to another node. */
struct hv_caller {
	int (*in_force)(void *arg, struct error *err);
	/* Asked while the instance stands still, before it goes on on another
	 * node: -1 with err when a disk there lacks something that it has
	 * written.  NULL: both nodes have the same disks. */
	WAITS int (*mirrored)(void *arg, const json_t *instance,
			      struct error *err);
	void *arg;
};

/* Whether there is such a file.  It may be on a network file system, whose
 * server may hang: only the caller waits for it. */
WAITS bool hv_file_is_there(const char *file);

/* To be asked between a wait and the act that follows it: 0 while the caller is
 * obeyed (NULL: always), else -1 with err of ECODE_FENCED. */
int hv_in_force(const struct hv_caller *caller, struct error *err);

/* Ganeti's numbers.  An instance that its user has shut down from inside is
 * known until it is cleaned up. */
enum hv_instance_state { HV_RUNNING, HV_SHUTDOWN };

/* Data of an instance that runs, or that its user has shut down. */
struct hv_info {
	int64_t memory; /* MiB */
	int64_t vcpus;
	int64_t state; /* HV_RUNNING or HV_SHUTDOWN */
	double time;   /* CPU seconds */
};

/* A device that is plugged or unplugged while an instance runs. */
enum hv_plug_action { PLUG_ADD, PLUG_REMOVE, PLUG_MODIFY };
struct hv_plug {
	enum hv_plug_action action;
	bool is_disk;	      /* else a NIC */
	const json_t *device; /* its object */
	const char *path;     /* of a disk that is added, else NULL */
	const char *uri;      /* as that of struct hv_disk */
	size_t seq;	      /* its index in the instance */
	const struct hv_caller *caller;
};

/* A copy of a disk that a running instance makes itself, and writes to as well
 * until it ends. */
struct hv_mirror {
	const json_t *disk; /* the object of the new disk; its UUID is that of
			     * the old one */
	size_t index;	    /* in the instance */
	const char *path;   /* of the new disk here; NULL: it is elsewhere, */
	const json_t *peer; /* as mirror_serve() of that node said */
	int64_t speed_mib;  /* MiB/s; 0: no limit */
	const struct hv_caller *caller;
};

/* How such a copy ends: the instance goes on with the new disk, with the old
 * one while the new one is complete, or with the old one in any case. */
enum hv_mirror_end { MIRROR_PIVOT, MIRROR_LEAVE, MIRROR_CANCEL };

typedef void hv_info_fn(void *arg, const char *name,
			const struct hv_info *info);

struct hv_class {
	const char *name;

	/* An object, to be freed, with memory_total, memory_free, memory_dom0,
	 * cpu_total, cpu_nodes, cpu_sockets, cpu_dom0 and members of its own;
	 * NULL with err. */
	WAITS json_t *(*node_info)(const struct paths *p,
				   const json_t *hvparams, struct error *err);

	/* 0 if the hypervisor can be used on this node; -1 with err says why
	 * not (node_verify). */
	WAITS int (*verify)(const struct paths *p, const json_t *hvparams,
			    struct error *err);

	/* 0 if these parameters are possible on this node (files exist, ...);
	 * -1 with err. */
	WAITS int (*validate)(const struct paths *p, const json_t *hvparams,
			      struct error *err);

	/* Add the names of the instances that run. */
	WAITS int (*list)(const struct paths *p, const json_t *hvparams,
			  struct strv *ret_names, struct error *err);

	/* Call add with each of them and what info() says of it; NULL where
	 * asking for each one by itself is as good. */
	WAITS int (*infos)(const struct paths *p, const json_t *hvparams,
			   hv_info_fn *add, void *arg, struct error *err);

	/* 1 and *ret if it runs or was shut down by its user; 0 if not; -1 with
	 * err. */
	WAITS int (*info)(const struct paths *p, const char *name,
			  const json_t *hvparams, struct hv_info *ret,
			  struct error *err);

	WAITS int (*start)(const struct paths *p, const json_t *instance,
			   const struct hv_disk *disks, size_t n_disks,
			   bool paused, const struct hv_caller *caller,
			   struct error *err);

	/* Ask a running instance to end, or with force end it.  Returns at
	 * once; the caller polls info().  retry: it was asked before. */
	WAITS int (*stop)(const struct paths *p, const json_t *instance,
			  bool force, bool retry, struct error *err);

	/* Remove files of an instance that does not run; NULL: there are
	 * none.  -1 with err: something of it still has its disks in use. */
	WAITS int (*cleanup)(const struct paths *p, const char *name,
			     struct error *err);

	/* Reboot from inside (soft). */
	WAITS int (*reboot)(const struct paths *p, const json_t *instance,
			    struct error *err);

	WAITS int (*balloon)(const struct paths *p, const json_t *instance,
			     int64_t memory, struct error *err);

	/* 0 if devices can be plugged while this instance runs; -1 with err
	 * says why not.  NULL members: never. */
	WAITS int (*hotplug_supported)(const struct paths *p,
				       const json_t *instance,
				       struct error *err);
	WAITS int (*hotplug)(const struct paths *p, const json_t *instance,
			     const struct hv_plug *plug, struct error *err);

	/* Keep what is on a disk of this instance, which runs and has the image
	 * open, as a snapshot inside of it, in place of one of that name; or
	 * (not keep) only let that go.  NULL: nobody has images open. */
	WAITS int (*snapshot)(const struct paths *p, const char *name,
			      const json_t *disk, const char *snapshot,
			      bool keep, struct error *err);

	/* What the guest sees of such a disk becomes so large.  NULL as well.
	 */
	WAITS int (*resize)(const struct paths *p, const char *name,
			    const json_t *disk, int64_t bytes,
			    struct error *err);

	/* How to reach the console: the members of Ganeti's InstanceConsole
	 * except "instance"; to be freed. */
	json_t *(*console)(const struct paths *p, const json_t *instance,
			   const json_t *node, const json_t *hvparams,
			   struct error *err);

	/* Where the console of this kind ("vnc", "serial") of a running
	 * instance is: the path of a UNIX socket, or "ADDRESS:PORT" of this
	 * host, version 4; to be freed; NULL with err.
	 * NULL member: no such class of instances has one. */
	char *(*console_socket)(const struct paths *p, const json_t *instance,
				const json_t *hvparams, const char *kind,
				struct error *err);

	/* An instance that was started paused, to wait for somebody at its
	 * console, goes on; nothing is done to another one.  NULL: none can be
	 * started so. */
	WAITS int (*unpause)(const struct paths *p, const char *name,
			     const struct hv_caller *caller, struct error *err);

	/* Migration; NULL members: not supported.  migration_info() of the
	 * source is a text that the target gets in accept and finalize_dst. */
	char *(*migration_info)(const struct paths *p, const json_t *instance,
				struct error *err);
	WAITS int (*accept)(const struct paths *p, const json_t *instance,
			    const struct hv_disk *disks, size_t n_disks,
			    const char *info, const char *target,
			    struct error *err);
	WAITS int (*migrate)(const struct paths *p, const char *cluster_name,
			     const json_t *instance, const char *target,
			     bool live, const struct hv_caller *caller,
			     struct error *err);
	WAITS int (*finalize_dst)(const struct paths *p, const json_t *instance,
				  const char *info, bool success,
				  const struct hv_caller *caller,
				  struct error *err);
	WAITS int (*finalize_src)(const struct paths *p, const json_t *instance,
				  bool success, bool live,
				  const struct hv_caller *caller,
				  struct error *err);
	/* {status: active|failed|completed|cancelled, ...} */
	WAITS json_t *(*migration_status)(const struct paths *p,
					  const json_t *instance,
					  const struct hv_caller *caller,
					  struct error *err);

	/* Copies of disks while it runs; NULL members: not supported.  All may
	 * be repeated. */
	WAITS int (*mirror_start)(const struct paths *p, const json_t *instance,
				  const struct hv_mirror *m, struct error *err);
	/* {status: active|ready|failed|none, done, total, error, uses: this|
	 * other|unknown, open}.  "uses" says whether the instance uses the disk
	 * itself (unknown: another, or the one it was started with), "open"
	 * what mirror_open() does. */
	WAITS json_t *(*mirror_status)(const struct paths *p,
				       const json_t *instance,
				       const struct hv_mirror *m,
				       struct error *err);
	WAITS int (*mirror_end)(const struct paths *p, const json_t *instance,
				const struct hv_mirror *m,
				enum hv_mirror_end how, struct error *err);
	/* Let the disks of an instance that waits for a migration be written
	 * to over the network, by whoever has what is returned: an object for
	 * mirror_start() of the other node, with a secret in it; to be freed,
	 * NULL with err. */
	WAITS json_t *(*mirror_serve)(const struct paths *p,
				      const json_t *instance,
				      const struct hv_disk *disks,
				      size_t n_disks, const char *address,
				      struct error *err);
	/* Whether a copy was begun and has not been ended. */
	bool (*mirror_open)(const struct paths *p, const char *name);
};

/* One for each hypervisor that has a driver (lib/model/kinds/hypervisors.def).
 */
#define DRIVEN(class) extern const struct hv_class hv_##class;
#define UNDRIVEN(class)
#define HYPERVISOR(class, driver, ...) driver(class)
#include "lib/model/kinds/hypervisors.def"
#undef DRIVEN
#undef UNDRIVEN
#undef HYPERVISOR

/* The class, or NULL and an error that says whether the name is wrong or the
 * hypervisor not supported here. */
const struct hv_class *hv_find(const char *name, struct error *err);

/* The class of an instance by its "hypervisor". */
const struct hv_class *hv_of(const json_t *instance, struct error *err);

/* node_info of a Linux host, for classes whose instances are processes. */
json_t *hv_linux_node_info(struct error *err);

/* Whether the program is to be found in PATH. */
bool hv_has_program(const char *name);

/* The number of CPUs in a list as "0-2,5"; 0 if it is not one. */
int64_t hv_count_cpus(const char *list);

/* A console that is a command of root's on the node, as the class's console();
 * argv ends with NULL. */
json_t *hv_ssh_console(const json_t *node, const char *const *argv);

/* How a shell on the node learns that an instance was started paused, and lets
 * it go on.  Both are given as commands; "$0" is the instance's name there, and
 * "$at" what else they need. */
struct hv_unpausing {
	const char *name, *at;
	const char *is_paused, *go_on;
};

/* The same for a console that an instance may wait for: a paused one goes on
 * when the console has had time to connect, so that nothing is missed. */
json_t *hv_unpausing_console(const json_t *node, const struct hv_unpausing *u,
			     const char *const *argv);

/* The memory an instance starts with, in MiB: its maximum, less if the node has
 * less free, but never below its minimum. */
int64_t hv_startup_memory(const json_t *instance, int64_t free_memory);

#endif
