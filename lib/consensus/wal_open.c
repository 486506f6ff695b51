/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening the log: which segments have records that count, whether they are
 * whole and follow each other, and what is in them. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/log.h"
#include "lib/consensus/wal_private.h"

/* A segment as it was found. */
struct found {
	uint64_t number;
	uint64_t first, last; /* records; 0: none */
	size_t size;
	size_t end, last_at; /* behind the last record, and where it begins */
};

struct finds {
	struct found *items;
	size_t n;
};

static int damaged(struct error *err, const struct wal *w, const char *why)
{
	return error_set(err, ERR_SYSTEM, ECODE_FAULT,
			 "The log in %s is damaged: %s", w->dir, why);
}

static char *read_segment(const struct wal *w, uint64_t number, size_t *ret_len,
			  struct error *err)
{
	auto_free char *file = wal_segment_path(w, number);
	struct disk *disk = w->config.disk;

	return disk->read(disk, file, SIZE_MAX - 1, ret_len, err);
}

/* Only the end of the whole log may be torn, and behind it is nothing. */
static bool has_later(const struct wal *w, const struct found *f,
		      const char *text)
{
	struct wal_record record;

	for (size_t at = f->end; at < f->size; at += WAL_ALIGN)
		if (wal_record_at(text, f->size, at, w->salt, &record))
			return true;
	return false;
}

static int look_at(const struct wal *w, struct found *f, struct error *err)
{
	auto_free char *text = read_segment(w, f->number, &f->size, err);
	struct wal_record record;

	if (text == NULL)
		return -1;
	while (wal_record_at(text, f->size, f->end, w->salt, &record) &&
	       (f->last == 0 || record.number == f->last + 1)) {
		f->last = record.number;
		f->first = f->first == 0 ? record.number : f->first;
		f->last_at = f->end;
		f->end += record.size;
	}
	return has_later(w, f, text)
		       ? damaged(err, w, "records are missing before others")
		       : 0;
}

static bool number_of(const char *name, uint64_t *ret)
{
	int end = 0;

	return sscanf(name, "log-%16" SCNx64 "%n", ret, &end) == 1 &&
	       name[end] == '\0';
}

