/* SPDX-License-Identifier: BSD-2-Clause */
/* hcheck: what is wrong, and whether balancing would help. */
#include <stdio.h>
#include <string.h>

#include "iallocators/balance/balance.h"
#include "iallocators/model/hformat.h"
#include "iallocators/model/survival.h"
#include "iallocators/nplus1/redundancy.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"

/* Exit code when something was wrong. */
#define NEEDED_REBALANCE 1

#define CHECKS(X)                                                              \
	X(N1, "N1_FAIL", "Nodes not N+1 happy")                                \
	X(TAGS, "CONFLICT_TAGS", "Nodes with conflicting instances")           \
	X(PRI, "OFFLINE_PRI", "Instances having the primary node offline")     \
	X(SEC, "OFFLINE_SEC", "Instances having a secondary node offline")     \
	X(GN1, "GN1_FAIL", "Nodes not directly evacuateable")                  \
	X(LOSS, "MAX_NODE_FAILURES_FAIL",                                      \
	  "Groups that could not lose max-node-failures nodes")

enum check {
#define X(id, key, text) CHECK_##id,
	CHECKS(X)
#undef X
		CHECK_COUNT
};

static const char *const check_keys[CHECK_COUNT] = {
#define X(id, key, text) [CHECK_##id] = key,
	CHECKS(X)
#undef X
};

static const char *const check_texts[CHECK_COUNT] = {
#define X(id, key, text) [CHECK_##id] = text,
	CHECKS(X)
#undef X
};

struct counts_of {
	int n[CHECK_COUNT];
};

static void count_node(struct cluster *c, const struct nodeset *nodes, int node,
		       const struct hcheck_opts *o, struct counts_of *ret)
{
	const struct node *n = &c->nodes[node];

	ret->n[CHECK_TAGS] += n->s.tag_conflicts > 0;
	ret->n[CHECK_N1] += !n->offline && n->s.fails_n1;
	if (n->offline) {
		ret->n[CHECK_PRI] += n->primaries.n;
		ret->n[CHECK_SEC]++;
	}
	if (!o->no_capacity_checks)
		ret->n[CHECK_GN1] += !redundancy_of_node(c, nodes, node);
}

/* What Ganeti does not have is shown only where it was asked for. */
static bool is_shown(const struct cluster *c, enum check check,
		     const struct hcheck_opts *o)
{
	if (check == CHECK_GN1)
		return !o->no_capacity_checks;
	for (int g = 0; g < c->n_groups && check == CHECK_LOSS; g++)
		if (c->groups[g].policy.max_node_failures > 0)
			return true;
	return check != CHECK_LOSS;
}

/* Groups without nodes take no part. */
static bool is_empty(const struct cluster *c, int group)
{
	return c->groups[group].n_nodes == 0;
}

static bool all_empty(const struct cluster *c)
{
	for (int g = 0; g < c->n_groups; g++)
		if (!is_empty(c, g))
			return false;
	return true;
}

static void print_checks(const struct cluster *c, const char *prefix,
			 const char *machine, const struct counts_of *counts,
			 const struct hcheck_opts *o)
{
	for (int i = 0; i < CHECK_COUNT; i++) {
		if (!is_shown(c, (enum check)i, o))
			continue;
		if (o->machine_readable)
			printf("%s_%s=%d\n", machine, check_keys[i],
			       counts->n[i]);
		else
			printf("%s%s: %d\n", prefix, check_texts[i],
			       counts->n[i]);
	}
}

static void print_group(struct cluster *c, int g, const char *phase,
			const struct counts_of *counts,
			const struct hcheck_opts *o, double score)
{
	bool initial = strcmp(phase, "INIT") == 0;
	auto_free char *machine = xprintf("HCHECK_%s_GROUP_%d", phase, g);
	auto_buf struct buf text = {0};

	hf_fixed(&text, score, 8);
	if (!o->machine_readable)
		printf("\nStatistics for group %s %s\n", c->groups[g].name,
		       initial ? "initially" : "after rebalancing");
	print_checks(c, "    ", machine, counts, o);
	if (o->machine_readable)
		printf("%s_SCORE=%s\n", machine, text.data);
	else
		printf("    Group score: %s\n", text.data);
}

