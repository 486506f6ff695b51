/* SPDX-License-Identifier: BSD-2-Clause */
/* hbal: moves that balance a group, as a list and as commands. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/balance/balance.h"
#include "iallocators/balance/cost.h"
#include "iallocators/model/hformat.h"
#include "iallocators/options/listing.h"
#include "iallocators/options/save.h"
#include "iallocators/options/tool.h"
#include "iallocators/tools/execute.h"
#include "iallocators/tools/jobs.h"
#include "lib/base/mem.h"

/* A short number as the reference's printf("%.6g") has it. */
static void add_general(struct buf *b, double d)
{
	auto_buf struct buf digits = {0};
	int exponent = 0;

	if (d == 0 || (fabs(d) >= 0.1 && fabs(d) < 1e7) || !isfinite(d)) {
		hf_fixed(b, d, 6);
		return;
	}
	if (d < 0)
		buf_addc(b, '-');
	d = fabs(d);
	while (d >= 10 || d < 1) {
		exponent += d >= 10 ? 1 : -1;
		d = d >= 10 ? d / 10 : d * 10;
	}
	hf_fixed(&digits, d, 6);
	buf_addf(b, "%se%d", digits.data, exponent);
}

static void print_score(const char *before, double score, const char *after)
{
	auto_buf struct buf b = {0};

	hf_fixed(&b, score, 8);
	printf("%s%s%s", before, b.data, after);
}

/* The group to work on; NO_INDEX when it is not clear which. */
static int select_group(const struct cluster *c, const struct hbal_opts *o)
{
	int found = NO_INDEX;

	if (o->group == NULL && c->n_groups == 1)
		return 0;
	fflush(stdout);
	for (int g = 0; g < c->n_groups && o->group != NULL; g++)
		if (strcmp(c->groups[g].name, o->group) == 0 ||
		    strcmp(c->groups[g].uuid, o->group) == 0)
			found = g;
	if (found != NO_INDEX)
		return found;
	if (o->group == NULL)
		fprintf(stderr, "Found multiple node groups:\n");
	else
		fprintf(stderr,
			"Node group %s not found. Node group list is:\n",
			o->group);
	for (int g = 0; g < c->n_groups; g++)
		fprintf(stderr, "  %s\n", c->groups[g].name);
	return NO_INDEX;
}

static bool is_bad(const struct node *n)
{
	return !n->offline && n->s.fails_n1;
}

/* How a node breaks its group's policy. */
static enum fail policy_status(const struct node *n)
{
	if (n->s.inst_spindles > n->high_spindles)
		return FAIL_DISK;
	if ((double)n->s.used_cpus / n->total_cpus > n->vcpu_ratio)
		return FAIL_CPU;
	return FAIL_NONE;
}

static int violating_nodes(const struct cluster *c, const struct nodeset *nodes)
{
	int n_violating = 0;

	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		n_violating += !is_bad(n) && policy_status(n) != FAIL_NONE;
	}
	return n_violating;
}

static void add_name(struct buf *b, const char *name)
{
	if (b->len > 0)
		buf_addc(b, ',');
	hf_show_string(b, name, strlen(name));
}

/* What the counts before were made of. */
static void print_statuses(const struct cluster *c, const struct nodeset *nodes)
{
	auto_buf struct buf bad = {0}, happy = {0}, status = {0};

	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];
		enum fail why = policy_status(n);

		add_name(is_bad(n) ? &bad : &happy, n->name);
		if (is_bad(n))
			continue;
		buf_addf(&status, "%s(", status.len > 0 ? "," : "");
		hf_show_string(&status, n->name, strlen(n->name));
		if (why == FAIL_NONE)
			buf_adds(&status, ",Ok ())");
		else
			buf_addf(&status, ",Bad %s)", fail_names[why]);
	}
	printf("Bad nodes: [%s]\nN+1 happy nodes: [%s]\n"
	       "Node policy status: [%s]\n",
	       bad.len > 0 ? bad.data : "", happy.len > 0 ? happy.data : "",
	       status.len > 0 ? status.data : "");
}

