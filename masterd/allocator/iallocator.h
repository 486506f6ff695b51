/* SPDX-License-Identifier: BSD-2-Clause */
/* The allocator framework (protocol version 2, doc/protocol/iallocator.md):
 * build the request from configuration and live node data, run the program
 * through the master node's daemon (iallocator_runner), check the answer. */
#ifndef MASTERD_ALLOCATOR_IALLOCATOR_H
#define MASTERD_ALLOCATOR_IALLOCATOR_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

struct master;

/* An instance to be placed. */
struct iallocator_instance {
	const char *name, *os, *disk_template, *hypervisor;
	const char *group_name; /* NULL: any */
	int64_t memory, vcpus, spindle_use;
	int64_t minmem;	     /* guaranteed part of the memory; 0: all */
	bool stays;	     /* it is not moved when its node is lost */
	const json_t *disks; /* [{size, mode, ...}] */
	const json_t *nics;  /* [{mac, ip, mode, link}] */
	const json_t *tags;  /* NULL: none */
	const json_t *node_whitelist; /* node names, NULL: all */
};

/* How many nodes the template needs: 2 for drbd, 1 otherwise. */
int iallocator_required_nodes(const char *disk_template);

/* The members of a request of each type; to be freed. */
json_t *iallocator_allocate(struct master *m,
			    const struct iallocator_instance *inst);
json_t *iallocator_multi_allocate(json_t *instances STEALS);
json_t *iallocator_relocate(struct master *m, const json_t *instance,
			    const struct strv *relocate_from);
json_t *iallocator_allocate_secondary(const json_t *instance);
json_t *iallocator_node_evacuate(const struct strv *instance_names,
				 const char *evac_mode);
json_t *iallocator_change_group(const struct strv *instance_names,
				const struct strv *group_uuids);

/* 0 if an allocator of this name can be run on the master node.  Otherwise an
 * error with ECODE_NOENT; but none where its folders do not exist. */
int iallocator_expect(struct master *m, const char *name, struct error *err);

/* What our own hail is asked about, kept from one request to the next
 * (iallocator_kept.c); struct master has it.  Empty at first. */
struct iallocator_kept;
struct iallocator_kept *iallocator_kept_create(void);
void iallocator_kept_free(struct iallocator_kept *k);

/* How to run an allocator. */
struct iallocator_how {
	const char *name;
	const char *disk_template; /* the disk space of which is described */
	bool ignore_soft_errors;
	bool explain; /* ask for an explanation, which only our hail can give */
	/* Nodes that have answered any call after this moment (clock_mono_us())
	 * are not asked whether they are alive. */
	int64_t heard_since_us;
};

/* The whole input message: cluster data plus request; asks the nodes. */
WAITS json_t *iallocator_message(struct master *m, json_t *request STEALS,
				 const struct iallocator_how *how);

/* The text of an allocator's answer to the request, unchecked, to be freed;
 * NULL with ERR_EXEC when the program failed, and its whole output, to be
 * freed, in *ret_output (may be NULL). */
WAITS char *iallocator_ask(struct master *m, const json_t *request,
			   const struct iallocator_how *how, char **ret_output,
			   struct error *err);

/* Run the allocator with the request and check its answer's form against the
 * request's type.  The "result", to be freed; NULL with ERR_PREREQ/ECODE_NORES
 * and the allocator's info when it found no place, ERR_EXEC when the program
 * failed.  *ret_output (may be NULL) gets a failed program's whole output, to
 * be freed. */
WAITS json_t *iallocator_run(struct master *m, json_t *request STEALS,
			     const struct iallocator_how *how,
			     char **ret_output, struct error *err);

#endif
