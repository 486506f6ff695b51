/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_VERIFY_GROUP: ask every node of a group for its state and compare:
 * reachable, same version and time, same files, instances where they belong. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/table.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/paths.h"
#include "lib/model/ssconf.h"
#include "masterd/lu/cluster_verify.h"

/* More than this apart and certificates and logs stop making sense. */
#define TIME_SKEW_MAX_S 150

#define CONFIG_DATA_PATH "/var/lib/ganeti/config.data"

struct verify_group {
	struct lu lu;
	const json_t *group;
	struct verify v;
	struct strv nodes;	/* UUIDs in nice order */
	struct table instances; /* by UUID: those whose locks are held */
	int64_t asked_s;	/* when the nodes were asked */
};

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
	config_group_nodes(lu->m->config, json_str(g->group, "uuid", ""),
			   &g->nodes);
	lu_want(lu, LOCK_NODEGROUP, json_str(g->group, "uuid", ""), false);
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

/* --- the question --- */

/* Files that are the same on all nodes, and config.data on candidates. */
static json_t *file_list(struct lu *lu)
{
	static const char *const shared[] = {
		"server.pem",  "rapi.pem", "hmac.key", "cluster-domain-secret",
		"known_hosts",
	};
	auto_json json_t *document = config_document(lu->m->config);
	auto_json json_t *ssconf = NULL;
	json_t *list = json_array();
	const char *key;
	json_t *value;

	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		auto_free char *p = xprintf("/var/lib/ganeti/%s", shared[i]);

		json_array_append_new(list, json_string(p));
	}
	json_array_append_new(list, json_string(CONFIG_DATA_PATH));
	ssconf = ssconf_values(document);
	json_object_foreach (ssconf, key, value) {
		auto_free char *p = xprintf("/var/lib/ganeti/ssconf_%s", key);

		json_array_append_new(list, json_string(p));
	}
	return list;
}

static json_t *question(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *files = file_list(lu);
	const json_t *hypervisors = json_get(cluster, "enabled_hypervisors");
	json_t *checks = json_make(
		"{s:O, s:O, s:[], s:O, s:n, s:n, s:n, s:n, s:n, s:s, s:s}",
		"filelist", files, "hypervisor", hypervisors, "hvparms",
		"instancelist", hypervisors, "version", "nodesetup", "time",
		"oslist", "client-cert", "file-storage-path",
		json_str(cluster, "file_storage_dir", ""),
		"shared-file-storage-path",
		json_str(cluster, "shared_file_storage_dir", ""));

	return json_make("[o, s, O]", checks,
			 json_str(cluster, "cluster_name", ""),
			 json_get(cluster, "hvparams"));
}

static WAITS struct node_result *gather(struct lu *lu, size_t *ret_n)
{
	struct verify_group *g = group_of(lu);
	struct node_result *results = node_results_new(g->nodes.n);

	*ret_n = 0;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						g->nodes.items[i]);

		if (node != NULL)
			results[(*ret_n)++].node = json_incref((json_t *)node);
	}
	lu_feedback(lu, "* Gathering data (%zu nodes)", *ret_n);
	lu_feedback(lu, "* Gathering information about nodes (%zu nodes)",
		    *ret_n);
	g->asked_s = clock_wall_us() / 1000000;
	noderpc_call_many(lu->m->rpc, results, *ret_n, "node_verify",
			  question(lu));
	return results;
}

static const struct node_result *find(const struct node_result *results,
				      size_t n, const char *uuid)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(json_str(results[i].node, "uuid", ""), uuid) == 0)
			return &results[i];
	return NULL;
}

/* --- files --- */

static bool belongs(const json_t *node, const char *file)
{
	return strcmp(file, CONFIG_DATA_PATH) != 0 ||
	       json_bool(node, "master_candidate", false);
}

