/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_BACKUP_EXPORT: write the data of an instance's disks, by the export script
 * of its OS, into files on a node, with a description for the import; or send
 * it to another cluster (backup_remote.h).
 *
 * Snapshots of the disks are copied while the instance runs again.  Storage
 * that cannot make any keeps it down during the export, which its owner has to
 * allow (long_sleep).  After any failure an instance that ran is started again.
 */
#include <math.h>
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/files/paths.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/disks/lu_helper.h"
#include "masterd/lu/disks/transfer.h"
#include "masterd/lu/instance/backup_remote.h"
#include "masterd/lu/instance/snapshots.h"
#include "masterd/lu/instance/start_again.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_resources.h"
#include "masterd/lu/parts/lu_stop.h"
#include "masterd/lu/spec/instance_booking.h"

struct export
{
	struct lu lu;
	const json_t *inst;
	const char *source, *target; /* UUIDs; no target: another cluster */
	struct backup_remote remote;
	bool uses_key; /* of the move; it is of no use after us */
	bool was_up;   /* it is marked so */
	bool runs;     /* or it runs all the same */
	bool stopped;  /* it was up, and we have asked to stop it */
	bool zeroes;   /* its free space, before: */
	struct helper helper;
	bool dark;   /* the helper stopped its disks */
	bool active; /* we started its disks */
	bool can_snapshot;
	bool to_ganetis;   /* the target has a node daemon of Ganeti's */
	bool began;	   /* there may be files on the target */
	json_t *snapshots; /* of its disks, or NULL */
};

static struct export *export_of(struct lu *lu)
{
	return container_of(lu, struct export, lu);
}

static bool is_remote(const struct op_backup_export *op)
{
	return strcmp(op->mode, "remote") == 0;
}

static int check_target_form(const struct op_backup_export *op,
			     struct error *err)
{
	if (is_remote(op) == json_is_array(op->target_node))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The target of an export is a node, or, with mode "
			 "remote, the list of places where another cluster "
			 "waits for the disks");
}

static int want_target(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	const json_t *node;

	if (is_remote(op))
		return 0;
	node = lu_node(lu, json_string_value(op->target_node), err);
	if (node == NULL)
		return -1;
	export_of(lu)->target = node_uuid(node);
	lu_want(lu, LOCK_NODE, node_uuid(node), false);
	return 0;
}

static int export_expand(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);

	if (check_target_form(op, err) < 0)
		return -1;
	e->inst = lu_instance(lu, op->instance_name, err);
	if (e->inst == NULL)
		return -1;
	e->source = inst_primary_node(e->inst);
	lu_want(lu, LOCK_INSTANCE, inst_name(e->inst), true);
	lu_want(lu, LOCK_NODE, e->source, false);
	if (want_target(lu, err) < 0)
		return -1;
	if (op->zero_free_space)
		lu_want(lu, LOCK_NODE_RES, e->source, true);
	return 0;
}

/* --- check --- */

static int check_options(const struct op_backup_export *op, struct error *err)
{
	if (op->zero_free_space && !op->shutdown)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Unless the instance is shut down, zeroing "
				 "cannot be used");
	if (!op->zero_free_space && (op->zeroing_timeout_fixed != OP_UNSET ||
				     !isnan(op->zeroing_timeout_per_mib)))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Zeroing timeout options can only be used "
				 "with --zero-free-space");
	if (op->long_sleep && !op->shutdown)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The long sleep option only makes sense when "
				 "the instance may be shut down");
	return 0;
}

static bool makes_snapshots(struct lu *lu)
{
	return export_of(lu)->can_snapshot;
}

/* A node daemon of Ganeti's makes snapshots of volumes alone. */
static WAITS void look_for_snapshots(struct lu *lu)
{
	struct export *e = export_of(lu);
	const char *template = config_instance_template(lu->m->config, e->inst);
	auto_json json_t *node =
		json_ref(config_get(lu->m->config, CONFIG_NODE, e->source));
	auto_json json_t *disks = config_instance_disks(lu->m->config, e->inst);
	bool can = snapshots_can(template, disks);

	if (can && !template_is_on_volumes(template))
		can = node != NULL && !noderpc_is_ganetis(lu->m->rpc, node);
	e->can_snapshot = can;
}

/* A running instance has to be stopped while its disks are copied, if their
 * storage makes no snapshots; refuse before anything is done. */
