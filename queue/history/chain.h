/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain of hashes through the archive.
 *
 * Each job that is archived gets a last member in its file,
 *
 *	"livelock": "archive-chain 3 17 SHA256"
 *
 * its number in the chain, the id of the job archived before it, and the hash
 * of that job's whole file; the first entry has "-" for both.  Ganeti's readers
 * refuse members that they do not know, but they accept this one: it names the
 * lock that the job's process held, and nobody looks at it once the job is
 * archived.  The file archive-head names the last entry, as JSON.  So somebody
 * who alters, removes or adds a file has to alter all jobs that were archived
 * later, and archive-head.
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

/* An entry of the chain, or a link to one; number 0: there is none. */
struct chain_link {
	uint64_t number, id;
	char sha256[CHAIN_HEX];
};

/* The hash of a file's content. */
void chain_hash(const void *data, size_t len, char ret[CHAIN_HEX]);

/* Add the link to the job at *head to the text of a job, and make *head that
 * job.  Returns the new text, to be freed. */
char *chain_seal(struct chain_link *head, uint64_t id, char *text STEALS);

/* From the text of an archived job: its number in the chain (0: it is not in
 * the chain), and the link to the job before it. */
bool chain_read(const char *text, size_t len, uint64_t *ret_number,
		struct chain_link *ret_previous);

/* The content of archive-head, to be freed; and reading it. */
char *chain_head_text(const struct chain_link *head);
bool chain_head_read(const char *text, size_t len, struct chain_link *ret);

#endif
