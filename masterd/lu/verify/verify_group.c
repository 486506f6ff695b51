/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_VERIFY_GROUP: ask every node of a group for its state and compare:
 * reachable, same version and time, same files, instances where they belong. */
#include "masterd/lu/verify/verify_group.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/quorum/quorum.h"

/* Candidates have so long to write what they have. */
#define FILES_MS 10000u

static struct verify_group *group_of(struct lu *lu)
{
	return container_of(lu, struct verify_group, lu);
}

static int verify_group_expand(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_group *op = lu->op;
	struct verify_group *g = group_of(lu);

	g->group = lu_group(lu, op->group_name, err);
	if (g->group == NULL)
		return -1;
	strv_done(&g->nodes);
	table_done(&g->instances, NULL);
	config_group_nodes(lu->m->config, group_uuid(g->group), &g->nodes);
	lu_want(lu, LOCK_NODEGROUP, group_uuid(g->group), false);
	for (size_t i = 0; i < g->nodes.n; i++) {
		auto_strv struct strv primaries = {0};

		lu_want(lu, LOCK_NODE, g->nodes.items[i], false);
		config_node_primaries(lu->m->config, g->nodes.items[i],
				      &primaries);
		for (size_t j = 0; j < primaries.n; j++) {
			table_put(&g->instances, primaries.items[j], g);
			lu_want(lu, LOCK_INSTANCE,
				config_name(lu->m->config, CONFIG_INSTANCE,
					    primaries.items[j]),
				false);
		}
	}
	return 0;
}

bool verify_has_template(const struct lu *lu, const char *template)
{
	return json_array_has_str(
		cluster_enabled_disk_templates(config_cluster(lu->m->config)),
		template);
}

bool verify_has_storage(const struct lu *lu, const struct storage_info *s)
{
	const json_t *enabled =
		cluster_enabled_disk_templates(config_cluster(lu->m->config));

	for (size_t i = 0; i < json_array_size(enabled); i++)
		if (template_storage(template_get(json_string_value(
			    json_array_get(enabled, i)))) == s)
			return true;
	return false;
}

const struct node_result *verify_find(const struct verify_group *g,
				      const char *uuid)
{
	for (size_t i = 0; i < g->n; i++)
		if (strcmp(node_uuid(g->results[i].node), uuid) == 0)
			return &g->results[i];
	return NULL;
}

/* --- asking --- */

/* If one node of the group has exclusive storage, all are checked as if they
 * had it. */
static bool has_exclusive(struct lu *lu, const struct verify_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		auto_json json_t *nd =
			params_fill_nd(config_cluster(lu->m->config), g->group,
				       g->results[i].node);

		if (nd_exclusive_storage(nd))
			return true;
	}
	return false;
}

static WAITS void gather(struct lu *lu)
{
	struct verify_group *g = group_of(lu);

	g->results = node_results_new(g->nodes.n);
	g->n = 0;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						g->nodes.items[i]);

		if (node != NULL)
			g->results[g->n++].node = json_ref(node);
	}
	lu_feedback(lu, "* Gathering data (%zu nodes)", g->n);
	lu_feedback(lu, "* Gathering information about nodes (%zu nodes)",
		    g->n);
	g->exclusive = has_exclusive(lu, g);
	g->asked_s = clock_wall_us() / 1000000;
	noderpc_call_many(lu->m->rpc, g->results, g->n, verify_question(g));
	g->answered_s = clock_wall_us() / 1000000;
	verify_collect_volumes(g);
	if (g->n < json_object_size(config_all(lu->m->config, CONFIG_NODE)))
		lu_feedback(lu, "* Gathering information about the master "
				"node");
	lu_feedback(lu, "* Gathering disk information (%zu nodes)", g->n);
	verify_gather_disks(g);
}

/* --- looking at the answers --- */

static const char *role_of(const struct lu *lu, const json_t *node)
{
	if (config_is_master(lu->m->config, node_uuid(node)))
		return "master";
	if (node_master_candidate(node))
		return "master candidate";
	return node_drained(node) ? "drained" : "regular";
}

static void verify_nodes(struct verify_group *g)
{
	const struct op_cluster_verify_group *op = g->lu.op;

	lu_feedback(&g->lu, "* Verifying node status");
	for (size_t i = 0; i < g->n; i++) {
		const json_t *node = g->results[i].node;
		const char *name = node_name(node);

		if (op->verbose && g->results[i].offline)
			lu_feedback(&g->lu, "* Skipping offline node %s", name);
		else if (op->verbose)
			lu_feedback(&g->lu, "* Verifying node %s (%s)", name,
				    role_of(&g->lu, node));
		verify_node(g, &g->results[i]);
	}
	verify_group_storage(g);
}

static void other_notes(struct verify_group *g)
{
	size_t offline = 0, drained = 0;

	lu_feedback(&g->lu, "* Other Notes");
	verify_instance_notes(g);
	for (size_t i = 0; i < g->n; i++) {
		const json_t *node = g->results[i].node;

		offline += node_offline(node);
		drained += node_drained(node);
	}
	if (offline > 0)
		verify_note(&g->v, "%zu offline node(s) found.", offline);
	if (drained > 0)
		verify_note(&g->v, "%zu drained node(s) found.", drained);
}

static void verify_redundancy(struct verify_group *g)
{
	const struct op_cluster_verify_group *op = g->lu.op;

	if (json_array_has_str(op->skip_checks, "nplusone_mem"))
		return;
	lu_feedback(&g->lu, "* Verifying N+1 Memory redundancy");
	verify_n1(g);
	verify_capacity(&g->v, g->group);
}

