/* SPDX-License-Identifier: BSD-2-Clause */
/* How uneven a cluster is: a weighted sum of 20 metrics, smaller is better.
 *
 * Scores are compared for equality, and ties decide placements; so the order
 * of all additions is part of the contract and must not be changed: nodes
 * ascending, metrics in the order of the table.
 */
#ifndef IALLOCATORS_MODEL_SCORE_H
#define IALLOCATORS_MODEL_SCORE_H

#include "iallocators/model/model.h"

/* How a metric makes one number of the values of the nodes. */
enum metric_kind {
	METRIC_DEVIATION, /* population standard deviation, online nodes */
	METRIC_SUM,	  /* online nodes */
	METRIC_OFFLINE,	  /* sum over offline nodes */
	METRIC_MAP,	  /* total of all counts - number of keys */
};

#define METRICS(X)                                                             \
	X(FREE_MEM, "free_mem_cv", 0.5, DEVIATION)                             \
	X(FREE_DISK, "free_disk_cv", 0.5, DEVIATION)                           \
	X(N1, "n1_cnt", 1, SUM)                                                \
	X(RESERVED_MEM, "reserved_mem_cv", 1, DEVIATION)                       \
	X(OFFLINE_ALL, "offline_all_cnt", 4, OFFLINE)                          \
	X(OFFLINE_PRI, "offline_pri_cnt", 16, OFFLINE)                         \
	X(VCPU, "vcpu_ratio_cv", 0.5, DEVIATION)                               \
	X(CPU_LOAD, "cpu_load_cv", 1, DEVIATION)                               \
	X(MEM_LOAD, "mem_load_cv", 1, DEVIATION)                               \
	X(DISK_LOAD, "disk_load_cv", 1, DEVIATION)                             \
	X(NET_LOAD, "net_load_cv", 1, DEVIATION)                               \
	X(PRI_TAGS, "pri_tags_score", 2, SUM)                                  \
	X(SPINDLES, "spindles_cv", 0.5, DEVIATION)                             \
	X(FREE_MEM_F, "free_mem_cv_forth", 0.5, DEVIATION)                     \
	X(FREE_DISK_F, "free_disk_cv_forth", 0.5, DEVIATION)                   \
	X(VCPU_F, "vcpu_ratio_cv_forth", 0.5, DEVIATION)                       \
	X(SPINDLES_F, "spindles_cv_forth", 0.5, DEVIATION)                     \
	X(LOCATION, "location_score", 1, SUM)                                  \
	X(LOCATION_TAGS, "location_exclusion_score", 1, MAP)                   \
	X(RESERVED_TOTAL, "reserved_mem_rtotal", 0.25, SUM)

enum metric {
#define X(id, name, weight, kind) METRIC_##id,
	METRICS(X)
#undef X
		METRIC_COUNT
};

struct metric_info {
	const char *name;
	double weight;
	enum metric_kind kind;
};

extern const struct metric_info metrics[METRIC_COUNT];

/* What the nodes of a set add up to; `var` is the mean square deviation. */
struct stats {
	double n; /* online nodes */
	double sum[METRIC_COUNT];
	double var[METRIC_COUNT];     /* deviations only */
	double rounded[METRIC_COUNT]; /* size of what score_replace() added up,
					 times n squared */
};

/* The values of an online node in this state, for all metrics but MAP and the
 * offline ones. */
void score_values(const struct node *n, const struct node_state *s,
		  double ret_values[METRIC_COUNT]);

/* Compute the statistics from nothing. */
void score_stats(const struct cluster *c, const struct nodeset *nodes,
		 struct stats *ret);

/* Replace the state of one node by another. */
void score_replace(struct stats *stats, const struct node *n,
		   const struct node_state *before,
		   const struct node_state *after);

/* The same with their values. */
void score_replace_values(struct stats *stats, const double old[METRIC_COUNT],
			  const double new[METRIC_COUNT]);

/* By how much score_total() of statistics that come from score_replace() may
 * differ from that of those computed from nothing: a few roundings of what was
 * added up, and one for each node in sums over all. */
double score_tolerance(const struct stats *stats);

/* The MAP metric, which has no incremental form. */
double score_location_tags(const struct cluster *c,
			   const struct nodeset *nodes);

/* The value of each metric; and their weighted sum. */
void score_metrics(const struct stats *stats, double ret[METRIC_COUNT]);
double score_total(const struct stats *stats);

/* Stats and total at once: the score of the nodes as they are now. */
double score_nodes(const struct cluster *c, const struct nodeset *nodes);

/* The values of all nodes, to compute many scores of states that differ from
 * this one in few nodes only. */
struct score_sheet {
	const struct cluster *c;
	const struct nodeset *nodes;
	double (*values)[METRIC_COUNT]; /* of online nodes, in their order */
	int *position;			/* by node: among these, or -1 */
	int online;
};

/* c and nodes are kept, and must live longer. */
void score_sheet_init(struct score_sheet *s, const struct cluster *c,
		      const struct nodeset *nodes);
void score_sheet_done(struct score_sheet *s);

/* As score_stats(), when only what happened since the mark differs from the
 * time of score_sheet_init(). */
void score_sheet_stats(struct score_sheet *s, size_t mark, struct stats *ret);

/* Take the present values of a node. */
void score_sheet_set(struct score_sheet *s, int node);

/* As score_stats(), with these values of one node instead of those it has. */
void score_sheet_with(struct score_sheet *s, int node,
		      const double values[METRIC_COUNT], struct stats *ret);

/* The part of a node's disk, or of its spindles where storage is exclusive,
 * that is free if this much is. */
double score_disk_share(const struct node *n, int64_t disk, int64_t spindles);

#endif
