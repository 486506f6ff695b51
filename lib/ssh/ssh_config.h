/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenSSH's configuration of clients, as far as it says how to log in to a
 * host: Host (with patterns), HostName, Port, User, IdentityFile,
 * IdentitiesOnly, IdentityAgent, UserKnownHostsFile, GlobalKnownHostsFile,
 * HostKeyAlias, StrictHostKeyChecking, BatchMode, ConnectTimeout.  As in
 * OpenSSH the first value counts, and files of keys add up.
 *
 * Sections that begin with Match are passed over, and so is what we do
 * otherwise anyway.  A host that is to be reached through another one
 * (ProxyJump, ProxyCommand) is an error, since we could only reach it in a way
 * that was not meant. */
#ifndef SSH_SSH_CONFIG_H
#define SSH_SSH_CONFIG_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

#define SSH_CONFIG_MAX (1024 * 1024) /* bytes of a file */

enum ssh_strict {
	SSH_STRICT_UNSET,
	SSH_STRICT_ASK,
	SSH_STRICT_YES,
	SSH_STRICT_NEW, /* a host that nobody knows is trusted */
	SSH_STRICT_NO
};

/* What it says of one host: NULL, 0, false or empty where it says nothing. */
struct ssh_config {
	char *hostname, *user, *agent, *key_alias;
	int port;
	unsigned connect_s;
	struct strv keys, known_hosts;
	enum ssh_strict strict;
	bool batch;	/* nobody may be asked */
	bool keys_only; /* no keys but these */
	bool batch_set, keys_only_set, user_hosts_set, global_hosts_set;
};

/* Add what the text of a file says of the host.  home: what ~ stands for.  -1
 * with err, which names the file and the line. */
int ssh_config_read(struct ssh_config *c, const char *text, const char *file,
		    const char *host, const char *home, struct error *err);
void ssh_config_done(struct ssh_config *c);

#endif
