/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots.  The file says, besides the state, up to which record there was
 * something when it was written (so that a log that has lost its end is
 * noticed), up to which record nothing counts any more (when the snapshot has
 * taken the place of the log), and the hard state, since the records that had
 * it may go. */
#include <assert.h>
#include <inttypes.h>

#include "lib/base/random.h"
#include "lib/consensus/wal_private.h"

#define MAGIC UINT64_C(0xff31535972746e47)

static char *snapshot_path(const char *dir)
{
	return xprintf("%s/snapshot", dir);
}

/* --- the file --- */

static void pack_file(struct buf *b, const struct wal_snapshot_file *f)
{
	const struct raft_snapshot *s = &f->snapshot;
	size_t len = 0;
	auto_free char *members =
		s->index == 0 ? NULL : raft_members_encode(&s->members, &len);

	pack_number(b, MAGIC);
	pack_number(b, f->salt);
	pack_number(b, f->last_record);
	pack_number(b, f->void_to);
	pack_number(b, f->hard.term);
	pack_number(b, f->hard.vote);
	pack_number(b, f->hard.commit);
	pack_number(b, s->index);
	pack_number(b, s->term);
	pack_bytes(b, members, len);
	pack_bytes(b, s->data, s->len);
	pack_number(b, bytes_hash(b->data, b->len));
}

static bool has_checksum(const char *text, size_t len)
{
	struct pack_reader r = {.at = text, .end = text + len};
	uint64_t sum;

	if (len < sizeof(sum))
		return false;
	r.at = text + len - sizeof(sum);
	sum = unpack_number(&r);
	return sum == bytes_hash(text, len - sizeof(sum));
}

static bool unpack_file(const char *text, size_t len, bool with_data,
			struct wal_snapshot_file *ret)
{
	struct pack_reader r = {.at = text, .end = text + len};
	struct raft_snapshot *s = &ret->snapshot;
	const char *members, *data;
	size_t members_len;

	*ret = (struct wal_snapshot_file){0};
	if (!has_checksum(text, len) || unpack_number(&r) != MAGIC)
		return false;
	ret->salt = unpack_number(&r);
	ret->last_record = unpack_number(&r);
	ret->void_to = unpack_number(&r);
	ret->hard.term = unpack_number(&r);
	ret->hard.vote = unpack_number(&r);
	ret->hard.commit = unpack_number(&r);
	s->index = unpack_number(&r);
	s->term = unpack_number(&r);
	members = unpack_bytes(&r, &members_len);
	data = unpack_bytes(&r, &s->len);
	if (r.bad || (s->index > 0 &&
		      !raft_members_decode(members, members_len, &s->members)))
		return false;
	if (with_data && s->len > 0)
		s->data = xmemdup(data, s->len);
	return true;
}

int wal_snapshot_file_read(struct disk *disk, const char *dir, bool with_data,
			   struct wal_snapshot_file *ret, struct error *err)
{
	auto_free char *file = snapshot_path(dir);
	auto_free char *text = NULL;
	size_t len;

	text = disk->read(disk, file, WAL_SNAPSHOT_MAX, &len, err);
	if (text == NULL)
		return -1;
	if (unpack_file(text, len, with_data, ret))
		return 0;
	return error_set(err, ERR_SYSTEM, ECODE_FAULT, "%s is damaged", file);
}

int wal_create(struct disk *disk, const char *dir,
	       const struct raft_snapshot *begin, struct error *err)
{
	auto_free char *file = snapshot_path(dir);
	struct wal_snapshot_file f = {0};
	auto_buf struct buf b = {0};

	random_bytes(&f.salt, sizeof(f.salt));
	if (begin != NULL) {
		assert(begin->index > 0);
		f.snapshot = *begin;
		f.hard = (struct raft_hard){.term = begin->term,
					    .commit = begin->index};
	}
	pack_file(&b, &f);
	if (disk->mkdirs(disk, dir, WAL_FOLDER_MODE, err) < 0)
		return -1;
	return disk->write_atomic(disk, file, b.data, b.len, WAL_FILE_MODE,
				  err);
}