static int check_sleep(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	const struct export *e = export_of(lu);
	bool has_disks = json_array_size(inst_disks(e->inst)) > 0;

	if (op->remove_instance && e->runs && !op->shutdown)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Can not remove instance without shutting it "
				 "down before");
	if (op->remove_instance || !e->runs || !has_disks ||
	    makes_snapshots(lu))
		return 0;
	if (!op->shutdown)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Not all disks could be snapshotted, and you "
				 "requested a live export; aborting");
	if (!op->long_sleep)
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Not all disks could be snapshotted, and you "
				 "did not allow the instance to remain "
				 "offline for a longer time through the "
				 "--long-sleep option; aborting");
	return 0;
}

/* What runs is copied from snapshots, and is started before that. */
static bool copies_snapshots(struct lu *lu)
{
	const struct op_backup_export *op = lu->op;

	return makes_snapshots(lu) && !op->remove_instance &&
	       export_of(lu)->runs;
}

/* A snapshot of a mirror is one of its volume here.  Refuse before anything is
 * stopped. */
static WAITS int check_mirrors(struct lu *lu, struct error *err)
{
	const struct export *e = export_of(lu);

	if (!copies_snapshots(lu) || !inst_disks_active(e->inst))
		return 0;
	return disks_mirror_check_primary(lu, e->inst, err);
}

static int64_t sum_sizes(const json_t *disks)
{
	int64_t mib = 0;

	for (size_t i = 0; i < json_array_size(disks); i++)
		mib += disk_size_mib(json_array_get(disks, i));
	return mib;
}

/* The image exists, and there is space for it.  Nobody else places on the node
 * meanwhile; after this the disk is made or the space is not needed. */
static WAITS int check_zeroing(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);
	auto_json json_t *disks = config_instance_disks(lu->m->config, e->inst);
	const char *type = disk_dev_type(json_array_get(disks, 0));

	if (!op->zero_free_space)
		return 0;
	if (helper_set_zeroing_limits(&e->helper, op->zeroing_timeout_fixed,
				      op->zeroing_timeout_per_mib,
				      sum_sizes(disks), err) < 0)
		return -1;
	e->zeroes = json_array_size(disks) > 0;
	if (!e->zeroes)
		lu_info(lu, "Instance %s has no disks, nothing to zero",
			inst_name(e->inst));
	else if (helper_check(lu, e->source, inst_hypervisor(e->inst),
			      HELPER_ZERO, &e->helper, err) < 0 ||
		 lu_check_space(lu, e->source,
				template_of_data(template_get(type)),
				e->helper.size_mib, err) < 0)
		return -1;
	lu_release(lu, LOCK_NODE_RES);
	return 0;
}

static WAITS int check_target(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);
	auto_json json_t *node = NULL;

	if (is_remote(lu->op))
		return backup_remote_check(lu,
					   json_array_size(inst_disks(e->inst)),
					   &e->remote, err);
	if (node_drained(config_get(lu->m->config, CONFIG_NODE, e->target)))
		return error_set(err, ERR_PREREQ, ECODE_STATE,
				 "Can't use drained node: %s",
				 lu_node_name(lu, e->target));
	if (inst_check_node(lu, e->target, false, err) < 0)
		return -1;
	node = json_ref(config_get(lu->m->config, CONFIG_NODE, e->target));
	e->to_ganetis = node == NULL || noderpc_is_ganetis(lu->m->rpc, node);
	return 0;
}

/* A node daemon of Ganeti's would describe compressed files as others. */
static int check_stored(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	const struct export *e = export_of(lu);

	if (op->dump_compress == NULL)
		return 0;
	if (is_remote(op))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "An export to another cluster leaves no files "
				 "that could be compressed");
	if (transfer_check_tool(lu, op->dump_compress, err) < 0)
		return -1;
	if (!e->to_ganetis)
		return 0;
	return error_set(
		err, ERR_PREREQ, ECODE_STATE,
		"Node %s has a node daemon of Ganeti's, which keeps no "
		"compressed exports",
		lu_node_name(lu, e->target));
}

/* Warnings that are given before anything is stopped. */
static WAITS int check_script(struct lu *lu, struct error *err)
{
	const struct export *e = export_of(lu);
	const char *os = inst_os(e->inst);

	if (*os == '\0' || json_array_size(inst_disks(e->inst)) == 0)
		return 0;
	return inst_check_os_supports(lu, e->source, os, NULL, "export", true,
				      err);
}

/* What is marked down may run all the same.  Its node is asked where it would
 * not be stopped. */
static WAITS int look_at_guest(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);

	e->was_up = strcmp(inst_admin_state(e->inst), "up") == 0;
	e->runs = e->was_up;
	if (e->was_up || op->shutdown)
		return 0;
	return inst_is_running(lu, e->inst, NULL, &e->runs, err) < 0
		       ? lu_not_valid(err)
		       : 0;
}

