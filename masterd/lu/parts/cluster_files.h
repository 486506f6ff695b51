/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of files beside the configuration for all nodes. */
#ifndef MASTERD_LU_PARTS_CLUSTER_FILES_H
#define MASTERD_LU_PARTS_CLUSTER_FILES_H

#include "lib/model/files/secret_files.h"
#include "masterd/lu/frame/lu.h"

/* Send a file to all nodes that are not offline, the master included; the job's
 * log names the nodes that did not take it.  Returns how many those are. */
WAITS size_t cluster_files_give(struct lu *lu, enum path_id id, mode_t mode,
				const char *text, size_t len);

/* Send the shared files that the master has.  Returns the number of
 * failures. */
WAITS size_t cluster_files_give_shared(struct lu *lu);

/* Send the file with the users of the remote API, as to a node that has just
 * come and may be asked. */
WAITS void cluster_files_give_users(struct lu *lu);

/* Send the master's /etc/hosts, where the cluster keeps it.  Returns the number
 * of failures. */
WAITS size_t cluster_files_give_hosts(struct lu *lu);

/* The content of one of the master's files; cluster_files_free() wipes and
 * frees it.  NULL with err. */
WAITS char *cluster_files_read(struct lu *lu, const char *file, size_t *ret_len,
			       struct error *err);
void cluster_files_free(char *text, size_t len);

#endif
