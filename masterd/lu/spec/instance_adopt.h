/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance adopts existing devices as its disks: logical volumes and
 * files, which are renamed, or block devices, which stay as they are. */
#ifndef MASTERD_LU_SPEC_INSTANCE_ADOPT_H
#define MASTERD_LU_SPEC_INSTANCE_ADOPT_H

#include "masterd/lu/spec/instance_spec.h"

/* If the instance adopts its disks: look for them on the node and fill in their
 * sizes.  ERR_PREREQ names a device that is missing, in use, or given twice. */
WAITS int adopt_find(struct lu *lu, struct inst_spec *s, const char *node,
		     struct error *err);

/* Rename them to the names of the instance's disks. */
WAITS int adopt_disks(struct lu *lu, const struct inst_spec *s,
		      const json_t *inst, struct error *err);

/* Undo: give them their old names, also when the job was killed; a failure is a
 * warning. */
WAITS void adopt_undo(struct lu *lu, const struct inst_spec *s,
		      const json_t *inst);

#endif
