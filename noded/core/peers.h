/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides who may call the node daemon: the master candidates, known by the
 * digests of their client certificates in ssconf_master_candidates_certs, and
 * those whom this node's part of the cluster's log names (masterd/quorum/
 * quorum_certs.c), as the master may end before it has sent that file.
 * While that file is empty or missing (on a node that waits to be added), only
 * a caller that has the cluster certificate itself; one that cannot be read is
 * not empty, for each node has that certificate.  Files are read again when
 * they have changed. */
#ifndef NODED_CORE_PEERS_H
#define NODED_CORE_PEERS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/base/str.h"
#include "lib/event/tls.h"
#include "lib/model/files/paths.h"

struct peers {
	const struct paths *paths;

	/* Private: what was read, and from which state of the files. */
	struct stat certs_stat, log_stat, server_stat;
	bool known;   /* the list was read as it is now */
	bool told;    /* that it cannot be read */
	bool no_list; /* it is missing or empty */
	struct strv digests, log_digests;
	char server_digest[TLS_DIGEST_MAX];
};

/* paths belongs to the caller, and must live longer. */
void peers_init(struct peers *p, const struct paths *paths);
void peers_done(struct peers *p);

/* Whether a peer with this certificate may call us. */
bool peers_allowed(struct peers *p, const char *digest);

#endif
