/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_BACKUP_PREPARE and OP_BACKUP_REMOVE: what comes before an export, and
 * forgetting one. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/disks/trust.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_spec.h"

/* --- prepare --- */

static int prepare_expand(struct lu *lu, struct error *err)
{
	const struct op_backup_prepare *op = lu->op;
	const json_t *inst = lu_instance(lu, op->instance_name, err);

	if (inst == NULL)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(inst), true);
	return 0;
}

static int prepare_check(struct lu *lu, struct error *err)
{
	const struct op_backup_prepare *op = lu->op;
	const json_t *inst = lu_instance(lu, op->instance_name, err);

	if (inst == NULL ||
	    inst_check_node(lu, inst_primary_node(inst), false, err) < 0)
		return -1;
	return 0;
}

/* What the other cluster and the export that follows have to be told.  Ganeti's
 * does not tell the sizes: a disk that is copied as it is may be larger than
 * recorded, as volumes have whole extents, and the new one has to take it. */
static WAITS json_t *prepare_remote(struct lu *lu, const char *secret,
				    struct error *err)
{
	const struct op_backup_prepare *op = lu->op;
	const json_t *inst = lu_instance(lu, op->instance_name, err);
	auto_json json_t *key = NULL, *disks = NULL;
	auto_free char *certificate = NULL;

	if (inst == NULL)
		return NULL;
	lu_info(lu, "Preparing remote export for instance %s", inst_name(inst));
	key = trust_new_key(lu, inst_primary_node(inst), err);
	if (key == NULL)
		return NULL;
	certificate =
		trust_sign(secret, json_string_value(json_array_get(key, 1)));
	disks = inst_rpc_disks(lu, inst);
	return json_make(
		"{s:o, s:o, s:s, s:o}", "handshake", trust_handshake(secret),
		"x509_key_name",
		trust_key(secret, json_string_value(json_array_get(key, 0))),
		"x509_ca", certificate, "disk_sizes",
		disks_real_sizes(lu, inst_primary_node(inst), disks));
}

/* An export within the cluster needs nothing. */
static WAITS json_t *prepare_exec(struct lu *lu, struct error *err)
{
	const struct op_backup_prepare *op = lu->op;
	json_t *result;
	char *secret;

	if (strcmp(op->mode, "remote") != 0)
		return json_null();
	secret = trust_secret(lu, err);
	if (secret == NULL)
		return NULL;
	result = prepare_remote(lu, secret, err);
	trust_forget(secret);
	return result;
}

const struct lu_class lu_backup_prepare = {
	.op = &op_class_backup_prepare,
	.size = sizeof(struct lu),
	.expand = prepare_expand,
	.check = prepare_check,
	.exec = prepare_exec,
};

/* --- remove --- */

/* An export of it that is being made is not to be removed. */
static int remove_expand(struct lu *lu, struct error *err)
{
	const struct op_backup_remove *op = lu->op;
	const json_t *inst =
		config_find(lu->m->config, CONFIG_INSTANCE, op->instance_name);

	(void)err;
	if (inst != NULL)
		lu_want(lu, LOCK_INSTANCE, inst_name(inst), true);
	lu_want_all(lu, LOCK_NODE, false);
	return 0;
}

/* The full name; the instance may not exist any more. */
static const char *full_name(struct lu *lu, bool *ret_known)
{
	const struct op_backup_remove *op = lu->op;
	const json_t *inst =
		config_find(lu->m->config, CONFIG_INSTANCE, op->instance_name);

	*ret_known = inst != NULL;
	return lu_keep_str(lu, inst != NULL ? xstrdup(inst_name(inst))
					    : spec_lowered(op->instance_name));
}

static WAITS void remove_there(struct lu *lu, const json_t *node,
			       const char *name)
{
	auto_json json_t *done = NULL;
	struct error err;

	done = lu_call(lu, node_uuid(node), rpc_export_remove(name), &err);
	if (done == NULL)
		lu_warn(lu,
			"Could not remove export for instance %s on node %s: "
			"%s",
			name, node_name(node), err.text);
}

/* Nodes with a node daemon of ours may have the beginning of an export; others
 * know no such name. */
static WAITS void remove_unfinished(struct lu *lu, const struct strv *uuids,
				    const char *name)
{
	auto_free char *unfinished = xprintf("%s+new", name);
	struct node_result *results;
	size_t n;

	results = lu_call_nodes(lu, uuids, rpc_export_remove(unfinished), &n);
	node_results_free(results, n);
}

static WAITS json_t *remove_exec(struct lu *lu, struct error *err)
{
	auto_strv struct strv uuids = {0};
	struct node_result *results;
	size_t n;
	bool known, found = false;
	const char *name = full_name(lu, &known);

	config_sorted(lu->m->config, CONFIG_NODE, &uuids);
	results = lu_call_nodes(lu, &uuids, rpc_export_list(NULL), &n);
	for (size_t i = 0; i < n; i++) {
		if (results[i].payload == NULL) {
			lu_warn(lu, "Failed to query node %s (continuing): %s",
				node_name(results[i].node),
				results[i].failure != NULL
					? results[i].failure
					: results[i].err->text);
		} else if (json_array_has_str(results[i].payload, name)) {
			found = true;
			remove_there(lu, results[i].node, name);
		}
	}
	node_results_free(results, n);
	remove_unfinished(lu, &uuids, name);
	if (known || found)
		return json_null();
	error_set(err, ERR_PREREQ, ECODE_NOENT,
		  "Export '%s' not known (the export of an instance that was "
		  "removed needs its full name)",
		  name);
	return NULL;
}

const struct lu_class lu_backup_remove = {
	.op = &op_class_backup_remove,
	.size = sizeof(struct lu),
	.expand = remove_expand,
	.exec = remove_exec,
};
