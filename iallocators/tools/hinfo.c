/* SPDX-License-Identifier: BSD-2-Clause */
/* hinfo: what there is, and how well it is balanced. */
#include <stdio.h>
#include <string.h>

#include "iallocators/model/hformat.h"
#include "iallocators/options/listing.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"

static void add_group_row(struct cluster *c, int g, struct grid *grid)
{
	struct nodeset nodes = cluster_group_nodes(c, g);
	auto_buf struct buf score = {0};
	int bad_nodes, bad_instances, n = 0;

	for (int i = 0; i < c->n_instances; i++)
		n += c->nodes[c->instances[i].primary].group == g;
	tool_bad_items(c, &nodes, &bad_nodes, &bad_instances);
	hf_fixed(&score, score_nodes(c, &nodes), 8);
	strv_add(&grid->cells, c->groups[g].name);
	strv_addf(&grid->cells, "%d", nodes.n);
	strv_addf(&grid->cells, "%d", n);
	strv_addf(&grid->cells, "%d", bad_nodes);
	strv_addf(&grid->cells, "%d", bad_instances);
	strv_add(&grid->cells, bad_nodes == 0 ? "True" : "False");
	strv_add(&grid->cells, score.data);
}

static void print_groups(struct cluster *c)
{
	static const char *const titles[] = {
		"Group",	 "Nodes", "Instances", "Bad_Nodes",
		"Bad_Instances", "N+1",	  "Score"};
	static const bool left[7] = {[0] = true, [5] = true};
	struct grid grid = {.columns = 7};
	auto_buf struct buf out = {0};

	for (int i = 0; i < 7; i++)
		strv_add(&grid.cells, titles[i]);
	for (int g = 0; g < c->n_groups; g++)
		if (c->groups[g].n_nodes > 0)
			add_group_row(c, g, &grid);
	tool_grid(&out, "   ", &grid, left);
	printf("Node group information:\n%s", out.data);
	strv_done(&grid.cells);
}

static void print_cluster(struct cluster *c)
{
	struct nodeset all = cluster_all_nodes(c);
	auto_buf struct buf out = {0};
	int bad_nodes, bad_instances;
	struct stats stats;

	tool_bad_items(c, &all, &bad_nodes, &bad_instances);
	score_stats(c, &all, &stats);
	buf_addf(&out, "Cluster is N+1 %s\nCluster coefficients:\n",
		 bad_nodes == 0 ? "happy" : "unhappy");
	tool_metrics(&out, &stats);
	buf_adds(&out, "Cluster score: ");
	hf_fixed(&out, score_total(&stats), 8);
	printf("%s\n", out.data);
}

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hinfo_opts *o = tool_options(t, &hinfo_program);
	struct nodeset all;

	if (tool_read(t, c, err) < 0)
		return -1;
	tool_print_loaded(t, c);
	if (tool_set_offline(t, c, err) < 0)
		return -1;
	if (c->n_instances == 0 && o->verbose > 1)
		printf("Cluster is empty.\n");
	printf("Loaded %d node%s, %d instance%s, %d node group%s\n", c->n_nodes,
	       plural(c->n_nodes), c->n_instances, plural(c->n_instances),
	       c->n_groups, plural(c->n_groups));
	tool_print_suffix(t, c);
	if (!listing_split(c, stdout) && o->verbose > 1)
		printf("No split instances found\n");
	if (o->verbose > 1)
		print_groups(c);
	print_cluster(c);
	all = cluster_all_nodes(c);
	listing_print(c, &all, &o->listing, "Instances", "Cluster");
	return 0;
}

int main(int argc, char **argv)
{
	return tool_main(&hinfo_program, argc, argv, run);
}
