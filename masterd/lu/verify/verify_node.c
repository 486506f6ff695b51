/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node reports of itself, except files, OS definitions and storage. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/verify/verify_group.h"

/* With a larger difference certificates and logs become unreliable. */
#define TIME_SKEW_MAX_S 150

#define REBUILD                                                                \
	"(gnt-cluster renew-crypto --new-node-certificates makes new ones)"

typedef void check_fn(struct verify_group *g, const struct node_result *r,
		      const char *name);

static char *joined(const json_t *list, const char *separator)
{
	auto_strv struct strv texts = {0};

	json_to_strv(list, &texts);
	return strv_join(&texts, separator);
}

static void check_version(struct verify_group *g, const struct node_result *r,
			  const char *name)
{
	const json_t *version = json_get(r->payload, "version");
	json_int_t protocol = json_integer_value(json_array_get(version, 0));
	const char *release = json_string_value(json_array_get(version, 1));

	if (json_array_size(version) != 2) {
		verify_error(&g->v, "ENODERPC", name,
			     "the node returned no valid version");
		return;
	}
	verify_if(&g->v, protocol != PROTOCOL_VERSION, "ENODEVERSION", name,
		  "incompatible protocol versions: master %d, node %jd",
		  PROTOCOL_VERSION, (intmax_t)protocol);
	if (protocol == PROTOCOL_VERSION && !str_eq(release, GANETI_RELEASE))
		verify_warning(&g->v, "ENODEVERSION", name,
			       "software version mismatch: master %s, node %s",
			       GANETI_RELEASE,
			       release == NULL ? "unknown" : release);
}

static void check_time(struct verify_group *g, const struct node_result *r,
		       const char *name)
{
	const json_t *time = json_get(r->payload, "time");
	int64_t theirs = json_integer_value(json_array_get(time, 0));
	/* The node has read its clock at some time between our call and its
	 * answer. */
	int64_t before = g->asked_s - theirs;
	int64_t after = theirs - g->answered_s;
	int64_t skew = before > after ? before : after;

	if (!json_is_integer(json_array_get(time, 0))) {
		verify_error(&g->v, "ENODETIME", name,
			     "Node returned invalid time");
		return;
	}
	verify_if(&g->v, skew > TIME_SKEW_MAX_S, "ENODETIME", name,
		  "Node time diverges by at least %jd.0s from master node time",
		  (intmax_t)skew);
}

static void check_setup(struct verify_group *g, const struct node_result *r,
			const char *name)
{
	const json_t *texts = json_get(r->payload, "nodesetup");
	auto_free char *text = joined(texts, "; ");

	if (!json_is_array(texts))
		verify_error(&g->v, "ENODESETUP", name,
			     "node setup error: the node did not look at it");
	else
		verify_if(&g->v, *text != '\0', "ENODESETUP", name,
			  "node setup error: %s", text);
}

static void check_hypervisors(struct verify_group *g,
			      const struct node_result *r, const char *name)
{
	const json_t *bad = json_get(r->payload, "hvparms");
	const char *hv;
	json_t *text;

	json_object_foreach (json_unconst(json_get(r->payload, "hypervisor")),
			     hv, text)
		verify_if(&g->v, json_is_string(text), "ENODEHV", name,
			  "hypervisor %s verify failure: '%s'", hv,
			  json_is_string(text) ? json_string_value(text) : "");
	for (size_t i = 0; i < json_array_size(bad); i++) {
		const json_t *row = json_array_get(bad, i);
		auto_free char *why = json_text(json_array_get(row, 2));

		verify_error(&g->v, "ENODEHV", name,
			     "hypervisor %s parameter verify failure (source "
			     "%s): %s",
			     json_string_value(json_array_get(row, 1)) ?: "",
			     json_string_value(json_array_get(row, 0)) ?: "",
			     why);
	}
}

static void check_running(struct verify_group *g, const struct node_result *r,
			  const char *name)
{
	const json_t *info = json_get(r->payload, "hvinfo");
	const json_t *list = json_get(r->payload, "instancelist");
	const char *why = json_string_value(list);

	verify_if(&g->v, !json_is_array(list), "ENODEHV", name,
		  "the node does not list its instances: %s",
		  why == NULL ? "no answer" : why);
	verify_if(&g->v, !json_is_integer(json_get(info, "memory_free")),
		  "ENODEHV", name,
		  "the hypervisor does not say how much memory is free");
}

