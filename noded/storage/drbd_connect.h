/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects a DRBD device to its peer.
 *
 * drbdsetup takes the shared secret in its arguments, where every process of
 * the host can read it (/proc/<pid>/cmdline), and drbdadm only runs drbdsetup.
 * So this one command is given to the kernel directly, by the same netlink
 * message that drbdsetup sends.  All other commands have no secrets and are
 * drbdsetup's. */
#ifndef NODED_STORAGE_DRBD_CONNECT_H
#define NODED_STORAGE_DRBD_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

struct drbd_peer {
	const char *resource;	    /* "resource0" */
	const char *local, *remote; /* addresses */
	int port;
	char protocol; /* 'A', 'B' or 'C' */
	bool two_primaries;
	const char *secret;
};

/* -1 with err, which does not have the secret.  A node of a virtual cluster
 * gives the data to a program of its own, `drbd-connect`, on its input. */
WAITS int drbd_connect(const struct paths *p, const struct drbd_peer *peer,
		       struct error *err);

#endif