static WAITS int export_check(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);

	if (check_options(op, err) < 0 ||
	    inst_check_node(lu, e->source, false, err) < 0 ||
	    look_at_guest(lu, err) < 0 ||
	    transfer_check_tool(lu, op->compress, err) < 0 ||
	    check_target(lu, err) < 0 || check_stored(lu, err) < 0)
		return -1;
	look_for_snapshots(lu);
	if (check_script(lu, err) < 0 || check_sleep(lu, err) < 0 ||
	    check_mirrors(lu, err) < 0)
		return -1;
	return check_zeroing(lu, err);
}

/* --- hooks --- */

static void export_env(struct lu *lu, json_t *env)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);
	auto_free char *timeout =
		xprintf("%jd", (intmax_t)op->shutdown_timeout);

	/* Nothing is known of its disks once it is removed. */
	if (op->remove_instance && lu->env_before != NULL)
		json_object_update(env, lu->env_before);
	else
		inst_hook_env(lu, e->inst, env);
	json_set_str(env, "EXPORT_MODE", op->mode);
	json_set_str(env, "EXPORT_NODE",
		     e->target == NULL ? "" : lu_node_name(lu, e->target));
	json_set_str(env, "EXPORT_DO_SHUTDOWN",
		     op->shutdown ? "True" : "False");
	json_set_str(env, "SHUTDOWN_TIMEOUT", timeout);
	json_set_str(env, "REMOVE_INSTANCE",
		     op->remove_instance ? "True" : "False");
}

static void export_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	struct export *e = export_of(lu);
	struct strv *both[] = {ret_pre, ret_post};

	for (size_t i = 0; i < 2; i++) {
		strv_add_unique(both[i],
				node_uuid(config_master(lu->m->config)));
		strv_add_unique(both[i], e->source);
		if (e->target != NULL)
			strv_add_unique(both[i], e->target);
	}
}

/* --- exec --- */

static WAITS int shut_down(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);
	const struct stop how = {e->inst, e->source, op->shutdown_timeout,
				 "--shutdown-timeout"};

	if (!op->shutdown)
		return 0;
	lu_feedback(lu, "Shutting down instance %s", inst_name(e->inst));
	e->stopped = e->was_up;
	if (inst_stop(lu, &how, err) == 0)
		return 0;
	if (err->kind == ERR_EXEC)
		e->stopped = false; /* the node says so */
	return error_wrap(err, "Could not shutdown instance %s on node %s",
			  inst_name(e->inst), lu_node_name(lu, e->source));
}

/* Start again what the helper has stopped. */
static WAITS int light_up(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);

	if (!e->dark)
		return 0;
	e->dark = false;
	return inst_disks_active(e->inst) ? disks_start(lu, e->inst, NULL, err)
					  : 0;
}

static WAITS int zero(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);
	const char *uuid = inst_uuid(e->inst);
	int rc;

	if (!e->zeroes)
		return 0;
	lu_feedback(lu, "Zeroing the free space on the disks of instance %s",
		    inst_name(e->inst));
	e->dark = true;
	rc = helper_run(lu, uuid, &e->helper, err);
	/* The recorded instance, without the helper's disk. */
	if (!helper_is_left(lu, uuid))
		e->inst = lu_keep(
			lu, config_get(lu->m->config, CONFIG_INSTANCE, uuid));
	return rc == 0 ? light_up(lu, err)
		       : error_wrap(err,
				    "Could not zero the free space of instance "
				    "%s on node %s",
				    inst_name(e->inst),
				    lu_node_name(lu, e->source));
}

static WAITS int activate(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);

	if (inst_disks_active(e->inst))
		return 0;
	lu_feedback(lu, "Activating disks for %s", inst_name(e->inst));
	e->active = !e->runs;
	return disks_start(lu, e->inst, NULL, err);
}

static WAITS void deactivate(struct lu *lu)
{
	struct export *e = export_of(lu);
	struct error ignored;

	if (!e->active)
		return;
	lu_feedback(lu, "Deactivating disks for %s", inst_name(e->inst));
	disks_stop(lu, e->inst, NULL, true, &ignored);
	e->active = false;
}

/* What the node daemon calls an export before all its files exist.  Ganeti's
 * has the name that an export of another instance may have. */
static char *unfinished(struct lu *lu)
{
	const struct export *e = export_of(lu);

	return xprintf("%s%s", inst_name(e->inst),
		       e->to_ganetis ? ".new" : "+new");
}

