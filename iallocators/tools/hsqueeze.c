/* SPDX-License-Identifier: BSD-2-Clause */
/* hsqueeze: which nodes may be switched off, or have to be switched on, so that
 * each still has room for some standard instances. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/balance/balance.h"
#include "iallocators/model/change.h"
#include "iallocators/options/save.h"
#include "iallocators/options/tool.h"
#include "iallocators/tools/execute.h"
#include "iallocators/tools/jobs.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

#define STANDBY_TAG "htools:standby:"
#define OUR_TAG "htools:standby:auto"

/* Of commands to the power of nodes, Ganeti's defaults. */
#define OOB_TIMEOUT_S 60
#define OOB_DELAY_S 2.0

static const struct balance_options balance_fully = {.max_steps = -1,
						     .min_score = -INFINITY};

struct steps {
	struct balance_step *items;
	int n;
};

/* Some standard instances in one. */
static struct instance standard(const struct cluster *c, double factor)
{
	const struct ispec *std = &c->policy.std;

	return (struct instance){
		.memory = model_trunc(floor(factor * (double)std->memory)),
		.vcpus = model_trunc(floor(factor * (double)std->cpus)),
		.template = TEMPLATE_EXT,
		.primary = NO_INDEX,
		.secondary = NO_INDEX};
}

/* Whether each node has room for so many. */
static bool has_capacity(struct cluster *c, double factor)
{
	struct instance inst = standard(c, factor);

	for (int i = 0; i < c->n_nodes; i++) {
		size_t mark = change_mark(c);

		if (change_add_primary(c, i, &inst, 0, CHANGE_STRICT) !=
		    FAIL_NONE)
			return false;
		change_undo(c, mark);
	}
	return true;
}

/* Forthcoming instances, too, which are on no node's list. */
static bool primaries_online(const struct cluster *c)
{
	for (int i = 0; i < c->n_instances; i++)
		if (c->nodes[c->instances[i].primary].offline)
			return false;
	return true;
}

/* Balance, and see whether that is a state to be in. */
static bool settle(struct cluster *c, double factor, struct steps *ret)
{
	struct nodeset all = cluster_all_nodes(c);

	free(ret->items);
	ret->n = balance_run(c, &all, &balance_fully, &ret->items);
	return primaries_online(c) && has_capacity(c, factor);
}

static bool can_go(const struct cluster *c, int node)
{
	const struct node *n = &c->nodes[node];

	if (n->offline || n->master || n->secondaries.n > 0)
		return false;
	for (int i = 0; i < n->primaries.n; i++)
		if (instance_is_local(&c->instances[n->primaries.items[i]]))
			return false;
	return true;
}

static bool is_standby(const struct node *n)
{
	for (size_t i = 0; i < n->n_tags; i++)
		if (str_starts(n->tags[i], STANDBY_TAG))
			return n->offline;
	return false;
}

/* Those that could be switched off, the fullest first. */
static struct nodeset offline_candidates(struct cluster *c)
{
	struct nodeset set = {.group = NO_INDEX};

	set.items = arena_calloc(&c->arena, (size_t)c->n_nodes, sizeof(int));
	for (int i = 0; i < c->n_nodes; i++) {
		int at = set.n;

		if (!can_go(c, i))
			continue;
		while (at > 0 && c->nodes[set.items[at - 1]].primaries.n <
					 c->nodes[i].primaries.n) {
			set.items[at] = set.items[at - 1];
			at--;
		}
		set.items[at] = i;
		set.n++;
	}
	return set;
}

static struct nodeset online_candidates(struct cluster *c)
{
	struct nodeset set = {.group = NO_INDEX};

	set.items = arena_calloc(&c->arena, (size_t)c->n_nodes, sizeof(int));
	for (int i = 0; i < c->n_nodes; i++)
		if (is_standby(&c->nodes[i]))
			set.items[set.n++] = i;
	return set;
}

