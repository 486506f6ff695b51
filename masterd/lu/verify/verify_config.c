/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_VERIFY_CONFIG: is the configuration consistent in itself, are the
 * certificates good? */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/constants.h"
#include "lib/model/files/paths.h"
#include "lib/model/params/params.h"
#include "masterd/distribute/distribute.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/verify/cluster_verify.h"
#include "masterd/quorum/quorum.h"

#define DAY_S 86400
/* As Ganeti's. */
#define EXPIRES_WARNING_DAYS 30
#define EXPIRES_ERROR_DAYS 7

static int verify_config_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_NODE_RES, false);
	lu_want_all(lu, LOCK_INSTANCE, false);
	lu_want_all(lu, LOCK_NODEGROUP, false);
	lu_want_all(lu, LOCK_NODE, false);
	lu_want_all(lu, LOCK_NETWORK, false);
	return 0;
}

static void check_objects(struct verify *v)
{
	struct config *c = v->lu->m->config;
	auto_strv struct strv problems = {0};
	size_t now, max, should;

	config_verify(c, &problems);
	for (size_t i = 0; i < problems.n; i++)
		verify_error(v, "ECLUSTERCFG", NULL, "%s", problems.items[i]);
	config_candidate_stats(c, &now, &max, &should);
	verify_if(v, now < should, "ECLUSTERCFG", NULL,
		  "Not enough master candidates: actual %zu, target %zu", now,
		  should);
}

static void check_validity(struct verify *v, const char *file)
{
	int64_t now = clock_wall_us() / 1000000, from, to, days;
	struct error err;

	if (tls_validity(file, &from, &to, &err) < 0) {
		verify_error(v, "ECLUSTERCERT", NULL, "%s", err.text);
		return;
	}
	days = (to - now) / DAY_S;
	if (from > now)
		verify_error(v, "ECLUSTERCERT", NULL,
			     "Certificate %s is not valid yet", file);
	else if (to < now || v->simulate)
		verify_error(v, "ECLUSTERCERT", NULL,
			     "Certificate %s has expired (gnt-cluster "
			     "renew-crypto makes a new one)",
			     file);
	else if (days <= EXPIRES_ERROR_DAYS)
		verify_error(v, "ECLUSTERCERT", NULL,
			     "Certificate %s expires in about %jd days", file,
			     (intmax_t)days);
	else if (days <= EXPIRES_WARNING_DAYS)
		verify_warning(v, "ECLUSTERCERT", NULL,
			       "Certificate %s expires in about %jd days", file,
			       (intmax_t)days);
}

static void check_certificates(struct verify *v)
{
	static const struct {
		enum path_id id;
		bool optional;
	} files[] = {
		{PATH_SERVER_PEM, false},  {PATH_RAPI_PEM, true},
		{PATH_CLIENT_PEM, false},  {PATH_SPICE_PEM, true},
		{PATH_SPICE_CA_PEM, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *file = path(v->lu->m->paths, files[i].id);

		if (fs_exists(file) || !files[i].optional)
			check_validity(v, file);
	}
}

static void check_renewal(struct verify *v)
{
	const json_t *certs =
		cluster_candidate_certs(config_cluster(v->lu->m->config));
	const char *uuid;
	json_t *digest;

	json_object_foreach (json_unconst(certs), uuid, digest)
		if (str_ends(uuid, CERT_NEW_SUFFIX)) {
			verify_error(v, "ECLUSTERCERT", NULL,
				     "a renewal of certificates is not "
				     "complete: run gnt-cluster renew-crypto "
				     "again");
			return;
		}
}

static void check_hv(struct verify *v, const char *hv, const char *source,
		     const json_t *filled)
{
	json_t *checked = NULL;
	struct error err = {0};
	bool ok = params_update_hv(hv, NULL, filled, &checked, &err) == 0;

	verify_if(v, !ok, "ECLUSTERCFG", NULL,
		  "hypervisor %s parameters (source %s): %s", hv, source,
		  err.text);
	if (ok)
		json_decref(checked);
}

static void check_os_hv(struct verify *v)
{
	const json_t *cluster = config_cluster(v->lu->m->config);
	const char *os, *hv;
	json_t *of_os, *own;

	json_object_foreach (json_unconst(cluster_os_hvp(cluster)), os, of_os)
		json_object_foreach (of_os, hv, own) {
			auto_json json_t *filled =
				params_fill_hv(cluster, hv, os, NULL);
			auto_free char *source = xprintf("os %s", os);

			check_hv(v, hv, source, filled);
		}
}

static void check_hvparams(struct verify *v)
{
	const json_t *cluster = config_cluster(v->lu->m->config);
	const json_t *enabled = cluster_enabled_hypervisors(cluster);
	const char *uuid;
	json_t *inst;

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *hv = json_string_value(json_array_get(enabled, i));

		check_hv(v, hv, "cluster",
			 json_get(cluster_hvparams(cluster), hv));
	}
	check_os_hv(v);
	json_object_foreach (
		json_unconst(config_all(v->lu->m->config, CONFIG_INSTANCE)),
		uuid, inst) {
		auto_json json_t *filled = inst_filled_hv(v->lu, inst);
		auto_free char *source =
			xprintf("instance %s", inst_name(inst));

		if (json_object_size(inst_hvparams(inst)) > 0)
			check_hv(v, inst_hypervisor(inst), source, filled);
	}
}

