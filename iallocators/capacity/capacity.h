/* SPDX-License-Identifier: BSD-2-Clause */
/* How many instances fit onto a cluster: new ones are placed until no more
 * can be, all of one size, or ever smaller ones (tiered). */
#ifndef IALLOCATORS_CAPACITY_CAPACITY_H
#define IALLOCATORS_CAPACITY_CAPACITY_H

#include "iallocators/capacity/capacity_survival.h"
#include "iallocators/model/model.h"
#include "iallocators/options/tool_programs.h"
#include "iallocators/place/place.h"
#include "iallocators/place/promises.h"

struct fail_count {
	enum fail why;
	int64_t n;
};

struct capacity {
	struct cluster *c;
	const struct load_options *load;
	struct place_options place;
	int required_nodes;
	struct nodeset all;	   /* scores are about them */
	struct nodeset checked;	   /* have to stay redundant */
	struct nodeset candidates; /* in allocatable groups */
	bool *bad_groups;	   /* of all groups: not sound */
	bool blocked;		   /* the cluster is not sound: nothing fits */
	bool endless;		   /* any number of some size fits */
	int first;		   /* index of the first new instance */
	size_t mark;		   /* before it */
	struct tracker tracker;	   /* of the checked nodes, if */
	bool has_tracker;
	struct survivals survivals; /* max-node-failures of the groups */
	struct table tried; /* sizes that are too large, however shrunk */
	struct fail_count fails[FAIL_COUNT]; /* of the last attempt */
	int n_fails;
};

/* Look at the cluster, which has to outlive *ret as load has; to be followed by
 * capacity_done(). */
void capacity_init(struct capacity *ret, struct cluster *c,
		   const struct load_options *load, const struct hspace_opts *o,
		   enum template template);
void capacity_done(struct capacity *k);

/* The redundancy of the present state, which is to be told all changes. */
struct tracker *capacity_tracker(struct capacity *k);

/* Append which nodes and groups are not sound, and which nodes, or pairs of
 * nodes, may be tried, as hspace -v -v -v shows them.  Nodes are numbered from
 * first. */
void capacity_show(const struct capacity *k, int first, struct buf *b);

/* An instance as it is tried, of this size; spindle_use below 0: the policy's.
 */
struct instance capacity_instance(const struct capacity *k,
				  const struct ispec *spec,
				  enum template template, int64_t spindle_use);

/* Whether there is any node, or pair of nodes, to try. */
int capacity_check(const struct capacity *k, struct error *err);

/* Place as many as fit, at most limit (negative: no limit; then one that takes
 * nothing is placed once, and k->endless is set).  New instances are those from
 * k->first on; */
void capacity_fill(struct capacity *k, const struct instance *inst,
		   int64_t limit);
void capacity_fill_tiered(struct capacity *k, const struct instance *inst,
			  int64_t limit);

/* this takes them off again. */
void capacity_empty(struct capacity *k);

/* The reasons, the most frequent first. */
void capacity_sort_fails(struct capacity *k);

/* What a cluster has, and what of it is used. */
struct resources {
	int64_t memory, disk, cpus, vcpus, spindles; /* all */
	int64_t free_mem, avail_mem, inst_mem, overhead;
	int64_t free_disk, avail_disk, inst_disk;
	int64_t free_spindles, inst_spindles;
	int64_t inst_cpus;
	double inst_npus; /* processors behind inst_cpus */
	int64_t max_node_mem, max_node_disk;
	int64_t instances;
	double score;
};

/* Sums over all nodes as they are, and their score. */
void capacity_resources_sum(struct capacity *k, struct resources *ret);

#endif
