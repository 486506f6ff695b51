/* SPDX-License-Identifier: BSD-2-Clause */
/* Installing a new instance by the script of its OS definition: on its node,
 * or, if nobody trusts the script, in a virtual machine of its own (a
 * helper). */
#ifndef MASTERD_LU_CREATE_INSTANCE_INSTALL_H
#define MASTERD_LU_CREATE_INSTANCE_INSTALL_H

#include "masterd/lu/disks/lu_helper.h"
#include "masterd/lu/spec/instance_spec.h"

struct inst_install {
	bool untrusted;
	struct helper helper;
};

/* Ask the primary node which of the two ways is possible; ERR_PREREQ if none
 * is. */
WAITS int install_check(struct lu *lu, const struct op_instance_create *op,
			const struct inst_spec *s, const char *primary,
			struct inst_install *ret, struct error *err);

/* Install the recorded instance, which has disks.  Afterwards they may be
 * active or not.  After a failure the caller's undo removes them. */
WAITS int install_run(struct lu *lu, const struct inst_install *in,
		      const struct inst_spec *s, const json_t *inst,
		      struct error *err);

#endif
