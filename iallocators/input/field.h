/* SPDX-License-Identifier: BSD-2-Clause */
/* Typed members of JSON objects of a request, with the reference's errors.
 *
 * `what` is put before the error and a colon, unless NULL.  The functions fill
 * *ret and return 0, or return -1 with *err.
 */
#ifndef IALLOCATORS_INPUT_FIELD_H
#define IALLOCATORS_INPUT_FIELD_H

#include "iallocators/input/jtext.h"

struct field {
	struct arena *arena; /* for lists */
	const struct jval *object;
	const char *what;
};

int field_int(const struct field *f, const char *key, int64_t *ret,
	      struct error *err);
int field_double(const struct field *f, const char *key, double *ret,
		 struct error *err);
int field_bool(const struct field *f, const char *key, bool *ret,
	       struct error *err);
int field_string(const struct field *f, const char *key, const char **ret,
		 struct error *err);
int field_strings(const struct field *f, const char *key, const char ***ret,
		  size_t *ret_n, struct error *err);
int field_object(const struct field *f, const char *key,
		 const struct jval **ret, struct error *err);
int field_list(const struct field *f, const char *key, const struct jval **ret,
	       struct error *err);

/* The index of a string in names. */
int field_enum(const struct field *f, const char *key, const char *type,
	       const char *const *names, int n, int *ret, struct error *err);

/* The value itself, as an element of a list. */
int field_enum_value(const struct field *f, const struct jval *v,
		     const char *type, const char *const *names, int n,
		     int *ret, struct error *err);

/* Whether there is such a member, of whatever kind. */
bool field_present(const struct field *f, const char *key);

/* Any member, an array: these have an error of their own. */
int field_array(const struct field *f, const char *key, const struct jval **ret,
		struct error *err);

#endif
