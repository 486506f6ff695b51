/* SPDX-License-Identifier: BSD-2-Clause */
/* Record: magic, number, length of the payload, checksum (of all but itself);
 * the payload is a list of entries: kind, length of the name, length of the
 * content, name NUL, content NUL.  Numbers are little-endian. */
#include "lib/store/journal.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"

struct header {
	char magic[8];
	uint64_t number;
	uint64_t length; /* of the payload */
	uint64_t checksum;
};

static const char magic[8] = "gantryJ1";

struct entry_header {
	uint32_t kind;
	uint32_t name_len;
	uint64_t content_len;
};

/* Records start with a number; no count reaches this one, so there is always a
 * next number. */
#define NUMBER_MAX UINT64_C(999999999999999999)

/* FNV-1a. */
static uint64_t hash_add(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211u;
	return h;
}

static uint64_t checksum(const struct header *h, const char *payload,
			 size_t len)
{
	uint64_t sum = hash_add(14695981039346656037u, h,
				offsetof(struct header, checksum));

	return hash_add(sum, payload, len);
}

static size_t aligned(size_t len)
{
	return (len + JOURNAL_ALIGN - 1) / JOURNAL_ALIGN * JOURNAL_ALIGN;
}

/* --- building records --- */

void journal_begin(struct buf *record)
{
	struct header h = {0};

	assert(record->len == 0);
	memcpy(h.magic, magic, sizeof(magic));
	buf_add(record, &h, sizeof(h));
}

void journal_add(struct buf *record, const struct journal_entry *e)
{
	const char *name = e->name == NULL ? "" : e->name;
	uint64_t number = htole64(e->number);
	const char *content = e->content;
	size_t len = e->len;
	struct entry_header h;

	if (e->kind == JOURNAL_CUT) {
		content = (const char *)&number;
		len = sizeof(number);
	}
	h = (struct entry_header){
		.kind = htole32((uint32_t)e->kind),
		.name_len = htole32((uint32_t)strlen(name)),
		.content_len = htole64(len),
	};
	buf_add(record, &h, sizeof(h));
	buf_add(record, name, strlen(name) + 1);
	buf_add(record, content, len);
	buf_addc(record, '\0');
}

void journal_end(struct journal *j, struct buf *record)
{
	static const char zeros[JOURNAL_ALIGN];
	size_t len = record->len - sizeof(struct header);
	struct header h;

	memcpy(&h, record->data, sizeof(h));
	h.number = htole64(j->next);
	h.length = htole64(len);
	h.checksum = htole64(checksum(&h, record->data + sizeof(h), len));
	memcpy(record->data, &h, sizeof(h));
	buf_add(record, zeros, aligned(record->len) - record->len);
}

/* --- reading --- */

/* One half of the file as it was found at start. */
struct half {
	const char *data;
	size_t size;
	size_t end;	      /* where the valid records end */
	uint64_t first, last; /* record numbers; 0: none */
};

/* The record at this offset; NULL unless it is complete and undamaged. */
static const struct header *record_at(const struct half *half, size_t at,
				      size_t *ret_len)
{
	size_t left = half->size - at;
	const struct header *h = (const struct header *)(half->data + at);
	size_t len;

	if (left < sizeof(*h) || memcmp(h->magic, magic, sizeof(magic)) != 0)
		return NULL;
	len = le64toh(h->length);
	if (len > left - sizeof(*h) || le64toh(h->number) > NUMBER_MAX ||
	    le64toh(h->checksum) != checksum(h, (const char *)(h + 1), len))
		return NULL;
	*ret_len = len;
	return h;
}

/* Whether a complete record that is newer than the last valid one of this half
 * stands behind a damaged one. */
static bool lost_records(const struct half *half)
{
	size_t len;

	for (size_t at = half->end; at < half->size; at += JOURNAL_ALIGN) {
		const struct header *h = record_at(half, at, &len);

		if (h != NULL && le64toh(h->number) > half->last + 1 &&
		    half->last > 0)
			return true;
	}
	return false;
}

