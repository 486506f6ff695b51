/* SPDX-License-Identifier: BSD-2-Clause */
/* score_values() gives the values of one node, sum_up() the sums and variances
 * over the online nodes, score_total() the weighted sum of the metrics.
 * score_replace() updates sums instead, which rounds differently;
 * score_tolerance() says by how much. */
#include "iallocators/model/score.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "lib/base/mem.h"

const struct metric_info metrics[METRIC_COUNT] = {
#define X(id, name, weight, kind) [METRIC_##id] = {name, weight, METRIC_##kind},
	METRICS(X)
#undef X
};

double score_disk_share(const struct node *n, int64_t disk, int64_t spindles)
{
	double free = (double)disk, total = n->total_disk;

	if (n->exclusive_storage) {
		free = (double)spindles;
		total = (double)n->total_spindles;
	}
	return total == 0 ? 1 : free / total;
}

void score_values(const struct node *n, const struct node_state *s,
		  double v[METRIC_COUNT])
{
	double reserved = (double)s->reserved_mem / n->total_mem;

	memset(v, 0, METRIC_COUNT * sizeof(*v));
	v[METRIC_FREE_MEM] = (double)s->usable_mem / n->total_mem;
	v[METRIC_FREE_DISK] =
		score_disk_share(n, s->free_disk, s->free_spindles);
	v[METRIC_N1] = s->fails_n1 ? s->n_primaries + s->n_secondaries : 0;
	v[METRIC_RESERVED_MEM] = reserved;
	v[METRIC_VCPU] = (double)s->used_cpus / n->total_cpus / n->cpu_speed;
	v[METRIC_CPU_LOAD] = s->load[UTIL_CPU];
	v[METRIC_MEM_LOAD] = s->load[UTIL_MEM];
	v[METRIC_DISK_LOAD] = s->load[UTIL_DISK];
	v[METRIC_NET_LOAD] = s->load[UTIL_NET];
	v[METRIC_PRI_TAGS] = (double)s->tag_conflicts;
	v[METRIC_SPINDLES] = s->inst_spindles / n->high_spindles;
	v[METRIC_FREE_MEM_F] = (double)s->free_mem_f / n->total_mem;
	v[METRIC_FREE_DISK_F] =
		score_disk_share(n, s->free_disk_f, s->free_spindles_f);
	v[METRIC_VCPU_F] =
		(double)s->used_cpus_f / n->total_cpus / n->cpu_speed;
	v[METRIC_SPINDLES_F] = s->inst_spindles_f / n->high_spindles;
	v[METRIC_LOCATION] = (double)s->location;
	v[METRIC_RESERVED_TOTAL] = reserved;
}

/* Total of the counts of all nodes minus the number of different keys. */
double score_location_tags(const struct cluster *c, const struct nodeset *nodes)
{
	struct counts all = {0};
	int64_t total = 0;
	int keys;

	if (!c->has_locations || !c->has_exclusion)
		return 0;
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		for (int j = 0; j < n->tags_loc.n && !n->offline; j++) {
			const struct count *item = &n->tags_loc.items[j];

			counts_add(&all, item->key, item->value);
			total += item->value;
		}
	}
	keys = all.n;
	free(all.items);
	return (double)(total - keys);
}

/* The sums of the offline nodes. */
static void add_offline(struct stats *stats, const struct cluster *c,
			const struct nodeset *nodes)
{
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		if (!n->offline)
			continue;
		stats->sum[METRIC_OFFLINE_ALL] +=
			n->s.n_primaries + n->s.n_secondaries;
		stats->sum[METRIC_OFFLINE_PRI] += n->s.n_primaries;
	}
}

/* The statistics of the values of online nodes. */
static void sum_up(struct stats *ret, double (*values)[METRIC_COUNT], int n)
{
	double mean[METRIC_COUNT];

	memset(ret, 0, sizeof(*ret));
	ret->n = n;
	for (int i = 0; i < n; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			ret->sum[m] += values[i][m];
	for (int m = 0; m < METRIC_COUNT; m++)
		mean[m] = ret->sum[m] / ret->n;
	for (int i = 0; i < n; i++)
		for (int m = 0; m < METRIC_COUNT; m++) {
			double d = values[i][m] - mean[m];

			ret->var[m] += d * d;
		}
	for (int m = 0; m < METRIC_COUNT; m++)
		ret->var[m] /= ret->n;
}

#define NODES_ON_STACK 64

void score_stats(const struct cluster *c, const struct nodeset *nodes,
		 struct stats *ret)
{
	double small[NODES_ON_STACK][METRIC_COUNT];
	double(*values)[METRIC_COUNT] = small;
	int online = 0;

	if (nodes->n > NODES_ON_STACK)
		values = xcalloc((size_t)nodes->n, sizeof(*values));
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		if (!n->offline)
			score_values(n, &n->s, values[online++]);
	}
	sum_up(ret, values, online);
	add_offline(ret, c, nodes);
	ret->sum[METRIC_LOCATION_TAGS] = score_location_tags(c, nodes);
	if (values != small)
		free(values);
}

