/* SPDX-License-Identifier: BSD-2-Clause */
/* Files beside the configuration go to the nodes. */
#ifndef MASTERD_LU_CLUSTER_CLUSTER_FILES_H
#define MASTERD_LU_CLUSTER_CLUSTER_FILES_H

#include "lib/model/files/secret_files.h"
#include "masterd/lu/frame/lu.h"

/* Give a file to all nodes that are not offline, the master among them; which
 * of them did not take it is said in the job's log.  The number of those. */
WAITS size_t cluster_files_give(struct lu *lu, enum path_id id, mode_t mode,
				const char *text, size_t len);

/* Give what the master has of the shared ones.  The number of failures. */
WAITS size_t cluster_files_give_shared(struct lu *lu);

/* The content of one of the master's files, to be wiped and freed with
 * cluster_files_free(). */
WAITS char *cluster_files_read(struct lu *lu, const char *file, size_t *ret_len,
			       struct error *err);
void cluster_files_free(char *text, size_t len);

#endif
