/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands on other nodes, and copies of files to them, over SSH, on many nodes
 * at the same time.  In a virtual cluster without SSH all nodes are on this
 * machine, each with a folder beside ours; there commands run in the node's
 * environment, and files are copied. */
#ifndef CLI_REMOTE_REMOTE_H
#define CLI_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* The cluster whose nodes are meant. */
struct remote {
	const struct paths *paths;
	const char *cluster; /* its name */
	bool ipv6;
};

struct remote_node {
	const char *name;
	const char *address; /* where it is reached */
	int port;	     /* of its SSH daemon */
};

/* The exit status where the command could not be run, as of the ssh program. */
#define REMOTE_FAILED 255

/* Something to do on one node, and how it went.  The functions may be NULL. */
struct remote_job {
	struct remote_node node;
	/* Either a command line as the node's shell reads it, or a file
	 * (absolute) that is copied to the same place on the node, with its
	 * mode and times; in a virtual cluster that place is below the node's
	 * folder.  Its contents are those of the file `from`, which is the same
	 * unless that is a link: links are not followed. */
	const char *command, *file, *from;

	/* Called with what the command prints, as it comes. */
	void (*on_output)(struct remote_job *job, const char *data, size_t len);
	/* Called now and then, with bytes that are copied. */
	void (*on_progress)(struct remote_job *job, uint64_t done,
			    uint64_t total);
	/* Called when it has ended; the members below are then set. */
	void (*on_end)(struct remote_job *job);
	void *arg;

	const struct remote *remote; /* set by remote_do() */
	bool failed;		     /* err says why */
	int status;		     /* of the command */
	struct error err;
};

/* Do all of them, and wait for their ends. */
void remote_do(const struct remote *r, struct remote_job *jobs, size_t n);

/* The words of a terminal session on the node: a command that runs there as the
 * user, by the ssh program.  In a virtual cluster the command itself. */
void remote_session(const struct remote *r, const struct remote_node *node,
		    const char *user, const struct strv *command,
		    struct strv *ret_argv);

#endif
