/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom the nodes let in by SSH follows from the configuration: all nodes let in
 * the master candidates, with the keys that those say they have
 * (doc/design/ssh.md).
 *
 * It is brought about as a whole, by asking all nodes and giving all of them
 * the result; so it may be done at any time and as often as one likes, and
 * what a crash or a node that was away has left is put right by the next one.
 */
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

/* All that is given lives longer than what is returned, which
 * ssh_keys_destroy() frees (NULL is fine). */
struct ssh_keys *ssh_keys_create(struct disk *disk, const struct paths *paths,
				 struct config *config, struct noderpc *rpc);
void ssh_keys_destroy(struct ssh_keys *k);

/* Whether the cluster is set up to see to SSH. */
bool ssh_keys_managed(const struct config *config);

/* Bring all nodes that are not offline up to date, one caller after the other.
 * What failed is added to *ret_problems, a sentence each.  Nothing where the
 * cluster does not see to SSH. */
WAITS void ssh_keys_sync(struct ssh_keys *k, struct strv *ret_problems);

/* The same when the master begins, whatever the one before has left; problems
 * are logged.  ssh_keys_end() gives it up and waits until it has ended. */
WAITS void ssh_keys_begin(struct ssh_keys *k);
WAITS void ssh_keys_end(struct ssh_keys *k);

/* {uuid: [line]} as the master has them in ganeti_pub_keys, to be freed. */
WAITS json_t *ssh_keys_public(struct ssh_keys *k);

#endif
