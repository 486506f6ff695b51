/* SPDX-License-Identifier: BSD-2-Clause */
/* How the verify jobs report what they find. */
#ifndef MASTERD_LU_VERIFY_CLUSTER_VERIFY_H
#define MASTERD_LU_VERIFY_CLUSTER_VERIFY_H

#include "masterd/lu/frame/lu.h"

struct verify {
	struct lu *lu;
	bool error_codes;
	bool simulate; /* simulate errors: every check reports one */
	const json_t *ignore_errors;
	bool bad; /* there was an error that is not ignored */
};

/* "  - ERROR: node node2: text" into the job's log (the form with the code if
 * error_codes); code: one of lib/model/verify_codes.def, which says what it is
 * about; name: of that object, NULL where there is none. */
void verify_error(struct verify *v, const char *code, const char *name,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same of a whole group, with a code that is another object's. */
void verify_group_error(struct verify *v, const char *code, const char *name,
			const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* As verify_error where it is a warning, which leaves the result alone. */
void verify_warning(struct verify *v, const char *code, const char *name,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* An error, or a warning, when it is bad or simulated. */
void verify_if(struct verify *v, bool is_bad, const char *code,
	       const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* A warning, when it is bad or simulated. */
void verify_warn_if(struct verify *v, bool is_bad, const char *code,
		    const char *name, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* "  - WARNING: node node2: text"; no code of Ganeti's stands for it. */
void verify_hint(struct verify *v, const char *kind, const char *name,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* "  - NOTICE: text". */
void verify_note(struct verify *v, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- verify_resources.c --- */

/* Check whether the group can lose as many nodes as its policy demands. */
void verify_capacity(struct verify *v, const json_t *group);

/* Compare what is recorded of these nodes (UUIDs) with what they report. */
WAITS void verify_resources(struct verify *v, const struct strv *nodes);

#endif