static void print_group(const struct cluster *c, const struct nodeset *nodes,
			int group, const struct hbal_opts *o)
{
	int bad_nodes, bad_instances, n = 0, violating;

	for (int i = 0; i < c->n_instances; i++)
		n += c->nodes[c->instances[i].primary].group == group;
	printf("Group size %d nodes, %d instances\n", nodes->n, n);
	printf("Selected node group: %s\n", c->groups[group].name);
	tool_bad_items(c, nodes, &bad_nodes, &bad_instances);
	if (o->verbose > 0)
		printf("Initial check done: %d bad nodes, %d bad instances.\n",
		       bad_nodes, bad_instances);
	if (o->verbose > 4)
		print_statuses(c, nodes);
	if (bad_nodes > 0)
		printf("Cluster is not N+1 happy, continuing but no guarantee "
		       "that the cluster will end N+1 happy.\n");
	violating = violating_nodes(c, nodes);
	if (violating > 0)
		printf("The cluster contains %d policy-violating nodes.\n"
		       "Continuing, %s\n",
		       violating,
		       o->moves.ignore_soft_errors
			       ? "ignoring soft errors."
			       : "but the set of moves might be too "
				 "restricted; consider using the "
				 "--ignore-soft-errors option.");
}

/* The widest alias of nodes or instances. */
static int widest(const struct cluster *c, bool instances)
{
	int width = 0, n = instances ? c->n_instances : c->n_nodes;

	for (int i = 0; i < n; i++) {
		int len = cluster_alias_len(c, instances ? c->instances[i].name
							 : c->nodes[i].name);

		width = len > width ? len : width;
	}
	return width;
}

static void add_pair(const struct cluster *c, int primary, int secondary,
		     struct buf *out)
{
	const char *p = c->nodes[primary].name;
	const char *s = secondary == NO_INDEX ? "" : c->nodes[secondary].name;

	buf_addf(out, "%.*s", cluster_alias_len(c, p), p);
	if (secondary != NO_INDEX)
		buf_addf(out, ":%.*s", cluster_alias_len(c, s), s);
}

static void print_step(const struct cluster *c, int number,
		       const struct balance_step *s, bool with_cost)
{
	auto_buf struct buf old = {0}, new = {0}, moves = {0}, score = {0};
	auto_buf struct buf cost = {0};
	int pair = 2 * widest(c, false) + 1;
	const char *name = c->instances[s->instance].name;

	add_pair(c, s->old_primary, s->old_secondary, &old);
	add_pair(c, s->new_primary, s->new_secondary, &new);
	balance_describe(c, s, &moves);
	hf_fixed(&score, s->score, 8);
	if (with_cost)
		buf_addf(&cost, " c=%.0f", s->cost);
	printf("  %3d. %-*.*s %-*s => %-*s %12s a=%s%s\n", number,
	       widest(c, true), cluster_alias_len(c, name), name, pair,
	       old.data, pair, new.data, score.data, moves.data,
	       with_cost ? cost.data : "");
}

/* Into a file if -C names one. */
static int put_commands(const struct cluster *c,
			const struct balance_step *steps, int n,
			const struct hbal_opts *o, struct error *err)
{
	struct jobs_style style = jobs_style(o->commands.file != NULL);
	auto_buf struct buf commands = {0};

	style.first_only = o->jobs.first_set;
	jobs_add(c, steps, n, &style, &commands);
	if (o->commands.file != NULL)
		return jobs_write(&commands, o->commands.file, err);
	printf("\n%s\n%s",
	       o->jobs.first_set ? "First set of jobs:"
				 : "Commands to run to reach the above "
				   "solution:",
	       commands.len > 0 ? commands.data : "");
	return 0;
}

static void print_metrics(const char *title, const struct stats *stats)
{
	auto_buf struct buf b = {0};

	print_score(title, score_total(stats), "\n");
	tool_metrics(&b, stats);
	fputs(b.data, stdout);
}

static void print_balanced(double score, double bound, double min_score)
{
	auto_buf struct buf b = {0};

	buf_adds(&b, "Cluster is already well balanced (initial score ");
	add_general(&b, score);
	buf_adds(&b, ",\noptimum score due to N+1 reservations ");
	add_general(&b, bound);
	buf_adds(&b, ",\nminimum score ");
	add_general(&b, min_score);
	buf_adds(&b, ").\nNothing to do, exiting\n");
	fputs(b.data, stdout);
}

/* What is free in all, offline nodes among them. */
static char *describe_free(const struct cluster *c, const struct nodeset *nodes)
{
	int64_t memory = 0, disk = 0;

	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		memory += n->s.usable_mem;
		disk += n->s.free_disk;
	}
	return xprintf("mem=%jd disk=%jd", (intmax_t)memory, (intmax_t)disk);
}

