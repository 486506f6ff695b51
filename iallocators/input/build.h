/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster from plain values: for the reader of requests, and for who has the
 * values without a text.  First build_start(), then groups, nodes, instances,
 * and at last cluster_finish().
 *
 * Strings and lists are not copied: they live as long as the cluster.  Memory
 * and disk are in MiB. */
#ifndef IALLOCATORS_INPUT_BUILD_H
#define IALLOCATORS_INPUT_BUILD_H

#include "iallocators/model/model.h"

/* What a node with KVM is taken to need itself, unless told otherwise. */
#define KVM_NODE_MEMORY 4096

/* What a node has, as it tells or as it is recorded. */
struct build_live {
	double total_memory, total_disk, total_cpus;
	int64_t reserved_memory, reserved_cpus; /* for the node itself */
	int64_t hypervisor_memory; /* beside it; instances never get it */
	int64_t free_memory, free_disk;
	int64_t total_spindles, free_spindles;
	bool booked; /* the free memory is what no instance has booked */
};

struct build_node {
	const char *name;
	int group; /* the index of one that has been added */
	bool offline, drained, vm_capable, exclusive_storage;
	int64_t spindle_count; /* without exclusive storage */
	const char **tags;
	size_t n_tags;
	struct build_live live; /* counts for nodes that are not offline */
};

struct build_instance {
	const char *name;
	const char *admin_state; /* NULL or unknown: it runs */
	enum template template;
	bool forthcoming;
	bool stays;		/* it is not moved when its node is lost */
	int64_t memory, minmem; /* the latter is guaranteed */
	int64_t disk_space;	/* on each of its nodes */
	int64_t vcpus, spindle_use;
	struct disk_need *disks;
	size_t n_disks;
	const char **tags;
	size_t n_tags;
	const char **networks;
	size_t n_networks;
};

/* Make room for so many; c is zeroed before. */
void build_start(struct cluster *c, size_t groups, size_t nodes,
		 size_t instances);

/* Add one more; there must be room.  A group has no nodes yet. */
void build_group(struct cluster *c, const struct group *group);
void build_node(struct cluster *c, const struct build_node *node);
/* With the indices of its nodes; secondary may be NO_INDEX. */
void build_existing(struct cluster *c, const struct instance *inst, int primary,
		    int secondary);

/* All that an instance is by itself; it is on no node yet. */
void build_instance(const struct build_instance *values, struct instance *ret);

/* With the first enabled hypervisor (NULL: none), which may be one that does
 * not tell what nodes themselves need (KVM): then it is so much, unless 0. */
void build_node_memory(struct cluster *c, const char *hypervisor,
		       int64_t static_kvm_node_memory);

/* Whether there are NICs of that mode. */
bool build_knows_nic_mode(const char *mode);

#endif