static WAITS void drop_unfinished(struct lu *lu)
{
	struct export *e = export_of(lu);
	auto_free char *folder = unfinished(lu);
	auto_json json_t *done = NULL;
	struct error err;

	if (lu->run->killed) {
		aftermath_call(lu->m, e->target, rpc_export_remove(folder));
		return;
	}
	done = lu_call(lu, e->target, rpc_export_remove(folder), &err);
	if (done == NULL)
		lu_warn(lu, "Cannot remove the unfinished export: %s",
			err.text);
}

/* The tool of the files; NULL: none. */
static const char *stored_by(const struct op_backup_export *op)
{
	return str_eq(op->dump_compress, "none") ? NULL : op->dump_compress;
}

static WAITS int bring_disk(struct lu *lu, const json_t *carried, size_t i,
			    struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);
	const json_t *disk = json_array_get(json_get(carried, "disks_info"), i);
	const json_t *copied =
		e->snapshots == NULL ? disk : json_array_get(e->snapshots, i);
	bool script = *inst_os(carried) != '\0';
	auto_free char *path =
		xprintf("%s/%s.new/%s", paths_plain(PATH_EXPORT_DIR),
			inst_name(e->inst), disk_uuid(disk));
	auto_json json_t *from =
		script ? transfer_script(copied, i) : transfer_raw(copied);
	auto_json json_t *to = transfer_file(path);
	struct transfer t = {
		.index = i,
		.inst = carried,
		.source = e->source,
		.target = e->target,
		.from = from,
		.to = to,
		.compress = op->compress,
		.stored = stored_by(op),
		.bandwidth_mib = op->bandwidth_limit,
	};

	return transfer_run(lu, &t, err);
}

/* The disks as an import has to make them, to be freed: what was copied may be
 * larger than recorded, as volumes have whole extents, and the instance may use
 * all of it. */
static WAITS json_t *described_disks(struct lu *lu, const json_t *carried)
{
	const struct export *e = export_of(lu);
	json_t *disks = json_deep_copy(json_get(carried, "disks_info"));
	auto_json json_t *sizes = disks_real_sizes(
		lu, e->source, e->snapshots != NULL ? e->snapshots : disks);

	for (size_t i = 0; i < json_array_size(disks); i++)
		disk_set_size_mib(json_array_get(disks, i),
				  json_integer_value(json_array_get(sizes, i)));
	return disks;
}

static WAITS int finalize(struct lu *lu, const json_t *carried,
			  const json_t *disks, struct error *err)
{
	struct export *e = export_of(lu);
	const char *stored = stored_by(lu->op);
	auto_json json_t *described = json_copy(json_unconst(carried));
	auto_json json_t *done = NULL;

	if (stored != NULL)
		json_set_str(described, "dump_compression", stored);
	lu_feedback(lu, "Finalizing export on %s", lu_node_name(lu, e->target));
	done = lu_call(
		lu, e->target,
		rpc_finalize_export(json_ref(described), json_ref(disks)), err);
	if (done != NULL)
		return 0;
	return error_wrap(err,
			  "Could not finalize export for instance %s on node "
			  "%s",
			  inst_name(e->inst), lu_node_name(lu, e->target));
}

static WAITS int send_all(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);
	auto_json json_t *carried = inst_rpc(lu, e->inst, NULL, NULL);
	const json_t *disks = e->snapshots != NULL
				      ? e->snapshots
				      : json_get(carried, "disks_info");

	return backup_remote_send(lu, &e->remote, carried, disks, err) < 0
		       ? error_wrap(err, "Export failed, errors in disk export")
		       : lu_check_killed(lu, err);
}

static WAITS void drop_key(struct lu *lu)
{
	struct export *e = export_of(lu);

	if (e->uses_key)
		backup_remote_drop_key(lu, e->source, &e->remote);
	e->uses_key = false;
}

static WAITS int bring_all(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);
	auto_json json_t *carried = inst_rpc(lu, e->inst, NULL, NULL);
	size_t n = json_array_size(json_get(carried, "disks_info"));
	auto_json json_t *disks =
		n > 0 ? described_disks(lu, carried) : json_array();

	drop_unfinished(lu); /* left by an interrupted export */
	e->began = true;
	for (size_t i = 0; i < n; i++)
		if (bring_disk(lu, carried, i, err) < 0)
			return error_wrap(err,
					  "Export failed, errors in disk "
					  "export: disk(s) %zu",
					  i);
	if (lu_check_killed(lu, err) < 0 ||
	    finalize(lu, carried, disks, err) < 0)
		return -1;
	e->began = false;
	return 0;
}

