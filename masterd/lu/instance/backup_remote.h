/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_BACKUP_EXPORT with mode "remote": the disks go to another cluster, which
 * waits for them.  The opcode carries what that cluster has told (trust.h). */
#ifndef MASTERD_LU_INSTANCE_BACKUP_REMOTE_H
#define MASTERD_LU_INSTANCE_BACKUP_REMOTE_H

#include "masterd/lu/frame/lu.h"

struct backup_remote {
	const char *key_name; /* lives as long as the opcode */
	char *peer;	      /* the certificate that the target shows */
};

/* Free what it holds, not the struct itself. */
void backup_remote_done(struct backup_remote *r);

/* Check that it comes from a cluster with the same domain secret, for an
 * instance with so many disks; ERR_PREREQ. */
WAITS int backup_remote_check(struct lu *lu, size_t n_disks,
			      struct backup_remote *ret, struct error *err);

/* Send these disks (of node calls) of the instance. */
WAITS int backup_remote_send(struct lu *lu, const struct backup_remote *r,
			     const json_t *carried, const json_t *disks,
			     struct error *err);

/* The key is not needed any more; a failure is a warning. */
WAITS void backup_remote_drop_key(struct lu *lu, const char *node_uuid,
				  const struct backup_remote *r);

#endif