static bool is_dangling(const struct config *c, const json_t *node)
{
	return config_get(c, CONFIG_GROUP, node_group(node)) == NULL;
}

/* "node1 (inst1, inst2)" */
static void add_dangling(const struct config *c, const json_t *node,
			 struct strv *ret)
{
	auto_strv struct strv uuids = {0}, names = {0};
	auto_free char *list = NULL;

	config_node_primaries(c, node_uuid(node), &uuids);
	for (size_t i = 0; i < uuids.n; i++)
		strv_add(&names,
			 config_name(c, CONFIG_INSTANCE, uuids.items[i]));
	list = strv_join(&names, ", ");
	strv_addf(ret, "%s (%s)", node_name(node), list);
}

/* Instances that belong to no group, so that no group's job would check
 * them. */
static void check_dangling(struct verify *v)
{
	const struct config *c = v->lu->m->config;
	auto_strv struct strv nodes = {0}, instances = {0};
	auto_free char *node_list = NULL, *instance_list = NULL;
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(config_all(c, CONFIG_NODE)), uuid,
			     object)
		if (is_dangling(c, object))
			add_dangling(c, object, &nodes);
	json_object_foreach (json_unconst(config_all(c, CONFIG_INSTANCE)), uuid,
			     object)
		if (config_get(c, CONFIG_NODE, inst_primary_node(object)) ==
		    NULL)
			strv_add(&instances, inst_name(object));
	node_list = strv_join(&nodes, ", ");
	instance_list = strv_join(&instances, ", ");
	verify_if(v, nodes.n > 0, "ECLUSTERDANGLINGNODES", NULL,
		  "these nodes (with their instances) belong to a group that "
		  "does not exist: %s",
		  node_list);
	verify_if(v, instances.n > 0, "ECLUSTERDANGLINGINST", NULL,
		  "the primary node of these instances does not exist: %s",
		  instance_list);
}

/* Candidates that could never become master. */
static void check_ganetis(struct verify *v)
{
	auto_strv struct strv nodes = {0};
	auto_free char *names = NULL;

	distribute_ganetis(v->lu->m->distribute, &nodes);
	names = strv_join(&nodes, ", ");
	if (nodes.n > 0)
		verify_note(v,
			    "master candidates run Ganeti's node daemon, so "
			    "they keep no job queue and have no vote: %s",
			    names);
}

/* Nodes that should keep a copy of the cluster's state and fail to take it. */
static void check_copies(struct verify *v)
{
	const struct master *m = v->lu->m;
	auto_strv struct strv candidates = {0}, others = {0};
	auto_free char *names = NULL, *other_names = NULL;
	bool many = m->quorum != NULL && quorum_missing(m->quorum, &candidates);

	distribute_failing(m->distribute, &others, &others);
	names = strv_join(&candidates, ", ");
	other_names = strv_join(&others, ", ");
	if (many)
		verify_error(v, "ECLUSTERCFG", NULL,
			     "more than half of the master candidates fail to "
			     "keep the configuration and the job queue: %s",
			     names);
	else if (candidates.n > 0)
		verify_note(v,
			    "master candidates fail to keep the configuration "
			    "and the job queue: %s",
			    names);
	if (others.n > 0)
		verify_note(v, "nodes do not get the cluster's files: %s",
			    other_names);
	check_ganetis(v);
}

static WAITS void check_queue(struct verify *v)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (queue_damaged(v->lu->m->queue, &names, &err) < 0)
		verify_hint(v, "cluster", NULL, "%s", err.text);
	for (size_t i = 0; i < names.n; i++)
		verify_hint(v, "cluster", NULL,
			    "the job file %s cannot be read and was put "
			    "aside; look at it and remove it from %s",
			    names.items[i],
			    path(v->lu->m->paths, PATH_QUEUE_DIR));
}

static WAITS json_t *verify_config_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_config *op = lu->op;
	struct verify v = {.lu = lu,
			   .error_codes = op->error_codes,
			   .simulate = op->debug_simulate_errors,
			   .ignore_errors = op->ignore_errors};

	(void)err;
	lu_feedback(lu, "* Verifying cluster config");
	check_objects(&v);
	check_copies(&v);
	lu_feedback(lu, "* Verifying cluster certificate files");
	check_certificates(&v);
	check_renewal(&v);
	lu_feedback(lu, "* Verifying hypervisor parameters");
	check_hvparams(&v);
	lu_feedback(lu, "* Verifying all nodes belong to an existing group");
	check_dangling(&v);
	check_queue(&v);
	return json_boolean(!v.bad);
}

const struct lu_class lu_cluster_verify_config = {
	.op = &op_class_cluster_verify_config,
	.size = sizeof(struct lu),
	.expand = verify_config_expand,
	.exec = verify_config_exec,
};
