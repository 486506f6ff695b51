/* SPDX-License-Identifier: BSD-2-Clause */
/* A job as the history stores it: everything that queries ask for except the
 * opcodes' parameters, results and logs. */
#ifndef QUEUE_HISTORY_HISTORY_ROW_H
#define QUEUE_HISTORY_HISTORY_ROW_H

#include "queue/jobs/job.h"

/* Kinds of text by which jobs can be found. */
enum history_kind {
	HISTORY_OPID = 1,
	HISTORY_OBJECT,
	HISTORY_USER,
	HISTORY_REASON,
	HISTORY_SUMMARY,
};

/* The kind for a field of queries; 0 when it is none of these. */
int history_kind_of(const char *field);

/* A copy of what the history needs of j, to be freed, so that the rest of the
 * work can be done beside the loop. */
struct job *history_excerpt(const struct job *j);

/* The opcodes as one text, to be freed; and the job from such a text (the
 * caller sets id, times, archived).  NULL when the text is not valid. */
char *history_brief(const struct job *j);
struct job *history_from_brief(uint64_t id, const char *brief);

/* Call fn for each text by which the job can be found. */
void history_each_word(const struct job *j,
		       void (*fn)(void *arg, int kind, const char *text),
		       void *arg);

#endif
