/* SPDX-License-Identifier: BSD-2-Clause */
/* Root's SSH keys on this node, and the keys that it accepts
 * (doc/design/ssh.md).
 *
 * A pair of keys is id_<type> and id_<type>.pub in root's .ssh; a pair that the
 * cluster has made has SSH_KEYS_MARK in its comment.  While keys are renewed
 * the next pair is beside it.  Each function may be repeated: all state is in
 * files, and the next call completes what a crash has interrupted. */
#ifndef NODED_INSTANCE_SSH_KEYS_H
#define NODED_INSTANCE_SSH_KEYS_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "lib/model/files/ssh_keys.h"

/* {"keys": [line], "staged": line or null, "host_keys": [identity]}, to be
 * freed: the public keys with which this node may log in (the pair of the type,
 * and all that the cluster has made), that of the next pair, and the
 * machine's. */
json_t *ssh_keys_state(const struct paths *p, const char *type,
		       struct error *err);

/* Make a pair of that type unless there is one. */
WAITS int ssh_keys_make(const struct paths *p, const char *type, int64_t bits,
			struct error *err);

/* Make the next pair, which is not in use yet, in place of one that is there.
 */
WAITS int ssh_keys_stage(const struct paths *p, const char *type, int64_t bits,
			 struct error *err);

/* Take the next pair into use, if there is one.  A pair in its place that the
 * cluster has not made is kept under another name. */
int ssh_keys_switch(const struct paths *p, struct error *err);

/* Remove the next pair, and pairs of other types that the cluster has made. */
int ssh_keys_finish(const struct paths *p, const char *type, struct error *err);

/* Change authorized_keys.  A file or folder that is a symbolic link is left
 * alone, which is an error. */
int ssh_keys_let_in(const struct paths *p, const struct ssh_keys_change *change,
		    struct error *err);

/* The content of authorized_keys ("" without the file), to be freed. */
char *ssh_keys_authorized(const struct paths *p, struct error *err);

/* Whether the private key of that type may be read by root alone. */
bool ssh_keys_private_is_safe(const struct paths *p, const char *type);

/* The node leaves its cluster: remove what the cluster has made, and accept no
 * key of the cluster any more. */
int ssh_keys_leave(const struct paths *p, struct error *err);

#endif