static void set_offline(struct cluster *c, const struct nodeset *nodes,
			bool offline)
{
	for (int i = 0; i < nodes->n; i++)
		c->nodes[nodes->items[i]].offline = offline;
}

/* As few as suffice, from the first on; all if even these do not, and false. */
static bool choose_online(struct cluster *c, const struct nodeset *candidates,
			  double factor, struct nodeset *ret,
			  struct steps *steps)
{
	*ret = *candidates;
	for (ret->n = 0;; ret->n++) {
		size_t mark = change_mark(c);
		bool ok;

		set_offline(c, ret, false);
		ok = settle(c, factor, steps);
		if (ok || ret->n == candidates->n)
			return ok;
		change_undo(c, mark);
		set_offline(c, ret, true);
	}
}

/* As many as can be missed, from the last on. */
static void choose_offline(struct cluster *c, const struct nodeset *candidates,
			   double factor, struct nodeset *ret,
			   struct steps *steps)
{
	int *chosen =
		arena_calloc(&c->arena, (size_t)candidates->n, sizeof(int));
	int first = candidates->n;
	size_t mark = change_mark(c);

	*ret = (struct nodeset){.group = NO_INDEX};
	for (int i = candidates->n - 1; i >= 0; i--) {
		struct nodeset try = {.items = chosen + first - 1,
				      .n = ret->n + 1};

		try.items[0] = candidates->items[i];
		set_offline(c, &try, true);
		if (settle(c, factor, steps)) {
			first--;
			*ret = try;
		}
		change_undo(c, mark);
		set_offline(c, &try, false);
	}
	if (ret->n == 0) {
		steps->n = 0;
		return;
	}
	set_offline(c, ret, true);
	settle(c, factor, steps);
}

static void print_candidates(const struct cluster *c, const char *title,
			     const struct nodeset *nodes)
{
	printf("%s candidates: ", title);
	for (int i = 0; i < nodes->n; i++)
		printf("%s%s", i > 0 ? "," : "",
		       c->nodes[nodes->items[i]].name);
	printf("\n");
}

/* One kind of commands, for each node. */
static void add_for_each(const struct cluster *c, const struct nodeset *nodes,
			 const char *title, const char *before,
			 const char *after, const char *indent, struct buf *out)
{
	buf_addf(out, "%secho %s Commands\n", indent, title);
	for (int i = 0; i < nodes->n; i++) {
		const char *name = c->nodes[nodes->items[i]].name;

		buf_addf(out, "%s  gnt-node %s %.*s%s\n", indent, before,
			 cluster_alias_len(c, name), name, after);
	}
}

static int put_commands(const struct cluster *c, bool online,
			const struct nodeset *nodes, const struct steps *steps,
			const char *path, struct error *err)
{
	struct jobs_style style = jobs_style(path != NULL);
	const char *indent = style.indent;
	auto_buf struct buf out = {0};

	style.full_names = true;
	if (online)
		add_for_each(c, nodes, "Power", "power -f on", "", indent,
			     &out);
	if (nodes->n > 0 || online)
		jobs_add(c, steps->items, steps->n, &style, &out);
	else
		buf_addf(&out, "%secho Nothing to do%s", indent,
			 path != NULL ? "" : "\n");
	if (nodes->n > 0 && !online) {
		buf_addf(&out, "%s\n", indent);
		add_for_each(c, nodes, "Tagging", "add-tags", " " OUR_TAG,
			     indent, &out);
		buf_addf(&out, "%s\n", indent);
		add_for_each(c, nodes, "Power", "power -f off", "", indent,
			     &out);
	}
	if (path != NULL)
		return jobs_write(&out, path, err);
	printf("\nCommands to run:\n%s", out.data);
	return 0;
}

static void print_nodes(const struct cluster *c, bool online,
			const struct nodeset *nodes,
			const struct hsqueeze_opts *o)
{
	if (!o->no_headers)
		puts(online	     ? "'Nodes to online'"
		     : nodes->n == 0 ? "'No action'"
				     : "'Nodes to offline'");
	for (int i = 0; i < nodes->n; i++)
		puts(c->nodes[nodes->items[i]].name);
}

