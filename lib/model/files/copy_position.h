/* SPDX-License-Identifier: BSD-2-Clause */
/* How new a copy of the job queue is: what its file "position" says
 * (doc/design/failover.md).  "T B" is batch B of term T; "0 0 T B" a copy that
 * is being made anew, and had T B before. */
#ifndef MODEL_FILES_COPY_POSITION_H
#define MODEL_FILES_COPY_POSITION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The file's text for a copy that is about to be made anew by its master. */
#define COPY_POSITION_HALF "0 0\n"

struct copy_position {
	bool known; /* the file says something */
	bool half;  /* the copy is being made anew: term and batch are 0 */
	uint64_t term, batch;
	/* What it had before; not known of copies that did not note it. */
	bool had_known;
	uint64_t had_term, had_batch;
};

/* From the file's text; NULL: there is none. */
struct copy_position copy_position_read(const char *text);

/* The file's text when the copy with this text (NULL: none) is about to be made
 * anew, to be freed.  What it had when it was whole stays known however often
 * that is begun. */
char *copy_position_halved(const char *text);

/* As in the answer to master_state, to be freed: [T, B], null when it is not
 * known. */
json_t *copy_position_now(const struct copy_position *p);
json_t *copy_position_had(const struct copy_position *p);

#endif
