/* SPDX-License-Identifier: BSD-2-Clause */
/* The log in memory, and how it is written.  One record at a time is under way:
 * what is added meanwhile goes into the next one.  So at most the last record
 * of the log can be torn. */
#include "lib/consensus/wal.h"

#include <assert.h>
#include <inttypes.h>

#include "lib/consensus/wal_private.h"

/* What a slot costs besides its data. */
#define SLOT_BYTES 64u

/* --- entries on their own --- */

static void *grow(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return array;
	*cap = *cap == 0 ? 16 : 2 * *cap;
	return xrealloc(array, *cap * size);
}

void wal_items_clear(struct wal_items *items)
{
	for (size_t i = 0; i < items->n; i++)
		free(mem_unconst(items->items[i].data));
	free(items->items);
	*items = (struct wal_items){0};
}

static void items_add(struct wal_items *items, const struct raft_entry *entry)
{
	items->items = grow(items->items, items->n, &items->cap,
			    sizeof(*items->items));
	items->items[items->n++] = *entry;
}

void wal_items_put(struct wal_items *items, const struct raft_entry *entry)
{
	while (items->n > 0 && items->items[items->n - 1].index >= entry->index)
		free(mem_unconst(items->items[--items->n].data));
	items_add(items, entry);
}

/* --- the log --- */

uint64_t wal_last(const struct wal *w)
{
	return w->first + w->n - 1;
}

struct wal_slot *wal_slot(const struct wal *w, uint64_t index)
{
	assert(index >= w->first && index <= wal_last(w));
	return &w->slots[index - w->first];
}

static size_t cost(const struct wal_slot *slot)
{
	return SLOT_BYTES + slot->len;
}

static void slot_empty(struct wal *w, struct wal_slot *slot)
{
	w->cached_bytes -= cost(slot);
	free(steal(&slot->data));
}

/* The entries from this index on go. */
static void cut(struct wal *w, uint64_t index)
{
	while (wal_last(w) >= index && w->n > 0) {
		if (wal_last(w) >= w->cached_from)
			slot_empty(w, wal_slot(w, wal_last(w)));
		w->n--;
	}
	if (w->cached_from > wal_last(w) + 1)
		w->cached_from = wal_last(w) + 1;
}

bool wal_put(struct wal *w, const struct raft_entry *entry,
	     struct wal_segment *segment)
{
	struct wal_slot slot = {.term = entry->term,
				.segment = segment,
				.data = mem_unconst(entry->data),
				.len = (uint32_t)entry->len,
				.type = entry->type};

	if (entry->index < w->first || entry->index > wal_last(w) + 1)
		return false;
	cut(w, entry->index);
	w->slots = grow(w->slots, w->n, &w->cap, sizeof(*w->slots));
	w->slots[w->n++] = slot;
	w->cached_bytes += cost(&slot);
	w->bytes += entry->len;
	return true;
}

void wal_evict(struct wal *w)
{
	while (w->cached_bytes > w->config.cache_bytes &&
	       w->cached_from <= wal_last(w) && w->cached_from <= w->applied)
		slot_empty(w, wal_slot(w, w->cached_from++));
}

void wal_applied(struct wal *w, uint64_t index)
{
	w->applied = index;
	wal_evict(w);
}

void wal_forget(struct wal *w, uint64_t index)
{
	size_t n = index - w->first;

	if (n == 0)
		return;
	w->before_term = wal_slot(w, index - 1)->term;
	for (size_t i = 0; i < n; i++)
		if (w->first + i >= w->cached_from)
			slot_empty(w, &w->slots[i]);
	memmove(w->slots, w->slots + n, (w->n - n) * sizeof(*w->slots));
	w->n -= n;
	w->first = index;
	if (w->cached_from < index)
		w->cached_from = index;
}

/* --- the store of lib/raft/ --- */

static uint64_t store_first(void *arg)
{
	const struct wal *w = arg;

	return w->first;
}

static uint64_t store_last(void *arg)
{
	return wal_last(arg);
}

static uint64_t store_term(void *arg, uint64_t index)
{
	const struct wal *w = arg;

	return index + 1 == w->first ? w->before_term
				     : wal_slot(w, index)->term;
}

static struct raft_entry from_slot(const struct wal *w, uint64_t index)
{
	const struct wal_slot *slot = wal_slot(w, index);

	return (struct raft_entry){.index = index,
				   .term = slot->term,
				   .type = (enum raft_entry_type)slot->type,
				   .data = slot->data,
				   .len = slot->len};
}

/* From what was loaded; false if it is not there. */
static bool from_loaded(const struct wal *w, uint64_t index,
			struct raft_entry *ret)
{
	const struct wal_items *l = &w->loaded;

	if (l->n == 0 || index < l->items[0].index ||
	    index > l->items[l->n - 1].index)
		return false;
	*ret = l->items[index - l->items[0].index];
	return ret->term == wal_slot(w, index)->term;
}

