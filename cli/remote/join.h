/* SPDX-License-Identifier: BSD-2-Clause */
/* A command on a host that is not yet a node, over SSH: with the keys and the
 * agent of whoever runs this, who is asked on the terminal where it has to be.
 * (cli/remote/remote.h is for nodes.) */
#ifndef CLI_REMOTE_JOIN_H
#define CLI_REMOTE_JOIN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

struct join {
	const char *host; /* a valid host name */
	int port;
	bool check_key; /* of the host, against those known */
	const struct strv *command;
	const char *input; /* for the command */
	size_t input_len;
};

/* Run the command; what it prints goes to our own stdout and stderr.  As root,
 * unless /etc/ganeti/ssh_config or ~/.ssh/config says otherwise.  -1 with err
 * unless it ended with 0. */
int join_run(const struct paths *p, const struct join *join, struct error *err);

#endif
