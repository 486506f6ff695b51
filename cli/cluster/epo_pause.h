/* SPDX-License-Identifier: BSD-2-Clause */
/* The watcher's pause while nodes are switched off by gnt-cluster epo: it would
 * start the instances again that were stopped before.  Whose pause it is, and
 * for which nodes, is noted in a file of the master. */
#ifndef CLI_CLUSTER_EPO_PAUSE_H
#define CLI_CLUSTER_EPO_PAUSE_H

#include "cli/frame/cli.h"

/* Pause the watcher for these nodes (names), for at most EPO_PAUSE_S; a pause
 * that ends later stays. */
#define EPO_PAUSE_S (24 * 3600)
int epo_pause_begin(struct cli *cli, const json_t *nodes, struct error *err);

/* These nodes need it no more.  Behind the last one the watcher has the pause
 * that it had before, unless somebody has set another one meanwhile. */
int epo_pause_end(struct cli *cli, const json_t *nodes, struct error *err);

#endif
