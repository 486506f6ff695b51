/* SPDX-License-Identifier: BSD-2-Clause */
/* All is numbers and counted bytes (pack.h), in the order of the structs. */
#include "lib/consensus/wire.h"

#include "lib/base/mem.h"

/* It ends with the version. */
#define MAGIC UINT64_C(0xff315079746e4701)

/* Beside the format of entries, which is below. */
#define TAKES_ANSWER (UINT64_C(1) << 32)

enum { FLAG_REJECT = 1, FLAG_PRE = 2, FLAG_FORCE = 4, FLAG_SNAPSHOT = 8 };

/* No entry takes less. */
#define ENTRY_BYTES_MIN (4 * sizeof(uint64_t))

static void pack_mark(struct buf *b, const struct wal_mark *mark)
{
	pack_number(b, mark->term);
	pack_number(b, mark->vote);
	pack_number(b, mark->index);
	pack_number(b, mark->kept);
}

static struct wal_mark unpack_mark(struct pack_reader *r)
{
	struct wal_mark mark = {.term = unpack_number(r)};

	mark.vote = unpack_number(r);
	mark.index = unpack_number(r);
	mark.kept = unpack_number(r);
	return mark;
}

void wire_begin(struct buf *b, const struct wire_head *head)
{
	pack_number(b, MAGIC);
	pack_number(b, head->kind);
	pack_number(b, head->cluster);
	pack_number(b, head->from);
	pack_number(b, head->to);
	pack_mark(b, &head->mark);
	pack_number(b, head->number);
	pack_number(b, head->about);
	pack_mark(b, &head->known);
	/* Who does not know the flag sees the format alone. */
	pack_number(b, head->format | (head->takes_answer ? TAKES_ANSWER : 0));
}

static void pack_snapshot(struct buf *b, const struct raft_snapshot *s)
{
	size_t len;
	auto_free char *members = raft_members_encode(&s->members, &len);

	pack_number(b, s->index);
	pack_number(b, s->term);
	pack_bytes(b, members, len);
	pack_bytes(b, s->data, s->len);
}

void wire_add(struct buf *b, const struct raft_message *m)
{
	uint64_t flags = (m->reject ? FLAG_REJECT : 0) |
			 (m->pre ? FLAG_PRE : 0) | (m->force ? FLAG_FORCE : 0) |
			 (m->snapshot != NULL ? FLAG_SNAPSHOT : 0);

	pack_number(b, m->type);
	pack_number(b, m->term);
	pack_number(b, m->index);
	pack_number(b, m->log_term);
	pack_number(b, m->commit);
	pack_number(b, m->hint);
	pack_number(b, m->round);
	pack_number(b, flags);
	pack_number(b, m->n_entries);
	for (size_t i = 0; i < m->n_entries; i++) {
		const struct raft_entry *e = &m->entries[i];

		pack_number(b, e->index);
		pack_number(b, e->term);
		pack_number(b, e->type);
		pack_bytes(b, e->data, e->len);
	}
	if (m->snapshot != NULL)
		pack_snapshot(b, m->snapshot);
}

bool wire_open(struct wire_parcel *p, const void *data, size_t len)
{
	struct pack_reader *r = &p->rest;
	struct wire_head *h = &p->head;
	uint64_t kind, format;

	*p = (struct wire_parcel){
		.rest = {.at = data, .end = (const char *)data + len}};
	if (unpack_number(r) != MAGIC)
		return false;
	kind = unpack_number(r);
	h->kind = (enum wire_kind)kind;
	h->cluster = unpack_number(r);
	h->from = unpack_number(r);
	h->to = unpack_number(r);
	h->mark = unpack_mark(r);
	h->number = unpack_number(r);
	h->about = unpack_number(r);
	h->known = unpack_mark(r);
	format = unpack_number(r);
	h->format = (unsigned)(format & UINT32_MAX);
	h->takes_answer = (format & TAKES_ANSWER) != 0;
	return !r->bad && kind <= WIRE_WELCOME;
}

static bool unpack_entries(struct wire_parcel *p, struct raft_message *m)
{
	struct pack_reader *r = &p->rest;
	uint64_t n = unpack_number(r);

	if (r->bad || n > (uint64_t)(r->end - r->at) / ENTRY_BYTES_MIN)
		return false;
	p->entries = xcalloc(n + 1, sizeof(*p->entries));
	for (size_t i = 0; i < n; i++) {
		struct raft_entry *e = &p->entries[i];
		uint64_t type;

		e->index = unpack_number(r);
		e->term = unpack_number(r);
		type = unpack_number(r);
		e->data = unpack_bytes(r, &e->len);
		e->type = (enum raft_entry_type)type;
		if (r->bad || type > RAFT_ENTRY_MEMBERS)
			return false;
	}
	m->entries = p->entries;
	m->n_entries = n;
	return true;
}

static bool unpack_snapshot(struct wire_parcel *p, struct raft_message *m)
{
	struct pack_reader *r = &p->rest;
	const char *members;
	size_t len;

	p->snapshot.index = unpack_number(r);
	p->snapshot.term = unpack_number(r);
	members = unpack_bytes(r, &len);
	p->snapshot.data = unpack_bytes(r, &p->snapshot.len);
	m->snapshot = &p->snapshot;
	return !r->bad && members != NULL &&
	       raft_members_decode(members, len, &p->snapshot.members);
}

bool wire_next(struct wire_parcel *p, struct raft_message *ret)
{
	struct pack_reader *r = &p->rest;
	uint64_t type, flags;

	wire_done(p);
	p->snapshot = (struct raft_snapshot){0};
	*ret = (struct raft_message){.from = p->head.from, .to = p->head.to};
	type = unpack_number(r);
	ret->type = (enum raft_message_type)type;
	ret->term = unpack_number(r);
	ret->index = unpack_number(r);
	ret->log_term = unpack_number(r);
	ret->commit = unpack_number(r);
	ret->hint = unpack_number(r);
	ret->round = unpack_number(r);
	flags = unpack_number(r);
	ret->reject = flags & FLAG_REJECT;
	ret->pre = flags & FLAG_PRE;
	ret->force = flags & FLAG_FORCE;
	if (r->bad || type > RAFT_READ_AT || !unpack_entries(p, ret))
		return false;
	return !(flags & FLAG_SNAPSHOT) || unpack_snapshot(p, ret);
}

void wire_add_members(struct buf *b, const struct raft_members *members,
		      uint64_t commit)
{
	size_t len;
	auto_free char *bytes = raft_members_encode(members, &len);

	pack_number(b, commit);
	pack_bytes(b, bytes, len);
}

bool wire_members(struct wire_parcel *p, struct raft_members *ret,
		  uint64_t *ret_commit)
{
	const char *bytes;
	size_t len;

	*ret_commit = unpack_number(&p->rest);
	bytes = unpack_bytes(&p->rest, &len);
	return bytes != NULL && raft_members_decode(bytes, len, ret);
}

void wire_done(struct wire_parcel *p)
{
	free(p->entries);
	p->entries = NULL;
}
