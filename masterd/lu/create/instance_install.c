/* SPDX-License-Identifier: BSD-2-Clause */
/* install_check() decides how to install and notes it in struct inst_install;
 * install_run() follows that.  Where no script is to run (no_install, an image,
 * adopted disks, no OS, no disks), nothing is checked and no node is asked. */
#include "masterd/lu/create/instance_install.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

int install_check(struct lu *lu, const struct op_instance_create *op,
		  const struct inst_spec *s, const char *primary,
		  struct inst_install *ret, struct error *err)
{
	if (op->no_install == 1 || s->os == NULL || s->os_image != NULL ||
	    spec_adopts(s) || json_array_size(s->disks) == 0)
		return 0;
	if (helper_is_needed(lu, primary, s->os, &ret->untrusted, err) < 0)
		return -1;
	if (helper_set_limits(&ret->helper, op->helper_startup_timeout,
			      op->helper_shutdown_timeout, err) < 0)
		return -1;
	return ret->untrusted ? helper_check(lu, primary, s->hypervisor,
					     HELPER_INSTALL, &ret->helper, err)
			      : 0;
}

static WAITS int run_on_node(struct lu *lu, const json_t *inst,
			     const struct params_os *own, struct error *err)
{
	auto_json json_t *done = NULL;

	if (disks_start(lu, inst, NULL, err) < 0)
		return -1;
	lu_feedback(lu, "* running the instance OS create scripts...");
	done = lu_call(lu, inst_primary_node(inst),
		       rpc_instance_os_add(inst_rpc_os(lu, inst, own), false,
					   lu->common.debug_level),
		       err);
	return done != NULL ? 0 : -1;
}

/* The helper machine gets script and parameters from its node. */
static WAITS int run_in_helper(struct lu *lu, const struct helper *h,
			       const json_t *inst, const struct params_os *own,
			       struct error *err)
{
	lu_feedback(lu, "* running the instance OS create scripts in a helper "
			"machine...");
	if (inst_communicates(inst) &&
	    inst_feed_metadata(lu, inst, own, err) < 0)
		return -1;
	return helper_run(lu, inst_uuid(inst), h, err);
}

int install_run(struct lu *lu, const struct inst_install *in,
		const struct inst_spec *s, const json_t *inst,
		struct error *err)
{
	const struct params_os own = {s->osparams, s->osparams_private,
				      s->osparams_secret};
	int rc = in->untrusted ? run_in_helper(lu, &in->helper, inst, &own, err)
			       : run_on_node(lu, inst, &own, err);

	if (rc == 0)
		return 0;
	return error_wrap(err, "Could not add os for instance %s on node %s",
			  s->name, lu_node_name(lu, inst_primary_node(inst)));
}
