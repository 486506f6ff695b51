/* SPDX-License-Identifier: BSD-2-Clause */
/* The source and target nodes (and the one that keeps a side of mirrors) are
 * locked; all nodes are when an allocator
 * chooses, or a migration is cleaned up.  Once the target is checked, memory
 * there is booked for the instance (not by a cleanup) and the node resource
 * locks are released, so that others need not wait. */
#include "masterd/lu/instance/move.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "masterd/core/turns.h"
#include "masterd/lu/group/group.h"
#include "masterd/lu/instance/move_anywhere.h"
#include "masterd/lu/instance/move_mirror.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"

struct move *move_of(struct lu *lu)
{
	return container_of(lu, struct move, lu);
}

/* --- expand --- */

static int choose(struct lu *lu, const struct move_wanted *w, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *node;

	m->target = m->iallocator = NULL;
	if (move_mirror_is(lu))
		return move_anywhere_choose(lu, w, err);
	if (w->stays != NULL || w->sync_first)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Only mirrored disks have a side that a node "
				 "keeps, or a sync to wait for");
	if (w->target != NULL && w->iallocator != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Give either a target node or an iallocator, "
				 "not both");
	if (w->target != NULL) {
		node = lu_node(lu, w->target, err);
		if (node == NULL)
			return -1;
		m->target = node_uuid(node);
		return 0;
	}
	if (m->cleanup) {
		m->target = m->source;
		return 0;
	}
	m->iallocator = w->iallocator;
	if (m->iallocator == NULL || strcmp(m->iallocator, ".") == 0)
		m->iallocator = cluster_default_iallocator(
			config_cluster(lu->m->config));
	if (*m->iallocator == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "No target node and no iallocator given (-n "
				 "or -I), and the cluster has no default one");
	m->iallocator = lu_keep_str(lu, xstrdup(m->iallocator));
	return 0;
}

int move_expand(struct lu *lu, const struct move_wanted *w, struct error *err)
{
	struct move *m = move_of(lu);

	m->inst = lu_instance(lu, w->instance, err);
	if (m->inst == NULL)
		return -1;
	m->source = inst_primary_node(m->inst);
	m->ignore_ipolicy = w->ignore_ipolicy;
	m->sync_first = w->sync_first;
	if (choose(lu, w, err) < 0)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(m->inst), true);
	/* A cleanup looks for the instance on all nodes. */
	if (m->target == NULL || m->cleanup) {
		lu_want_all(lu, LOCK_NODE_RES, true);
		lu_want_all(lu, LOCK_NODE, false);
		return 0;
	}
	lu_want(lu, LOCK_NODE_RES, m->source, false);
	lu_want(lu, LOCK_NODE_RES, m->target, true);
	lu_want(lu, LOCK_NODE, m->source, false);
	lu_want(lu, LOCK_NODE, m->target, false);
	if (m->stays != NULL) {
		lu_want(lu, LOCK_NODE_RES, m->secondary, true);
		lu_want(lu, LOCK_NODE, m->secondary, false);
	}
	return 0;
}

/* --- check --- */

static WAITS int run_iallocator(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const char *template = config_instance_template(lu->m->config, m->inst);
	auto_strv struct strv from = {0};
	auto_json json_t *nodes = NULL;
	const json_t *node;

	/* Of mirrors it is asked for another secondary. */
	strv_add(&from, lu_node_name(lu, move_anywhere_is(lu) ? m->secondary
							      : m->source));
	nodes = lu_allocator(lu, iallocator_relocate(lu->m, m->inst, &from),
			     (struct iallocator_how){
				     .name = m->iallocator,
				     .disk_template = template,
			     },
			     err);
	if (nodes == NULL)
		return -1;
	node = lu_node(lu, json_string_value(json_array_get(nodes, 0)), err);
	if (node == NULL)
		return -1;
	m->target = node_uuid(node);
	lu_info(lu, "Selected nodes for instance %s via iallocator %s: %s",
		inst_name(m->inst), m->iallocator, node_name(node));
	return 0;
}

int move_check_template(struct lu *lu, const char *verb, struct error *err)
{
	struct move *m = move_of(lu);
	const char *template = config_instance_template(lu->m->config, m->inst);

	if (template_is_mirrored(template))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Instance's disk layout '%s' does not allow %s",
			 template, verb);
}

static int check_target(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (m->cleanup)
		return 0;
	if (strcmp(m->source, m->target) == 0)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Cannot migrate instance %s to its primary "
				 "(%s)",
				 inst_name(m->inst),
				 lu_node_name(lu, m->source));
	if (move_anywhere_is(lu) && move_anywhere_check(lu, err) < 0)
		return -1;
	return inst_check_node(lu, m->target, true, err);
}

static const char *group_of(const struct lu *lu, const char *node)
{
	return node_group(config_get(lu->m->config, CONFIG_NODE, node));
}

/* Of another group.  In its own an instance may break the policy already, and
 * has to be able to leave a node all the same. */
static int check_policy(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (m->cleanup || move_anywhere_is(lu) || /* that has looked */
	    str_eq(group_of(lu, m->source), group_of(lu, m->target)) ||
	    group_check_policy(lu, m->inst, m->target, err) == 0)
		return 0;
	if (!m->ignore_ipolicy)
		return -1;
	lu_warn(lu, "%s", err->text);
	return 0;
}