void score_sheet_init(struct score_sheet *s, const struct cluster *c,
		      const struct nodeset *nodes)
{
	*s = (struct score_sheet){.c = c, .nodes = nodes};
	s->values = xcalloc((size_t)nodes->n + 1, sizeof(*s->values));
	s->position = xcalloc((size_t)c->n_nodes + 1, sizeof(*s->position));
	for (int i = 0; i < c->n_nodes; i++)
		s->position[i] = -1;
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		if (n->offline)
			continue;
		s->position[nodes->items[i]] = s->online;
		score_values(n, &n->s, s->values[s->online++]);
	}
}

void score_sheet_done(struct score_sheet *s)
{
	free(s->values);
	free(s->position);
}

void score_sheet_stats(struct score_sheet *s, size_t mark, struct stats *ret)
{
	struct touched touched[CHANGE_TOUCHED_MAX];
	double kept[CHANGE_TOUCHED_MAX][METRIC_COUNT];
	int n = change_touched(s->c, mark, touched, CHANGE_TOUCHED_MAX);

	for (int i = 0; i < n; i++) {
		const struct node *node = &s->c->nodes[touched[i].node];
		int at = s->position[touched[i].node];

		if (at < 0)
			continue;
		memcpy(kept[i], s->values[at], sizeof(kept[i]));
		score_values(node, &node->s, s->values[at]);
	}
	sum_up(ret, s->values, s->online);
	for (int i = 0; i < n; i++)
		if (s->position[touched[i].node] >= 0)
			memcpy(s->values[s->position[touched[i].node]], kept[i],
			       sizeof(kept[i]));
	add_offline(ret, s->c, s->nodes);
	ret->sum[METRIC_LOCATION_TAGS] = score_location_tags(s->c, s->nodes);
}

void score_sheet_set(struct score_sheet *s, int node)
{
	const struct node *n = &s->c->nodes[node];

	if (s->position[node] >= 0)
		score_values(n, &n->s, s->values[s->position[node]]);
}

void score_sheet_with(struct score_sheet *s, int node,
		      const double values[METRIC_COUNT], struct stats *ret)
{
	double kept[METRIC_COUNT], *row = s->values[s->position[node]];

	memcpy(kept, row, sizeof(kept));
	memcpy(row, values, sizeof(kept));
	sum_up(ret, s->values, s->online);
	memcpy(row, kept, sizeof(kept));
	add_offline(ret, s->c, s->nodes);
	ret->sum[METRIC_LOCATION_TAGS] = score_location_tags(s->c, s->nodes);
}

static void replace_offline(struct stats *stats,
			    const struct node_state *before,
			    const struct node_state *after)
{
	int primaries = after->n_primaries - before->n_primaries;
	int secondaries = after->n_secondaries - before->n_secondaries;

	stats->sum[METRIC_OFFLINE_ALL] += primaries + secondaries;
	stats->sum[METRIC_OFFLINE_PRI] += primaries;
}

void score_replace_values(struct stats *stats, const double old[METRIC_COUNT],
			  const double new[METRIC_COUNT])
{
	double n = stats->n;

	for (int m = 0; m < METRIC_COUNT; m++) {
		double x = old[m], y = new[m];
		double ds = y - x;
		double dss = y * y - x * x;
		double dv = (n * dss - 2 * stats->sum[m] * ds) - ds * ds;
		double var = stats->var[m] + dv / (n * n);

		if (x != y)
			stats->rounded[m] += n * (x * x + y * y) +
					     fabs(2 * stats->sum[m] * ds);
		stats->var[m] = var > 0 ? var : 0;
		stats->sum[m] += ds;
	}
}

void score_replace(struct stats *stats, const struct node *node,
		   const struct node_state *before,
		   const struct node_state *after)
{
	double old[METRIC_COUNT], new[METRIC_COUNT];

	if (node->offline) {
		replace_offline(stats, before, after);
		return;
	}
	score_values(node, before, old);
	score_values(node, after, new);
	score_replace_values(stats, old, new);
}

void score_metrics(const struct stats *stats, double ret[METRIC_COUNT])
{
	for (int m = 0; m < METRIC_COUNT; m++)
		ret[m] = metrics[m].kind == METRIC_DEVIATION
				 ? sqrt(stats->var[m])
				 : stats->sum[m];
}

double score_total(const struct stats *stats)
{
	double values[METRIC_COUNT], total = 0;

	if (stats->n == 0)
		return 0;
	score_metrics(stats, values);
	for (int m = 0; m < METRIC_COUNT; m++)
		total += metrics[m].weight * values[m];
	return total;
}

double score_tolerance(const struct stats *stats)
{
	double n = stats->n, all = 0;

	for (int m = 0; m < METRIC_COUNT; m++) {
		double weight = metrics[m].weight, var = stats->var[m];
		double slip = DBL_EPSILON * stats->sum[m];
		double off = DBL_EPSILON * (8 * stats->rounded[m] / (n * n) +
					    2 * n * var) +
			     slip * slip;

		if (metrics[m].kind != METRIC_DEVIATION)
			all += weight * fabs(stats->sum[m]) * DBL_EPSILON *
			       (n + 8);
		else if (off > 0)
			all += weight * off / sqrt(var > off ? var : off);
	}
	return 2 * all;
}

double score_nodes(const struct cluster *c, const struct nodeset *nodes)
{
	struct stats stats;

	score_stats(c, nodes, &stats);
	return score_total(&stats);
}
