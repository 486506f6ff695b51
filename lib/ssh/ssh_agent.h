/* SPDX-License-Identifier: BSD-2-Clause */
/* An SSH agent: which keys it has, and signatures with them.  libssh2's own
 * client of agents waits without a limit, so we have one. */
#ifndef SSH_SSH_AGENT_H
#define SSH_SSH_AGENT_H

#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/ssh/ssh_bytes.h"

/* An agent may ask somebody before it signs. */
#define SSH_AGENT_MS 60000
#define SSH_AGENT_KEYS_MAX 32
#define SSH_AGENT_ANSWER_MAX (256 * 1024)

/* Zeroed it has no keys. */
struct ssh_agent {
	int fd;
	struct buf answer; /* keys point into it */
	struct ssh_bytes keys[SSH_AGENT_KEYS_MAX];
	size_t n_keys;
};

/* Ask the agent at this socket for its keys.  False: there is no agent, and
 * nothing to close. */
WAITS bool ssh_agent_open(struct ssh_agent *a, const char *socket);
void ssh_agent_close(struct ssh_agent *a);

/* Sign data with a key; *ret_signature, to be freed, is what stands behind the
 * name of the method.  algorithm: "rsa-sha2-512" or another method of the key.
 * False: the agent does not want to. */
WAITS bool ssh_agent_sign(struct ssh_agent *a, struct ssh_bytes key,
			  struct ssh_bytes data, struct ssh_bytes algorithm,
			  unsigned char **ret_signature, size_t *ret_len);

#endif
