/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_CLUSTER_VERIFY_CONFIG: is the configuration consistent in itself, are the
 * certificates good? */
#include <string.h>

#include "lib/event/tls.h"
#include "lib/json/json.h"
#include "lib/model/constants.h"
#include "lib/model/params.h"
#include "lib/model/paths.h"
#include "masterd/distribute.h"
#include "masterd/lu/cluster_verify.h"

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

/* Every reference must lead to an object. */
static void check_reference(struct verify *v, const char *kind,
			    const char *name, const char *what,
			    enum config_kind target, const char *uuid)
{
	if (config_get(v->lu->m->config, target, uuid) == NULL)
		verify_error(v, "ECLUSTERCFG", "cluster", NULL,
			     "%s %s refers to an unknown %s '%s'", kind, name,
			     what, uuid);
}

static void check_instance(struct verify *v, const json_t *inst)
{
	const char *name = json_str(inst, "name", "");
	const json_t *disks = json_get(inst, "disks");

	check_reference(v, "instance", name, "primary node", CONFIG_NODE,
			json_str(inst, "primary_node", ""));
	for (size_t i = 0; i < json_array_size(disks); i++)
		check_reference(v, "instance", name, "disk", CONFIG_DISK,
				json_string_value(json_array_get(disks, i)));
}

static void check_roles(struct verify *v, const json_t *node)
{
	const char *name = json_str(node, "name", "");
	int roles = json_bool(node, "master_candidate", false) +
		    json_bool(node, "offline", false) +
		    json_bool(node, "drained", false);

	if (roles > 1)
		verify_error(v, "ECLUSTERCFG", "cluster", NULL,
			     "node %s is more than one of master candidate, "
			     "drained and offline",
			     name);
}

/* MAC addresses are unique. */
static void check_macs(struct verify *v)
{
	struct table seen = {0};
	const char *uuid;
	json_t *inst;

	json_object_foreach (
		(json_t *)config_all(v->lu->m->config, CONFIG_INSTANCE), uuid,
		inst) {
		const json_t *nics = json_get(inst, "nics");

		for (size_t i = 0; i < json_array_size(nics); i++) {
			const char *mac =
				json_str(json_array_get(nics, i), "mac", "");
			void *other = table_put(&seen, mac, inst);

			if (other != NULL)
				verify_error(v, "ECLUSTERCFG", "cluster", NULL,
					     "instances %s and %s have the "
					     "same MAC address %s",
					     json_str(other, "name", ""),
					     json_str(inst, "name", ""), mac);
		}
	}
	table_done(&seen, NULL);
}

static void check_objects(struct verify *v)
{
	struct config *c = v->lu->m->config;
	const char *uuid;
	json_t *object;
	size_t now, max, should;

	json_object_foreach ((json_t *)config_all(c, CONFIG_INSTANCE), uuid,
			     object)
		check_instance(v, object);
	json_object_foreach ((json_t *)config_all(c, CONFIG_NODE), uuid, object)
		check_roles(v, object);
	check_macs(v);
	config_candidate_stats(c, &now, &max, &should);
	if (now < should)
		verify_error(v, "ECLUSTERCFG", "cluster", NULL,
			     "Not enough master candidates: actual %zu, target "
			     "%zu",
			     now, should);
}

static void check_certificates(struct verify *v)
{
	static const enum path_id files[] = {PATH_SERVER_PEM, PATH_CLIENT_PEM};
	char digest[TLS_DIGEST_MAX];
	struct error err;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (tls_digest(path(v->lu->m->paths, files[i]), digest, &err) <
		    0)
			verify_error(v, "ECLUSTERCERT", "cluster", NULL, "%s",
				     err.text);
}

static void check_renewal(struct verify *v)
{
	const json_t *certs =
		json_get(config_cluster(v->lu->m->config), "candidate_certs");
	const char *uuid;
	json_t *digest;

	json_object_foreach ((json_t *)certs, uuid, digest)
		if (str_ends(uuid, CERT_NEW_SUFFIX)) {
			verify_error(v, "ECLUSTERCERT", "cluster", NULL,
				     "a renewal of certificates is not "
				     "complete: run gnt-cluster renew-crypto "
				     "again");
			return;
		}
}

static void check_hvparams(struct verify *v)
{
	const json_t *cluster = config_cluster(v->lu->m->config);
	const json_t *enabled = json_get(cluster, "enabled_hypervisors");

	for (size_t i = 0; i < json_array_size(enabled); i++) {
		const char *hv = json_string_value(json_array_get(enabled, i));
		json_t *checked = NULL;
		struct error err;

		if (params_update_hv(
			    hv, NULL,
			    json_get(json_get(cluster, "hvparams"), hv),
			    &checked, &err) < 0)
			verify_error(v, "ECLUSTERCFG", "cluster", NULL,
				     "hypervisor %s parameters: %s", hv,
				     err.text);
		else
			json_decref(checked);
	}
}

static void check_groups(struct verify *v)
{
	const char *uuid;
	json_t *node;

	json_object_foreach (
		(json_t *)config_all(v->lu->m->config, CONFIG_NODE), uuid, node)
		if (config_get(v->lu->m->config, CONFIG_GROUP,
			       json_str(node, "group", "")) == NULL)
			verify_error(v, "ECLUSTERDANGLINGNODES", "node",
				     json_str(node, "name", ""),
				     "the node belongs to no existing group");
}

/* Who should keep a copy of the cluster's state and does not. */
static void check_copies(struct verify *v)
{
	auto_strv struct strv candidates = {0}, others = {0};
	bool many =
		distribute_failing(v->lu->m->distribute, &candidates, &others);
	auto_free char *names = strv_join(&candidates, ", ");
	auto_free char *other_names = strv_join(&others, ", ");

	if (many)
		verify_error(v, "ECLUSTERCFG", "cluster", NULL,
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
}

static WAITS void check_queue(struct verify *v)
{
	auto_strv struct strv names = {0};
	struct error err;

	if (queue_damaged(v->lu->m->queue, &names, &err) < 0)
		verify_warning(v, "cluster", NULL, "%s", err.text);
	for (size_t i = 0; i < names.n; i++)
		verify_warning(v, "cluster", NULL,
			       "the job file %s cannot be read and was put "
			       "aside; look at it and remove it from %s",
			       names.items[i],
			       path(v->lu->m->paths, PATH_QUEUE_DIR));
}

static json_t *verify_config_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_config *op = lu->op;
	struct verify v = {.lu = lu,
			   .error_codes = op->error_codes,
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
	check_groups(&v);
	check_queue(&v);
	return json_boolean(!v.bad);
}

const struct lu_class lu_cluster_verify_config = {
	.op = &op_class_cluster_verify_config,
	.size = sizeof(struct lu),
	.expand = verify_config_expand,
	.exec = verify_config_exec,
};
