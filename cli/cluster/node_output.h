/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command prints on several nodes at the same time, shown on stdout: by
 * node, in the order of the nodes and in Ganeti's form, or line by line as it
 * comes. */
#ifndef CLI_CLUSTER_NODE_OUTPUT_H
#define CLI_CLUSTER_NODE_OUTPUT_H

#include <stdbool.h>

#include "cli/remote/remote.h"

/* How it is shown. */
struct node_output_style {
	bool names;	    /* the node's name in front of each line */
	bool failures_only; /* nothing of nodes where it succeeded */
	bool stream;	    /* lines as they come, whatever node they are of */
};

/* Run the command on these nodes, in their order on the screen, and show what
 * it prints. */
void node_output_run(const struct remote *r, const char *command,
		     const struct node_output_style *style,
		     const struct remote_node *nodes, size_t n);

#endif
