/* SPDX-License-Identifier: BSD-2-Clause */
/* How new a copy of the job queue is, by its file "position"
 * (doc/design/failover.md).  "T B" means batch B of term T; "0 0 T B" means
 * that the copy is being made anew, and had T B before. */
#ifndef MODEL_FILES_COPY_POSITION_H
#define MODEL_FILES_COPY_POSITION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The file's text for a copy that its master begins to make anew. */
#define COPY_POSITION_HALF "0 0\n"

struct copy_position {
	bool known; /* the file says something */
	bool half;  /* the copy is being made anew: term and batch are 0 */
	uint64_t term, batch;
	/* What the copy had before it was made anew; unknown for copies that
	 * did not note it. */
	bool had_known;
	uint64_t had_term, had_batch;
};

/* Read the file's text; NULL: there is no file. */
struct copy_position copy_position_read(const char *text);

/* The file's text for a copy whose making anew begins, to be freed; old: its
 * text now (NULL: none).  It keeps what the copy had when it was last whole,
 * however often the making is begun again. */
char *copy_position_halved(const char *text);

/* As in the answer to master_state, to be freed: [T, B], null when it is not
 * known. */
json_t *copy_position_now(const struct copy_position *p);
json_t *copy_position_had(const struct copy_position *p);

#endif
