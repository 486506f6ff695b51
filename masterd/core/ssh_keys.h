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

struct master;
struct task;

/* One at a time. */
struct ssh_keys_turn {
	bool busy;
	struct cond freed;
	struct task *first; /* the one at start, if it runs */
};

/* Nobody has the turn. */
void ssh_keys_init(struct ssh_keys_turn *t);

/* Whether the cluster is set up to see to SSH. */
bool ssh_keys_managed(const struct master *m);

/* Bring all nodes that are not offline up to date.  What failed is added to
 * *ret_problems, a sentence each.  Nothing where SSH is not ours, or only a
 * plan is made. */
WAITS void ssh_keys_sync(struct master *m, struct strv *ret_problems);

/* The same when the master begins, whatever the one before has left; problems
 * are logged.  end: it is given up, and waited for. */
WAITS void ssh_keys_begin(struct master *m);
WAITS void ssh_keys_end(struct master *m);

/* {uuid: [line]} as the master has them in ganeti_pub_keys, to be freed. */
WAITS json_t *ssh_keys_public(struct master *m);

#endif