static void scan(struct half *half)
{
	size_t at = 0, len;

	while (at < half->size) {
		const struct header *h = record_at(half, at, &len);

		if (h == NULL ||
		    (half->last != 0 && le64toh(h->number) != half->last + 1))
			break;
		half->last = le64toh(h->number);
		if (half->first == 0)
			half->first = half->last;
		at += aligned(sizeof(*h) + len);
	}
	half->end = at;
}

typedef void replay_fn(const struct journal_entry *e, void *arg);

/* Read one entry; returns how many bytes it takes, 0 when it is not valid. */
static size_t entry_read(const char *data, size_t left, struct journal_entry *e)
{
	struct entry_header h;
	size_t name_len, len;

	if (left < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	name_len = le32toh(h.name_len);
	len = le64toh(h.content_len);
	left -= sizeof(h);
	if (name_len >= left || len >= left - name_len - 1)
		return 0;
	*e = (struct journal_entry){
		.kind = (enum journal_kind)le32toh(h.kind),
		.name = data + sizeof(h),
		.content = data + sizeof(h) + name_len + 1,
		.len = len,
	};
	if (e->kind == JOURNAL_CUT) {
		if (len != sizeof(e->number))
			return 0;
		memcpy(&e->number, e->content, len);
		e->number = le64toh(e->number);
	}
	return sizeof(h) + name_len + len + 2;
}

int journal_read_entries(const char *data, size_t len, replay_fn *fn, void *arg)
{
	while (len > 0) {
		struct journal_entry e;
		size_t n = entry_read(data, len, &e);

		if (n == 0)
			return -1;
		fn(&e, arg);
		data += n;
		len -= n;
	}
	return 0;
}

/* Call fn for each entry of the half's records above number `after`. */
static void each_entry(const struct half *half, uint64_t after, replay_fn *fn,
		       void *arg)
{
	size_t at = 0, len;

	while (at < half->end) {
		const struct header *h = record_at(half, at, &len);
		const char *data = (const char *)(h + 1);
		struct journal_entry e;
		size_t n;

		at += aligned(sizeof(*h) + len);
		if (le64toh(h->number) <= after)
			continue;
		for (; len > 0 && (n = entry_read(data, len, &e)) > 0; len -= n)
			fn(&e, arg), data += n;
	}
}

static void find_cut(const struct journal_entry *e, void *arg)
{
	uint64_t *cut = arg;

	if (e->kind == JOURNAL_CUT && e->number > *cut)
		*cut = e->number;
}

static void replay_halves(const struct half *older, const struct half *newer,
			  replay_fn *fn, void *arg)
{
	bool whole = older->last != 0 && older->last + 1 == newer->first;
	uint64_t cut = 0;

	if (whole)
		each_entry(older, 0, find_cut, &cut);
	each_entry(newer, 0, find_cut, &cut);
	if (older->last != 0 && !whole && cut + 1 < newer->first)
		log_error("The journal of the queue is damaged: changes %ju to "
			  "%ju may be lost",
			  (uintmax_t)older->last + 1,
			  (uintmax_t)newer->first - 1);
	if (lost_records(newer))
		log_error("The journal of the queue is damaged behind change "
			  "%ju: later ones are lost",
			  (uintmax_t)newer->last);
	if (whole)
		each_entry(older, cut, fn, arg);
	each_entry(newer, cut, fn, arg);
}

/* What was read may be in the page cache only: the process that wrote it was
 * killed before its sync, or its sync failed, after which a further sync may
 * succeed without having written anything.  So a half with records whose
 * changes may not be in their files yet is written once more before anything is
 * built on them. */
static int make_durable(struct journal *j, const struct half *halves,
			struct error *err)
{
	uint64_t cut = 0;
	bool any = false;

	for (unsigned i = 0; i < 2; i++)
		each_entry(&halves[i], 0, find_cut, &cut);
	for (unsigned i = 0; i < 2; i++) {
		if (halves[i].last <= cut + 1)
			continue;
		any = true;
		if (j->disk->log_write(j->disk, j->log, i * j->half_size,
				       halves[i].data, halves[i].end, err) < 0)
			return -1;
	}
	return any ? journal_sync(j, err) : 0;
}

static void cut_in_halves(struct half halves[2], const char *data, size_t size)
{
	for (unsigned i = 0; i < 2; i++) {
		halves[i] = (struct half){.data = data + i * size / 2,
					  .size = size / 2};
		scan(&halves[i]);
	}
}

/* A journal that has records keeps its size: the journal of a candidate is
 * smaller than a master's, and the node may have been the other one before. */
static bool keeps_size(const char *data, size_t len)
{
	struct half halves[2];

	if (len == 0 || len % (2 * JOURNAL_ALIGN) != 0)
		return false;
	cut_in_halves(halves, data, len);
	return halves[0].last > 0 || halves[1].last > 0;
}

/* Read the whole file; make or lengthen it where needed. */
static char *open_file(struct journal *j, const char *path, size_t size,
		       size_t *ret_size, struct error *err)
{
	struct disk *disk = j->disk;
	auto_free char *data = NULL;
	size_t len = 0;

	if (disk->exists(disk, path)) {
		data = disk->read(disk, path, JOURNAL_SIZE_MAX, &len, err);
		if (data == NULL)
			return NULL;
		if (keeps_size(data, len))
			size = len;
	}
	j->log = disk->log_open(disk, path, size, err);
	if (j->log < 0)
		return NULL;
	if (len < size) {
		free(data);
		data = disk->read(disk, path, JOURNAL_SIZE_MAX, &len, err);
	}
	if (data != NULL && len < size) {
		error_set(err, ERR_QUEUE, NULL, "%s is too short", path);
		return NULL;
	}
	*ret_size = size;
	return steal(&data);
}

int journal_open(struct journal *j, struct disk *disk, const char *path,
		 size_t size, replay_fn *replay, void *arg, struct error *err)
{
	auto_free char *data = NULL;
	struct half halves[2];
	unsigned newer;

	assert(size % (2 * JOURNAL_ALIGN) == 0);
	*j = (struct journal){.disk = disk, .log = -1};
	data = open_file(j, path, size, &size, err);
	if (data == NULL) {
		journal_close(j);
		return -1;
	}
	j->half_size = size / 2;
	cut_in_halves(halves, data, size);
	for (unsigned i = 0; i < 2; i++)
		j->last_in[i] = halves[i].last;
	if (make_durable(j, halves, err) < 0) {
		journal_close(j);
		return -1;
	}
	newer = halves[1].last > halves[0].last ? 1 : 0;
	replay_halves(&halves[!newer], &halves[newer], replay, arg);
	j->half = newer;
	j->at = halves[newer].end;
	j->next = halves[newer].last + 1;
	return 0;
}

int journal_peek(struct disk *disk, const char *path, replay_fn *replay,
		 void *arg, struct error *err)
{
	auto_free char *data = NULL;
	struct half halves[2];
	size_t len;
	unsigned newer;

	if (!disk->exists(disk, path))
		return 0;
	data = disk->read(disk, path, JOURNAL_SIZE_MAX, &len, err);
	if (data == NULL)
		return -1;
	if (!keeps_size(data, len))
		return 0; /* nothing was written to it yet */
	cut_in_halves(halves, data, len);
	newer = halves[1].last > halves[0].last ? 1 : 0;
	replay_halves(&halves[!newer], &halves[newer], replay, arg);
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->disk != NULL && j->log >= 0)
		j->disk->log_close(j->disk, j->log);
	j->log = -1;
}

/* --- writing --- */

size_t journal_record_max(const struct journal *j)
{
	return j->half_size;
}

bool journal_fits(const struct journal *j, const struct buf *record)
{
	return aligned(record->len) <= j->half_size - j->at;
}

void journal_turn(struct journal *j)
{
	j->half = !j->half;
	j->at = 0;
	j->last_in[j->half] = 0;
}

bool journal_half_used(const struct journal *j)
{
	return j->at > j->half_size / 2;
}

int journal_write(struct journal *j, const struct buf *record,
		  struct error *err)
{
	assert(journal_fits(j, record));
	return j->disk->log_write(j->disk, j->log,
				  j->half * j->half_size + j->at, record->data,
				  record->len, err);
}

int journal_sync(struct journal *j, struct error *err)
{
	return j->disk->log_sync(j->disk, j->log, err);
}

void journal_written(struct journal *j, const struct buf *record)
{
	j->at += record->len;
	j->last_in[j->half] = j->next++;
}
