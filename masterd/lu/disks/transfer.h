/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the content of a disk from one node to another with the node daemons'
 * import and export (noded/calls/calls_impexp.c): starts both sides, follows
 * them in the job's log, cleans up. */
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
	/* The tool that a file of an export is compressed with; NULL: it is
	 * not. Then only the other side compresses, or decompresses. */
	const char *stored;
	int64_t bandwidth_mib; /* of the network, in a second; 0: no limit */
};

/* The strings in t must survive waits.  On failure, and when the job is killed,
 * both sides are ended and cleaned up. */
WAITS int transfer_run(struct lu *lu, const struct transfer *t,
		       struct error *err);

/* ERR_PREREQ unless the cluster allows the tool. */
int transfer_check_tool(struct lu *lu, const char *compress, struct error *err);

/* One side of a transfer each; to be freed.  disk: in the form of node
 * calls. */
json_t *transfer_raw(const json_t *disk);
json_t *transfer_script(const json_t *disk, size_t index);
json_t *transfer_file(const char *path);
/* A list of them, for these disks of the instance: by the scripts of its OS, or
 * as they are where it has none. */
json_t *transfer_ends(const json_t *inst, const json_t *disks);

#endif
