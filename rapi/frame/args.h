/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments behind the question mark of a request's target, read as
 * Ganeti's server does: "&" stands between them, "+" is a blank, an argument
 * without a value is left out, and of one that comes twice the first counts,
 * except where a list of them is asked for. */
#ifndef RAPI_ARGS_H
#define RAPI_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* Zeroed is empty. */
struct args {
	struct strv names, values; /* the same index */
};

/* Read the target of a request, in *ret_path what stands before the question
 * mark (to be freed), still encoded. */
void args_read(struct args *ret, const char *target, char **ret_path);
void args_done(struct args *a);

/* The first value, NULL if there is none. */
const char *args_get(const struct args *a, const char *name);

/* Forget all of this name. */
void args_remove(struct args *a, const char *name);

/* All values, to be freed. */
void args_all(const struct args *a, const char *name, struct strv *ret);

/* A number; the fallback stands for a missing one. */
int args_int(const struct args *a, const char *name, int64_t fallback,
	     int64_t *ret, struct error *err);

/* The same as a flag: every number but 0 is yes. */
int args_flag(const struct args *a, const char *name, bool *ret,
	      struct error *err);

#endif
