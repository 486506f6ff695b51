/* SPDX-License-Identifier: BSD-2-Clause */
/* The source's part of a move between clusters; the target's is
 * masterd/lu/create/instance_receive.c. */
#include "masterd/lu/instance/backup_remote.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/disks/transfer_remote.h"
#include "masterd/lu/disks/trust.h"
#include "masterd/lu/parts/lu_instance.h"

void backup_remote_done(struct backup_remote *r)
{
	free(r->peer);
}

static int check_where(const char *secret, const json_t *where, size_t n_disks,
		       struct error *err)
{
	size_t n = json_array_size(where);

	if (n != n_disks)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The instance has %zu disk%s, and the other "
				 "cluster waits for %zu",
				 n_disks, n_disks == 1 ? "" : "s", n);
	for (size_t i = 0; i < n; i++)
		if (trust_check_disk(secret, i, json_array_get(where, i), err) <
		    0)
			return -1;
	return 0;
}

static int check(const char *secret, const struct op_backup_export *op,
		 size_t n_disks, struct backup_remote *ret, struct error *err)
{
	ret->key_name = trust_check_key(secret, op->x509_key_name, err);
	if (ret->key_name == NULL)
		return -1;
	ret->peer = trust_check_signed(secret, op->destination_x509_ca, err);
	if (ret->peer == NULL)
		return -1;
	return check_where(secret, op->target_node, n_disks, err);
}

int backup_remote_check(struct lu *lu, size_t n_disks,
			struct backup_remote *ret, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	const char *missing = op->x509_key_name == NULL ? "x509_key_name"
			      : op->destination_x509_ca == NULL
				      ? "destination_x509_ca"
				      : NULL;
	char *secret;
	int rc;

	if (missing != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "An export to another cluster needs the "
				 "parameter '%s'",
				 missing);
	secret = trust_secret(lu, err);
	if (secret == NULL)
		return -1;
	rc = check(secret, op, n_disks, ret, err);
	trust_forget(secret);
	return rc;
}

int backup_remote_send(struct lu *lu, const struct backup_remote *r,
		       const json_t *carried, const json_t *disks,
		       struct error *err)
{
	const struct op_backup_export *op = lu->op;
	auto_json json_t *ends = transfer_ends(carried, disks);
	const struct transfer_remote t = {
		.inst = carried,
		.node = inst_primary_node(carried),
		.ends = ends,
		.compress = op->compress,
		.key_name = r->key_name,
		.peer = r->peer,
		.connect_timeout_s = TRANSFER_REMOTE_CONNECT_S,
		.bandwidth_mib = op->bandwidth_limit,
	};

	return transfer_remote_send(lu, &t, op->target_node, err);
}

void backup_remote_drop_key(struct lu *lu, const char *node_uuid,
			    const struct backup_remote *r)
{
	struct error err;

	if (aftermath_undo(lu, node_uuid, rpc_x509_cert_remove(r->key_name),
			   &err) < 0)
		lu_warn(lu, "Cannot remove the key of the move: %s", err.text);
}