static bool at_hand(const struct wal *w, uint64_t index, struct raft_entry *ret)
{
	if (index < w->cached_from)
		return from_loaded(w, index, ret);
	*ret = from_slot(w, index);
	return true;
}

static size_t store_entries(void *arg, uint64_t from, uint64_t to,
			    size_t max_bytes, struct raft_entry *ret,
			    size_t max)
{
	struct wal *w = arg;
	size_t n = 0, bytes = 0;

	while (n < max && from + n < to && at_hand(w, from + n, &ret[n])) {
		bytes += ret[n].len;
		if (n > 0 && bytes > max_bytes)
			break;
		n++;
	}
	if (n == 0) {
		w->wanted = WAL_ENTRIES;
		w->wanted_index = from;
	}
	return n;
}

static bool store_snapshot(void *arg, struct raft_snapshot *ret)
{
	struct wal *w = arg;

	if (w->snapshot.index == 0)
		return false;
	if (w->loaded_snapshot.index != w->snapshot.index) {
		w->wanted = WAL_SNAPSHOT;
		return false;
	}
	*ret = w->loaded_snapshot;
	return true;
}

void wal_fill(struct wal *w, struct raft_config *ret)
{
	ret->hard = w->hard;
	ret->members = w->snapshot.members;
	ret->store = (struct raft_store){.arg = w,
					 .first = store_first,
					 .last = store_last,
					 .term = store_term,
					 .entries = store_entries,
					 .snapshot = store_snapshot};
}

struct wal_mark wal_mark(const struct wal *w)
{
	uint64_t last = wal_last(w);
	uint64_t term = w->n > 0 ? wal_slot(w, last)->term : w->before_term;

	return (struct wal_mark){
		.term = w->hard.term,
		.vote = w->hard.vote,
		.index = term == w->hard.term ? last : 0,
		.kept = w->hard.commit > w->snapshot.index ? w->hard.commit
							   : w->snapshot.index,
	};
}

bool wal_mark_is_older(const struct wal_mark *now,
		       const struct wal_mark *before)
{
	if (now->kept < before->kept)
		return true;
	if (now->term != before->term)
		return now->term < before->term;
	return now->index < before->index ||
	       (before->vote != 0 && now->vote != before->vote);
}

/* --- records --- */

static void batch_clear(struct wal_batch *b)
{
	buf_done(&b->bytes);
	wal_items_clear(&b->items);
	*b = (struct wal_batch){0};
}

/* Entries that begin at or below those of the record replace all of them: so
 * the first entry of a record is its lowest one. */
static bool replaces_all(const struct wal_batch *b,
			 const struct raft_ready *ready)
{
	return b->items.n > 0 && ready->n_entries > 0 &&
	       ready->entries[0].index <= b->items.items[0].index;
}

void wal_add(struct wal *w, const struct raft_ready *ready)
{
	struct wal_batch *b = &w->added;

	assert(ready->write != 0);
	if (replaces_all(b, ready))
		batch_clear(b);
	if (b->write == 0)
		wal_record_begin(&b->bytes);
	b->write = ready->write;
	b->hard = ready->hard;
	for (size_t i = 0; i < ready->n_entries; i++) {
		struct raft_entry entry = ready->entries[i];

		wal_record_add(&b->bytes, &entry);
		entry.data =
			entry.len == 0 ? NULL : xmemdup(entry.data, entry.len);
		items_add(&b->items, &entry);
	}
}

static uint64_t term_at(const struct wal *w, uint64_t index)
{
	return index < w->first ? w->before_term : wal_slot(w, index)->term;
}

static void finish_record(struct wal *w, struct wal_batch *b)
{
	uint64_t prev =
		b->items.n > 0 ? b->items.items[0].index - 1 : wal_last(w);
	struct wal_record record = {.number = w->next_record,
				    .hard = b->hard,
				    .prev_index = prev,
				    .prev_term = term_at(w, prev),
				    .n_entries = b->items.n};

	wal_record_end(&b->bytes, w->salt, &record);
}

static struct wal_segment *segment_new(struct wal *w, size_t size)
{
	struct wal_segment *s = xalloc(sizeof(*s));

	s->number = w->next_segment++;
	s->size = size;
	s->log = -1;
	return s;
}

static size_t segment_size(const struct wal *w, size_t record)
{
	return record > w->config.segment_bytes ? record
						: w->config.segment_bytes;
}

static bool fits(const struct wal_segment *s, size_t len)
{
	return s != NULL && len <= s->size - s->at;
}