/* Compare one node's checksums with the reference node's. */
static void compare_files(struct verify *v, const json_t *node,
			  const json_t *files, const json_t *reference)
{
	const char *name = json_str(node, "name", ""), *file;
	json_t *sum;

	json_object_foreach ((json_t *)reference, file, sum) {
		const char *own = json_str(files, file, NULL);

		if (!belongs(node, file))
			continue;
		if (own == NULL)
			verify_error(v, "ENODEFILECHECK", "node", name,
				     "file %s is missing (gnt-cluster "
				     "redist-conf brings it)",
				     file);
		else if (strcmp(own, json_string_value(sum)) != 0)
			verify_error(v, "ENODEFILECHECK", "node", name,
				     "file %s differs from the master's "
				     "(gnt-cluster redist-conf brings it)",
				     file);
	}
	if (!belongs(node, CONFIG_DATA_PATH) &&
	    json_str(files, CONFIG_DATA_PATH, NULL) != NULL)
		verify_error(v, "ENODEFILECHECK", "node", name,
			     "file %s should not be on a node that is no "
			     "master candidate",
			     CONFIG_DATA_PATH);
}

/* The reference is the master if it is in this group and answered, else the
 * first node that did. */
static void verify_files(struct verify *v, const struct node_result *results,
			 size_t n)
{
	const struct node_result *master =
		find(results, n,
		     json_str(config_master(v->lu->m->config), "uuid", ""));
	const json_t *reference = NULL;

	lu_feedback(v->lu, "* Verifying configuration file consistency");
	if (master != NULL)
		reference = json_get(master->payload, "filelist");
	for (size_t i = 0; i < n && reference == NULL; i++)
		reference = json_get(results[i].payload, "filelist");
	for (size_t i = 0; i < n; i++)
		if (results[i].payload != NULL)
			compare_files(v, results[i].node,
				      json_get(results[i].payload, "filelist"),
				      reference);
}

/* --- nodes --- */

static void verify_version(struct verify *v, const char *name,
			   const json_t *payload)
{
	const json_t *version = json_get(payload, "version");
	json_int_t protocol = json_integer_value(json_array_get(version, 0));

	if (protocol != PROTOCOL_VERSION)
		verify_error(v, "ENODEVERSION", "node", name,
			     "incompatible protocol versions: master %d, node "
			     "%jd",
			     PROTOCOL_VERSION, (intmax_t)protocol);
}

static void verify_time(struct verify *v, const char *name,
			const json_t *payload)
{
	const json_t *time = json_get(payload, "time");
	int64_t theirs = json_integer_value(json_array_get(time, 0));
	/* It answered at some time since; another node may have taken long. */
	int64_t before = group_of(v->lu)->asked_s - theirs;
	int64_t after = theirs - clock_wall_us() / 1000000;
	int64_t skew = before > after ? before : after;

	if (time != NULL && skew > TIME_SKEW_MAX_S)
		verify_error(v, "ENODETIME", "node", name,
			     "Node time diverges by at least %jds from master "
			     "node time",
			     (intmax_t)skew);
}

static void verify_texts(struct verify *v, const char *code, const char *name,
			 const char *what, const json_t *texts)
{
	for (size_t i = 0; i < json_array_size(texts); i++)
		verify_error(v, code, "node", name, "%s: %s", what,
			     json_string_value(json_array_get(texts, i)));
}

/* Does the cluster let that certificate of the node's in?  While certificates
 * are renewed there are two. */
static bool is_let_in(const json_t *certs, const char *uuid, const char *digest)
{
	auto_free char *next = xprintf("%s" CERT_NEW_SUFFIX, uuid);

	return str_eq(json_str(certs, uuid, NULL), digest) ||
	       str_eq(json_str(certs, next, NULL), digest);
}

static void verify_client_cert(struct verify *v, const json_t *node,
			       const json_t *payload)
{
	const json_t *certs =
		json_get(config_cluster(v->lu->m->config), "candidate_certs");
	const char *uuid = json_str(node, "uuid", "");
	const json_t *answer = json_get(payload, "client-cert");
	const char *digest = json_string_value(json_array_get(answer, 1));

	if (json_get(certs, uuid) == NULL || answer == NULL)
		return;
	if (digest == NULL || !is_let_in(certs, uuid, digest))
		verify_error(v, "ECLUSTERCERT", "node",
			     json_str(node, "name", ""),
			     "the node's client certificate is not the one the "
			     "cluster knows");
}

