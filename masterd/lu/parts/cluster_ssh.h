/* SPDX-License-Identifier: BSD-2-Clause */
/* SSH keys of the nodes, for LUs (doc/design/ssh.md). */
#ifndef MASTERD_LU_PARTS_CLUSTER_SSH_H
#define MASTERD_LU_PARTS_CLUSTER_SSH_H

#include "masterd/lu/frame/lu.h"

/* The nodes let in whom the configuration says; what failed is a warning in the
 * job's log, as verify names it and the next time puts it right. */
WAITS void cluster_ssh_sync(struct lu *lu);

/* A node forgets the cluster's keys. */
WAITS void cluster_ssh_leave(struct lu *lu, const json_t *node);

/* What a renewal is asked for: type (NULL: as before), bits (OP_UNSET: as
 * before, or what the new type has).  ERR_PREREQ when such keys cannot be. */
int cluster_ssh_check(struct lu *lu, const char **type, int64_t *bits,
		      struct error *err);

/* New keys for all nodes that are not offline.  An old key is let in until each
 * node has its new one and is let in with it. */
WAITS int cluster_ssh_renew(struct lu *lu, const char *type, int64_t bits,
			    struct error *err);

#endif
