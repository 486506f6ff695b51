/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that all nodes have are the same on all of them. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/secret_files.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/verify/verify_group.h"

#define RAPI_USERS "/var/lib/ganeti/rapi/users"
#define MIP_SCRIPT "/etc/ganeti/scripts/master-ip-setup"

static void add(json_t *list, const char *file)
{
	json_array_append_new(list, json_string(file));
}

/* Whether nodes look where folders of disks may be. */
static bool has_guarded(const struct lu *lu)
{
	for (size_t i = 0; i < STORAGE_COUNT; i++)
		if (storage_table[i].guarded &&
		    verify_has_storage(lu, &storage_table[i]))
			return true;
	return false;
}

json_t *verify_file_list(struct lu *lu)
{
	const json_t *cluster = config_cluster(lu->m->config);
	auto_json json_t *document = config_document(lu->m->config);
	auto_json json_t *ssconf = ssconf_values(document);
	json_t *list = json_array(), *value;
	const char *key;
	size_t n;
	const struct secret_file *secrets = secret_files(&n);

	for (size_t i = 0; i < n; i++)
		add(list, paths_plain(secrets[i].id));
	add(list, paths_plain(PATH_CONFIG_DATA));
	add(list, RAPI_USERS);
	if (has_guarded(lu))
		add(list, paths_plain(PATH_FILE_STORAGE_PATHS));
	if (cluster_modify_etc_hosts(cluster))
		add(list, paths_plain(PATH_ETC_HOSTS));
	if (cluster_use_external_mip_script(cluster))
		add(list, MIP_SCRIPT);
	json_object_foreach (ssconf, key, value) {
		auto_free char *p = xprintf("/var/lib/ganeti/ssconf_%s", key);

		add(list, p);
	}
	return list;
}

/* It exists on all nodes or on none. */
static bool is_optional(const char *file)
{
	size_t n;
	const struct secret_file *secrets = secret_files(&n);

	for (size_t i = 0; i < n; i++)
		if (secrets[i].optional &&
		    strcmp(paths_plain(secrets[i].id), file) == 0)
			return true;
	return strcmp(file, RAPI_USERS) == 0 ||
	       strcmp(file, paths_plain(PATH_FILE_STORAGE_PATHS)) == 0;
}

static bool belongs(const json_t *node, const char *file)
{
	return strcmp(file, paths_plain(PATH_CONFIG_DATA)) != 0 ||
	       node_master_candidate(node);
}

/* One file, on all nodes that reported. */
struct found {
	struct strv missing;	/* names of nodes */
	struct strv unexpected; /* of those that should not have it */
	json_t *sums;		/* {checksum: [names]} */
	size_t expected;	/* how many should have it */
};

static void found_done(struct found *f)
{
	strv_done(&f->missing);
	strv_done(&f->unexpected);
	json_decref(f->sums);
}

static void add_sum(json_t *sums, const char *sum, const char *name)
{
	json_t *names = json_object_get(sums, sum);

	if (names == NULL) {
		names = json_array();
		json_object_set_new(sums, sum, names);
	}
	json_array_append_new(names, json_string(name));
}

static void look(struct found *f, const struct node_result *r, const char *file)
{
	const char *name = node_name(r->node);
	const json_t *files = json_get(r->payload, "filelist");
	const char *sum = json_str(files, file, NULL);
	bool expected = belongs(r->node, file);

	if (!json_is_object(files))
		return;
	f->expected += expected;
	if (sum != NULL)
		add_sum(f->sums, sum, name);
	if (sum == NULL && expected)
		strv_add(&f->missing, name);
	if (sum != NULL && !expected)
		strv_add(&f->unexpected, name);
}

/* "variant 1 on node1, node2; variant 2 on node3" */
static char *variants(const json_t *sums)
{
	auto_strv struct strv all = {0};
	const char *sum;
	json_t *names;

	json_object_foreach (json_unconst(sums), sum, names) {
		auto_strv struct strv nodes = {0};
		auto_free char *list = NULL;

		json_to_strv(names, &nodes);
		list = strv_join(&nodes, ", ");
		strv_addf(&all, "variant %zu on %s", all.n + 1, list);
	}
	return strv_join(&all, "; ");
}

static void report(struct verify *v, const char *file, const struct found *f)
{
	auto_free char *missing = strv_join(&f->missing, ", ");
	auto_free char *unexpected = strv_join(&f->unexpected, ", ");
	auto_free char *differ = variants(f->sums);
	size_t n = json_object_size(f->sums);

	if (is_optional(file))
		verify_if(v, f->missing.n > 0 && f->missing.n < f->expected,
			  "ECLUSTERFILECHECK", NULL,
			  "File %s is optional, but it must exist on all or no "
			  "nodes (not found on %s)",
			  file, missing);
	else
		verify_if(v, f->missing.n > 0, "ECLUSTERFILECHECK", NULL,
			  "File %s is missing from node(s) %s (gnt-cluster "
			  "redist-conf brings it)",
			  file, missing);
	verify_if(v, f->unexpected.n > 0, "ECLUSTERFILECHECK", NULL,
		  "File %s should not exist on node(s) %s", file, unexpected);
	verify_if(v, n > 1, "ECLUSTERFILECHECK", NULL,
		  "File %s found with %zu different checksums (%s)", file, n,
		  differ);
}

static void compare(struct verify_group *g, const struct node_result *all,
		    size_t n)
{
	auto_json json_t *list = verify_file_list(&g->lu);

	for (size_t k = 0; k < json_array_size(list); k++) {
		const char *file = json_string_value(json_array_get(list, k));
		struct found f = {.sums = json_object()};

		for (size_t i = 0; i < n; i++)
			look(&f, &all[i], file);
		report(&g->v, file, &f);
		found_done(&f);
	}
}

static void check_answers(struct verify_group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct node_result *r = &g->results[i];

		verify_if(&g->v,
			  !r->offline && json_object_size(json_get(
						 r->payload, "filelist")) == 0,
			  "ENODEFILECHECK", node_name(r->node),
			  "the node did not return checksums of its files");
	}
}

/* If the master is in another group, compare with its files, too. */
static WAITS void compare_with_master(struct verify_group *g)
{
	struct lu *lu = &g->lu;
	const json_t *master = config_master(lu->m->config);
	struct node_result *all = node_results_new(g->n + 1);
	struct error err;

	for (size_t i = 0; i < g->n; i++) {
		all[i].node = json_incref(g->results[i].node);
		all[i].payload = json_incref(g->results[i].payload);
	}
	all[g->n].node = json_ref(master);
	all[g->n].payload = noderpc_call(lu->m->rpc, all[g->n].node,
					 verify_file_question(g), &err);
	compare(g, all, g->n + 1);
	node_results_free(all, g->n + 1);
}

void verify_files(struct verify_group *g)
{
	const char *master = node_uuid(config_master(g->lu.m->config));

	check_answers(g);
	if (verify_find(g, master) != NULL)
		compare(g, g->results, g->n);
	else
		compare_with_master(g);
}
