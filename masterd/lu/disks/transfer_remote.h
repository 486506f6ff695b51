/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies all disks of an instance to or from another cluster: this cluster runs
 * one side of each transfer, with a key of its own (trust.h), and the other
 * cluster the other side.  All disks are copied at the same time, as each waits
 * for its peer only so long. */
#ifndef MASTERD_LU_DISKS_TRANSFER_REMOTE_H
#define MASTERD_LU_DISKS_TRANSFER_REMOTE_H

#include "masterd/lu/frame/lu.h"

/* How long one side waits for the other one, in seconds, as in Ganeti. */
#define TRANSFER_REMOTE_CONNECT_S 180

struct transfer_remote {
	const json_t *inst; /* as node calls carry it */
	const char *node;   /* UUID of the one here */
	const json_t *ends; /* one a disk, as transfer.h makes them */
	const char *compress;
	const char *key_name; /* of the key on the node */
	const char *peer;     /* the certificate that the other side shows */
	int64_t connect_timeout_s;
	int64_t bandwidth_mib; /* of each disk, in a second; 0: no limit */
};

/* Wait for the other cluster and take what it sends.  When all disks are waited
 * for, `waiting` is told where: [[port, magic], ...].  The values in *t must
 * survive waits.  On failure, and when the job is killed, all is ended and
 * cleaned up. */
WAITS int transfer_remote_receive(
	struct lu *lu, const struct transfer_remote *t,
	void (*waiting)(struct lu *lu, const json_t *where, void *arg),
	void *arg, struct error *err);

/* Send to where the other cluster waits: [[host, port, magic, ...], ...], a
 * disk each, which trust_check_disk() has looked at. */
WAITS int transfer_remote_send(struct lu *lu, const struct transfer_remote *t,
			       const json_t *where, struct error *err);

#endif
