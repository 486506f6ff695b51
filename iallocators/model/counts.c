/* SPDX-License-Identifier: BSD-2-Clause */
/* The small containers of the model: counted keys and sets of tags. */
#include "iallocators/model/model.h"
#include "lib/base/mem.h"

static struct count *find(const struct counts *c, int64_t key)
{
	for (int i = 0; i < c->n; i++)
		if (c->items[i].key == key)
			return &c->items[i];
	return NULL;
}

int64_t counts_get(const struct counts *c, int64_t key)
{
	const struct count *found = find(c, key);

	return found == NULL ? 0 : found->value;
}

void counts_add(struct counts *c, int64_t key, int64_t value)
{
	struct count *found = find(c, key);

	if (found != NULL) {
		found->value += value;
		if (found->value <= 0)
			*found = c->items[--c->n];
		return;
	}
	if (value <= 0)
		return;
	if (c->n == c->cap) {
		c->cap = c->cap == 0 ? 8 : c->cap * 2;
		c->items =
			xrealloc(c->items, (size_t)c->cap * sizeof(*c->items));
	}
	c->items[c->n++] = (struct count){key, value};
}

int tagset_common(const struct tagset *a, const struct tagset *b)
{
	int common = 0;

	for (int i = 0, j = 0; i < a->n && j < b->n;) {
		int order = (a->ids[i] > b->ids[j]) - (a->ids[i] < b->ids[j]);

		common += order == 0;
		i += order <= 0;
		j += order >= 0;
	}
	return common;
}

bool tagset_subset(const struct tagset *small, const struct tagset *big)
{
	return tagset_common(small, big) == small->n;
}
