/* SPDX-License-Identifier: BSD-2-Clause */
/* A mirror allows two primaries only when both sides were connected for that,
 * so a migration disconnects and connects them twice.  Meanwhile the instance
 * goes on with the data of its own side, and what it writes is sent when they
 * are connected again. */
#include "masterd/lu/instance/move_mirror.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/instance/move.h"
#include "masterd/lu/parts/lu_instance.h"

/* Of a mirror's local storage, in a node's answer. */
#define LDISK_OKAY 1

bool move_mirror_is(struct lu *lu)
{
	return template_is_pair(
		config_instance_template(lu->m->config, move_of(lu)->inst));
}

const char *move_mirror_secondary(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_strv struct strv nodes = {0};

	config_instance_secondaries(lu->m->config, m->inst, &nodes);
	if (nodes.n == 1)
		return lu_keep_str(lu, xstrdup(nodes.items[0]));
	error_set(err, ERR_PREREQ, ECODE_STATE,
		  "No secondary node but using %s disk template",
		  config_instance_template(lu->m->config, m->inst));
	return NULL;
}

static int degraded(struct lu *lu, const json_t *disk, const char *node,
		    struct error *err)
{
	const char *role =
		str_eq(node, move_of(lu)->target) ? "target node " : "";

	return error_set(err, ERR_EXEC, NULL,
			 "Disk %s is degraded or not fully synchronized on "
			 "%s%s, aborting; gnt-instance activate-disks "
			 "connects the two sides",
			 disk_iv_name(disk), role, lu_node_name(lu, node));
}

WAITS int move_mirror_check(struct lu *lu, const char *node, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *disks = inst_rpc_disks(lu, m->inst);
	auto_json json_t *all = disks_mirror_status(lu, node, disks, err);

	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *status = json_array_get(all, i);

		if (json_int(status, "ldisk_status", 0) != LDISK_OKAY)
			return degraded(lu, json_array_get(disks, i), node,
					err);
	}
	return 0;
}

WAITS int move_mirror_check_linked(struct lu *lu, const char *node,
				   struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, move_of(lu)->inst);
	auto_json json_t *all = disks_mirror_status(lu, node, disks, err);

	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *status = json_array_get(all, i);

		if (json_bool(status, "is_degraded", false))
			return error_set(
				err, ERR_EXEC, NULL,
				"Disk %s on node %s is not connected to the "
				"primary node, so its data may be old; "
				"gnt-instance activate-disks connects them",
				disk_iv_name(json_array_get(disks, i)),
				lu_node_name(lu, node));
	}
	return 0;
}

static WAITS int reconnect(struct lu *lu, const json_t *disks, bool shared,
			   struct error *err)
{
	struct move *m = move_of(lu);
	const char *const nodes[2] = {m->source, m->target};

	lu_feedback(lu, "* changing into standalone mode");
	if (disks_mirror_leave(lu, disks, nodes, err) < 0)
		return -1;
	lu_feedback(lu, "* changing disks into %s-master mode",
		    shared ? "dual" : "single");
	if (disks_mirror_join(lu, disks, nodes, shared, err) < 0)
		return -1;
	return disks_mirror_settle(lu, disks, nodes, err);
}

WAITS int move_mirror_share(struct lu *lu, struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, move_of(lu)->inst);

	if (move_mirror_check(lu, move_of(lu)->target, err) < 0)
		return -1;
	if (move_disks(lu, move_of(lu)->target, false, false, err) < 0)
		return -1;
	return reconnect(lu, disks, true, err);
}

WAITS int move_mirror_unshare(struct lu *lu, const char *demoted,
			      struct error *err)
{
	auto_json json_t *disks = inst_rpc_disks(lu, move_of(lu)->inst);

	if (move_disks(lu, demoted, false, false, err) < 0)
		return -1;
	return reconnect(lu, disks, false, err);
}
