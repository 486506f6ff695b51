/* SPDX-License-Identifier: BSD-2-Clause */
/* The log as the core sees it: below, what the store has; above, entries that
 * are not known to be durable.  The store may still have other entries at the
 * places of the upper ones, which a newer leader has replaced: so the upper
 * part is always asked first. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/raft/raft_private.h"

void raft_log_init(struct raft_log *l, const struct raft_store *store)
{
	*l = (struct raft_log){.store = *store};
	l->offset = store->last(store->arg) + 1;
	l->handed = l->offset - 1;
}

static void drop(struct raft_log *l, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		free(mem_unconst(l->entries[i].data));
}

void raft_log_free(struct raft_log *l)
{
	drop(l, 0, l->n);
	free(l->entries);
	raft_snapshot_free(l->snapshot);
}

/* --- looking --- */

uint64_t raft_log_last(const struct raft_log *l)
{
	return l->offset + l->n - 1;
}

bool raft_log_term(const struct raft_log *l, uint64_t index, uint64_t *ret_term)
{
	if (index > raft_log_last(l) ||
	    index + 1 < l->store.first(l->store.arg))
		return false;
	*ret_term = index >= l->offset ? l->entries[index - l->offset].term
				       : l->store.term(l->store.arg, index);
	return true;
}

uint64_t raft_log_last_term(const struct raft_log *l)
{
	uint64_t term = 0;

	return raft_log_term(l, raft_log_last(l), &term) ? term : 0;
}

bool raft_log_has(const struct raft_log *l, uint64_t index, uint64_t term)
{
	uint64_t own;

	return raft_log_term(l, index, &own) && own == term;
}

uint64_t raft_log_before(const struct raft_log *l, uint64_t index,
			 uint64_t term)
{
	uint64_t last = raft_log_last(l), own;

	if (index > last)
		index = last;
	while (index > 0 && raft_log_term(l, index, &own) && own > term)
		index--;
	return index;
}

uint64_t raft_log_durable(const struct raft_log *l)
{
	return l->offset - 1;
}

static size_t cut(struct raft_entry *entries, size_t n, size_t max_bytes)
{
	size_t bytes = 0, i;

	for (i = 0; i < n; i++) {
		bytes += entries[i].len;
		if (i > 0 && bytes > max_bytes)
			break;
	}
	return i;
}

size_t raft_log_slice(const struct raft_log *l, uint64_t from, uint64_t to,
		      size_t max_bytes, struct raft_entry *ret, size_t max)
{
	size_t n;

	if (from >= to || max == 0)
		return 0;
	if (from < l->offset)
		return l->store.entries(l->store.arg, from,
					to < l->offset ? to : l->offset,
					max_bytes, ret, max);
	n = to - from < max ? to - from : max;
	memcpy(ret, l->entries + (from - l->offset), n * sizeof(*ret));
	return cut(ret, n, max_bytes);
}

/* --- changing --- */

void raft_log_append(struct raft_log *l, uint64_t term,
		     enum raft_entry_type type, const void *data, size_t len)
{
	l->entries = raft_room(l->entries, l->n, &l->cap, sizeof(*l->entries));
	l->entries[l->n] = (struct raft_entry){
		.index = l->offset + l->n,
		.term = term,
		.type = type,
		.data = len == 0 ? NULL : xmemdup(data, len),
		.len = len,
	};
	l->n++;
}

void raft_log_truncate(struct raft_log *l, uint64_t index)
{
	if (index >= l->offset) {
		drop(l, index - l->offset, l->n);
		l->n = index - l->offset;
	} else { /* what the store has from there on is none of the log's */
		drop(l, 0, l->n);
		l->n = 0;
		l->offset = index;
	}
	if (l->handed >= index)
		l->handed = index - 1;
}

void raft_log_written(struct raft_log *l, uint64_t index, uint64_t term)
{
	size_t n;

	/* Another entry may have come to its place since it was handed out. */
	if (index < l->offset || index > l->handed ||
	    !raft_log_has(l, index, term))
		return;
	n = index - l->offset + 1;
	drop(l, 0, n);
	l->n -= n;
	l->offset += n;
	memmove(l->entries, l->entries + n, l->n * sizeof(*l->entries));
}

void raft_log_installed(struct raft_log *l, bool ok)
{
	if (ok) {
		drop(l, 0, l->n);
		l->n = 0;
		l->offset = l->snapshot->index + 1;
		l->handed = l->snapshot->index;
	}
	raft_snapshot_free(l->snapshot);
	l->snapshot = NULL;
	l->snapshot_handed = false;
}

/* --- snapshots --- */

struct raft_snapshot *raft_snapshot_copy(const struct raft_snapshot *s)
{
	struct raft_snapshot *copy = xmemdup(s, sizeof(*s));

	copy->data = s->len == 0 ? NULL : xmemdup(s->data, s->len);
	return copy;
}

void raft_snapshot_free(struct raft_snapshot *s)
{
	if (s == NULL)
		return;
	free(mem_unconst(s->data));
	free(s);
}
