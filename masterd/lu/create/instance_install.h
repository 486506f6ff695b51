/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance's system, by the script of its OS definition: on its node, or
 * where nobody trusts the script in a machine of its own. */
#ifndef MASTERD_LU_CREATE_INSTANCE_INSTALL_H
#define MASTERD_LU_CREATE_INSTANCE_INSTALL_H

#include "masterd/lu/disks/lu_helper.h"
#include "masterd/lu/spec/instance_spec.h"

struct inst_install {
	bool untrusted;
	struct helper helper;
};

/* Ask the primary which way it goes; ERR_PREREQ when it can go no way. */
WAITS int install_check(struct lu *lu, const struct op_instance_create *op,
			const struct inst_spec *s, const char *primary,
			struct inst_install *ret, struct error *err);

/* Do it with the instance as it is recorded, which has disks.  They may be
 * active or not afterwards.  After a failure undo removes what is recorded. */
WAITS int install_run(struct lu *lu, const struct inst_install *in,
		      const struct inst_spec *s, const json_t *inst,
		      struct error *err);

#endif
