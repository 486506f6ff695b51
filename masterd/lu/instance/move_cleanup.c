/* SPDX-License-Identifier: BSD-2-Clause */
/* Cleanup after a migration that was cut off: all nodes are asked where the
 * instance runs, its other half is ended, and where it is gets recorded. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/instance/move.h"
#include "masterd/lu/instance/move_mirror.h"
#include "masterd/lu/parts/lu_instance.h"

static WAITS int call(struct lu *lu, const char *node,
		      struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

static bool can_host(struct lu *lu, const char *node_uuid)
{
	const json_t *node = config_get(lu->m->config, CONFIG_NODE, node_uuid);

	return !node_offline(node) && node_vm_capable(node);
}

/* It runs there: record that, and let mirrors have one primary again. */
static WAITS int settle_where(struct lu *lu, const char *found,
			      struct error *err)
{
	struct move *m = move_of(lu);
	const char *before = m->source;
	const char *second = m->target; /* of mirrors */

	m->target = lu_keep_str(lu, xstrdup(found));
	if (strcmp(found, before) != 0 && move_set_primary(lu, err) < 0)
		return -1;
	if (!move_mirror_is(lu))
		return 0;
	if (strcmp(found, before) == 0)
		m->target = second;
	return move_mirror_unshare(
		lu, strcmp(found, before) == 0 ? second : before, err);
}

/* Whether its process can be asked how far the migration was. */
static WAITS bool can_ask(struct lu *lu, const char *node)
{
	return str_eq(inst_hypervisor(move_of(lu)->inst), "kvm") &&
	       !noderpc_is_ganetis(lu->m->rpc, config_get(lu->m->config,
							  CONFIG_NODE, node));
}

/* A process may stand still on the source, and one on another node (NULL: none)
 * may wait for it or have all of it.  Of those that are left *ret_found runs.
 */
static WAITS int end_halves(struct lu *lu, const char *other,
			    const char **ret_found, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *state = NULL;

	*ret_found = m->source;
	if (call(lu, m->source,
		 rpc_instance_finalize_migration_src(
			 inst_rpc(lu, m->inst, NULL, NULL), false, true),
		 err) == 0)
		return other == NULL
			       ? 0
			       : call(lu, other,
				      rpc_instance_finalize_migration_dst(
					      inst_rpc(lu, m->inst, NULL, NULL),
					      "", false),
				      err);
	state = other == NULL
			? NULL
			: lu_call(lu, m->source,
				  rpc_instance_get_migration_status(
					  inst_rpc(lu, m->inst, NULL, NULL)),
				  err);
	if (!str_eq(json_str(state, "status", ""), "completed"))
		return -1;
	*ret_found = other;
	if (call(lu, m->source,
		 rpc_instance_finalize_migration_src(
			 inst_rpc(lu, m->inst, NULL, NULL), true, true),
		 err) < 0)
		return -1;
	return call(lu, other,
		    rpc_instance_finalize_migration_dst(
			    inst_rpc(lu, m->inst, NULL, NULL), "", true),
		    err);
}

static int two_nodes(struct lu *lu, const char *a, const char *b,
		     struct error *err)
{
	return error_set(err, ERR_EXEC, NULL,
			 "Instance %s seems to run on two nodes: %s and %s; "
			 "stop one of them",
			 inst_name(move_of(lu)->inst), lu_node_name(lu, a),
			 lu_node_name(lu, b));
}

/* The nodes that have a process of it: *ret_found, if there is one, and another
 * one that may be the half of a migration; the recorded one is *ret_found
 * then. */
static WAITS int find_where(struct lu *lu, const char **ret_found,
			    const char **ret_other, struct error *err)
{
	struct move *m = move_of(lu);
	auto_strv struct strv nodes = {0};

	config_sorted(lu->m->config, CONFIG_NODE, &nodes);
	for (size_t i = 0; i < nodes.n; i++) {
		const char *node = lu_keep_str(lu, xstrdup(nodes.items[i]));
		bool running = false;

		if (!can_host(lu, node))
			continue;
		/* Where nobody can look it may run as well. */
		if (inst_is_running(lu, m->inst, node, &running, err) < 0)
			return error_wrap(err,
					  "Cannot see whether instance %s runs "
					  "on node %s (mark a dead node "
					  "offline)",
					  inst_name(m->inst),
					  lu_node_name(lu, node));
		if (!running)
			continue;
		if (*ret_other != NULL ||
		    (*ret_found != NULL && !str_eq(node, m->source) &&
		     !str_eq(*ret_found, m->source)))
			return two_nodes(lu, *ret_found, node, err);
		*ret_other = *ret_found;
		*ret_found = node;
	}
	if (*ret_other != NULL && str_eq(*ret_other, m->source)) {
		*ret_other = *ret_found;
		*ret_found = m->source;
	}
	return 0;
}

/* Its guest has ended meanwhile, but both sides may be primaries. */
static WAITS void leave_unshared(struct lu *lu)
{
	struct move *m = move_of(lu);
	struct error err;

	if (move_mirror_is(lu) && inst_disks_active(m->inst) &&
	    move_mirror_unshare(lu, m->target, &err) < 0)
		lu_warn(lu, "%s", err.text);
}

WAITS int move_clean_up(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const char *found = NULL, *other = NULL;

	lu_feedback(lu, "Migrating instance %s", inst_name(m->inst));
	lu_feedback(lu, "* checking where the instance actually runs (if this "
			"hangs, the hypervisor might be in a bad state)");
	if (find_where(lu, &found, &other, err) < 0)
		return -1;
	if (found == NULL) {
		leave_unshared(lu);
		return error_set(err, ERR_EXEC, NULL,
				 "Instance %s runs on no node; start it with "
				 "gnt-instance startup",
				 inst_name(m->inst));
	}
	if (str_eq(found, m->source) && can_ask(lu, found)) {
		if (end_halves(lu, other, &found, err) < 0)
			return other == NULL
				       ? -1
				       : two_nodes(lu, m->source, other, err);
	} else if (other != NULL) {
		return two_nodes(lu, found, other, err);
	}
	if (settle_where(lu, found, err) < 0)
		return -1;
	lu_feedback(lu, "* done");
	return 0;
}