static void verify_hypervisors(struct verify *v, const char *name,
			       const json_t *payload)
{
	const char *hv;
	json_t *text;

	json_object_foreach ((json_t *)json_get(payload, "hypervisor"), hv,
			     text)
		if (json_is_string(text))
			verify_error(v, "ENODEHV", "node", name,
				     "hypervisor %s verify failure: '%s'", hv,
				     json_string_value(text));
}

static void verify_paths(struct verify *v, const char *name,
			 const json_t *payload)
{
	static const char *const items[][2] = {
		{"file-storage-path", "ENODEFILESTORAGEPATHUNUSABLE"},
		{"shared-file-storage-path",
		 "ENODESHAREDFILESTORAGEPATHUNUSABLE"},
	};

	for (size_t i = 0; i < 2; i++) {
		const char *text = json_str(payload, items[i][0], NULL);

		if (text != NULL)
			verify_error(v, items[i][1], "node", name, "%s", text);
	}
}

static void verify_node(struct verify *v, const struct node_result *r)
{
	const char *name = json_str(r->node, "name", "");

	if (r->offline)
		return;
	if (r->payload == NULL) {
		verify_error(v, "ENODERPC", "node", name,
			     "while contacting node: %s", r->err->text);
		return;
	}
	verify_version(v, name, r->payload);
	verify_time(v, name, r->payload);
	verify_texts(v, "ENODESETUP", name, "node setup error",
		     json_get(r->payload, "nodesetup"));
	verify_client_cert(v, r->node, r->payload);
	verify_hypervisors(v, name, r->payload);
	verify_paths(v, name, r->payload);
}

/* --- instances --- */

static bool should_run(const json_t *inst)
{
	return strcmp(json_str(inst, "admin_state", ""), "up") == 0 &&
	       !json_bool(inst, "forthcoming", false);
}

/* What runs on the node and should not. */
static void verify_running(struct verify *v, const struct node_result *r)
{
	const char *uuid = json_str(r->node, "uuid", "");
	const json_t *running = json_get(r->payload, "instancelist");

	for (size_t i = 0; i < json_array_size(running); i++) {
		const char *name =
			json_string_value(json_array_get(running, i));
		const json_t *inst =
			name == NULL ? NULL
				     : config_find(v->lu->m->config,
						   CONFIG_INSTANCE, name);

		if (inst == NULL)
			verify_error(v, "ENODEORPHANINSTANCE", "node",
				     json_str(r->node, "name", ""),
				     "instance %s on this node is unknown to "
				     "the cluster",
				     name == NULL ? "" : name);
		else if (strcmp(json_str(inst, "primary_node", ""), uuid) != 0)
			verify_error(v, "EINSTANCEWRONGNODE", "instance", name,
				     "instance should not run on node %s",
				     json_str(r->node, "name", ""));
	}
}

/* Instances of the node that should run and do not. */
static void verify_primaries(struct verify *v, const struct node_result *r)
{
	struct config *c = v->lu->m->config;
	const char *node = json_str(r->node, "name", "");
	const json_t *running = json_get(r->payload, "instancelist");
	auto_strv struct strv primaries = {0};

	config_node_primaries(c, json_str(r->node, "uuid", ""), &primaries);
	for (size_t i = 0; i < primaries.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, primaries.items[i]);
		const char *name = json_str(inst, "name", "");

		/* What came here meanwhile was not there when we asked. */
		if (!should_run(inst) || table_get(&group_of(v->lu)->instances,
						   primaries.items[i]) == NULL)
			continue;
		if (r->offline)
			verify_error(v, "EINSTANCEBADNODE", "instance", name,
				     "instance has offline primary node %s "
				     "(gnt-node failover moves it)",
				     node);
		else if (r->payload != NULL &&
			 !json_array_has_str(running, name))
			verify_error(v, "EINSTANCEDOWN", "instance", name,
				     "instance not running on its primary node "
				     "%s",
				     node);
	}
}