static void print_cluster(const struct cluster *c, const char *phase,
			  const struct counts_of *counts, bool unhealthy,
			  const struct hcheck_opts *o)
{
	/* Without groups there are no sums, and the verdict stands first in
	 * the list of their names. */
	bool none = all_empty(c);
	bool initial = strcmp(phase, "INIT") == 0;
	auto_free char *machine = xprintf("HCHECK_%s_CLUSTER", phase);

	if (!o->machine_readable)
		printf("\nCluster statistics %s\n",
		       initial ? "initially" : "after rebalancing");
	if (!none)
		print_checks(c, "    ", machine, counts, o);
	if (o->machine_readable)
		printf("%s_%s=%d\n", machine,
		       none ? check_keys[0] : "NEED_REBALANCE", unhealthy);
	else
		printf("    %s: %s\n",
		       none ? check_texts[0] : "Cluster is not healthy",
		       unhealthy ? "True" : "False");
}

/* Count all; the sums of the groups are returned. */
static struct counts_of count_all(struct cluster *c,
				  const struct hcheck_opts *o,
				  struct counts_of *groups)
{
	struct counts_of total = {0};

	for (int g = 0; g < c->n_groups; g++) {
		struct nodeset nodes = cluster_group_nodes(c, g);

		groups[g] = (struct counts_of){0};
		for (int i = 0; i < nodes.n; i++)
			count_node(c, &nodes, nodes.items[i], o, &groups[g]);
		groups[g].n[CHECK_LOSS] = !survival_holds(c, g);
		for (int i = 0; i < CHECK_COUNT; i++)
			total.n[i] += groups[g].n[i];
	}
	return total;
}

static bool any(const struct counts_of *counts)
{
	for (int i = 0; i < CHECK_COUNT; i++)
		if (counts->n[i] > 0)
			return true;
	return false;
}

static void print_phase(struct cluster *c, const char *phase,
			const struct counts_of *groups,
			const struct counts_of *total, bool unhealthy,
			const struct hcheck_opts *o)
{
	for (int g = 0; g < c->n_groups; g++) {
		struct nodeset nodes = cluster_group_nodes(c, g);

		if (is_empty(c, g))
			continue;
		print_group(c, g, phase, &groups[g], o, score_nodes(c, &nodes));
	}
	print_cluster(c, phase, total, unhealthy, o);
}

static void simulate(struct cluster *c, const struct hcheck_opts *o)
{
	struct balance_options b = tool_balance_options(&o->moves);

	for (int g = 0; g < c->n_groups; g++) {
		struct nodeset nodes = cluster_group_nodes(c, g);
		struct balance_step *steps = NULL;

		if (score_nodes(c, &nodes) >=
		    balance_bound(c, &nodes) + o->moves.min_score)
			balance_run(c, &nodes, &b, &steps);
		free(steps);
	}
}

static void print_verdict(const struct cluster *c, bool unhealthy,
			  const struct hcheck_opts *o)
{
	if (!o->machine_readable && o->no_simulation) {
		puts("Running in no-simulation mode.");
		return;
	}
	if (!o->machine_readable) {
		puts(unhealthy ? "Cluster needs rebalancing."
			       : "No need to rebalance cluster, no problems "
				 "found.");
		return;
	}
	for (int g = 0; g < c->n_groups; g++) {
		auto_buf struct buf uuid = {0};

		tool_quote(&uuid, c->groups[g].uuid);
		printf("HCHECK_GROUP_UUID_%d=%s\n", g, uuid.data);
	}
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hcheck_opts *o = tool_options(t, &hcheck_program);
	auto_free struct counts_of *groups = NULL;
	struct counts_of total;
	bool unhealthy, shown = o->machine_readable || o->verbose > 0;

	if (tool_load(t, c, err) < 0)
		return -1;
	groups = xcalloc((size_t)c->n_groups + 1, sizeof(*groups));
	total = count_all(c, o, groups);
	unhealthy = any(&total);
	if (shown) {
		print_verdict(c, unhealthy, o);
		print_phase(c, "INIT", groups, &total, unhealthy, o);
	}
	if (unhealthy && !o->no_simulation)
		simulate(c, o);
	if (o->machine_readable || (shown && unhealthy && !o->no_simulation)) {
		total = count_all(c, o, groups);
		print_phase(c, "FINAL", groups, &total, unhealthy, o);
	}
	if (o->machine_readable)
		printf("HCHECK_OK=1\n");
	return unhealthy && !o->no_simulation ? NEEDED_REBALANCE : 0;
}

int main(int argc, char **argv)
{
	return tool_main(&hcheck_program, argc, argv, run);
}
