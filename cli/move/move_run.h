/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of one instance from one cluster to the other. */
#ifndef CLI_MOVE_RUN_H
#define CLI_MOVE_RUN_H

struct move_cluster;
struct move_options;

/* Move it, and tell how far that is, and what came of it.  0: it has moved. */
int move_run(const struct move_options *o, struct move_cluster *source,
	     struct move_cluster *dest, const char *instance);

#endif
