/* SPDX-License-Identifier: BSD-2-Clause */
/* What a token of the remote API allows: some rights, perhaps only for some
 * instances.  What counts is the token and its user together.
 *
 * A token is text, TOKEN_PREFIX and random characters; the master keeps its
 * hash.  A session of the page is a token that comes in a cookie. */
#ifndef RAPI_TOKEN_H
#define RAPI_TOKEN_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "rapi/frame/hash.h"

struct request;
struct route;

#define TOKEN_PREFIX "gnt_"
#define TOKEN_COOKIE "gantry_session"
/* Random bytes in a token. */
#define TOKEN_BYTES 32
/* The longest life that can be asked for, and that of a session. */
#define TOKEN_LIFE_MAX_S (10 * 366 * 86400)
#define TOKEN_SESSION_S (12 * 3600)

/* Names of rights: read, power, create, modify, destroy, migrate, node,
 * cluster, console, tokens. */
bool token_is_right(const char *name);
/* The one that a request of this row needs, a literal. */
const char *token_right_of(const struct route *route);

/* 0 if the token allows the request; -1 with REPLY_FORBIDDEN.  May ask the
 * master about an instance; the body has been read. */
int token_check(struct request *q, const json_t *token, struct error *err);

/* The same of opcodes about an instance that a request leads to. */
int token_check_ops(const json_t *token, const json_t *ops, struct error *err);

/* A new secret, to be freed; and its hash. */
char *token_new(char ret_hash[HASH_HEX]);
/* The word that a write with this session's cookie has to carry, of a hash. */
void token_csrf(const char *hash, char ret[HASH_HEX]);

#endif
