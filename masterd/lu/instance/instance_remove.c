/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_REMOVE: stop it, remove its disks, forget it. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/parts/lu_stop.h"
#include "masterd/lu/spec/instance_booking.h"

struct remove {
	struct lu lu;
	const json_t *inst;
};

static struct remove *remove_of(struct lu *lu)
{
	return container_of(lu, struct remove, lu);
}

/* The job may have waited for long.  As Ganeti. */
static int check_uuid(const json_t *inst, const char *wanted, struct error *err)
{
	if (wanted == NULL || str_eq(object_uuid(inst), wanted))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_NOTUNIQUE,
			 "Instance %s has UUID %s and not %s: it is another "
			 "one than when this job was submitted",
			 inst_name(inst), object_uuid(inst), wanted);
}

static int remove_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_remove *op = lu->op;
	struct remove *r = remove_of(lu);

	r->inst = lu_instance(lu, op->instance_name, err);
	if (r->inst == NULL || check_uuid(r->inst, op->instance_uuid, err) < 0)
		return -1;
	lu_want(lu, LOCK_INSTANCE, inst_name(r->inst), true);
	lu_want(lu, LOCK_NODE, inst_primary_node(r->inst), false);
	return 0;
}

/* One that was moved unheard is stopped where it runs, which has to be recorded
 * first. */
static WAITS int remove_check(struct lu *lu, struct error *err)
{
	const struct op_instance_remove *op = lu->op;

	return op->ignore_failures
		       ? 0
		       : disks_check_copies(lu, remove_of(lu)->inst, true, err);
}

static void remove_env(struct lu *lu, json_t *ret_env)
{
	const struct op_instance_remove *op = lu->op;
	auto_free char *timeout =
		xprintf("%jd", (intmax_t)op->shutdown_timeout);

	/* Report the policy's violations as they were while it existed. */
	if (lu->env_before != NULL)
		json_object_update(ret_env, lu->env_before);
	else
		inst_hook_env(lu, remove_of(lu)->inst, ret_env);
	json_set_str(ret_env, "SHUTDOWN_TIMEOUT", timeout);
}

static void remove_nodes(struct lu *lu, struct strv *ret_pre,
			 struct strv *ret_post)
{
	strv_add(ret_pre, node_uuid(config_master(lu->m->config)));
	inst_hook_nodes(lu, remove_of(lu)->inst, ret_post);
}

/* -1 unless the failure may be ignored. */
static int fail_or_warn(struct lu *lu, const char *what, struct error *err)
{
	const struct op_instance_remove *op = lu->op;
	const json_t *inst = remove_of(lu)->inst;

	error_wrap(err, "Could not %s of instance %s on node %s", what,
		   inst_name(inst), lu_node_name(lu, inst_primary_node(inst)));
	if (!op->ignore_failures || lu->run->killed)
		return -1;
	lu_warn(lu, "%s, ignoring", err->text);
	return 0;
}

static WAITS int stop(struct lu *lu, struct error *err)
{
	const struct op_instance_remove *op = lu->op;
	const json_t *inst = remove_of(lu)->inst;
	const struct stop how = {inst, inst_primary_node(inst),
				 op->shutdown_timeout, "--shutdown-timeout"};

	return inst_stop(lu, &how, err) < 0
		       ? fail_or_warn(lu, "shut down the system", err)
		       : 0;
}

static WAITS int remove_disks(struct lu *lu, struct error *err)
{
	disks_drop_copies(lu, remove_of(lu)->inst);
	if (disks_remove(lu, remove_of(lu)->inst) == 0)
		return 0;
	error_set(err, ERR_EXEC, NULL, "see the warnings before");
	return fail_or_warn(lu, "remove the disks", err);
}

static WAITS int forget(struct lu *lu, struct error *err)
{
	booking_drop(lu->m->config, remove_of(lu)->inst);
	return config_commit(lu->m->config, err);
}

static WAITS json_t *remove_exec(struct lu *lu, struct error *err)
{
	const json_t *inst = remove_of(lu)->inst;

	/* A booked instance that was never created runs nowhere. */
	if (!inst_forthcoming(inst) && stop(lu, err) < 0)
		return NULL;
	if (remove_disks(lu, err) < 0 || forget(lu, err) < 0 ||
	    lu_balloon_forget_choice(lu, inst, err) < 0)
		return NULL;
	lu_balloon_freed(lu, inst_primary_node(inst));
	return json_null();
}

const struct lu_class lu_instance_remove = {
	.op = &op_class_instance_remove,
	.size = sizeof(struct remove),
	.hook_path = "instance-remove",
	.object_type = "INSTANCE",
	.takes_forthcoming = true,
	.expand = remove_expand,
	.check = remove_check,
	.hook_env = remove_env,
	.hook_nodes = remove_nodes,
	.exec = remove_exec,
};
