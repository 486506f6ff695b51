/* SPDX-License-Identifier: BSD-2-Clause */
/* The primary node makes a key for this move, and listens for each disk with
 * it. */
#include "masterd/lu/create/instance_receive.h"

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/create/instance_import.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/disks/transfer_remote.h"
#include "masterd/lu/disks/trust.h"
#include "masterd/lu/parts/lu_instance.h"
#include "queue/queue.h"

#define LOG_TYPE "remote-import"
#define CONNECT_TIMEOUT_MAX_S 3600 /* what a transfer takes */

void receive_done(struct inst_receive *r)
{
	free(r->peer);
}

/* --- check --- */

static int check_given(const struct op_instance_create *op, struct error *err)
{
	const struct {
		const char *name;
		bool given;
	} needed[] = {
		{"source_handshake", op->source_handshake != NULL},
		{"source_x509_ca", op->source_x509_ca != NULL},
		{"source_instance_name", op->source_instance_name != NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!needed[i].given)
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "A move from another cluster needs "
					 "the parameter '%s'",
					 needed[i].name);
	return 0;
}

int receive_check(struct lu *lu, const struct op_instance_create *op,
		  struct inst_receive *ret, struct error *err)
{
	char *secret;
	int rc;

	if (check_given(op, err) < 0 ||
	    transfer_check_tool(lu, op->compress, err) < 0)
		return -1;
	secret = trust_secret(lu, err);
	if (secret == NULL)
		return -1;
	rc = trust_check_handshake(secret, op->source_handshake, err);
	if (rc == 0)
		ret->peer = trust_check_signed(secret, op->source_x509_ca, err);
	trust_forget(secret);
	return ret->peer != NULL ? 0 : -1;
}

/* --- the data --- */

/* What the job's log has to say. */
struct told {
	const char *secret, *host, *certificate;
};

static void tell(struct lu *lu, const json_t *where, void *arg)
{
	const struct told *t = arg;
	auto_free char *certificate = trust_sign(t->secret, t->certificate);
	json_t *disks = json_array();

	for (size_t i = 0; i < json_array_size(where); i++) {
		const json_t *one = json_array_get(where, i);

		json_array_append_new(
			disks,
			trust_disk(t->secret, i, t->host,
				   json_integer_value(json_array_get(one, 0)),
				   json_string_value(json_array_get(one, 1))));
	}
	queue_run_log(lu->run, LOG_TYPE,
		      json_make("{s:o, s:s}", "disks", disks, "x509_ca",
				certificate));
}

/* The source stops the instance before it sends: its time comes on top. */
static int64_t time_to_connect(const struct op_instance_create *op)
{
	int64_t most = CONNECT_TIMEOUT_MAX_S - TRANSFER_REMOTE_CONNECT_S;

	return TRANSFER_REMOTE_CONNECT_S +
	       (op->source_shutdown_timeout < most ? op->source_shutdown_timeout
						   : most);
}

/* With this key: [name, certificate]. */
static WAITS int receive(struct lu *lu, const struct op_instance_create *op,
			 const struct inst_receive *r, const json_t *carried,
			 const json_t *key, struct error *err)
{
	const char *node = inst_primary_node(carried);
	auto_json json_t *ends =
		transfer_ends(carried, json_get(carried, "disks_info"));
	const struct transfer_remote t = {
		.inst = carried,
		.node = node,
		.ends = ends,
		.compress = op->compress,
		.key_name = json_string_value(json_array_get(key, 0)),
		.peer = r->peer,
		.connect_timeout_s = time_to_connect(op),
	};
	char *secret = trust_secret(lu, err);
	const json_t *at =
		lu_keep(lu, config_get(lu->m->config, CONFIG_NODE, node));
	struct told told = {
		.secret = secret,
		.host = node_primary_ip(at),
		.certificate = json_string_value(json_array_get(key, 1)),
	};
	int rc = secret == NULL
			 ? -1
			 : transfer_remote_receive(lu, &t, tell, &told, err);

	trust_forget(secret);
	return rc;
}

static WAITS void remove_key(struct lu *lu, const char *node, const json_t *key)
{
	struct error err;

	if (aftermath_undo(lu, node,
			   rpc_x509_cert_remove(
				   json_string_value(json_array_get(key, 0))),
			   &err) < 0)
		lu_warn(lu, "Cannot remove the key of the move: %s", err.text);
}

int receive_disks(struct lu *lu, const struct op_instance_create *op,
		  const struct inst_receive *r, const json_t *inst,
		  struct error *err)
{
	auto_json json_t *carried = inst_rpc(lu, inst, NULL, NULL);
	const char *node = inst_primary_node(carried);
	auto_json json_t *key = trust_new_key(lu, node, err);
	int rc;

	if (key == NULL)
		return -1;
	lu_feedback(lu,
		    "* waiting for the disks of %s from the other "
		    "cluster...",
		    op->source_instance_name);
	rc = receive(lu, op, r, carried, key, err);
	remove_key(lu, node, key);
	if (rc < 0)
		return error_wrap(err,
				  "Could not take the disks of instance %s "
				  "from the other cluster",
				  inst_name(inst));
	import_rename(lu, op->source_instance_name, carried);
	return 0;
}
