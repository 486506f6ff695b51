/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table with chaining.  The number of slots is a power of two and
 * doubles when there is an entry for each slot.  An entry keeps its hash, so
 * growing does not read the keys.  The table never shrinks. */
#include "lib/base/table.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/mem.h"

struct table_entry {
	struct table_entry *next;
	void *value;
	size_t hash;
	char key[];
};

/* FNV-1a.  The keys are names that an admin chose and UUIDs of our own. */
static size_t hash_of(const char *key)
{
	uint64_t h = 14695981039346656037u;

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * 1099511628211u;
	return (size_t)h;
}

static struct table_entry **find(const struct table *t, const char *key,
				 size_t hash)
{
	struct table_entry **at = &t->slots[hash & (t->n_slots - 1)];

	while (*at != NULL &&
	       ((*at)->hash != hash || strcmp((*at)->key, key) != 0))
		at = &(*at)->next;
	return at;
}

static void grow(struct table *t)
{
	size_t n_slots = t->n_slots == 0 ? 16 : t->n_slots * 2;
	struct table_entry **slots = xcalloc(n_slots, sizeof(*slots));

	for (size_t i = 0; i < t->n_slots; i++) {
		struct table_entry *e = t->slots[i];

		while (e != NULL) {
			struct table_entry *next = e->next;
			struct table_entry **head =
				&slots[e->hash & (n_slots - 1)];

			e->next = *head;
			*head = e;
			e = next;
		}
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n_slots;
}

void *table_get(const struct table *t, const char *key)
{
	struct table_entry *e;

	if (t->n == 0)
		return NULL;
	e = *find(t, key, hash_of(key));
	return e == NULL ? NULL : e->value;
}

void *table_put(struct table *t, const char *key, void *value)
{
	size_t hash = hash_of(key), len = strlen(key) + 1;
	struct table_entry **at;
	void *old = NULL;

	if (t->n >= t->n_slots)
		grow(t);
	at = find(t, key, hash);
	if (*at == NULL) {
		*at = xalloc(sizeof(**at) + len);
		(*at)->hash = hash;
		memcpy((*at)->key, key, len);
		t->n++;
	} else {
		old = (*at)->value;
	}
	(*at)->value = value;
	return old;
}

void *table_remove(struct table *t, const char *key)
{
	struct table_entry **at, *e;
	void *value;

	if (t->n == 0)
		return NULL;
	at = find(t, key, hash_of(key));
	e = *at;
	if (e == NULL)
		return NULL;
	value = e->value;
	*at = e->next;
	free(e);
	t->n--;
	return value;
}

void table_each(const struct table *t,
		void (*fn)(const char *key, void *value, void *arg), void *arg)
{
	for (size_t i = 0; i < t->n_slots; i++)
		for (struct table_entry *e = t->slots[i]; e; e = e->next)
			fn(e->key, e->value, arg);
}

void table_done(struct table *t, void (*free_value)(void *value))
{
	for (size_t i = 0; i < t->n_slots; i++) {
		struct table_entry *e = t->slots[i];

		while (e != NULL) {
			struct table_entry *next = e->next;

			if (free_value != NULL)
				free_value(e->value);
			free(e);
			e = next;
		}
	}
	free(t->slots);
	*t = (struct table){0};
}
