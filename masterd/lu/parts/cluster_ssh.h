/* SPDX-License-Identifier: BSD-2-Clause */
/* SSH keys of the nodes, for LUs (doc/design/ssh.md). */
#ifndef MASTERD_LU_PARTS_CLUSTER_SSH_H
#define MASTERD_LU_PARTS_CLUSTER_SSH_H

#include "masterd/lu/frame/lu.h"

/* Make the nodes accept the SSH keys that follow from the configuration.  A
 * failure is a warning in the job's log: verify reports it too, and the next
 * round repairs it. */
WAITS void cluster_ssh_sync(struct lu *lu);

/* Tell a node to remove the cluster's keys. */
WAITS void cluster_ssh_leave(struct lu *lu, const json_t *node);

/* Check the request for a renewal: type (NULL: the present one), bits
 * (OP_UNSET: the present number, or the default of a new type); both are filled
 * in.  ERR_PREREQ when such keys are not possible. */
int cluster_ssh_check(struct lu *lu, const char **type, int64_t *bits,
		      struct error *err);

/* Give all nodes that are not offline new keys.  An old key is accepted until
 * each node has its new one and all nodes accept that. */
WAITS int cluster_ssh_renew(struct lu *lu, const char *type, int64_t bits,
			    struct error *err);

#endif
