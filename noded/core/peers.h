/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may call the node daemon: the master candidates, by the digest of their
 * client certificates in ssconf_master_candidates_certs.  While that file is
 * empty or missing (a node that waits to be added), only the holder of the
 * cluster certificate itself.  Files are read again when they changed. */
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
	struct stat certs_stat, server_stat;
	struct strv digests;
	char server_digest[TLS_DIGEST_MAX];
};

/* paths are the caller's, and must live longer. */
void peers_init(struct peers *p, const struct paths *paths);
void peers_done(struct peers *p);

/* Whether a peer with this certificate may call us. */
bool peers_allowed(struct peers *p, const char *digest);

#endif
