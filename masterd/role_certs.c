/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is let in by node daemons.  A node that is no candidate any more, but has
 * a vote in the log until others have joined in its place, has to be heard by
 * the others.  So its certificate stays in the configuration until it has left.
 */
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/core/master.h"
#include "masterd/role_private.h"

/* What is no node's is a renewal's. */
static bool is_to_be_let_in(struct role *r, const char *uuid)
{
	const json_t *node = config_get(r->master->config, CONFIG_NODE, uuid);

	return node == NULL || node_master_candidate(node) ||
	       quorum_may_have_member(r->quorum, node_name(node));
}

/* All changes are in force: so a node that was a candidate for a moment is
 * either taken in by now, and keeps its certificate, or never will be. */
static json_t *certs_to_keep(struct role *r)
{
	const json_t *certs =
		cluster_candidate_certs(config_cluster(r->master->config));
	json_t *kept = json_object(), *digest;
	const char *uuid;

	json_object_foreach (json_unconst(certs), uuid, digest)
		if (is_to_be_let_in(r, uuid))
			json_object_set(kept, uuid, digest);
	return kept;
}

static WAITS void shut_out(struct role *r)
{
	struct config *config = r->master->config;
	json_t *kept, *cluster;
	const json_t *old;
	struct error err;

	if (config_commit(config, &err) < 0)
		return; /* who made the changes says so */
	old = config_cluster(config);
	kept = certs_to_keep(r);
	if (json_object_size(kept) ==
	    json_object_size(cluster_candidate_certs(old))) {
		json_decref(kept);
		return;
	}
	cluster = config_edit(old);
	cluster_set_candidate_certs(cluster, kept);
	config_put_cluster(config, cluster);
	if (config_commit(config, &err) < 0)
		log_warning("The certificates of former master candidates are "
			    "still accepted: %s",
			    err.text);
}

static WAITS void shut_out_task(void *arg)
{
	struct role *r = arg;

	do {
		r->tidy_again = false;
		if (!r->over)
			shut_out(r);
	} while (r->tidy_again && !r->over && !r->hurry);
	r->tidying = false;
	cond_signal(&r->changed);
}

void role_begin_to_shut_out(struct role *r)
{
	r->tidy_again = true;
	if (r->tidying || r->over || r->hurry || r->master == NULL)
		return;
	r->tidying = true;
	task_spawn("certificates", shut_out_task, r);
}
