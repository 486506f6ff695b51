/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a conversion of disks share. */
#ifndef MASTERD_LU_MODIFY_INSTANCE_CONVERT_PRIVATE_H
#define MASTERD_LU_MODIFY_INSTANCE_CONVERT_PRIVATE_H

#include "masterd/lu/frame/lu.h"

struct conversion {
	const struct op_instance_set_params *op;
	const json_t *inst;
	const char *from, *to; /* templates */
	const char *secondary; /* UUID, of new mirrors; else NULL */
	json_t *old, *disks;   /* objects: there are, there will be */
};

/* From here on the new disks are the instance's. */
WAITS int convert_record(struct lu *lu, const struct conversion *c,
			 struct error *err);
/* Wait until the new mirrors are in sync, as far as that was asked for. */
WAITS int convert_wait(struct lu *lu, const struct conversion *c,
		       struct error *err);

/* --- instance_convert_mirrors.c --- */

/* The data of a mirror, as a disk on its own; to be freed. */
json_t *convert_data_of(const struct conversion *c, const json_t *mirror);

/* Volumes become mirrors, mirrors volumes; no data is copied on this node. */
WAITS int convert_mirror_volumes(struct lu *lu, const struct conversion *c,
				 struct error *err);
WAITS int convert_take_data(struct lu *lu, const struct conversion *c,
			    struct error *err);

#endif