/* {node: what is wrong}; NULL: it did not look. */
static void check_peers(struct verify_group *g, const char *code,
			const char *name, const char *how, const json_t *peers)
{
	const char *peer;
	json_t *text;

	verify_if(&g->v, !json_is_object(peers), code, name,
		  "the node did not try %s communication", how);
	json_object_foreach (json_unconst(peers), peer, text)
		verify_error(&g->v, code, name,
			     "%s communication with node '%s': %s", how, peer,
			     json_is_string(text) ? json_string_value(text)
						  : "failed");
}

static void check_network(struct verify_group *g, const struct node_result *r,
			  const char *name)
{
	const json_t *master_ip = json_get(r->payload, "master-ip");
	const json_t *bridges = json_get(r->payload, "bridges");
	auto_free char *missing = joined(bridges, ", ");
	bool is_master = config_is_master(g->lu.m->config, node_uuid(r->node));

	check_peers(g, "ENODESSH", name, "ssh",
		    json_get(r->payload, "nodelist"));
	check_peers(g, "ENODENET", name, "tcp",
		    json_get(r->payload, "node-net-test"));
	verify_if(&g->v, json_is_false(master_ip), "ENODENET", name,
		  is_master ? "the master node cannot reach the master IP (not "
			      "configured?)"
			    : "cannot reach the master IP");
	verify_if(&g->v, *missing != '\0', "ENODENET", name,
		  "missing bridges: %s", missing);
}

static void check_ssh(struct verify_group *g, const struct node_result *r,
		      const char *name)
{
	static const char *const checks[] = {"ssh-setup", "ssh-clutter"};

	for (size_t i = 0; i < 2; i++) {
		const json_t *found = json_get(r->payload, checks[i]);

		for (size_t k = 0; k < json_array_size(found); k++)
			verify_if(&g->v, true, "ENODESSH", name,
				  "%s; gnt-cluster redist-conf hands the keys "
				  "out again",
				  json_string_value(json_array_get(found, k))
					  ?: "");
	}
}

static void check_scripts(struct verify_group *g, const struct node_result *r,
			  const char *name)
{
	const json_t *broken = json_get(r->payload, "user-scripts");
	auto_free char *list = joined(broken, ", ");

	if (!json_is_array(broken))
		verify_error(&g->v, "ENODEUSERSCRIPTS", name,
			     "the node did not look at user scripts");
	else
		verify_if(&g->v, *list != '\0', "ENODEUSERSCRIPTS", name,
			  "user scripts not present or not executable: %s",
			  list);
}

/* The programs run on the master, and any candidate may become that. */
static void check_oob(struct verify_group *g, const struct node_result *r,
		      const char *name)
{
	const json_t *texts = json_get(r->payload, "oob-paths");

	if (!node_master_candidate(r->node) && !node_master_capable(r->node))
		return;
	for (size_t i = 0; i < json_array_size(texts); i++) {
		const char *text = json_string_value(json_array_get(texts, i));

		if (text != NULL)
			verify_error(&g->v, "ENODEOOBPATH", name, "%s", text);
	}
}

static void check_file_paths(struct verify_group *g,
			     const struct node_result *r, const char *name)
{
	auto_free char *forbidden = joined(
		json_get(r->payload, "allowed-file-storage-paths"), ", ");

	verify_if(&g->v, *forbidden != '\0', "ENODEFILESTORAGEPATHS", name,
		  "Found forbidden file storage paths: %s", forbidden);
	for (size_t i = 0; i < STORAGE_COUNT; i++) {
		const struct storage_info *s = &storage_table[i];
		const char *text;

		if (s->verify == NULL)
			continue;
		text = json_str(r->payload, s->verify, NULL);
		verify_if(&g->v, text != NULL, s->verify_code, name,
			  "The configured %s storage path is unusable: %s",
			  s->name, text == NULL ? "" : text);
	}
}

static const struct {
	check_fn *run;
	bool vm; /* only where instances may run */
} checks[] = {
	{check_version, false}, {check_time, false},
	{check_setup, false},	{check_hypervisors, true},
	{check_running, true},	{check_network, false},
	{check_ssh, false},	{check_scripts, false},
	{check_oob, false},	{check_file_paths, false},
};

