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

/* The class of the instance in argument i if it can migrate. */
static const struct hv_class *migrating(const struct call *c, size_t i,
					const json_t **ret_instance,
					struct error *err)
{
	const struct hv_class *hv;

	*ret_instance = call_instance(c, i, err);
	if (*ret_instance == NULL)
		return NULL;
	hv = hv_of(*ret_instance, err);
	if (hv == NULL || hv->migrate != NULL)
		return hv;
	error_set(err, ERR_HYPERVISOR, NULL,
		  "Hypervisor %s does not support migration", hv->name);
	return NULL;
}

static json_t *null_or_error(int rc)
{
	return rc < 0 ? NULL : json_null();
}

json_t *call_instance_migratable(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);

	if (hv == NULL)
		return NULL;
	return null_or_error(instance_need_running(c->paths, instance, err));
}

json_t *call_migration_info(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);
	auto_free char *info = NULL;

	if (hv == NULL)
		return NULL;
	info = hv->migration_info(c->paths, instance, err);
	return info != NULL ? json_string(info) : NULL;
}

json_t *call_accept_instance(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);
	const char *info = json_string_value(json_array_get(c->args, 1));
	const char *target = json_string_value(json_array_get(c->args, 2));
	struct hv_disk *disks;
	size_t n;
	int rc;

	if (hv == NULL)
		return NULL;
	disks = instance_disks(c->paths, instance, &n, err);
	if (disks == NULL)
		return NULL;
	rc = hv->accept(c->paths, instance, disks, n, info != NULL ? info : "",
			target != NULL ? target : "", err);
	instance_disks_free(disks, n);
	if (rc < 0) {
		error_wrap(err, "Failed to accept instance");
		return NULL;
	}
	return json_null();
}

json_t *call_instance_migrate(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 1, &instance, err);
	const char *cluster = hv != NULL ? call_str(c, 0, err) : NULL;
	const char *target = cluster != NULL ? call_str(c, 2, err) : NULL;

	if (target == NULL)
		return NULL;
	if (hv->migrate(c->paths, cluster, instance, target, call_flag(c, 3),
			err) < 0) {
		error_wrap(err, "Failed to migrate instance");
		return NULL;
	}
	return json_null();
}

json_t *call_instance_finalize_migration_dst(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);
	const char *info = json_string_value(json_array_get(c->args, 1));

	if (hv == NULL)
		return NULL;
	if (hv->finalize_dst(c->paths, instance, info != NULL ? info : "",
			     call_flag(c, 2), err) < 0) {
		error_wrap(err, "Failed to finalize migration on the target "
				"node");
		return NULL;
	}
	if (call_flag(c, 2))
		metad_start(&c->n->metad, instance);
	return json_null();
}

json_t *call_instance_finalize_migration_src(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);

	if (hv == NULL)
		return NULL;
	if (hv->finalize_src(c->paths, instance, call_flag(c, 1),
			     call_flag(c, 2), err) < 0) {
		error_wrap(err, "Failed to finalize the migration on the "
				"source node");
		return NULL;
	}
	if (call_flag(c, 1))
		metad_forget(&c->n->metad, json_str(instance, "name", ""));
	return json_null();
}

json_t *call_instance_get_migration_status(struct call *c, struct error *err)
{
	const json_t *instance;
	const struct hv_class *hv = migrating(c, 0, &instance, err);

	return hv != NULL ? hv->migration_status(c->paths, instance, err)
			  : NULL;
}
