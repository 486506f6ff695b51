/* SPDX-License-Identifier: BSD-2-Clause */
/* A job as the history has it: all that queries ask for but the opcodes'
 * parameters, results and logs. */
#ifndef QUEUE_HISTORY_HISTORY_ROW_H
#define QUEUE_HISTORY_HISTORY_ROW_H

#include "queue/jobs/job.h"

/* What one can look for by its text. */
enum history_kind {
	HISTORY_OPID = 1,
	HISTORY_OBJECT,
	HISTORY_USER,
	HISTORY_REASON,
	HISTORY_SUMMARY,
};

/* The kind of a query's field, 0 when it is none of these. */
int history_kind_of(const char *field);

/* A copy of what the history needs of j, so that the rest can be done beside
 * the loop. */
struct job *history_excerpt(const struct job *j);

/* The opcodes in one text, and the job back from it (id, times, archived are
 * the caller's).  NULL when the text is none of ours. */
char *history_brief(const struct job *j);
struct job *history_from_brief(uint64_t id, const char *brief);

/* Call fn for each text that the job can be found by. */
void history_each_word(const struct job *j,
		       void (*fn)(void *arg, int kind, const char *text),
		       void *arg);

#endif
