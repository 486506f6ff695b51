/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions in SQL for a filter of queries, for the tables of history_db.c.
 *
 * A condition is weaker than the filter or equal to it: for each job that it
 * excludes, the filter is false and its evaluation is no error.  So the filter
 * gives the same result on the remaining rows as on all rows. */
#ifndef QUEUE_HISTORY_HISTORY_FILTER_H
#define QUEUE_HISTORY_HISTORY_FILTER_H

#include <jansson.h>

#include "lib/base/str.h"

/* Conditions that all must hold, each in two forms: one with which an index
 * finds the jobs ("" where no index can), and one that checks a job that was
 * found otherwise. */
struct history_conditions {
	struct strv find, check;
};

/* qfilter is a filter that filter_compile() has accepted. */
void history_conditions(const json_t *qfilter, struct history_conditions *ret);
void history_conditions_done(struct history_conditions *c);

#endif
