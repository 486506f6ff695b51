/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries, logs, images and letters for the drivers of lib/raft/ in tests. */
#include "tests/lib/raft_disk.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

struct raft_item *raft_disk_item(const struct raft_entry *entry)
{
	struct raft_item *item = xalloc(sizeof(*item) + entry->len + 1);

	item->refs = 1;
	item->entry = *entry;
	if (entry->len > 0)
		memcpy(item + 1, entry->data, entry->len);
	item->entry.data = item + 1;
	return item;
}

struct raft_item *raft_disk_share(struct raft_item *item)
{
	item->refs++;
	return item;
}

void raft_disk_drop(struct raft_item *item)
{
	if (item != NULL && --item->refs == 0)
		free(item);
}

uint64_t raft_disk_last(const struct raft_log *log)
{
	return log->first + log->n - 1;
}

const struct raft_entry *raft_disk_at(const struct raft_log *log,
				      uint64_t index)
{
	if (index < log->first || index - log->first >= log->n)
		return NULL;
	return &log->items[index - log->first]->entry;
}

void raft_disk_cut(struct raft_log *log, uint64_t from)
{
	while (log->n > 0 && raft_disk_last(log) >= from)
		raft_disk_drop(log->items[--log->n]);
}

bool raft_disk_put(struct raft_log *log, struct raft_item *item)
{
	if (item->entry.index < log->first ||
	    item->entry.index > raft_disk_last(log) + 1)
		return false;
	raft_disk_cut(log, item->entry.index);
	if (log->n == log->room) {
		log->room = log->room == 0 ? 64 : 2 * log->room;
		log->items =
			xrealloc(log->items, log->room * sizeof(*log->items));
	}
	log->items[log->n++] = raft_disk_share(item);
	return true;
}

void raft_disk_begin(struct raft_log *log, uint64_t first)
{
	size_t gone = first - log->first;

	if (first <= log->first)
		return;
	if (gone > log->n)
		gone = log->n;
	for (size_t i = 0; i < gone; i++)
		raft_disk_drop(log->items[i]);
	log->n -= gone;
	if (log->n > 0)
		memmove(log->items, log->items + gone,
			log->n * sizeof(*log->items));
	log->first = first;
}

void raft_disk_log_done(struct raft_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		raft_disk_drop(log->items[i]);
	free(log->items);
	*log = (struct raft_log){.first = 1};
}

void raft_disk_copy(struct raft_image *to, const struct raft_image *from)
{
	raft_disk_log_done(&to->log);
	*to = *from;
	to->log.room = from->log.n;
	to->log.items = xcalloc(from->log.n + 1, sizeof(*to->log.items));
	for (size_t i = 0; i < from->log.n; i++)
		to->log.items[i] = raft_disk_share(from->log.items[i]);
}

uint64_t raft_disk_hash(uint64_t hash, const struct raft_entry *entry)
{
	const unsigned char *data = entry->data;

	hash ^= entry->index * 0x9e3779b97f4a7c15 + entry->term * 31 +
		(uint64_t)entry->type;
	for (size_t i = 0; i < entry->len; i++)
		hash = (hash ^ data[i]) * 0x100000001b3;
	return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9;
}

void raft_disk_apply(struct raft_state *state, const struct raft_entry *entry)
{
	state->index = entry->index;
	state->term = entry->term;
	state->hash = raft_disk_hash(state->hash, entry);
	if (entry->type == RAFT_ENTRY_MEMBERS)
		raft_members_decode(entry->data, entry->len, &state->members);
	else if (entry->len > 0)
		state->n++;
}

struct raft_snapshot raft_disk_snapshot(const struct raft_state *state)
{
	return (struct raft_snapshot){
		.index = state->index,
		.term = state->term,
		.members = state->members,
		.data = &state->hash,
		.len = 2 * sizeof(uint64_t),
	};
}

bool raft_disk_restore(const struct raft_snapshot *snapshot,
		       struct raft_state *ret)
{
	if (snapshot->len != 2 * sizeof(uint64_t))
		return false;
	*ret = (struct raft_state){
		.index = snapshot->index,
		.term = snapshot->term,
		.members = snapshot->members,
	};
	memcpy(&ret->hash, snapshot->data, sizeof(ret->hash));
	memcpy(&ret->n, (const char *)snapshot->data + sizeof(ret->hash),
	       sizeof(ret->n));
	return true;
}