void verify_node(struct verify_group *g, const struct node_result *r)
{
	const char *name = node_name(r->node);
	bool vm = node_vm_capable(r->node);

	if (r->offline)
		return;
	verify_if(&g->v, r->err != NULL, "ENODERPC", name,
		  "while contacting node: %s",
		  r->err == NULL ? "" : r->err->text);
	if (r->payload == NULL)
		return;
	if (json_object_size(r->payload) == 0) {
		verify_error(&g->v, "ENODERPC", name,
			     "unable to verify node: no data returned");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (vm || !checks[i].vm)
			checks[i].run(g, r, name);
	if (!vm)
		return;
	verify_os(g, r);
	verify_storage(g, r);
	verify_running(g, r);
}

/* --- client certificates --- */

/* While certificates are renewed a candidate has two. */
static bool is_let_in(const json_t *certs, const char *uuid, const char *digest)
{
	auto_free char *next = xprintf("%s" CERT_NEW_SUFFIX, uuid);

	return str_eq(json_str(certs, uuid, NULL), digest) ||
	       str_eq(json_str(certs, next, NULL), digest);
}

static bool is_others(const json_t *certs, const char *digest)
{
	const char *uuid;
	json_t *value;

	json_object_foreach (json_unconst(certs), uuid, value)
		if (str_eq(json_string_value(value), digest))
			return true;
	return false;
}

static void check_candidate(struct verify_group *g, const json_t *certs,
			    const json_t *node, const char *digest)
{
	const char *name = node_name(node);
	const char *uuid = node_uuid(node);

	if (json_get(certs, uuid) == NULL)
		verify_error(&g->v, "ECLUSTERCLIENTCERT", NULL,
			     "Master candidate '%s' does not stand in the list "
			     "of certificates " REBUILD,
			     name);
	else
		verify_if(&g->v, !is_let_in(certs, uuid, digest),
			  "ECLUSTERCLIENTCERT", NULL,
			  "The client certificate of master candidate '%s' is "
			  "not the one that the cluster knows " REBUILD,
			  name);
}

static void check_other(struct verify_group *g, const json_t *certs,
			const json_t *node, const char *digest)
{
	const char *name = node_name(node);
	bool listed = json_get(certs, node_uuid(node)) != NULL;

	if (listed)
		verify_error(&g->v, "ECLUSTERCLIENTCERT", NULL,
			     "Node '%s' is no master candidate, but stands in "
			     "the list of certificates",
			     name);
	else if (is_others(certs, digest))
		verify_error(&g->v, "ECLUSTERCLIENTCERT", NULL,
			     "Node '%s' is no master candidate and uses the "
			     "certificate of one " REBUILD,
			     name);
}

/* A renewal has ended before this node forgot the old certificates.  While the
 * cluster's list still has both, that is reported for the cluster instead. */
static void check_forgotten(struct verify_group *g, const json_t *certs,
			    const struct node_result *r)
{
	const char *uuid;
	json_t *digest;

	if (!json_bool(r->payload, "renewal", false) && !g->v.simulate)
		return;
	json_object_foreach (json_unconst(certs), uuid, digest)
		if (str_ends(uuid, CERT_NEW_SUFFIX))
			return;
	verify_error(&g->v, "ECLUSTERCERT", NULL,
		     "a renewal of certificates is not complete on node '%s', "
		     "where old ones are still good: run gnt-cluster "
		     "renew-crypto again",
		     node_name(r->node));
}

void verify_client_certs(struct verify_group *g)
{
	const json_t *certs =
		cluster_candidate_certs(config_cluster(g->lu.m->config));

	for (size_t i = 0; i < g->n; i++) {
		const struct node_result *r = &g->results[i];
		const json_t *answer = json_get(r->payload, "client-cert");
		const char *text = json_string_value(json_array_get(answer, 1));

		if (r->offline || answer == NULL)
			continue;
		check_forgotten(g, certs, r);
		if (text == NULL || !json_is_null(json_array_get(answer, 0)))
			verify_error(&g->v, "ECLUSTERCLIENTCERT", NULL,
				     "Client certificate of node '%s' failed "
				     "validation: %s",
				     node_name(r->node),
				     text == NULL ? "there is none" : text);
		else if (node_master_candidate(r->node))
			check_candidate(g, certs, r->node, text);
		else
			check_other(g, certs, r->node, text);
	}
}
