/* SPDX-License-Identifier: BSD-2-Clause */
/* A map from strings to pointers.  It copies the keys; the values belong to the
 * caller. */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table_entry; /* private */

/* Zeroed is empty. */
struct table {
	struct table_entry **slots;
	size_t n;
	size_t n_slots;
};

/* The value of key, or NULL. */
void *table_get(const struct table *t, const char *key);

/* Set key to value (not NULL) and return the value it had, or NULL. */
void *table_put(struct table *t, const char *key, void *value);

/* Remove key and return the value it had, or NULL. */
void *table_remove(struct table *t, const char *key);

/* Call fn for each entry, in no particular order; fn must not change t. */
void table_each(const struct table *t,
		void (*fn)(const char *key, void *value, void *arg), void *arg);

/* Free the table, and each value with free_value unless that is NULL. */
void table_done(struct table *t, void (*free_value)(void *value));

#endif