/* A set of one job that tags a node. */
static json_t *tag_set(const char *node)
{
	return json_make("[[{s: s, s: s, s: [s], s: s}]]", "OP_ID",
			 "OP_TAGS_SET", "kind", "node", "tags", OUR_TAG, "name",
			 node);
}

/* A set of one job that marks the nodes and then switches their power. */
static json_t *power_set(const struct cluster *c, const struct nodeset *nodes,
			 bool online)
{
	json_t *job = json_array(), *names = json_array();

	for (int i = 0; i < nodes->n; i++) {
		const char *name = c->nodes[nodes->items[i]].name;

		json_array_append_new(names, json_string(name));
		json_array_append_new(
			job, json_make("{s: s, s: s, s: b, s: b, s: b}",
				       "OP_ID", "OP_NODE_SET_PARAMS",
				       "node_name", name, "force", 0, "offline",
				       !online, "auto_promote", 0));
	}
	json_array_append_new(
		job, json_make("{s: s, s: o, s: s, s: i, s: b, s: f}", "OP_ID",
			       "OP_OOB_COMMAND", "node_names", names, "command",
			       online ? "power-on" : "power-off", "timeout",
			       OOB_TIMEOUT_S, "ignore_status", 0, "power_delay",
			       OOB_DELAY_S));
	return json_make("[o]", job);
}

/* What print_commands() prints, as jobs: nodes are there before instances come,
 * and empty before they go. */
static int execute(const struct tool *t, const struct cluster *c, bool online,
		   const struct nodeset *nodes, const struct steps *steps,
		   struct error *err)
{
	static const struct jobs_opts usual = {0};
	auto_free char *doing =
		xprintf("%s by %d nodes", online ? "expanding" : "condensing",
			nodes->n);
	json_t *sets = execute_moves(c, steps->items, steps->n);

	if (online && nodes->n > 0)
		json_array_insert_new(sets, 0, power_set(c, nodes, true));
	for (int i = 0; i < nodes->n && !online; i++)
		json_array_append_new(sets,
				      tag_set(c->nodes[nodes->items[i]].name));
	if (!online)
		json_array_append_new(sets, power_set(c, nodes, false));
	return execute_sets(sets, doing, t, &usual, err);
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hsqueeze_opts *o = tool_options(t, &hsqueeze_program);
	struct nodeset offline, online, chosen;
	struct steps steps = {0};
	bool grow, enough = true;
	int rc;

	if (tool_load(t, c, err) < 0 ||
	    save_original(c, o->save, "before hsqueeze run", err) < 0)
		return -1;
	offline = offline_candidates(c);
	online = online_candidates(c);
	if (o->verbose > 1) {
		print_candidates(c, "Offline", &offline);
		print_candidates(c, "Online", &online);
	}
	grow = !has_capacity(c, o->minimal_resources);
	if (grow)
		enough = choose_online(c, &online, o->minimal_resources,
				       &chosen, &steps);
	else
		choose_offline(c, &offline, o->target_resources, &chosen,
			       &steps);
	if (save_state(c, o->save, "squeezed",
		       grow	      ? "after hsqueeze expansion"
		       : chosen.n > 0 ? "after hsqueeze run"
				      : "after hsqueeze doing nothing",
		       err) < 0) {
		free(steps.items);
		return -1;
	}
	print_nodes(c, grow, &chosen, o);
	if (o->verbose > 1 && !enough)
		printf("Onlining all nodes will not yield enough capacity\n");
	rc = o->commands.wanted ? put_commands(c, grow, &chosen, &steps,
					       o->commands.file, err)
				: 0;
	if (rc == 0 && o->execute && (chosen.n > 0 || (grow && steps.n > 0)))
		rc = execute(t, c, grow, &chosen, &steps, err);
	free(steps.items);
	return rc;
}

int main(int argc, char **argv)
{
	return tool_main(&hsqueeze_program, argc, argv, run);
}
