/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes: what a caller puts together, and who is told of its fate. */
#include <string.h>

#include "lib/store/store_private.h"

struct store_change *store_change_new(void)
{
	struct store_change *c = xalloc(sizeof(*c));

	c->refs = 1;
	list_init(&c->link);
	cond_init(&c->changed);
	return c;
}

struct store_op *store_change_add(struct store_change *c,
				  enum journal_kind kind, const char *name)
{
	struct store_op *op;

	if (c->n_ops == c->cap) {
		c->cap = c->cap == 0 ? 1 : c->cap * 2;
		c->ops = xrealloc(c->ops, c->cap * sizeof(*c->ops));
	}
	op = &c->ops[c->n_ops++];
	*op = (struct store_op){.kind = kind, .name = xstrdup(name)};
	return op;
}

void store_change_write(struct store_change *c, const char *name,
			char *text STEALS)
{
	struct store_op *op = store_change_add(c, JOURNAL_WRITE, name);

	op->text = text;
	op->len = strlen(text);
}

void store_change_remove(struct store_change *c, const char *name)
{
	store_change_add(c, JOURNAL_REMOVE, name);
}

void store_change_move(struct store_change *c, const char *from, const char *to)
{
	struct store_op *op = store_change_add(c, JOURNAL_MOVE, to);

	op->from = xstrdup(from);
}

void store_change_unref(struct store_change *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	for (size_t i = 0; i < c->n_ops; i++) {
		free(c->ops[i].name);
		free(c->ops[i].text);
		free(c->ops[i].from);
	}
	free(c->ops);
	free(c->err);
	free(c);
}

void store_change_drop(struct store_change *c STEALS)
{
	store_change_unref(c);
}

void store_change_finish(struct store_change *c, const struct error *err)
{
	list_remove(&c->link);
	c->finished = true;
	if (err != NULL)
		c->err = xmemdup(err, sizeof(*err));
	cond_signal(&c->changed);
	if (c->done != NULL)
		c->done(c, err);
	store_change_unref(c);
}
