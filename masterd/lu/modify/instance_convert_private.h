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
	json_t *old, *disks;   /* the objects of the old and of the new disks */
	bool live;	       /* it runs, and its hypervisor copies them */
};

/* Record the new disks as the instance's. */
WAITS int convert_record(struct lu *lu, const struct conversion *c,
			 struct error *err);
/* Whether the configuration has the old disks when that has failed: a change
 * that could not be written may be in force all the same. */
bool convert_is_undone(struct lu *lu, const struct conversion *c);
/* Remove the old disks (in the form of node calls), which are not recorded any
 * more: also when the job is killed meanwhile. */
WAITS void convert_remove_old(struct lu *lu, const struct conversion *c,
			      const json_t *old);
/* Wait for the sync of the new mirrors, as far as the opcode asks for that. */
WAITS int convert_wait(struct lu *lu, const struct conversion *c,
		       struct error *err);

/* --- instance_convert_live.c --- */

/* Copy to the new disks, which are made, while the instance runs, and remove
 * the old ones.  Whether it (maybe) uses the new ones then, also after a
 * failure, goes to *ret_used, which is false before. */
WAITS int convert_live(struct lu *lu, const struct conversion *c,
		       bool *ret_used, struct error *err);

/* --- instance_convert_mirrors.c --- */

/* The data of a mirror, as a disk on its own; to be freed. */
json_t *convert_data_of(const struct conversion *c, const json_t *mirror);

/* The new mirror is one over the volume of the old disk. */
void convert_keep_name(const json_t *old, const json_t *mirror);

/* Make mirrors of volumes, and volumes of mirrors; on the primary no data is
 * copied. */
WAITS int convert_mirror_volumes(struct lu *lu, const struct conversion *c,
				 struct error *err);
WAITS int convert_take_data(struct lu *lu, const struct conversion *c,
			    struct error *err);

#endif
