/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_REINSTALL: put an OS image on the disk again, and run the OS
 * definition's create script, perhaps others. */
#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/opcode/os_image.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/disks/lu_helper.h"
#include "masterd/lu/parts/lu_instance.h"

struct reinstall {
	struct lu lu;
	const json_t *inst;
	const char *os;	   /* "": none */
	const char *image; /* NULL: none */
	bool untrusted;	   /* its script runs in a helper: */
	struct helper helper;
	json_t *public, *private; /* OS parameters of this installation */
};

static struct reinstall *reinstall_of(struct lu *lu)
{
	return container_of(lu, struct reinstall, lu);
}

static int reinstall_expand(struct lu *lu, struct error *err)
{
	const struct op_instance_reinstall *op = lu->op;
	struct reinstall *r = reinstall_of(lu);

	r->inst = lu_instance(lu, op->instance_name, err);
	if (r->inst == NULL)
		return -1;
	r->os = op->os_type != NULL ? op->os_type : inst_os(r->inst);
	lu_want(lu, LOCK_INSTANCE, inst_name(r->inst), true);
	lu_want(lu, LOCK_NODE, inst_primary_node(r->inst), false);
	return 0;
}

/* Its own OS parameters with those of this installation on top; secret ones
 * exist only for this installation.  Valid as long as the LU. */
static struct params_os own_params(struct lu *lu)
{
	const struct op_instance_reinstall *op = lu->op;
	struct reinstall *r = reinstall_of(lu);

	json_decref(r->public);
	json_decref(r->private);
	r->public = params_update_os(inst_osparams(r->inst), op->osparams);
	r->private = params_update_os(inst_osparams_private(r->inst),
				      op->osparams_private);
	return (struct params_os){r->public, r->private, op->osparams_secret};
}

/* The image of this installation, or the instance's. */
static int read_image(struct lu *lu, struct error *err)
{
	const struct op_instance_reinstall *op = lu->op;
	struct reinstall *r = reinstall_of(lu);

	if (os_image_read(op->osparams, &r->image, err) < 0)
		return -1;
	if (r->image == NULL)
		r->image = os_image_of(inst_osparams(r->inst));
	return 0;
}

static WAITS int reinstall_check(struct lu *lu, struct error *err)
{
	const struct op_instance_reinstall *op = lu->op;
	struct reinstall *r = reinstall_of(lu);
	struct params_os own;

	if (read_image(lu, err) < 0 ||
	    inst_check_node(lu, inst_primary_node(r->inst), false, err) < 0)
		return -1;
	if (json_array_size(inst_disks(r->inst)) == 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Instance '%s' has no disks",
				 inst_name(r->inst));
	if (inst_check_down(lu, r->inst, "cannot reinstall", err) < 0)
		return -1;
	if (*r->os == '\0')
		return 0;
	own = own_params(lu);
	if (inst_check_os(lu, inst_primary_node(r->inst), r->os, &own,
			  op->force_variant, err) < 0 ||
	    inst_check_os_supports(lu, inst_primary_node(r->inst), r->os,
				   inst_hypervisor(r->inst), NULL, true,
				   err) < 0 ||
	    helper_is_needed(lu, inst_primary_node(r->inst), r->os,
			     &r->untrusted, err) < 0 ||
	    helper_set_limits(&r->helper, op->helper_startup_timeout,
			      op->helper_shutdown_timeout, err) < 0)
		return -1;
	return r->untrusted ? helper_check(lu, inst_primary_node(r->inst),
					   inst_hypervisor(r->inst),
					   HELPER_INSTALL, &r->helper, err)
			    : 0;
}

static void reinstall_env(struct lu *lu, json_t *env)
{
	inst_hook_env(lu, reinstall_of(lu)->inst, env);
}

static void reinstall_nodes(struct lu *lu, struct strv *ret_pre,
			    struct strv *ret_post)
{
	inst_hook_nodes(lu, reinstall_of(lu)->inst, ret_pre);
	inst_hook_nodes(lu, reinstall_of(lu)->inst, ret_post);
}

static WAITS int change_os(struct lu *lu, struct error *err)
{
	struct reinstall *r = reinstall_of(lu);
	json_t *changed;

	if (str_eq(r->os, inst_os(r->inst)))
		return 0;
	lu_feedback(lu, "Changing OS scripts to '%s'...", r->os);
	changed = config_edit(r->inst);
	inst_set_os(changed, r->os);
	config_put(lu->m->config, CONFIG_INSTANCE, changed);
	if (config_commit(lu->m->config, err) < 0)
		return -1;
	r->inst = lu_instance(lu, inst_name(r->inst), err);
	return r->inst != NULL ? 0 : -1;
}

static WAITS int run_in_helper(struct lu *lu, const struct params_os *own,
			       struct error *err)
{
	struct reinstall *r = reinstall_of(lu);

	if (inst_communicates(r->inst) &&
	    inst_feed_metadata(lu, r->inst, own, err) < 0)
		return -1;
	return helper_run(lu, inst_uuid(r->inst), &r->helper, err);
}

static WAITS int run_scripts(struct lu *lu, struct error *err)
{
	struct reinstall *r = reinstall_of(lu);
	struct params_os own = own_params(lu);
	auto_json json_t *done = NULL;

	lu_info(lu, "Running instance OS create scripts...");
	if (r->untrusted)
		return run_in_helper(lu, &own, err);
	done = lu_call(lu, inst_primary_node(r->inst),
		       rpc_instance_os_add(inst_rpc_os(lu, r->inst, &own), true,
					   lu->common.debug_level),
		       err);
	if (done != NULL)
		return 0;
	return error_wrap(err,
			  "Could not install OS for instance %s on node %s",
			  inst_name(r->inst),
			  lu_node_name(lu, inst_primary_node(r->inst)));
}

static WAITS int install(struct lu *lu, struct error *err)
{
	struct reinstall *r = reinstall_of(lu);

	if (r->image != NULL && disks_image(lu, r->inst, r->image, err) < 0)
		return -1;
	return *r->os != '\0' ? run_scripts(lu, err) : 0;
}

static WAITS json_t *reinstall_exec(struct lu *lu, struct error *err)
{
	struct reinstall *r = reinstall_of(lu);
	const struct op_instance_reinstall *op = lu->op;
	struct error ignored;
	int rc;

	if (r->image == NULL && *r->os == '\0') {
		lu_info(lu, "No OS scripts or OS image specified or found in "
			    "the instance's configuration, nothing to install");
		return json_null();
	}
	if (os_image_of(op->osparams) != NULL) {
		auto_free char *shown = os_image_shown(r->image);

		lu_feedback(lu, "Using OS image '%s'", shown);
	}
	if (change_os(lu, err) < 0 || disks_start(lu, r->inst, NULL, err) < 0)
		return NULL;
	rc = install(lu, err);
	disks_stop(lu, r->inst, NULL, true, &ignored);
	return rc < 0 ? NULL : json_null();
}

static void reinstall_done(struct lu *lu)
{
	json_decref(reinstall_of(lu)->public);
	json_decref(reinstall_of(lu)->private);
}

const struct lu_class lu_instance_reinstall = {
	.op = &op_class_instance_reinstall,
	.size = sizeof(struct reinstall),
	.hook_path = "instance-reinstall",
	.object_type = "INSTANCE",
	.expand = reinstall_expand,
	.check = reinstall_check,
	.hook_env = reinstall_env,
	.hook_nodes = reinstall_nodes,
	.exec = reinstall_exec,
	.done = reinstall_done,
};
