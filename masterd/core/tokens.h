/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens of the remote API: who has one acts for the user who made it, within
 * the token's rights, scope and time.  Kept are hashes, in a file of the
 * queue's folder, so that each server of the log has them; what they allow is
 * the remote API's to know (rapi/access/tokens.h). */
#ifndef MASTERD_CORE_TOKENS_H
#define MASTERD_CORE_TOKENS_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"

struct store;
struct tokens;

/* Sessions of the page are tokens, too. */
#define TOKENS_MAX 10000
/* Of one user: tokens, and sessions beside them. */
#define TOKENS_USER_MAX 1000
#define TOKENS_SESSIONS_MAX 100
#define TOKENS_BYTES_MAX (64u * 1024 * 1024)

/* Those that the store has; what is no token in there is left out. */
WAITS struct tokens *tokens_create(struct store *store);
void tokens_free(struct tokens *t); /* NULL: nothing */

/* Keep one more: {"id", "hash", "user", "expires": seconds since 1970 or null,
 * and whatever else}.  Durable when it returns 0.  A further "session" of a
 * user who has very many ends his oldest one; a further token of such a user is
 * ERR_QUEUE_FULL. */
WAITS int tokens_add(struct tokens *t, json_t *token STEALS, struct error *err);
/* Forget the one with this id, which has to be the user's (NULL: anybody's).
 * ECODE_NOENT if there is none. */
WAITS int tokens_remove(struct tokens *t, const char *id, const char *user,
			struct error *err);

/* Note for those who follow the events that somebody from this address has
 * failed to log in, as this user (NULL: there is none of the name). */
WAITS int tokens_note_failure(struct tokens *t, const char *user,
			      const char *address, struct error *err);

/* The one with this hash, borrowed until the next change; NULL: there is none,
 * or its time is over. */
const json_t *tokens_find(const struct tokens *t, const char *hash);
/* All that are valid, to be freed. */
json_t *tokens_list(const struct tokens *t);

#endif