static WAITS int start(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);
	const struct balloon_start how = {.node = e->source};
	int rc;

	if (!e->stopped)
		return 0;
	lu_feedback(lu, "Starting instance %s", inst_name(e->inst));
	rc = lu_start_instance(lu, e->inst, &how, err);
	if (!lu->run->killed) /* otherwise nobody knows */
		e->stopped = false;
	return rc == 0 ? 0
		       : error_wrap(err, "Could not start instance %s",
				    inst_name(e->inst));
}

static WAITS int take_snapshots(struct lu *lu, struct error *err)
{
	struct export *e = export_of(lu);

	if (!copies_snapshots(lu))
		return 0;
	if (disks_mirror_check_primary(lu, e->inst, err) < 0)
		return -1;
	e->snapshots = snapshots_take(lu, e->inst, e->source, err);
	return e->snapshots == NULL ? -1 : start(lu, err);
}

static WAITS void drop_snapshots(struct lu *lu)
{
	struct export *e = export_of(lu);

	if (e->snapshots != NULL)
		snapshots_drop(lu, e->snapshots, e->source);
	json_decref(steal(&e->snapshots));
}

static WAITS int remove_instance(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);

	lu_feedback(lu, "Removing instance %s", inst_name(e->inst));
	if (disks_remove(lu, e->inst) < 0 &&
	    (!op->ignore_remove_failures || lu->run->killed))
		return error_set(err, ERR_EXEC, NULL,
				 "Can't remove the disks of instance %s; see "
				 "the warnings before",
				 inst_name(e->inst));
	e->stopped = false;
	booking_drop(lu->m->config, e->inst);
	return config_commit(lu->m->config, err);
}

/* Only the last export of an instance is kept. */
static WAITS void remove_older(struct lu *lu)
{
	struct export *e = export_of(lu);
	auto_strv struct strv all = {0}, others = {0};
	struct node_result *results;
	size_t n;

	config_sorted(lu->m->config, CONFIG_NODE, &all);
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.items[i], e->target) != 0)
			strv_add(&others, all.items[i]);
	if (others.n == 0)
		return;
	lu_feedback(lu, "Removing old exports for instance %s",
		    inst_name(e->inst));
	results = lu_call_nodes(lu, &others, rpc_export_list(NULL), &n);
	for (size_t i = 0; i < n; i++) {
		auto_json json_t *done = NULL;
		struct error err;

		if (!json_array_has_str(results[i].payload, inst_name(e->inst)))
			continue;
		done = lu_call(lu, node_uuid(results[i].node),
			       rpc_export_remove(inst_name(e->inst)), &err);
		if (done == NULL)
			lu_warn(lu,
				"Could not remove older export for instance "
				"%s: %s",
				inst_name(e->inst), err.text);
	}
	node_results_free(results, n);
}

static WAITS json_t *export_exec(struct lu *lu, struct error *err)
{
	const struct op_backup_export *op = lu->op;
	struct export *e = export_of(lu);
	size_t n = json_array_size(inst_disks(e->inst));
	json_t *disks;

	e->uses_key = is_remote(op);
	if (shut_down(lu, err) < 0 || zero(lu, err) < 0 ||
	    activate(lu, err) < 0 || take_snapshots(lu, err) < 0 ||
	    (is_remote(op) ? send_all(lu, err) : bring_all(lu, err)) < 0)
		return NULL;
	drop_key(lu);
	drop_snapshots(lu);
	if (!op->remove_instance && start(lu, err) < 0)
		return NULL;
	deactivate(lu);
	if (op->remove_instance && remove_instance(lu, err) < 0)
		return NULL;
	if (!is_remote(op))
		remove_older(lu);
	disks = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(disks, json_true());
	return json_make("[b, o]", 1, disks);
}

static WAITS void export_undo(struct lu *lu)
{
	struct export *e = export_of(lu);
	struct error err;

	if (e->began)
		drop_unfinished(lu);
	drop_key(lu);
	drop_snapshots(lu);
	if (e->zeroes && helper_is_left(lu, inst_uuid(e->inst)))
		return; /* that other job starts it, too */
	if (lu->run->killed) {
		if (e->stopped)
			start_again(lu, inst_name(e->inst));
		return;
	}
	if (light_up(lu, &err) < 0 || start(lu, &err) < 0)
		lu_warn(lu, "%s", err.text);
	deactivate(lu);
}

static void export_done(struct lu *lu)
{
	backup_remote_done(&export_of(lu)->remote);
}

const struct lu_class lu_backup_export = {
	.op = &op_class_backup_export,
	.size = sizeof(struct export),
	.hook_path = "instance-export",
	.object_type = "INSTANCE",
	.expand = export_expand,
	.check = export_check,
	.hook_env = export_env,
	.hook_nodes = export_nodes,
	.exec = export_exec,
	.undo = export_undo,
	.done = export_done,
};
