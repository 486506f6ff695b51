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

/* The type of a key with that identity; NULL: none of these types. */
const char *ssh_keys_type_of(const char *id);

/* Check the type and the number of bits; bits of 0 become Ganeti's default.
 * ERR_PREREQ says what is possible. */
int ssh_keys_check_size(const char *type, int64_t *bits, struct error *err);

/* The identity of the key in a line (of len bytes, with or without its line
 * end), to be freed; NULL when the line has no key, or options before the
 * key. */
char *ssh_keys_id(const char *line, size_t len);

/* Whether the comment of the line ends with our mark. */
bool ssh_keys_marked(const char *line, size_t len);

/* The line that stands for the key of a node, to be freed. */
char *ssh_keys_line(const char *id, const char *node_name);

/* What to change about the cluster's lines in authorized_keys. */
struct ssh_keys_change {
	const struct strv *authorized; /* lines that have to be there */
	const struct strv *withdrawn;  /* identities that must not be there */
	/* Also remove marked lines with other keys: nobody removed them in
	 * time. */
	bool complete;
};

/* The new text of authorized_keys, to be freed.  Lines that are not the
 * cluster's keep their bytes and order. */
char *ssh_keys_authorize(const char *text,
			 const struct ssh_keys_change *change);

/* Read ganeti_pub_keys, lines of "<node uuid> <line>", as {uuid: [line, ...]};
 * lines that cannot be read are left out.  And write it.  To be freed. */
json_t *ssh_keys_read_public(const char *text);
char *ssh_keys_public_text(const json_t *keys);

/* known_hosts with the keys of all nodes under the cluster's name, to be freed.
 * hosts is {node name: [identity, ...]} of the nodes that have told their keys.
 * The order is that of `names`, so that the text depends on the keys alone.
 * For the other nodes in `names` the lines in `old` stay, and so do lines of no
 * particular node, such as Ganeti's, whose nodes share one key. */
char *ssh_keys_known_hosts(const char *old, const char *cluster_name,
			   const json_t *hosts, const struct strv *names);

#endif