static int by_record(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int find_segments(struct wal *w, struct finds *ret, struct error *err)
{
	auto_strv struct strv names = {0};
	struct disk *disk = w->config.disk;

	if (disk->list(disk, w->dir, &names, err) < 0)
		return -1;
	ret->items = xcalloc(names.n + 1, sizeof(*ret->items));
	for (size_t i = 0; i < names.n; i++) {
		struct found *f = &ret->items[ret->n];

		if (!number_of(names.items[i], &f->number))
			continue;
		if (look_at(w, f, err) < 0)
			return -1;
		if (f->number >= w->next_segment)
			w->next_segment = f->number + 1;
		ret->n++;
	}
	qsort(ret->items, ret->n, sizeof(*ret->items), by_record);
	return 0;
}

static void drop_file(struct wal *w, uint64_t number)
{
	struct wal_segment *s = xalloc(sizeof(*s));

	*s = (struct wal_segment){.number = number, .log = -1};
	wal_segment_drop(w, s);
}

/* Those that have nothing, or nothing that counts, go. */
static void drop_useless(struct wal *w, struct finds *finds)
{
	size_t kept = 0;

	for (size_t i = 0; i < finds->n; i++) {
		struct found f = finds->items[i];

		if (f.last > w->void_to)
			finds->items[kept++] = f;
		else
			drop_file(w, f.number);
	}
	finds->n = kept;
}

/* The segments before a gap do not count: their removal has failed or was cut
 * off, while that of later ones succeeded.  Whether anything is missing is said
 * by the entries. */
static void drop_before_gap(struct wal *w, struct finds *finds)
{
	struct found *f = finds->items;
	size_t begin = 0;

	for (size_t i = 1; i < finds->n; i++)
		if (f[i].first != f[i - 1].last + 1)
			begin = i;
	for (size_t i = 0; i < begin; i++)
		drop_file(w, f[i].number);
	finds->n -= begin;
	memmove(f, f + begin, finds->n * sizeof(*f));
}

static int check_end(const struct wal *w, const struct finds *finds,
		     uint64_t last_record, struct error *err)
{
	if (last_record > w->void_to &&
	    (finds->n == 0 || finds->items[finds->n - 1].last < last_record))
		return damaged(err, w, "its last records are missing");
	return 0;
}

/* --- what is in them --- */

/* Where the log begins is said by its first entry, or by one below it that has
 * replaced that. */
static void begin_log(struct wal *w, const struct wal_record *r)
{
	if (r->n_entries == 0 || (w->n > 0 && r->prev_index + 1 >= w->first))
		return;
	wal_forget(w, wal_last(w) + 1);
	w->first = w->cached_from = r->prev_index + 1;
	w->before_term = r->prev_term;
}

/* *ret_end: the last entry that the log had with this record. */
static int take_record(struct wal *w, struct wal_record *record,
		       struct wal_segment *s, uint64_t *ret_end,
		       struct error *err)
{
	bool has_entries = record->n_entries > 0;
	struct raft_entry entry;

	begin_log(w, record);
	w->hard = record->hard;
	w->next_record = record->number + 1;
	while (wal_record_next(record, &entry)) {
		entry.data =
			entry.len == 0 ? NULL : xmemdup(entry.data, entry.len);
		if (wal_put(w, &entry, s))
			continue;
		free(mem_unconst(entry.data));
		return damaged(err, w, "entries are missing");
	}
	*ret_end = has_entries ? wal_last(w) : record->prev_index;
	return record->entries.bad ? damaged(err, w, "a record is none") : 0;
}

static int read_in(struct wal *w, const struct found *f, uint64_t *ret_end,
		   struct error *err)
{
	struct wal_segment *s = xalloc(sizeof(*s));
	auto_free char *text = NULL;
	struct wal_record record;
	size_t len;

	*s = (struct wal_segment){
		.number = f->number, .size = f->size, .at = f->end, .log = -1};
	list_append(&w->segments, &s->link);
	w->current = s;
	text = read_segment(w, f->number, &len, err);
	if (text == NULL)
		return -1;
	for (size_t at = 0; at < f->end; at += record.size) {
		if (!wal_record_at(text, len, at, w->salt, &record))
			return damaged(err, w, "it changes while it is read");
		if (take_record(w, &record, s, ret_end, err) < 0)
			return -1;
	}
	return 0;
}

/* The last record may be in the page cache only: the process that wrote it was
 * killed before its sync, or its sync failed, after which a further sync may
 * succeed without having written anything.  So it is written once more before
 * anything is built on it.
 *
 * A torn record behind it loses its header, or it might become whole when the
 * next one is torn in the same place. */
static int make_durable(struct wal *w, const struct found *f, struct error *err)
{
	auto_free char *file = wal_segment_path(w, f->number);
	struct disk *disk = w->config.disk;
	static const char zeros[WAL_ALIGN];
	auto_free char *text = NULL;
	size_t len;

	text = read_segment(w, f->number, &len, err);
	if (text == NULL)
		return -1;
	w->current->log = disk->log_open(disk, file, f->size, err);
	if (w->current->log < 0 ||
	    disk->log_write(disk, w->current->log, f->last_at,
			    text + f->last_at, f->end - f->last_at, err) < 0 ||
	    (f->end + sizeof(zeros) <= f->size &&
	     disk->log_write(disk, w->current->log, f->end, zeros,
			     sizeof(zeros), err) < 0))
		return -1;
	return disk->log_sync(disk, w->current->log, err);
}

/* Records without entries do not need those before them to be read: what the
 * log had is said by where it ended, and by what was committed. */
static int read_log(struct wal *w, const struct finds *finds, struct error *err)
{
	uint64_t end = 0;

	for (size_t i = 0; i < finds->n; i++)
		if (read_in(w, &finds->items[i], &end, err) < 0)
			return -1;
	if (w->first > w->snapshot.index + 1 || wal_last(w) < w->snapshot.index)
		return damaged(err, w,
			       "entries are missing after the snapshot");
	if (wal_last(w) < end || wal_last(w) < w->hard.commit)
		return damaged(err, w, "its last entries are missing");
	return finds->n == 0
		       ? 0
		       : make_durable(w, &finds->items[finds->n - 1], err);
}

static void count_bytes(struct wal *w)
{
	w->bytes = w->bytes_at_snapshot = 0;
	for (uint64_t i = w->snapshot.index + 1; i <= wal_last(w); i++)
		w->bytes += wal_slot(w, i)->len;
}

static int open_log(struct wal *w, struct finds *finds, struct error *err)
{
	struct wal_snapshot_file f;

	if (wal_snapshot_file_read(w->config.disk, w->dir, false, &f, err) < 0)
		return -1;
	w->salt = f.salt;
	w->void_to = f.void_to;
	w->hard = f.hard;
	w->snapshot = f.snapshot;
	w->first = w->cached_from = f.snapshot.index + 1;
	w->before_term = f.snapshot.term;
	w->next_record = f.void_to + 1;
	if (find_segments(w, finds, err) < 0)
		return -1;
	drop_useless(w, finds);
	drop_before_gap(w, finds);
	if (check_end(w, finds, f.last_record, err) < 0 ||
	    read_log(w, finds, err) < 0)
		return -1;
	count_bytes(w);
	return 0;
}

struct wal *wal_open(const struct wal_config *config, struct error *err)
{
	struct wal *w = xalloc(sizeof(*w));
	struct finds finds = {0};
	int rc;

	w->config = *config;
	if (w->config.segment_bytes == 0)
		w->config.segment_bytes = WAL_SEGMENT_BYTES;
	if (w->config.cache_bytes == 0)
		w->config.cache_bytes = WAL_CACHE_BYTES;
	w->dir = xstrdup(config->dir);
	w->next_segment = 1;
	list_init(&w->segments);
	rc = open_log(w, &finds, err);
	free(finds.items);
	if (rc == 0)
		return w;
	wal_close(w);
	return NULL;
}
