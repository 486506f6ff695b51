/* SPDX-License-Identifier: BSD-2-Clause */
/* What two clusters show each other before an instance goes from one to the
 * other: that both know the domain secret.  Users carry these values from one
 * cluster to the other, so each value has a proof beside it that one of the
 * clusters made it (Ganeti's form, version 0).
 *
 * 1. The source gives a handshake, the name of a key that it made for this
 * move, and the key's certificate.
 * 2. The target answers with the certificate of its own key, and where it waits
 *    for each disk.
 *
 * The functions that check are for what comes from outside: ERR_PREREQ.
 * Whatever they return is to be freed. */
#ifndef MASTERD_LU_DISKS_TRUST_H
#define MASTERD_LU_DISKS_TRUST_H

#include "masterd/lu/frame/lu.h"

/* The domain secret of this cluster; free it with trust_forget().  NULL with
 * err, which says how to get one. */
WAITS char *trust_secret(struct lu *lu, struct error *err);
void trust_forget(char *secret);

/* A new key for a move, made on this node: [name, certificate]; NULL with err.
 */
WAITS json_t *trust_new_key(struct lu *lu, const char *node_uuid,
			    struct error *err);

/* [version, proof, salt] */
json_t *trust_handshake(const char *secret);
int trust_check_handshake(const char *secret, const json_t *handshake,
			  struct error *err);

/* [name of a key, proof, salt]; the check gives back the name, which lives as
 * long as the value. */
json_t *trust_key(const char *secret, const char *name);
const char *trust_check_key(const char *secret, const json_t *key,
			    struct error *err);

/* A certificate's text behind a line with the proof. */
char *trust_sign(const char *secret, const char *certificate);
char *trust_check_signed(const char *secret, const char *text,
			 struct error *err);

/* [host, port, magic, proof, salt] of the disk with this index. */
json_t *trust_disk(const char *secret, size_t index, const char *host,
		   int64_t port, const char *magic);
int trust_check_disk(const char *secret, size_t index, const json_t *disk,
		     struct error *err);

#endif
