/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance from an export: OP_INSTANCE_CREATE with mode "import". */
#ifndef MASTERD_LU_CREATE_INSTANCE_IMPORT_H
#define MASTERD_LU_CREATE_INSTANCE_IMPORT_H

#include "masterd/lu/frame/lu.h"

struct inst_import {
	char *node;	    /* UUID of the node that has the export */
	char *path;	    /* its folder there */
	char *description;  /* as it was read there */
	char *old_name;	    /* of the instance that was exported */
	json_t *images;	    /* a path each disk, or null */
	const char *stored; /* what these files are compressed with, or NULL */
	json_t *kept;	    /* owns the values that op refers to */

	/* the opcode, completed from the export */
	struct op_instance_create op;
};

/* Free what it holds, not the struct itself. */
void import_done(struct inst_import *im);

/* Want the lock of the source node, if the opcode names it. */
int import_expand(struct lu *lu, const struct op_instance_create *op,
		  struct error *err);

/* Find the export, read its description, and complete the opcode; ERR_PREREQ.
 */
WAITS int import_read(struct lu *lu, const struct op_instance_create *op,
		      struct inst_import *im, struct error *err);

/* Variables for hooks. */
void import_env(struct lu *lu, const struct inst_import *im, json_t *ret_env);

/* Write the exported data to the disks of the new instance, with the import
 * script of its OS; then run the script that renames it.  -1 with err: a disk
 * is missing, or the export is not the one that was read any more. */
WAITS int import_disks(struct lu *lu, const struct inst_import *im,
		       const json_t *inst, struct error *err);

/* Run the OS's script that tells the guest its new name, where there is an OS.
 * A failure is a warning, as it can be done later. */
WAITS void import_rename(struct lu *lu, const char *old_name,
			 const json_t *carried);

#endif
