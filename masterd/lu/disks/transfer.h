/* SPDX-License-Identifier: BSD-2-Clause */
/* A disk's bytes from one node to another: the node daemons' import and export
 * (noded/calls/calls_impexp.c), started, followed in the job's log, cleaned up.
 */
#ifndef MASTERD_LU_DISKS_TRANSFER_H
#define MASTERD_LU_DISKS_TRANSFER_H

#include "masterd/lu/frame/lu.h"

struct transfer {
	size_t index;		     /* of the disk, for the sentences */
	const json_t *inst;	     /* as node calls carry it */
	const char *source, *target; /* UUIDs of nodes; may be the same */
	const json_t *from, *to;     /* ends: ["raw", [disk]], ["file", [path]],
				      * ["script", [disk, index]] */
	const char *compress;	     /* "none", or a tool of the cluster */
};

/* The strings must survive waits.  On failure what is left on the nodes is
 * taken back, also when the job was killed. */
WAITS int transfer_run(struct lu *lu, const struct transfer *t,
		       struct error *err);

/* ERR_PREREQ unless the cluster allows the tool. */
int transfer_check_tool(struct lu *lu, const char *compress, struct error *err);

/* One end each; to be freed.  disk: as node calls carry it. */
json_t *transfer_raw(const json_t *disk);
json_t *transfer_script(const json_t *disk, size_t index);
json_t *transfer_file(const char *path);

#endif