bool wal_write_begin(struct wal *w)
{
	struct wal_batch *b = &w->added;

	assert(w->writing.write == 0);
	if (b->write == 0 || (!fits(w->current, b->bytes.len + WAL_ALIGN) &&
			      w->spare_state == WAL_SPARE_MAKING))
		return false;
	w->writing = *b;
	*b = (struct wal_batch){0};
	b = &w->writing;
	finish_record(w, b);
	if (fits(w->current, b->bytes.len))
		return true;
	if (w->spare_state == WAL_SPARE_READY && fits(w->spare, b->bytes.len)) {
		w->making = steal(&w->spare);
		w->spare_state = WAL_SPARE_NONE;
	} else {
		w->making = segment_new(w, segment_size(w, b->bytes.len));
	}
	return true;
}

/* Zeros in a new file, with its name durable. */
static int segment_make(const struct wal *w, struct wal_segment *s,
			struct error *err)
{
	auto_free char *file = wal_segment_path(w, s->number);
	struct disk *disk = w->config.disk;

	s->log = disk->log_open(disk, file, s->size, err);
	if (s->log < 0)
		return -1;
	return disk->sync_all(disk, w->dir, err);
}

int wal_write_work(struct wal *w, struct error *err)
{
	struct wal_segment *s = w->making != NULL ? w->making : w->current;
	const struct buf *bytes = &w->writing.bytes;
	struct disk *disk = w->config.disk;

	if (s->log < 0 && segment_make(w, s, err) < 0)
		return -1;
	if (disk->log_write(disk, s->log, s->at, bytes->data, bytes->len, err) <
	    0)
		return -1;
	if (disk->log_sync(disk, s->log, err) == 0)
		return 0;
	err->ecode = ECODE_ENVIRON; /* whatever it was: never again */
	return -1;
}

static void close_log(const struct wal *w, struct wal_segment *s)
{
	if (s != NULL && s->log >= 0)
		w->config.disk->log_close(w->config.disk, s->log);
	if (s != NULL)
		s->log = -1;
}

static void take_making(struct wal *w)
{
	if (w->making == NULL)
		return;
	close_log(w, w->current);
	w->current = steal(&w->making);
	list_append(&w->segments, &w->current->link);
}

uint64_t wal_write_end(struct wal *w)
{
	struct wal_batch *b = &w->writing;
	uint64_t write = b->write;

	take_making(w);
	w->current->at += b->bytes.len;
	w->next_record++;
	w->hard = b->hard;
	for (size_t i = 0; i < b->items.n; i++) {
		bool placed = wal_put(w, &b->items.items[i], w->current);

		assert(placed); /* the core hands them out in a row */
	}
	b->items.n = 0; /* the data is the log's now */
	batch_clear(b);
	wal_evict(w);
	return write;
}

/* --- segments --- */

char *wal_segment_path(const struct wal *w, uint64_t number)
{
	return xprintf("%s/log-%016" PRIx64, w->dir, number);
}

bool wal_segment_begin(struct wal *w)
{
	const struct wal_segment *s = w->current;

	if (w->spare_state != WAL_SPARE_NONE || s == NULL ||
	    s->at < s->size / 2)
		return false;
	w->spare = segment_new(w, w->config.segment_bytes);
	w->spare_state = WAL_SPARE_MAKING;
	return true;
}

int wal_segment_work(struct wal *w, struct error *err)
{
	return segment_make(w, w->spare, err);
}

void wal_segment_end(struct wal *w, bool made)
{
	w->spare_state = made ? WAL_SPARE_READY : WAL_SPARE_NONE;
	if (made)
		return;
	close_log(w, w->spare);
	wal_segment_drop(w, steal(&w->spare));
}

void wal_segment_free(struct wal_segment *s)
{
	if (s == NULL)
		return;
	if (s->link.next != NULL)
		list_remove(&s->link);
	free(s);
}

void wal_segment_drop(struct wal *w, struct wal_segment *s)
{
	struct wal_files *f = &w->useless;

	close_log(w, s);
	f->numbers = grow(f->numbers, f->n, &f->cap, sizeof(*f->numbers));
	f->numbers[f->n++] = s->number;
	wal_segment_free(s);
}

/* --- the end --- */

void wal_close(struct wal *w)
{
	if (w == NULL)
		return;
	close_log(w, w->spare);
	close_log(w, w->making);
	wal_segment_free(w->spare);
	wal_segment_free(w->making);
	while (!list_empty(&w->segments)) {
		struct wal_segment *s =
			list_first(&w->segments, struct wal_segment, link);

		close_log(w, s);
		wal_segment_free(s);
	}
	cut(w, w->first);
	free(w->slots);
	free(w->useless.numbers);
	free(w->removing.numbers);
	batch_clear(&w->added);
	batch_clear(&w->writing);
	buf_done(&w->saving_bytes);
	wal_snapshot_free(&w->saving);
	wal_items_clear(&w->load);
	wal_load_drop(w);
	wal_snapshot_free(&w->loading_snapshot);
	free(w->dir);
	free(w);
}
