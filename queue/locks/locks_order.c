/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of locks: by level, then by name.  Jobs that ask for more locks
 * while they hold some keep to it.  So each of them waits only for locks that
 * come after all that it holds, and no circle of waiting jobs can arise. */
#include <string.h>

#include "queue/locks/locks_private.h"

/* Whether somebody who holds a may ask for b. */
static bool in_order(const struct lock_want *a, const struct lock_want *b)
{
	if (a->level != b->level)
		return a->level < b->level;
	return a->name != NULL && b->name != NULL &&
	       strcmp(a->name, b->name) < 0;
}

int request_check_order(const struct lock_request *held,
			const struct lock_request *r, struct error *err)
{
	for (size_t i = 0; i < held->n_wants; i++)
		for (size_t k = 0; k < r->n_wants; k++) {
			const struct lock_want *a = &held->wants[i];
			const struct lock_want *b = &r->wants[k];

			if (!locks_has(held, i) || in_order(a, b))
				continue;
			return error_set(
				err, ERR_LOCK, NULL,
				"Lock %s/%s cannot be taken while %s/%s is "
				"held: locks are taken in their order, none "
				"twice",
				lock_level_name(b->level),
				b->name == NULL ? "[lockset]" : b->name,
				lock_level_name(a->level),
				a->name == NULL ? "[lockset]" : a->name);
		}
	return 0;
}

/* By level; inside a level the set comes first, then by name. */
static bool entry_before(const struct lock_entry *a, const struct lock_entry *b)
{
	if (a->level != b->level)
		return a->level < b->level;
	if (a->name == NULL || b->name == NULL)
		return a->name == NULL && b->name != NULL;
	return strcmp(a->name, b->name) < 0;
}

void request_sort_stages(struct lock_request *r)
{
	r->stages = xcalloc(r->n_entries + 1, sizeof(*r->stages));
	r->n_stages = r->stage = 0;
	for (size_t i = 0; i < r->n_entries; i++) {
		size_t k = r->n_stages;

		if (!request_has_queue(r, i))
			continue;
		for (; k > 0 && entry_before(&r->entries[i],
					     &r->entries[r->stages[k - 1]]);
		     k--)
			r->stages[k] = r->stages[k - 1];
		r->stages[k] = i;
		r->n_stages++;
	}
}
