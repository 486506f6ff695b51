/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-watcher, the program. */
#ifndef CLI_WATCHER_WATCHER_H
#define CLI_WATCHER_WATCHER_H

/* The whole program; its exit code: 0, also where there is nothing to do (a
 * pause, a node that is not the master, a drained queue); 1 when something of
 * it failed; 2 for wrong options; 11 when --node-group is not on the master. */
int watcher_main(int argc, char **argv);

#endif
