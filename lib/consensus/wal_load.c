/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading back what is not in memory any more: the segment with the entries
 * that a slow follower needs, or the snapshot.  One thing at a time is kept. */
#include <assert.h>

#include "lib/consensus/wal_private.h"

enum wal_wanted wal_wanted(const struct wal *w)
{
	return w->wanted;
}

bool wal_load_begin(struct wal *w)
{
	assert(w->loading == WAL_NOTHING);
	w->loading = w->wanted;
	w->wanted = WAL_NOTHING;
	if (w->loading == WAL_ENTRIES) {
		if (w->wanted_index < w->first ||
		    w->wanted_index >= w->cached_from)
			w->loading = WAL_NOTHING; /* it is there, or gone */
		else
			w->loading_segment =
				wal_slot(w, w->wanted_index)->segment->number;
	}
	return w->loading != WAL_NOTHING;
}

static void put_record(struct wal *w, struct wal_record *record)
{
	struct raft_entry entry;

	while (wal_record_next(record, &entry)) {
		entry.data =
			entry.len == 0 ? NULL : xmemdup(entry.data, entry.len);
		wal_items_put(&w->load, &entry);
	}
}

static int load_entries(struct wal *w, struct error *err)
{
	auto_free char *file = wal_segment_path(w, w->loading_segment);
	struct disk *disk = w->config.disk;
	auto_free char *text = NULL;
	struct wal_record record;
	size_t len;

	text = disk->read(disk, file, SIZE_MAX - 1, &len, err);
	if (text == NULL)
		return -1;
	for (size_t at = 0; wal_record_at(text, len, at, w->salt, &record);
	     at += record.size)
		put_record(w, &record);
	return 0;
}

int wal_load_work(struct wal *w, struct error *err)
{
	return w->loading == WAL_ENTRIES
		       ? load_entries(w, err)
		       : wal_snapshot_read(w, &w->loading_snapshot, err);
}

void wal_load_drop(struct wal *w)
{
	wal_items_clear(&w->loaded);
	wal_snapshot_free(&w->loaded_snapshot);
}

bool wal_load_end(struct wal *w)
{
	bool fresh = w->loading == WAL_ENTRIES ||
		     w->loading_snapshot.index == w->snapshot.index;

	wal_load_drop(w);
	w->loading = WAL_NOTHING;
	w->loaded = w->load;
	w->load = (struct wal_items){0};
	w->loaded_snapshot = w->loading_snapshot;
	w->loading_snapshot = (struct raft_snapshot){0};
	return fresh;
}
