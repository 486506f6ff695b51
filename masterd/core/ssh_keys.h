/* SPDX-License-Identifier: BSD-2-Clause */
/* Which SSH keys the nodes accept follows from the configuration: all nodes
 * accept the keys of the master candidates (doc/design/ssh.md).
 *
 * One operation does it as a whole: it asks all nodes for their keys and gives
 * all of them the result.  So it can be done at any time and as often as one
 * likes; and it also repairs what a crash, or a node that was away, has left
 * undone. */
#ifndef MASTERD_CORE_SSH_KEYS_H
#define MASTERD_CORE_SSH_KEYS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"

struct config;
struct disk;
struct noderpc;
struct paths;
struct ssh_keys;

/* The arguments must outlive the result.  ssh_keys_destroy() accepts NULL. */
struct ssh_keys *ssh_keys_create(struct disk *disk, const struct paths *paths,
				 struct config *config, struct noderpc *rpc);
void ssh_keys_destroy(struct ssh_keys *k);

/* Whether the cluster manages SSH keys (modify_ssh_setup). */
bool ssh_keys_managed(const struct config *config);

/* One round with all nodes that are not offline.  A sentence for each failure
 * is added to *ret_problems; nodes that cannot be reached are waited for, with
 * another round when they are back.  Does nothing if the cluster does not
 * manage SSH keys, or when a job is only planned. */
WAITS void ssh_keys_sync(struct ssh_keys *k, struct strv *ret_problems);

/* A round when the master begins, in a task of its own; failures are logged.
 * end: give all rounds up, and wait for their end. */
WAITS void ssh_keys_begin(struct ssh_keys *k);
WAITS void ssh_keys_end(struct ssh_keys *k);

/* A node may be back: look at once whether one is that is waited for. */
void ssh_keys_hurry(struct ssh_keys *k);

/* The master's ganeti_pub_keys, {uuid: [line]}, to be freed. */
WAITS json_t *ssh_keys_public(struct ssh_keys *k);

#endif