bool wal_exists(struct disk *disk, const char *dir)
{
	auto_free char *file = snapshot_path(dir);

	return disk->exists(disk, file);
}

void wal_snapshot_free(struct raft_snapshot *s)
{
	free(mem_unconst(s->data));
	*s = (struct raft_snapshot){0};
}

int wal_snapshot_read(struct wal *w, struct raft_snapshot *ret,
		      struct error *err)
{
	struct wal_snapshot_file f;

	if (wal_snapshot_file_read(w->config.disk, w->dir, true, &f, err) < 0)
		return -1;
	*ret = f.snapshot;
	return 0;
}

/* --- keeping one --- */

uint64_t wal_snapshot_index(const struct wal *w)
{
	return w->snapshot.index;
}

const struct raft_members *wal_snapshot_members(const struct wal *w)
{
	return &w->snapshot.members;
}

size_t wal_bytes_since_snapshot(const struct wal *w)
{
	return w->bytes - w->bytes_at_snapshot;
}

void wal_snapshot_begin(struct wal *w, const struct raft_snapshot *snapshot,
			bool own)
{
	uint64_t last = w->next_record - 1;
	struct wal_snapshot_file f = {.salt = w->salt,
				      .last_record = own ? last : 0,
				      .void_to = own ? w->void_to : last,
				      .hard = w->hard,
				      .snapshot = *snapshot};

	assert(w->saving.index == 0 && snapshot->index > w->snapshot.index);
	w->saving = *snapshot;
	w->saving.data = NULL;
	w->saving_void = f.void_to;
	w->saving_own = own;
	w->saving_at = w->bytes;
	pack_file(&w->saving_bytes, &f);
}

int wal_snapshot_work(struct wal *w, struct error *err)
{
	auto_free char *file = snapshot_path(w->dir);
	struct disk *disk = w->config.disk;

	return disk->write_atomic(disk, file, w->saving_bytes.data,
				  w->saving_bytes.len, WAL_FILE_MODE, err);
}

/* The segment that has the snapshot's entry stays, and so do all behind. */
static void forget_covered(struct wal *w)
{
	uint64_t index = w->snapshot.index, keep;
	const struct wal_segment *stays;

	if (index < w->first)
		return;
	stays = wal_slot(w, index)->segment;
	for (keep = index; keep > w->first; keep--)
		if (wal_slot(w, keep - 1)->segment != stays)
			break;
	wal_forget(w, keep);
	while (list_first(&w->segments, struct wal_segment, link) != stays)
		wal_segment_drop(
			w, list_first(&w->segments, struct wal_segment, link));
}

static void forget_all(struct wal *w)
{
	while (!list_empty(&w->segments))
		wal_segment_drop(
			w, list_first(&w->segments, struct wal_segment, link));
	w->current = NULL;
	wal_forget(w, wal_last(w) + 1);
	w->first = w->cached_from = w->snapshot.index + 1;
	w->before_term = w->snapshot.term;
}

void wal_snapshot_end(struct wal *w, bool written)
{
	buf_done(&w->saving_bytes);
	if (written) {
		w->snapshot = w->saving;
		w->void_to = w->saving_void;
		w->bytes_at_snapshot = w->saving_at;
		if (w->saving_own)
			forget_covered(w);
		else
			forget_all(w);
		wal_load_drop(w);
	}
	w->saving = (struct raft_snapshot){0};
}

/* --- files that are not needed any more --- */

bool wal_remove_begin(struct wal *w)
{
	struct wal_files none = w->removing;

	if (w->useless.n == 0)
		return false;
	assert(none.n == 0);
	w->removing = w->useless;
	w->useless = none;
	return true;
}

int wal_remove_work(struct wal *w, struct error *err)
{
	struct disk *disk = w->config.disk;
	int rc = 0;

	for (size_t i = 0; i < w->removing.n; i++) {
		auto_free char *file =
			wal_segment_path(w, w->removing.numbers[i]);

		if (disk->exists(disk, file) &&
		    disk->remove(disk, file, err) < 0)
			rc = -1;
	}
	return rc;
}

void wal_remove_end(struct wal *w)
{
	w->removing.n = 0;
}
