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

/* A disk that was assembled here for an instance to be started. */
struct hv_disk {
	const json_t *disk; /* its object */
	char *path;	    /* of the file or device, root in front */
};

/* Ganeti's numbers.  An instance that its user has shut down from inside is
 * known until it is cleaned up. */
enum hv_instance_state { HV_RUNNING, HV_SHUTDOWN };

/* What a hypervisor knows of an instance that runs, or has been shut down. */
struct hv_info {
	int64_t memory; /* MiB */
	int64_t vcpus;
	int64_t state; /* HV_RUNNING or HV_SHUTDOWN */
	double time;   /* CPU seconds */
};

/* A device that comes or goes while an instance runs. */
enum hv_plug_action { PLUG_ADD, PLUG_REMOVE, PLUG_MODIFY };
struct hv_plug {
	enum hv_plug_action action;
	bool is_disk;	      /* else a NIC */
	const json_t *device; /* its object */
	const char *path;     /* of a disk that is added, else NULL */
	size_t seq;	      /* its place in the instance */
};

struct hv_class {
	const char *name;

	/* The members of node_info: memory_total, memory_free, memory_dom0,
	 * cpu_total, cpu_nodes, cpu_sockets, cpu_dom0 and what is its own. */
	WAITS json_t *(*node_info)(const struct paths *p,
				   const json_t *hvparams, struct error *err);

	/* Is it usable here?  -1 says why not (node_verify). */
	WAITS int (*verify)(const struct paths *p, const json_t *hvparams,
			    struct error *err);

	/* Are these parameters fine on this node (files are there...)? */
	WAITS int (*validate)(const struct paths *p, const json_t *hvparams,
			      struct error *err);

	/* Add the names of the instances that run. */
	WAITS int (*list)(const struct paths *p, const json_t *hvparams,
			  struct strv *ret_names, struct error *err);

	/* 1 and *ret if it runs or was shut down by its user, 0 if not, -1 on
	 * errors. */
	WAITS int (*info)(const struct paths *p, const char *name,
			  const json_t *hvparams, struct hv_info *ret,
			  struct error *err);

	WAITS int (*start)(const struct paths *p, const json_t *instance,
			   const struct hv_disk *disks, size_t n_disks,
			   bool paused, struct error *err);

	/* Ask a running instance to end, or end it when force; returns at
	 * once, the caller looks with info().  retry: it was asked before. */
	WAITS int (*stop)(const struct paths *p, const json_t *instance,
			  bool force, bool retry, struct error *err);

	/* Remove what is left of an instance that does not run; NULL: none. */
	WAITS void (*cleanup)(const struct paths *p, const char *name);

	/* Reboot from inside (soft). */
	WAITS int (*reboot)(const struct paths *p, const json_t *instance,
			    struct error *err);

	WAITS int (*balloon)(const struct paths *p, const json_t *instance,
			     int64_t memory, struct error *err);

	/* May devices come and go while this instance runs?  -1 says why not.
	 * NULL members: never. */
	WAITS int (*hotplug_supported)(const struct paths *p,
				       const json_t *instance,
				       struct error *err);
	WAITS int (*hotplug)(const struct paths *p, const json_t *instance,
			     const struct hv_plug *plug, struct error *err);

	/* Where and how to see the console: the members of Ganeti's
	 * InstanceConsole besides "instance". */
	WAITS json_t *(*console)(const struct paths *p, const json_t *instance,
				 const json_t *node, const json_t *hvparams,
				 struct error *err);

	/* Migration; NULL members: it cannot migrate.  The info of the source
	 * is a text that the target gets in accept and finalize_dst. */
	WAITS char *(*migration_info)(const struct paths *p,
				      const json_t *instance,
				      struct error *err);
	WAITS int (*accept)(const struct paths *p, const json_t *instance,
			    const struct hv_disk *disks, size_t n_disks,
			    const char *info, const char *target,
			    struct error *err);
	WAITS int (*migrate)(const struct paths *p, const char *cluster_name,
			     const json_t *instance, const char *target,
			     bool live, struct error *err);
	WAITS int (*finalize_dst)(const struct paths *p, const json_t *instance,
				  const char *info, bool success,
				  struct error *err);
	WAITS int (*finalize_src)(const struct paths *p, const json_t *instance,
				  bool success, bool live, struct error *err);
	/* {status: active|failed|completed|cancelled, ...} */
	WAITS json_t *(*migration_status)(const struct paths *p,
					  const json_t *instance,
					  struct error *err);
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

/* The memory an instance starts with: all it may have, less if the node has
 * not that much, but never below its minimum. */
int64_t hv_startup_memory(const json_t *instance, int64_t free_memory);

#endif
