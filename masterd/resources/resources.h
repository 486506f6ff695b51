/* SPDX-License-Identifier: BSD-2-Clause */
/* What nodes have, and what instances have booked of it, from the configuration
 * alone: no node is asked.
 *
 * An instance books memory, CPUs and disk space of its nodes from the moment it
 * is recorded, whether it runs or not; an instance that is offline books only
 * its disks.  Jobs that bring an instance to another node book, too
 * (config_book()).  For a node without a recorded total
 * (lib/model/config/state.h) no free amount can be computed. */
#ifndef MASTERD_RESOURCES_RESOURCES_H
#define MASTERD_RESOURCES_RESOURCES_H

#include "masterd/config/config.h"

struct node_memory {
	bool recorded; /* else only `booked` is known */
	int64_t total, node, hv;
	int64_t cpu_total, cpu_node;
	int64_t min, max; /* booked: sums over its primary instances */
	/* For mirrored instances: the sum of minmem of those that come here
	 * when a peer node is lost, for the peer where it is largest; otherwise
	 * 0. */
	int64_t reserved;
	int64_t vcpus;
	double ratio; /* the policy's oversubscription ratio */
};

/* The memory for one hypervisor (NULL: the cluster's first). */
void resources_memory(const struct config *c, const char *node_uuid,
		      const char *hypervisor, struct node_memory *ret);

/* Whether disks on the node have whole physical volumes of their own
 * (exclusive_storage). */
bool resources_exclusive(const struct config *c, const json_t *node);

/* Whether totals are recorded for the hypervisor, and for the storage of the
 * template (or it has no storage to record): then the node need not be asked.
 * Cheap, as it sums nothing. */
bool resources_recorded(const struct config *c, const char *node_uuid,
			const char *hypervisor, const char *template);

/* The sum of minmem of the instances that come to a node when the other one is
 * lost: those whose disks are on both, unless they are not to be moved
 * (auto_balance). */
int64_t resources_failover_memory(const struct config *c, const char *node_uuid,
				  const char *lost_uuid);

/* In MiB: the memory for instances; what of it is not booked, each instance
 * counting with its maximum (may be negative where they may be given more than
 * there is); what may still be booked by the policy's ratio; what is not
 * guaranteed to instances here; and what of that is not reserved for a peer's
 * instances: the memory for new ones. */
int64_t resources_mem_capacity(const struct node_memory *m);
int64_t resources_mem_free(const struct node_memory *m);
int64_t resources_mem_promise(const struct node_memory *m);
int64_t resources_mem_available(const struct node_memory *m);
int64_t resources_mem_guarantee(const struct node_memory *m);

/* What the instances of the node, primary and secondary, book of its spindles:
 * those on volumes, as planners count them. */
int64_t resources_spindle_use(const struct config *c, const char *node_uuid);

/* The spindles of disks that will be on the node and may not be made yet: those
 * of forthcoming instances, and those that jobs have booked. */
int64_t resources_coming_spindles(const struct config *c,
				  const char *node_uuid);

struct node_disk {
	bool recorded;
	int64_t total, reserved, overhead;
	int64_t used; /* booked: disks of instances */
};

/* Of the storage behind a template.  Storage that all nodes share is booked by
 * all instances. */
void resources_disk(const struct config *c, const char *node_uuid,
		    const char *template, struct node_disk *ret);
/* The same for many nodes: the sum for storage that all nodes share is passed
 * in `shared`, so that it is computed only once, by resources_shared(). */
int64_t resources_shared(const struct config *c, const char *template);
void resources_disk_of(const struct config *c, const char *node_uuid,
		       const char *template, int64_t shared,
		       struct node_disk *ret);
int64_t resources_disk_free(const struct node_disk *d);

/* The key under which the storage of a template is recorded: its type, and its
 * name (a folder, a volume group).  False for templates without space of their
 * own to count. */
bool resources_storage(const json_t *cluster, const char *template,
		       const char **ret_type, const char **ret_name);

/* The template that "the" storage of the cluster's nodes is of: the first
 * enabled one that has space to count; NULL. */
const char *resources_template(const json_t *cluster);

/* MiB that the disks take on one node with the metadata of their template. */
int64_t resources_disk_sum(const json_t *disks, const char *template);

/* Storage units as node_info takes them, for a template; to be freed. */
json_t *resources_units(const json_t *cluster, const char *template,
			bool exclusive);
/* One for each storage that the enabled templates have; to be freed. */
json_t *resources_all_units(const json_t *cluster);
/* The type under which a unit of node_info's answer is recorded, which is also
 * the name of a template on it; NULL: it is not recorded. */
const char *resources_unit_type(const json_t *cluster, const json_t *unit);

#endif