static void freeze(struct verify_group *g)
{
	g->live = g->lu.m;
	g->frozen = *g->live;
	g->frozen.config = config_copy(g->live->config, NULL, NULL);
	g->lu.m = &g->frozen;
}

static void thaw(struct verify_group *g)
{
	if (g->live == NULL)
		return;
	g->lu.m = steal(&g->live);
	config_free(steal(&g->frozen.config));
}

static WAITS void verify_all(struct verify_group *g)
{
	struct lu *lu = &g->lu;

	gather(lu);
	lu_feedback(lu, "* Verifying configuration file consistency");
	verify_client_certs(g);
	verify_files(g);
	verify_nodes(g);
	lu_feedback(lu, "* Verifying instance status");
	verify_instances(g);
	verify_resources(&g->v, &g->nodes);
	lu_feedback(lu, "* Verifying orphan volumes");
	verify_orphan_volumes(g);
	verify_orphan_files(g);
	verify_redundancy(g);
	other_notes(g);
}

static WAITS json_t *verify_group_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_group *op = lu->op;
	struct verify_group *g = group_of(lu);

	(void)err;
	g->v = (struct verify){.lu = lu,
			       .error_codes = op->error_codes,
			       .simulate = op->debug_simulate_errors,
			       .ignore_errors = op->ignore_errors};
	lu_feedback(lu, "* Verifying group '%s'", group_name(g->group));
	if (g->nodes.n == 0) {
		lu_feedback(lu, "* Empty node group, skipping verification");
		return json_true();
	}
	/* Files follow what is committed, also by the jobs before this one. */
	if (lu->m->quorum != NULL)
		quorum_write_out(lu->m->quorum, FILES_MS);
	freeze(g);
	verify_all(g);
	thaw(g);
	return json_boolean(!g->v.bad);
}

/* --- hooks: a failed script is an error of the cluster --- */

static void verify_group_env(struct lu *lu, json_t *ret_env)
{
	struct verify_group *g = group_of(lu);
	auto_strv struct strv tags = {0};
	auto_free char *text = NULL;

	json_to_strv(cluster_tags(config_cluster(lu->m->config)), &tags);
	text = strv_join(&tags, " ");
	json_set_str(ret_env, "CLUSTER_TAGS", text);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						g->nodes.items[i]);
		auto_strv struct strv of_node = {0};
		auto_free char *key = xprintf("NODE_TAGS_%s", node_name(node));
		auto_free char *value = NULL;

		json_to_strv(node_tags(node), &of_node);
		value = strv_join(&of_node, " ");
		json_set_str(ret_env, key, value);
	}
}

static void verify_group_nodes(struct lu *lu, struct strv *ret_pre,
			       struct strv *ret_post)
{
	struct verify_group *g = group_of(lu);

	(void)ret_pre;
	for (size_t i = 0; i < g->nodes.n; i++)
		strv_add(ret_post, g->nodes.items[i]);
}

/* Its output follows, indented. */
static void report_script(struct verify *v, const char *node,
			  const char *script, const char *output)
{
	auto_strv struct strv lines = {0};

	verify_error(v, "ENODEHOOKS", node,
		     "Script %s failed, output:", script);
	str_split(&lines, output, '\n');
	for (size_t i = 0; i < lines.n; i++)
		lu_feedback(v->lu, "      %s", lines.items[i]);
}

static void report_scripts(struct verify *v, const struct node_result *r)
{
	for (size_t i = 0; i < json_array_size(r->payload); i++) {
		const json_t *row = json_array_get(r->payload, i);

		if (json_integer_value(json_array_get(row, 1)) == 1)
			report_script(v, node_name(r->node),
				      json_string_value(json_array_get(row, 0))
					      ?: "",
				      json_string_value(json_array_get(row, 2))
					      ?: "");
	}
}

static void verify_group_hooks(struct lu *lu, const struct node_result *results,
			       size_t n, json_t **result)
{
	struct verify_group *g = group_of(lu);

	if (g->nodes.n == 0)
		return;
	lu_feedback(lu, "* Hooks Results");
	for (size_t i = 0; i < n; i++) {
		const struct error *failed = results[i].err;

		if (results[i].payload != NULL)
			report_scripts(&g->v, &results[i]);
		verify_if(&g->v, failed != NULL && !results[i].offline,
			  "ENODEHOOKS", node_name(results[i].node),
			  "Communication failure in hooks execution: %s",
			  failed != NULL ? failed->text : "");
	}
	json_decref(*result);
	*result = json_boolean(!g->v.bad);
}

static void verify_group_done(struct lu *lu)
{
	struct verify_group *g = group_of(lu);

	thaw(g); /* killed while it waited */
	strv_done(&g->nodes);
	table_done(&g->instances, NULL);
	verify_disks_done(g);
	if (g->results != NULL)
		node_results_free(g->results, g->n);
	json_decref(g->should);
	json_decref(g->os);
}

const struct lu_class lu_cluster_verify_group = {
	.op = &op_class_cluster_verify_group,
	.size = sizeof(struct verify_group),
	.hook_path = "cluster-verify",
	.object_type = "CLUSTER",
	.expand = verify_group_expand,
	.hook_env = verify_group_env,
	.hook_nodes = verify_group_nodes,
	.hooks_done = verify_group_hooks,
	.exec = verify_group_exec,
	.done = verify_group_done,
};
