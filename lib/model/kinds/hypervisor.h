/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypervisors: the rows of hypervisors.def.  Their parameters are tables of
 * lib/model/params/params.def; what they do to instances is
 * noded/hv/hv.h's business. */
#ifndef LIB_MODEL_KINDS_HYPERVISOR_H
#define LIB_MODEL_KINDS_HYPERVISOR_H

#include <stdbool.h>

struct hypervisor_info {
	const char *name;
	bool port;	      /* an instance has a port for its screen (VNC) */
	bool userspace_disks; /* it opens disks itself ("access") */
	bool formats;	      /* it opens images that are not raw ("format") */
	/* Instances can be started for a while from another disk: to install
	 * an OS, to fill free space with zeros. */
	bool helper_machines;
	/* The memory of the node itself that it reports is what the node
	 * needs.  Otherwise it is what happens to be in use, and planners take
	 * what is said of it instead. */
	bool tells_node_memory;
};

#define HYPERVISOR(...) +1
enum {
	HYPERVISOR_COUNT = 0
#include "lib/model/kinds/hypervisors.def"
};
#undef HYPERVISOR

/* All names, sorted; NULL ends. */
extern const char *const hypervisor_names[];

/* The row of that name, or NULL (also for NULL). */
const struct hypervisor_info *hypervisor_find(const char *name);

/* The same, never NULL: an unknown one can do nothing. */
const struct hypervisor_info *hypervisor_get(const char *name);

#endif
