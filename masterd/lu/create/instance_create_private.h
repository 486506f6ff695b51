/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a creation share. */
#ifndef MASTERD_LU_CREATE_INSTANCE_CREATE_PRIVATE_H
#define MASTERD_LU_CREATE_INSTANCE_CREATE_PRIVATE_H

#include "masterd/lu/create/instance_import.h"
#include "masterd/lu/create/instance_install.h"
#include "masterd/lu/create/instance_receive.h"
#include "masterd/lu/spec/instance_place.h"

struct create {
	struct lu lu;
	struct inst_spec spec;
	const char *iallocator; /* NULL: the node is given */
	struct inst_nodes nodes;
	const char *name, *ip; /* as resolved; ip: NULL: it has none */
	bool booked;	       /* by the bulk creation that submitted us */
	bool commits;	       /* --commit: a forthcoming one becomes real */
	bool recorded;	       /* it is in the configuration, forthcoming */
	bool adopts;	       /* volumes or files are getting new names */
	bool has_disks;
	bool finished;
	struct inst_install install;
	bool imports; /* the mode is import: */
	struct inst_import import;
	bool receives; /* it is remote-import: */
	struct inst_receive receive;
	char uuid[37];
};

struct create *create_of(struct lu *lu);
/* The opcode; for an import, once the export has been read, completed with its
 * values. */
const struct op_instance_create *create_op(struct lu *lu);
/* The result: the names of the primary and of the secondary of mirrored disks;
 * to be freed. */
json_t *create_node_names(struct lu *lu);

/* --- instance_create_exec.c --- */

WAITS json_t *create_exec(struct lu *lu, struct error *err);
/* Undo everything: disks on the nodes, objects in the configuration. */
WAITS void create_undo(struct lu *lu);

#endif
