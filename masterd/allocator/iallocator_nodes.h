/* SPDX-License-Identifier: BSD-2-Clause */
/* What an allocator is told of the nodes (iallocator_nodes.c). */
#ifndef MASTERD_ALLOCATOR_IALLOCATOR_NODES_H
#define MASTERD_ALLOCATOR_IALLOCATOR_NODES_H

#include "masterd/allocator/iallocator.h"
#include "masterd/core/master.h"
#include "masterd/resources/resources.h"

/* The nodes' answers, for one request. */
struct iallocator_nodes;

/* The numbers of a node, in MiB. */
struct iallocator_live {
	int64_t total_memory, total_disk, total_cpus;
	int64_t reserved_memory, reserved_cpus, hypervisor_memory;
	int64_t free_memory, free_disk;
	int64_t total_spindles, free_spindles;
	bool booked; /* they are those of the record */
	/* The memory of its primary instances, for people. */
	int64_t instances_memory, running_memory;
};

/* Ask the nodes; to be freed.  After this call the caller must not wait until
 * it has used the answers. */
WAITS struct iallocator_nodes *
iallocator_nodes_ask(struct master *m, const char *hypervisor,
		     const struct iallocator_how *how);
void iallocator_nodes_free(struct iallocator_nodes *g);

/* The nodes of the message, {name: {...}}, to be freed. */
json_t *iallocator_nodes_part(const struct iallocator_nodes *g);

/* What the request is about; the template may be NULL. */
const char *iallocator_nodes_hypervisor(const struct iallocator_nodes *g);
const char *iallocator_nodes_template(const struct iallocator_nodes *g);

/* What is known of a node, an object of the configuration. */
enum iallocator_sign {
	IALLOCATOR_UNASKED,  /* nothing: it is offline or has no instances */
	IALLOCATOR_SILENT,   /* it does not answer: the same as offline */
	IALLOCATOR_RECORDED, /* it is alive, and its record counts */
	IALLOCATOR_TOLD,     /* it has told its numbers */
};
enum iallocator_sign iallocator_nodes_sign(const struct iallocator_nodes *g,
					   const json_t *node);
/* The numbers that it has told. */
void iallocator_nodes_told(const struct iallocator_nodes *g, const json_t *node,
			   struct iallocator_live *ret);

/* Fill in the spindles of a recorded node that counts them: what it has told,
 * less those of disks that are not made yet. */
void iallocator_nodes_spindles(const struct iallocator_nodes *g,
			       const char *uuid, struct iallocator_live *ret);

/* The numbers of a record, but for the memory of its instances and its
 * spindles. */
void iallocator_nodes_of_record(const struct node_memory *m,
				const struct node_disk *d,
				struct iallocator_live *ret);

#endif
