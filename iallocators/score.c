/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/score.h"

#include <math.h>
#include <string.h>

#include "lib/base/mem.h"

const struct metric_info metrics[METRIC_COUNT] = {
#define X(id, name, weight, kind) [METRIC_##id] = {name, weight, METRIC_##kind},
	METRICS(X)
#undef X
};

static double disk_share(const struct node *n, int64_t disk, int64_t spindles)
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
	v[METRIC_FREE_DISK] = disk_share(n, s->free_disk, s->free_spindles);
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
		disk_share(n, s->free_disk_f, s->free_spindles_f);
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

/* Add a node to the sums; offline nodes count in their own metrics only. */
static void add_node(struct stats *stats, const struct node *n,
		     double values[METRIC_COUNT])
{
	if (n->offline) {
		stats->sum[METRIC_OFFLINE_ALL] +=
			n->s.n_primaries + n->s.n_secondaries;
		stats->sum[METRIC_OFFLINE_PRI] += n->s.n_primaries;
		return;
	}
	score_values(n, &n->s, values);
	stats->n++;
	for (int m = 0; m < METRIC_COUNT; m++)
		stats->sum[m] += values[m];
}

#define NODES_ON_STACK 64

void score_stats(const struct cluster *c, const struct nodeset *nodes,
		 struct stats *ret)
{
	double small[NODES_ON_STACK][METRIC_COUNT];
	double(*values)[METRIC_COUNT] = small;
	double mean[METRIC_COUNT];
	int online = 0;

	if (nodes->n > NODES_ON_STACK)
		values = xcalloc((size_t)nodes->n, sizeof(*values));
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		add_node(ret, n, values[online]);
		online += !n->offline;
	}
	for (int m = 0; m < METRIC_COUNT; m++)
		mean[m] = ret->sum[m] / ret->n;
	for (int i = 0; i < online; i++)
		for (int m = 0; m < METRIC_COUNT; m++) {
			double d = values[i][m] - mean[m];

			ret->var[m] += d * d;
		}
	for (int m = 0; m < METRIC_COUNT; m++)
		ret->var[m] /= ret->n;
	ret->sum[METRIC_LOCATION_TAGS] = score_location_tags(c, nodes);
	if (values != small)
		free(values);
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

void score_replace(struct stats *stats, const struct node *node,
		   const struct node_state *before,
		   const struct node_state *after)
{
	double old[METRIC_COUNT], new[METRIC_COUNT];
	double n = stats->n;

	if (node->offline) {
		replace_offline(stats, before, after);
		return;
	}
	score_values(node, before, old);
	score_values(node, after, new);
	for (int m = 0; m < METRIC_COUNT; m++) {
		double x = old[m], y = new[m];
		double ds = y - x;
		double dss = y * y - x * x;
		double dv = (n * dss - 2 * stats->sum[m] * ds) - ds * ds;
		double var = stats->var[m] + dv / (n * n);

		stats->var[m] = var > 0 ? var : 0;
		stats->sum[m] += ds;
	}
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

double score_nodes(const struct cluster *c, const struct nodeset *nodes)
{
	struct stats stats;

	score_stats(c, nodes, &stats);
	return score_total(&stats);
}
