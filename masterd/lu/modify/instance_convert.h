/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS with a disk template: an instance that is down gets
 * new disks on another storage, with the data of the old ones.  Volumes become
 * mirrors, and mirrors volumes, without a copy. */
#ifndef MASTERD_LU_MODIFY_INSTANCE_CONVERT_H
#define MASTERD_LU_MODIFY_INSTANCE_CONVERT_H

#include "masterd/lu/frame/lu.h"

/* Want the locks of the nodes that the mirrors are on, or may come to. */
int convert_expand(struct lu *lu, const struct op_instance_set_params *op,
		   const json_t *inst, struct error *err);

/* ERR_PREREQ unless the disks can be converted as the opcode says.  This and
 * the next function do nothing when it names no template. */
WAITS int convert_check(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, struct error *err);

/* Make the new disks, copy, record them, remove the old ones; a row of the
 * result is added to rows.  After a failure the instance has its old disks. */
WAITS int convert_disks(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, json_t *rows, struct error *err);

#endif