static void print_result(const struct cluster *c, const struct nodeset *nodes,
			 double before, int n, const struct hbal_opts *o)
{
	struct stats stats;

	score_stats(c, nodes, &stats);
	if (n == 0) {
		printf("No solution found\n");
	} else if (o->verbose > 2) {
		print_metrics("Final coefficients:   overall ", &stats);
	} else {
		print_score("Cluster score improved from ", before, " to ");
		print_score("", score_total(&stats), "\n");
	}
	if (o->verbose > 0)
		printf("Solution length=%d\n", n);
}

static struct balance_options options_of(const struct hbal_opts *o)
{
	struct balance_options b = tool_balance_options(&o->moves);

	b.restricted_migration = o->restricted_migration;
	b.move_price = o->use_move_cost ? o->move_cost / COST_TIB : 0;
	b.limit_cost = o->limit_cost;
	b.max_cost = (double)o->max_cost;
	return b;
}

/* What the moves copy, in MiB for nodes of speed 1. */
static void print_cost(const struct balance_step *steps, int n)
{
	double cost = 0;

	for (int i = 0; i < n; i++)
		cost += steps[i].cost;
	printf("Cost of the moves: %.0f MiB\n", cost);
}

static int balance(const struct tool *t, struct cluster *c,
		   const struct nodeset *nodes, struct error *err)
{
	const struct hbal_opts *o = tool_options(t, &hbal_program);
	struct balance_options b = options_of(o);
	bool with_cost = o->use_move_cost || o->limit_cost;
	double bound = balance_bound(c, nodes);
	auto_free struct balance_step *steps = NULL;
	auto_free char *free_before = describe_free(c, nodes);
	auto_free char *free_after = NULL;
	struct stats stats;
	double before;
	int n;

	listing_print(c, nodes, &o->listing, "Initial", "Initial cluster");
	score_stats(c, nodes, &stats);
	before = score_total(&stats);
	if (o->verbose > 2)
		print_metrics("Initial coefficients: overall ", &stats);
	else
		print_score("Initial score: ", before, "\n");
	if (before - bound < o->moves.min_score) {
		print_balanced(before, bound, o->moves.min_score);
		return 0;
	}
	printf("Trying to minimize the CV...\n");
	n = balance_run(c, nodes, &b, &steps);
	for (int i = 0; i < n; i++)
		print_step(c, i + 1, &steps[i], with_cost);
	if (save_group(c, nodes->group, o->save, "balanced", "after balancing",
		       err) < 0)
		return -1;
	print_result(c, nodes, before, n, o);
	if (with_cost)
		print_cost(steps, n);
	if (o->commands.wanted && put_commands(c, steps, n, o, err) < 0)
		return -1;
	listing_print(c, nodes, &o->listing, "Final", "Final cluster");
	free_after = describe_free(c, nodes);
	if (o->verbose > 3)
		printf("Original: %s\nFinal:    %s\n", free_before, free_after);
	if (o->execute && n > 0)
		return execute_sets(execute_moves(c, steps, n),
				    "rebalancing via hbal", t, &o->jobs, err);
	return 0;
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hbal_opts *o = tool_options(t, &hbal_program);
	struct nodeset nodes;
	int group;

	if (tool_read(t, c, err) < 0)
		return -1;
	tool_print_loaded(t, c);
	if (tool_set_offline(t, c, err) < 0)
		return -1;
	if (c->n_instances == 0) {
		printf("Cluster is empty, exiting.\n");
		return 0;
	}
	if (o->verbose > 1 && listing_split(c, stderr))
		fputs("These instances will not be moved.\n", stderr);
	if (save_original(c, o->save, "before balancing", err) < 0)
		return -1;
	printf("Loaded %d nodes, %d instances\n", c->n_nodes, c->n_instances);
	tool_print_suffix(t, c);
	group = select_group(c, o);
	if (group == NO_INDEX)
		return error_set(err, ERR_PREREQ, NULL, "Aborting.");
	nodes = cluster_group_nodes(c, group);
	print_group(c, &nodes, group, o);
	return balance(t, c, &nodes, err);
}

int main(int argc, char **argv)
{
	return tool_main(&hbal_program, argc, argv, run);
}