static WAITS int check_memory(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	auto_json json_t *be = inst_filled_be(lu, m->inst);
	auto_free char *why = xprintf("failing over/migrating instance %s",
				      inst_name(m->inst));
	int64_t min = be_minmem(be);
	struct memory_need need = {
		.node = m->target,
		.reason = why,
		.hypervisor = inst_hypervisor(m->inst),
		.min = min, /* what it is guaranteed on any node */
		.live = min,
	};

	if (m->cleanup)
		return 0;
	if (m->as_failover && strcmp(inst_admin_state(m->inst), "up") != 0) {
		lu_info(lu, "Not checking memory on the secondary node as "
			    "instance will not be started");
		need.live = 0;
	}
	if (strcmp(inst_admin_state(m->inst), "offline") == 0)
		need.min = 0; /* it books none */
	return lu_check_memory(lu, &need, err);
}

/* Book resources on the target, so that other jobs can choose while the move
 * takes its time. */
static void book(struct lu *lu)
{
	struct move *m = move_of(lu);

	if (!m->cleanup)
		lu_book(lu, m->inst, m->target, BOOK_MEMORY);
	lu_release(lu, LOCK_NODE_RES);
}

WAITS int move_check(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);

	if (m->target != NULL)
		lu_unbook(lu, m->inst, m->target,
			  move_anywhere_is(lu) ? BOOK_MEMORY | BOOK_DISKS
					       : BOOK_MEMORY);
	else if (run_iallocator(lu, err) < 0)
		return -1;
	if (check_target(lu, err) < 0 || check_policy(lu, err) < 0 ||
	    check_memory(lu, err) < 0 ||
	    (!m->cleanup &&
	     inst_check_bridges(lu, inst_nics(m->inst), m->target, err) < 0))
		return -1;
	book(lu);
	return 0;
}

/* --- hooks --- */

static const char *old_secondary(struct lu *lu)
{
	struct move *m = move_of(lu);

	return lu_node_name(lu,
			    move_anywhere_is(lu) ? m->secondary : m->target);
}

void move_env(struct lu *lu, json_t *ret_env)
{
	struct move *m = move_of(lu);
	bool mirror = move_mirror_is(lu);

	inst_hook_env(lu, m->inst, ret_env);
	/* After the move Ganeti passes the new primary in both variables. */
	json_set_str(ret_env, "OLD_PRIMARY",
		     lu_node_name(lu, inst_primary_node(m->inst)));
	json_set_str(ret_env, "NEW_PRIMARY", lu_node_name(lu, m->target));
	json_set_str(ret_env, "OLD_SECONDARY", mirror ? old_secondary(lu) : "");
	json_set_str(ret_env, "NEW_SECONDARY",
		     !mirror ? ""
			     : lu_node_name(lu, move_anywhere_is(lu)
							? m->stays
							: m->source));
}

void move_nodes(struct lu *lu, struct strv *ret_pre, struct strv *ret_post)
{
	struct move *m = move_of(lu);
	const char *master = node_uuid(config_master(lu->m->config));

	strv_add_unique(ret_pre, master);
	strv_add_unique(ret_pre, m->target);
	strv_add_unique(ret_post, master);
	strv_add_unique(ret_post, m->target);
	strv_add_unique(ret_post, m->source);
	if (!move_anywhere_is(lu))
		return;
	strv_add_unique(ret_pre, m->stays);
	strv_add_unique(ret_post, m->stays);
}

/* --- the steps that both share --- */

WAITS int move_set_primary(struct lu *lu, struct error *err)
{
	struct move *m = move_of(lu);
	const json_t *now =
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid(m->inst));
	json_t *changed = config_edit(now);

	inst_set_primary_node(changed, m->target);
	m->inst = lu_keep(lu,
			  config_put(lu->m->config, CONFIG_INSTANCE, changed));
	return config_commit(lu->m->config, err);
}

/* A call about the instance's disks as a whole. */
WAITS int move_disks(struct lu *lu, const char *node, bool open, bool exclusive,
		     struct error *err)
{
	struct move *m = move_of(lu);
	json_t *disks = inst_rpc_disks(lu, m->inst);
	struct rpc_request request =
		open ? rpc_blockdev_open(inst_name(m->inst), disks, exclusive)
		     : rpc_blockdev_close(inst_name(m->inst), disks);
	auto_json json_t *done = NULL;

	if (open)
		lu_feedback(lu,
			    "* opening instance disks on node %s in %s mode",
			    lu_node_name(lu, node),
			    exclusive ? "exclusive" : "shared");
	else
		lu_feedback(lu, "* closing instance disks on node %s",
			    lu_node_name(lu, node));
	done = lu_call(lu, node, request, err);
	return done == NULL ? -1 : 0;
}

/* Locks would do as well, but the turn is short: others may work on the node,
 * and migrate from it. */
WAITS int move_take_turn(struct lu *lu, struct error *err)
{
	struct turns *turns = lu->m->arrivals;
	const char *target = move_of(lu)->target;

	if (lu_plans(lu))
		return 0;
	if (turns_is_taken(turns, target))
		lu_feedback(lu,
			    "* waiting for another instance that is on its "
			    "way to %s",
			    lu_node_name(lu, target));
	if (turns_take(turns, target))
		return 0;
	return error_set(err, ERR_CANCELED, NULL, "Job was killed");
}

void move_give_turn(struct lu *lu)
{
	if (!lu_plans(lu))
		turns_give(lu->m->arrivals, move_of(lu)->target);
}

WAITS void move_undo(struct lu *lu)
{
	if (move_anywhere_is(lu))
		move_anywhere_undo(lu);
}

void move_done(struct lu *lu)
{
	struct move *m = move_of(lu);

	free(m->minors);
	json_decref(m->before);
	json_decref(m->created);
}
