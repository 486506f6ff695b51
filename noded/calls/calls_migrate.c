/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a migration.  The source says what the target must know
 * (migration_info), the target gets ready (accept_instance), the source sends
 * (instance_migrate, instance_get_migration_status), both tidy up
 * (instance_finalize_migration_*). */
#include <string.h>

#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/hv/hv.h"
#include "noded/instance/instance.h"
#include "noded/storage/bdev.h"
#include "noded/storage/drbd.h"

/* The class of the instance if it can migrate. */
static const struct hv_class *migrating(const json_t *instance,
					struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);

	if (hv == NULL || hv->migrate != NULL)
		return hv;
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hypervisor %s does not support migration", hv->name);
	return NULL;
}

/* While the other side of a mirror is away, or not all of it is there, what the
 * instance writes is on this node alone: over there it would go on with an
 * older disk, and both sides would have something that the other one has not.
 */
static WAITS int mirrored(void *arg, const json_t *instance, struct error *err)
{
	const struct call *c = arg;

	return drbd_check_whole(c->paths, json_get(instance, "disks_info"),
				err);
}

static struct hv_caller caller_of(struct call *c, const json_t *instance)
{
	struct hv_caller caller = calls_caller(c);
	const json_t *disk;
	size_t i;

	json_array_foreach (json_get(instance, "disks_info"), i, disk)
		if (str_eq(json_str(disk, "dev_type", ""), "drbd"))
			caller.mirrored = mirrored;
	return caller;
}

static json_t *null_or_error(int rc)
{
	return rc < 0 ? NULL : json_null();
}

json_t *
call_instance_migratable(struct call *c,
			 const struct rpc_args_instance_migratable *args,
			 struct error *err)
{
	if (migrating(args->instance, err) == NULL)
		return NULL;
	return null_or_error(
		instance_need_running(c->paths, args->instance, err));
}

json_t *call_migration_info(struct call *c,
			    const struct rpc_args_migration_info *args,
			    struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	auto_free char *info = NULL;

	if (hv == NULL)
		return NULL;
	info = hv->migration_info(c->paths, args->instance, err);
	return info != NULL ? json_string(info) : NULL;
}

WAITS json_t *call_accept_instance(struct call *c,
				   const struct rpc_args_accept_instance *args,
				   struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	struct hv_disk *disks;
	size_t n;
	int rc;

	if (hv == NULL)
		return NULL;
	disks = instance_disks(c->paths, args->instance, &n, err);
	if (disks == NULL)
		return NULL;
	rc = calls_in_force(c, err);
	if (rc == 0)
		rc = hv->accept(c->paths, args->instance, disks, n,
				args->info != NULL ? args->info : "",
				args->target != NULL ? args->target : "", err);
	instance_disks_free(disks, n);
	if (rc < 0) {
		error_wrap(err, "Failed to accept instance");
		return NULL;
	}
	return json_null();
}

WAITS json_t *
call_instance_migrate(struct call *c,
		      const struct rpc_args_instance_migrate *args,
		      struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	const struct hv_caller caller = caller_of(c, args->instance);

	if (hv == NULL)
		return NULL;
	if (hv->migrate(c->paths, args->cluster_name, args->instance,
			args->target, args->live, &caller, err) < 0) {
		error_wrap(err, "Failed to migrate instance");
		return NULL;
	}
	return json_null();
}

WAITS json_t *call_instance_finalize_migration_dst(
	struct call *c,
	const struct rpc_args_instance_finalize_migration_dst *args,
	struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	const struct hv_caller caller = calls_caller(c);

	if (hv == NULL)
		return NULL;
	if (hv->finalize_dst(c->paths, args->instance,
			     args->info != NULL ? args->info : "",
			     args->success, &caller, err) < 0 ||
	    calls_in_force(c, err) < 0) {
		error_wrap(err, "Failed to finalize migration on the target "
				"node");
		return NULL;
	}
	if (args->success)
		metad_start(&c->n->metad, args->instance);
	return json_null();
}

WAITS json_t *call_instance_finalize_migration_src(
	struct call *c,
	const struct rpc_args_instance_finalize_migration_src *args,
	struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	const struct hv_caller caller = calls_caller(c);

	if (hv == NULL)
		return NULL;
	if (hv->finalize_src(c->paths, args->instance, args->success,
			     args->live, &caller, err) < 0 ||
	    calls_in_force(c, err) < 0) {
		error_wrap(err, "Failed to finalize the migration on the "
				"source node");
		return NULL;
	}
	if (args->success)
		metad_forget(&c->n->metad,
			     json_str(args->instance, "name", ""));
	return json_null();
}

WAITS json_t *call_instance_get_migration_status(
	struct call *c,
	const struct rpc_args_instance_get_migration_status *args,
	struct error *err)
{
	const struct hv_class *hv = migrating(args->instance, err);
	const struct hv_caller caller = caller_of(c, args->instance);

	return hv != NULL ? hv->migration_status(c->paths, args->instance,
						 &caller, err)
			  : NULL;
}
