/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster that placement works on: groups, nodes and instances in arrays,
 * named by their index, which is their position in the input.
 *
 * What never changes is in struct node, what an instance on it changes in
 * struct node_state and four small lists.  Every change (change.h) is journaled
 * so that a trial can be taken back exactly, to the last bit of each double.
 *
 * Memory and disk are in MiB everywhere.  Disk templates are those of
 * lib/model/kinds/template.h.
 */
#ifndef IALLOCATORS_MODEL_MODEL_H
#define IALLOCATORS_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iallocators/model/arena.h"
#include "iallocators/model/refusal.h"
#include "lib/base/str.h"
#include "lib/base/table.h"
#include "lib/model/kinds/template.h"

enum evac_mode { EVAC_PRIMARY, EVAC_SECONDARY, EVAC_ALL };

/* The state of an instance as the text files name it. */
#define RUN_STATUSES(X)                                                        \
	X(RUNNING, "running")                                                  \
	X(ADMIN_DOWN, "ADMIN_down")                                            \
	X(ADMIN_OFFLINE, "ADMIN_offline")                                      \
	X(ERROR_DOWN, "ERROR_down")                                            \
	X(ERROR_UP, "ERROR_up")                                                \
	X(ERROR_NODE_DOWN, "ERROR_nodedown")                                   \
	X(ERROR_NODE_OFFLINE, "ERROR_nodeoffline")                             \
	X(ERROR_WRONG_NODE, "ERROR_wrongnode")                                 \
	X(USER_DOWN, "USER_down")

enum run_status {
#define X(id, name) RUN_##id,
	RUN_STATUSES(X)
#undef X
		RUN_STATUS_COUNT
};

extern const char *const run_status_names[RUN_STATUS_COUNT];

/* Why an instance cannot go to a node, in the order of reports. */
#define FAILS(X)                                                               \
	X(MEM, "FailMem")                                                      \
	X(DISK, "FailDisk")                                                    \
	X(CPU, "FailCPU")                                                      \
	X(N1, "FailN1")                                                        \
	X(TAGS, "FailTags")                                                    \
	X(MIG, "FailMig")                                                      \
	X(DISK_COUNT, "FailDiskCount")                                         \
	X(SPINDLES, "FailSpindles")                                            \
	X(INTERNAL, "FailInternal")

enum fail {
	FAIL_NONE,
#define X(id, name) FAIL_##id,
	FAILS(X)
#undef X
		FAIL_COUNT
};

extern const char *const fail_names[FAIL_COUNT];

#define NO_INDEX (-1)
#define SPINDLES_UNKNOWN (-1)

struct ispec {
	int64_t memory, cpus, disk, disk_count, nics, spindle_use;
};

struct interval {
	struct ispec min, max;
};

struct policy {
	struct interval *intervals;
	size_t n_intervals;
	struct ispec std;
	enum template templates[TEMPLATE_COUNT]; /* in the order given */
	size_t n_templates;
	double vcpu_ratio, spindle_ratio;
	int max_node_failures; /* that the group must survive */
};

enum alloc_policy {
	ALLOC_PREFERRED,
	ALLOC_LAST_RESORT,
	ALLOC_UNALLOCABLE,
	ALLOC_POLICY_COUNT
};

extern const char *const alloc_policy_names[ALLOC_POLICY_COUNT];

struct group {
	const char *name, *uuid;
	enum alloc_policy alloc_policy;
	const char **networks;
	size_t n_networks;
	const char **tags;
	size_t n_tags;
	struct policy policy;
	int *nodes; /* ascending */
	int n_nodes;
};

struct disk_need {
	int64_t size;
	int64_t spindles; /* or SPINDLES_UNKNOWN */
};

/* A sorted set of interned strings. */
struct tagset {
	int *ids;
	int n;
};

/* Use of processor, memory, disk and network, each relative to a pool of 1. */
enum { UTIL_CPU, UTIL_MEM, UTIL_DISK, UTIL_NET, UTIL_COUNT };

struct instance {
	const char *name;
	int64_t memory;
	int64_t disk;	  /* on each of its nodes */
	int64_t spindles; /* of all disks, or SPINDLES_UNKNOWN */
	int64_t vcpus;
	int64_t spindle_use;
	struct disk_need *disks;
	size_t n_disks;
	enum run_status status;
	enum template template;
	bool auto_balance;
	bool forthcoming;
	bool movable;
	const char **tags;
	size_t n_tags;
	const char **networks; /* of its NICs */
	size_t n_networks;
	struct tagset exclusion; /* its exclusion tags */
	struct tagset desired;	 /* its desired locations */
	bool has_util;		 /* from a file; else all 1 */
	double util[UTIL_COUNT];
	int primary;
	int secondary;	     /* or NO_INDEX */
	int64_t location;    /* location tags that its nodes have in common */
	bool booked;	     /* its memory counts also while it does not run */
	bool ignores_policy; /* no limit of its group policy holds for it */
	/* What max-node-failures need not count: memory above what it is
	 * guaranteed, and all of one that stays where it is. */
	int64_t spare_memory;
	bool stays;
};

