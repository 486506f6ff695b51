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

int move_mirror_choose(struct lu *lu, bool named, struct error *err)
{
	struct move *m = move_of(lu);
	const char *template = config_instance_template(lu->m->config, m->inst);
	auto_strv struct strv nodes = {0};

	if (named)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instances with disk template %s cannot be "
				 "moved to arbitrary nodes (neither an "
				 "iallocator nor a target node can be passed)",
				 template);
	config_instance_secondaries(lu->m->config, m->inst, &nodes);
	if (nodes.n != 1)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "No secondary node but using %s disk template",
				 template);
	m->target = lu_keep_str(lu, xstrdup(nodes.items[0]));
	return 0;
}

static int degraded(struct lu *lu, const json_t *disk, struct error *err)
{
	return error_set(
		err, ERR_EXEC, NULL,
		"Disk %s is degraded or not fully synchronized on "
		"target node %s, aborting; gnt-instance activate-disks "
		"connects the two sides",
		disk_iv_name(disk), lu_node_name(lu, move_of(lu)->target));
}

WAITS int move_mirror_check(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *disks = inst_rpc_disks(lu, m->inst);
	auto_json json_t *all = disks_mirror_status(lu, m->target, disks, err);

	if (all == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *status = json_array_get(all, i);

		if (json_int(status, "ldisk_status", 0) != LDISK_OKAY)
			return degraded(lu, json_array_get(disks, i), err);
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

	if (move_mirror_check(lu, err) < 0)
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
