/* SPDX-License-Identifier: BSD-2-Clause */
/* A command on a host that is not yet a node, by the ssh program with its own
 * configuration: it knows the site's keys, agents and jump hosts, and asks on
 * the terminal where it has to.  (cli/remote/ssh.h is for nodes.) */
#ifndef CLI_REMOTE_SSH_JOIN_H
#define CLI_REMOTE_SSH_JOIN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/model/files/paths.h"

struct ssh_join {
	const char *host; /* a valid host name */
	int port;
	bool check_key; /* of the host, against those known */
};

/* Whether the nodes of this cluster use SSH.  Those of a virtual cluster are on
 * one machine and use it only if there is an /etc/ganeti/ssh_config. */
bool ssh_join_is_used(const struct paths *p);

/* Run command, a literal, with this input; what it prints goes to our own
 * stdout and stderr.  As root, and with ssh's own configuration, unless
 * /etc/ganeti/ssh_config says how.  -1 with err unless it ended with 0. */
int ssh_join_run(const struct paths *p, const struct ssh_join *target,
		 const char *command, const char *input, size_t len,
		 struct error *err);

#endif
