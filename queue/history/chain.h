/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain of hashes through the archive.
 *
 * Each job that is archived gets a last member in its file,
 *
 *	"livelock": "archive-chain 3 17 SHA256"
 *
 * the place in the chain, the job archived before it, and the hash of that
 * one's file as a whole; the first has "-" for both.  Ganeti's readers refuse
 * members that they do not know; this one, of the lock that a job's process
 * held, they accept and never look at once the job is archived.  The file
 * archive-head names the last one, as JSON.  Who alters a file, takes one away
 * or adds one has to alter all that were archived later, and archive-head.
 *
 * This module only reads and writes these texts. */
#ifndef QUEUE_HISTORY_CHAIN_H
#define QUEUE_HISTORY_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/mem.h"

#define CHAIN_HEAD_FILE "archive-head"
#define CHAIN_HEX 65 /* of a SHA-256, with its NUL */

/* An entry, or a link to one; number 0: there is none. */
struct chain_link {
	uint64_t number, id;
	char sha256[CHAIN_HEX];
};

/* The hash of a file's content. */
void chain_hash(const void *data, size_t len, char ret[CHAIN_HEX]);

/* Add the link behind *head to the text of a job, which becomes the new
 * *head. */
char *chain_seal(struct chain_link *head, uint64_t id, char *text STEALS);

/* The place of an archived job (0: it is not in the chain) and the link to the
 * one before it. */
bool chain_read(const char *text, size_t len, uint64_t *ret_number,
		struct chain_link *ret_previous);

/* The content of archive-head, and back. */
char *chain_head_text(const struct chain_link *head);
bool chain_head_read(const char *text, size_t len, struct chain_link *ret);

#endif
