/* SPDX-License-Identifier: BSD-2-Clause */
/* From a filter of queries to conditions in SQL, for the tables of
 * history_db.c.
 *
 * A condition is weaker than the filter or equal to it: the filter is false,
 * and its evaluation has no error, for each job that a condition leaves out.
 * So the filter on the rows that are left gives what it gives on all. */
#ifndef QUEUE_HISTORY_HISTORY_FILTER_H
#define QUEUE_HISTORY_HISTORY_FILTER_H

#include <jansson.h>

#include "lib/base/str.h"

/* All of them must hold.  The same conditions twice: once to be the one by
 * which an index finds the jobs ("" where none can), once to be looked at for a
 * job that was found. */
struct history_conditions {
	struct strv find, check;
};

/* The filter is one that filter_compile() took. */
void history_conditions(const json_t *qfilter, struct history_conditions *ret);
void history_conditions_done(struct history_conditions *c);

#endif
