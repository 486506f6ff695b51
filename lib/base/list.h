/* SPDX-License-Identifier: BSD-2-Clause */
/* Intrusive doubly linked list: the node lives inside the object it links. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

#define LIST_INIT(name)                                                        \
	{                                                                      \
		.prev = &(name), .next = &(name)                               \
	}

#define container_of(ptr, type, member)                                        \
	((type *)((char *)(ptr)-offsetof(type, member)))

#define list_each(pos, head, member)                                           \
	for (pos = container_of((head)->next, typeof(*pos), member);           \
	     &pos->member != (head);                                           \
	     pos = container_of(pos->member.next, typeof(*pos), member))

/* The same where the body may remove pos from the list. */
#define list_each_safe(pos, tmp, head, member)                                 \
	for (pos = container_of((head)->next, typeof(*pos), member),           \
	    tmp = container_of(pos->member.next, typeof(*pos), member);        \
	     &pos->member != (head); pos = tmp,                                \
	    tmp = container_of(pos->member.next, typeof(*pos), member))

/* The first object of a list; the list must not be empty. */
#define list_first(head, type, member) container_of((head)->next, type, member)

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

/* Put node right before `next`, which is in a list (or a list's head). */
static inline void list_insert_before(struct list *next, struct list *node)
{
	list_append(next, node);
}

/* Initialise `to` with all nodes of `from`, which becomes empty. */
static inline void list_move_all(struct list *to, struct list *from)
{
	list_init(to);
	if (list_empty(from))
		return;
	*to = *from;
	to->next->prev = to;
	to->prev->next = to;
	list_init(from);
}

static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#endif
