/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_SET_PARAMS with a disk template: the disks of an instance that is
 * down are made anew in another storage, and their data copied.  Volumes become
 * mirrors, and mirrors volumes, without a copy. */
#ifndef MASTERD_LU_MODIFY_INSTANCE_CONVERT_H
#define MASTERD_LU_MODIFY_INSTANCE_CONVERT_H

#include "masterd/lu/frame/lu.h"

/* The locks of the nodes that mirrors are on, or may come to. */
int convert_expand(struct lu *lu, const struct op_instance_set_params *op,
		   const json_t *inst, struct error *err);

/* ERR_PREREQ unless the disks can be converted as the opcode says.  Nothing to
 * do when it names no template, also below. */
WAITS int convert_check(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, struct error *err);

/* Make, copy, record, remove the old ones; a row of the result is added to
 * rows.  On failure the instance has its old disks. */
WAITS int convert_disks(struct lu *lu, const struct op_instance_set_params *op,
			const json_t *inst, json_t *rows, struct error *err);

#endif
