/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance takes devices that are there already: logical volumes, which
 * get the names of new disks, or block devices, which stay as they are. */
#ifndef MASTERD_LU_SPEC_INSTANCE_ADOPT_H
#define MASTERD_LU_SPEC_INSTANCE_ADOPT_H

#include "masterd/lu/spec/instance_spec.h"

/* Look for them on the node, where the instance adopts its disks, and fill in
 * their sizes.  ERR_PREREQ names what is not there, in use, or given twice. */
WAITS int adopt_find(struct lu *lu, struct inst_spec *s, const char *node,
		     struct error *err);

/* Make them the instance's. */
WAITS int adopt_disks(struct lu *lu, const struct inst_spec *s,
		      const json_t *inst, struct error *err);

/* Give them back under their old names; a failure is a warning. */
WAITS void adopt_undo(struct lu *lu, const struct inst_spec *s,
		      const json_t *inst);

#endif