/* What placing instances changes.  The fields with _f count forthcoming
 * instances too. */
struct node_state {
	int64_t free_disk, free_spindles;
	int64_t inst_mem, usable_mem; /* imem, umem of the description */
	int64_t reserved_mem;	      /* the most that one peer may need */
	int64_t used_cpus;
	int64_t location;
	int64_t tag_conflicts; /* sum of counts - number of exclusion tags */
	int64_t free_mem_f, free_disk_f, free_spindles_f, used_cpus_f;
	double inst_spindles, inst_spindles_f;
	double load[UTIL_COUNT];
	int n_primaries, n_secondaries;
	bool fails_n1;
};

struct count {
	int64_t key;
	int64_t value;
};

/* Unordered; few entries. */
struct counts {
	struct count *items;
	int n, cap;
};

/* Instances; the newest is the last. */
struct ilist {
	int *items;
	int n, cap;
};

struct node {
	const char *name;
	int group;
	bool offline;		      /* gets nothing, for some reason: */
	bool drained, not_vm_capable; /* one of these, or it is down */
	bool told_offline;	      /* or only because an option says so */
	bool silent; /* or it does not answer: what is on it stays there */
	bool exclusive_storage;
	bool master;
	double total_mem, total_disk, total_cpus, cpu_speed;
	int64_t own_mem, free_mem, own_cpus;
	int64_t host_mem; /* for max-node-failures: what instances never get */
	int64_t total_spindles;
	int64_t low_disk; /* must stay free */
	double high_spindles;
	double vcpu_ratio;
	int64_t missing_mem;
	const char **tags;
	size_t n_tags;
	struct tagset locations, migration, receives;
	struct node_state s;
	struct ilist primaries, secondaries;
	struct counts peers;	/* primary -> memory to keep for it */
	struct counts tags_pri; /* exclusion tag -> primaries with it */
	struct counts tags_loc; /* (location, exclusion tag) -> primaries */
};

struct undo; /* private to change.c */

struct cluster {
	struct arena arena;
	struct group *groups;
	int n_groups;
	struct node *nodes;
	int n_nodes;
	struct instance *instances;
	int n_instances;
	int cap_instances;
	const char *const *tags;
	size_t n_tags;
	struct policy policy; /* of the cluster; of text files only */
	struct table symbols;
	int n_symbols;
	size_t suffix_len; /* of the suffix ".x" that all names share */
	/* Free memory is what no instance has booked, running or not. */
	bool booked;
	bool has_locations; /* some node has a location tag */
	bool has_exclusion; /* some instance has an exclusion tag */
	bool has_migration;
	struct undo *journal;
	size_t n_journal, cap_journal;
	/* Of the last change that was not possible, until the next one. */
	struct refusal refused;
};

/* Some nodes, ascending: those that a score is about, or candidates. */
struct nodeset {
	int *items;
	int n;
	int group; /* all of this group, or NO_INDEX */
};

/* Free all that it holds, not the struct itself. */
void cluster_done(struct cluster *c);

/* Options that change how the cluster is seen. */
struct load_options {
	const char *const *exclusion_tags; /* --exclusion-tags */
	size_t n_exclusion_tags;
	bool ignore_dynamic; /* no utilisation */
	double min_disk_ratio;
	double max_cpu_ratio; /* negative: as the policy says */
};

/* With groups, nodes and instances in place (reported values, primaries and
 * secondaries), compute all that follows from them. */
void cluster_finish(struct cluster *c, const struct load_options *o);

/* What follows from an instance alone, for one that is not in the arrays:
 * spindles, exclusion tags, desired locations. */
void cluster_finish_instance(struct cluster *c, struct instance *inst,
			     const struct load_options *o);

/* Add "Warning: ..." when nodes do not answer, or memory or disk is missing on
 * them. */
void cluster_check(const struct cluster *c, struct buf *ret_warning);

/* All nodes; all of a group.  From the cluster's arena. */
struct nodeset cluster_all_nodes(struct cluster *c);
struct nodeset cluster_group_nodes(struct cluster *c, int group);

/* The name without the suffix that all names share. */
int cluster_alias_len(const struct cluster *c, const char *name);
/* The group with that name or UUID, or NO_INDEX when there is not exactly
 * one. */
int cluster_find_group(const struct cluster *c, const char *name);
/* The index of a name, or NO_INDEX. */
int cluster_find_template(const char *name);

bool instance_uses_memory(const struct instance *i);
bool instance_uses_secondary_memory(const struct instance *i);
bool instance_counts_cpu(const struct instance *i);
bool instance_is_local(const struct instance *i); /* its disks are the node's */
bool instance_runs(const struct instance *i);

/* How many elements two sets share. */
int tagset_common(const struct tagset *a, const struct tagset *b);
bool tagset_subset(const struct tagset *small, const struct tagset *big);

/* Toward zero; what does not fit becomes the lowest number. */
int64_t model_trunc(double d);

int64_t counts_get(const struct counts *c, int64_t key);
/* Add to the count of key; entries that become <= 0 vanish. */
void counts_add(struct counts *c, int64_t key, int64_t value);

#endif
