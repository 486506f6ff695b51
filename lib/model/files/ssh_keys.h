/* SPDX-License-Identifier: BSD-2-Clause */
/* The text files of SSH: lines of keys, authorized_keys, known_hosts, and
 * Ganeti's ganeti_pub_keys (doc/design/ssh.md).
 *
 * The identity of a key is "<type> <base64>", what stands before its comment.
 * Lines that the cluster writes have SSH_KEYS_MARK as the last word of the
 * comment. */
#ifndef MODEL_FILES_SSH_KEYS_H
#define MODEL_FILES_SSH_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

#define SSH_KEYS_MARK "gantry"

/* The longest line of a key that is taken: 16,384 bits of RSA are 3 KiB. */
#define SSH_KEYS_LINE_MAX 8192

/* "rsa", "dsa", "ecdsa", "ed25519", the last with NULL behind it. */
extern const char *const ssh_keys_types[];

/* Which of these a key of that identity is; NULL: none. */
const char *ssh_keys_type_of(const char *id);

/* Check the type and the number of bits; 0 becomes what Ganeti takes.
 * ERR_PREREQ names what is possible. */
int ssh_keys_check_size(const char *type, int64_t *bits, struct error *err);

/* The identity of the key in a line (of len bytes, with or without its end), to
 * be freed; NULL when it holds no key, or one with options in front. */
char *ssh_keys_id(const char *line, size_t len);

/* Whether the comment of the line ends with our mark. */
bool ssh_keys_marked(const char *line, size_t len);

/* The line that stands for the key of a node, to be freed. */
char *ssh_keys_line(const char *id, const char *node_name);

/* Which lines of authorized_keys are the cluster's. */
struct ssh_keys_change {
	const struct strv *authorized; /* lines that shall be there */
	const struct strv *withdrawn;  /* identities that shall not */
	/* Marked lines of other keys are forgotten ones, and go away. */
	bool complete;
};

/* The new text of authorized_keys, to be freed.  Lines that are not the
 * cluster's keep their bytes and order. */
char *ssh_keys_authorize(const char *text,
			 const struct ssh_keys_change *change);

/* ganeti_pub_keys, "<node uuid> <line>": {uuid: [line, ...]}; what cannot be
 * read is left out.  And back, to be freed. */
json_t *ssh_keys_read_public(const char *text);
char *ssh_keys_public_text(const json_t *keys);

/* known_hosts with the keys of all nodes under the cluster's name, to be freed.
 * hosts: {node name: [identity, ...]} of those that have told theirs; of the
 * other nodes in `names` the lines in `old` stay, as do those that belong to
 * no node in particular: Ganeti's, which all nodes share. */
char *ssh_keys_known_hosts(const char *old, const char *cluster_name,
			   const json_t *hosts, const struct strv *names);

#endif
