/* SPDX-License-Identifier: BSD-2-Clause */
/* How the verify jobs report what they find. */
#ifndef MASTERD_LU_CLUSTER_VERIFY_H
#define MASTERD_LU_CLUSTER_VERIFY_H

#include "masterd/lu.h"

struct verify {
	struct lu *lu;
	bool error_codes;
	const json_t *ignore_errors;
	bool bad; /* an error that is not ignored was found */
};

/* "  - ERROR: node node2: text" into the job's log (the form with the code if
 * error_codes); code: one of the 39 of Ganeti 3.0.2;
 * kind: node, instance, cluster, group. */
void verify_error(struct verify *v, const char *code, const char *kind,
		  const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* "  - WARNING: node node2: text"; no code of Ganeti's stands for it. */
void verify_warning(struct verify *v, const char *kind, const char *name,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

void verify_note(struct verify *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- verify_resources.c --- */

/* Could the group lose the nodes that its policy lets it lose? */
void verify_capacity(struct verify *v, const json_t *group);

/* Compare what is recorded of these nodes (UUIDs) with what they report. */
WAITS void verify_resources(struct verify *v, const struct strv *nodes);

#endif