static void verify_instances(struct verify *v,
			     const struct node_result *results, size_t n)
{
	lu_feedback(v->lu, "* Verifying instance status");
	for (size_t i = 0; i < n; i++) {
		verify_primaries(v, &results[i]);
		if (results[i].payload != NULL)
			verify_running(v, &results[i]);
	}
}

static void other_notes(struct verify *v, const struct node_result *results,
			size_t n)
{
	size_t offline = 0, drained = 0;

	lu_feedback(v->lu, "* Other Notes");
	for (size_t i = 0; i < n; i++) {
		offline += json_bool(results[i].node, "offline", false);
		drained += json_bool(results[i].node, "drained", false);
	}
	if (offline > 0)
		verify_note(v, "%zu offline node(s) found.", offline);
	if (drained > 0)
		verify_note(v, "%zu drained node(s) found.", drained);
}

static json_t *verify_group_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_group *op = lu->op;
	struct verify_group *g = group_of(lu);
	struct node_result *results;
	size_t n;

	(void)err;
	g->v = (struct verify){.lu = lu,
			       .error_codes = op->error_codes,
			       .ignore_errors = op->ignore_errors};
	lu_feedback(lu, "* Verifying group '%s'",
		    json_str(g->group, "name", ""));
	results = gather(lu, &n);
	verify_files(&g->v, results, n);
	lu_feedback(lu, "* Verifying node status");
	for (size_t i = 0; i < n; i++)
		verify_node(&g->v, &results[i]);
	verify_instances(&g->v, results, n);
	verify_resources(&g->v, &g->nodes);
	lu_feedback(lu, "* Verifying orphan volumes");
	if (!json_array_has_str(op->skip_checks, "nplusone_mem")) {
		lu_feedback(lu, "* Verifying N+1 Memory redundancy");
		verify_capacity(&g->v, g->group);
	}
	other_notes(&g->v, results, n);
	node_results_free(results, n);
	return json_boolean(!g->v.bad);
}

/* --- hooks: a failed script is an error of the cluster --- */

static void verify_group_env(struct lu *lu, json_t *ret_env)
{
	struct verify_group *g = group_of(lu);
	auto_strv struct strv tags = {0};
	auto_free char *text = NULL;

	json_to_strv(json_get(config_cluster(lu->m->config), "tags"), &tags);
	text = strv_join(&tags, " ");
	json_set_str(ret_env, "CLUSTER_TAGS", text);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const json_t *node = config_get(lu->m->config, CONFIG_NODE,
						g->nodes.items[i]);
		auto_strv struct strv of_node = {0};
		auto_free char *key =
			xprintf("NODE_TAGS_%s", json_str(node, "name", ""));
		auto_free char *value = NULL;

		json_to_strv(json_get(node, "tags"), &of_node);
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

static void report_scripts(struct verify *v, const struct node_result *r)
{
	const char *name = json_str(r->node, "name", "");

	for (size_t i = 0; i < json_array_size(r->payload); i++) {
		const json_t *row = json_array_get(r->payload, i);

		if (json_integer_value(json_array_get(row, 1)) != 1)
			continue;
		verify_error(v, "ENODEHOOKS", "node", name,
			     "Script %s failed, output: %s",
			     json_string_value(json_array_get(row, 0)),
			     json_string_value(json_array_get(row, 2)));
	}
}

static void verify_group_hooks(struct lu *lu, const struct node_result *results,
			       size_t n, json_t **result)
{
	struct verify_group *g = group_of(lu);

	lu_feedback(lu, "* Hooks Results");
	for (size_t i = 0; i < n; i++) {
		if (results[i].payload != NULL)
			report_scripts(&g->v, &results[i]);
		else if (!results[i].offline)
			verify_error(&g->v, "ENODEHOOKS", "node",
				     json_str(results[i].node, "name", ""),
				     "Communication failure in hooks "
				     "execution: %s",
				     results[i].err->text);
	}
	json_decref(*result);
	*result = json_boolean(!g->v.bad);
}

static void verify_group_done(struct lu *lu)
{
	strv_done(&group_of(lu)->nodes);
	table_done(&group_of(lu)->instances, NULL);
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