static size_t letter_size(const struct raft_message *m)
{
	size_t size = sizeof(struct raft_letter) +
		      m->n_entries * sizeof(struct raft_entry);

	for (size_t i = 0; i < m->n_entries; i++)
		size += m->entries[i].len;
	return size + (m->snapshot == NULL ? 0 : m->snapshot->len);
}

struct raft_letter *raft_disk_letter(const struct raft_message *message)
{
	struct raft_letter *l = xalloc(letter_size(message));
	char *end;

	l->m = *message;
	l->entries = (struct raft_entry *)(l + 1);
	end = (char *)(l->entries + message->n_entries);
	l->m.entries = message->n_entries == 0 ? NULL : l->entries;
	for (size_t i = 0; i < message->n_entries; i++) {
		struct raft_entry *e = &l->entries[i];

		*e = message->entries[i];
		if (e->len > 0)
			memcpy(end, e->data, e->len);
		e->data = end;
		end += e->len;
	}
	if (message->snapshot == NULL)
		return l;
	l->snapshot = *message->snapshot;
	if (l->snapshot.len > 0)
		memcpy(end, message->snapshot->data, l->snapshot.len);
	l->snapshot.data = end;
	l->m.snapshot = &l->snapshot;
	return l;
}

static void add_flags(struct buf *text, const struct raft_message *m)
{
	if (m->reject)
		buf_adds(text, " reject");
	if (m->pre)
		buf_adds(text, " pre");
	if (m->force)
		buf_adds(text, " force");
	if (m->after_write)
		buf_adds(text, " after");
}

const char *raft_disk_message_text(const struct raft_message *m)
{
	static const char *const types[] = {
		"append",   "appended", "heartbeat", "heartbeaten", "snapshot",
		"ask-vote", "vote",	"elect-now", "read",	    "read-at",
	};
	static char line[512];
	auto_buf struct buf text = {0};

	buf_addf(&text, "%" PRIu64 ">%" PRIu64 " %s t%" PRIu64, m->from, m->to,
		 types[m->type], m->term);
	buf_addf(&text, " %" PRIu64 "/%" PRIu64 " c%" PRIu64, m->index,
		 m->log_term, m->commit);
	if (m->hint != 0 || m->round != 0)
		buf_addf(&text, " hint %" PRIu64 " round %" PRIu64, m->hint,
			 m->round);
	add_flags(&text, m);
	for (size_t i = 0; i < m->n_entries && i < 10; i++)
		buf_addf(&text, " [%" PRIu64 "/%" PRIu64 "%s]",
			 m->entries[i].index, m->entries[i].term,
			 m->entries[i].type == RAFT_ENTRY_MEMBERS ? " m" : "");
	if (m->snapshot != NULL)
		buf_addf(&text, " snapshot %" PRIu64 "/%" PRIu64 " members %s",
			 m->snapshot->index, m->snapshot->term,
			 raft_disk_members_text(&m->snapshot->members));
	snprintf(line, sizeof(line), "%s", text.data);
	return line;
}

struct raft_members raft_disk_members(const char *text)
{
	struct raft_members m = {0};
	struct raft_ids *list = &m.voters;

	while (*text != '\0') {
		if (*text >= '0' && *text <= '9') {
			char *end;

			raft_ids_add(list, strtoull(text, &end, 10));
			text = end;
			continue;
		}
		if (*text == '+')
			list = &m.learners;
		else if (*text == '/')
			list = &m.outgoing;
		text++;
	}
	return m;
}

static void add_ids(struct buf *text, const char *before,
		    const struct raft_ids *ids)
{
	for (size_t i = 0; i < ids->n; i++)
		buf_addf(text, "%s%" PRIu64, i == 0 ? before : " ",
			 ids->ids[i]);
}

const char *raft_disk_members_text(const struct raft_members *m)
{
	static char line[512];
	auto_buf struct buf text = {0};

	buf_adds(&text, "");
	add_ids(&text, "", &m->voters);
	add_ids(&text, "/", &m->outgoing);
	add_ids(&text, "+", &m->learners);
	snprintf(line, sizeof(line), "%s", text.data);
	return line;
}
