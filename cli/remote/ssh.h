/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands on other nodes, and copies of files to them, by the programs ssh and
 * scp with Ganeti's options: host keys are the cluster's, under its name.  In a
 * virtual cluster all nodes are on this machine, each with a folder beside
 * ours; there commands run in the node's environment, and files are copied. */
#ifndef CLI_REMOTE_SSH_H
#define CLI_REMOTE_SSH_H

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

struct ssh {
	const struct paths *paths;
	const char *cluster; /* its name */
	bool ipv6;
};

struct ssh_node {
	const char *name;
	const char *address; /* where it is reached */
	int port;	     /* of its SSH daemon */
};

/* Run a command line as the node's shell reads it, without input.  *ret_output
 * (to be freed) is all that it printed; the exit status, -1 with err when it
 * could not be run. */
int ssh_run(const struct ssh *s, const struct ssh_node *node,
	    const char *command, char **ret_output, struct error *err);

/* The words of a terminal session on the node: a command that runs there as the
 * user.  In a virtual cluster the command itself. */
struct strv;
void ssh_session(const struct ssh *s, const struct ssh_node *node,
		 const char *user, const struct strv *command,
		 struct strv *ret_argv);
/* Words as a shell reads them; to be freed. */
char *ssh_quoted(const struct strv *words);

/* Copy a file (absolute) to the same place on the node, with its mode and
 * times; in a virtual cluster that place is below the node's folder.  -1 with
 * err. */
int ssh_copy(const struct ssh *s, const struct ssh_node *node, const char *file,
	     struct error *err);

#endif
