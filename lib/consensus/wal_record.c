/* SPDX-License-Identifier: BSD-2-Clause */
/* Record: magic, salt of the log, number, length of what follows the header,
 * checksum (of all but itself), hard state, index and term of the entry before,
 * number of entries; then the entries: index, term, type, data.  All are
 * numbers as pack.h has them.  A record of another log in the same place has
 * another salt: so has what looks like a record in somebody's data. */
#include <assert.h>

#include "lib/consensus/wal_private.h"

/* Not valid UTF-8, so no text contains it. */
#define MAGIC UINT64_C(0xff314c7972746e47)
#define HEADER_NUMBERS 11
#define HEADER_BYTES (HEADER_NUMBERS * sizeof(uint64_t))
/* Which of them is the checksum. */
#define CHECKSUM_AT (4 * sizeof(uint64_t))

static size_t aligned(size_t len)
{
	return (len + WAL_ALIGN - 1) / WAL_ALIGN * WAL_ALIGN;
}

/* The header has zeros where the checksum will be. */
static uint64_t checksum(const char *header, const char *rest, size_t len)
{
	uint64_t sums[2] = {bytes_hash(header, HEADER_BYTES),
			    len == 0 ? 0 : bytes_hash(rest, len)};

	return bytes_hash(sums, sizeof(sums));
}

void wal_record_begin(struct buf *b)
{
	static const char room[HEADER_BYTES];

	assert(b->len == 0);
	buf_add(b, room, sizeof(room));
}

void wal_record_add(struct buf *b, const struct raft_entry *entry)
{
	pack_number(b, entry->index);
	pack_number(b, entry->term);
	pack_number(b, entry->type);
	pack_bytes(b, entry->data, entry->len);
}

static void write_header(struct buf *b, uint64_t salt,
			 const struct wal_record *r, uint64_t sum)
{
	const uint64_t numbers[HEADER_NUMBERS] = {
		MAGIC,	       r->number,
		salt,	       b->len - HEADER_BYTES,
		sum,	       r->hard.term,
		r->hard.vote,  r->hard.commit,
		r->prev_index, r->prev_term,
		r->n_entries,
	};
	char *at = b->data;

	for (size_t i = 0; i < HEADER_NUMBERS; i++, at += sizeof(uint64_t)) {
		uint64_t bytes = htole64(numbers[i]);

		memcpy(at, &bytes, sizeof(bytes));
	}
}

void wal_record_end(struct buf *b, uint64_t salt,
		    const struct wal_record *record)
{
	static const char zeros[WAL_ALIGN];

	write_header(b, salt, record, 0);
	write_header(b, salt, record,
		     checksum(b->data, b->data + HEADER_BYTES,
			      b->len - HEADER_BYTES));
	buf_add(b, zeros, aligned(b->len) - b->len);
}

bool wal_record_at(const char *data, size_t size, size_t at, uint64_t salt,
		   struct wal_record *ret)
{
	struct pack_reader r = {.at = data + at, .end = data + size};
	char header[HEADER_BYTES];
	uint64_t len, sum;

	if (at >= size || size - at < HEADER_BYTES ||
	    unpack_number(&r) != MAGIC)
		return false;
	*ret = (struct wal_record){.number = unpack_number(&r)};
	if (unpack_number(&r) != salt)
		return false;
	len = unpack_number(&r);
	sum = unpack_number(&r);
	if (len > size - at - HEADER_BYTES)
		return false;
	memcpy(header, data + at, sizeof(header));
	memset(header + CHECKSUM_AT, 0, sizeof(sum));
	if (sum != checksum(header, data + at + HEADER_BYTES, len))
		return false;
	ret->hard.term = unpack_number(&r);
	ret->hard.vote = unpack_number(&r);
	ret->hard.commit = unpack_number(&r);
	ret->prev_index = unpack_number(&r);
	ret->prev_term = unpack_number(&r);
	ret->n_entries = unpack_number(&r);
	ret->entries = (struct pack_reader){.at = r.at, .end = r.at + len};
	ret->size = aligned(HEADER_BYTES + len);
	return true;
}

bool wal_record_next(struct wal_record *r, struct raft_entry *ret)
{
	if (r->n_entries == 0)
		return false;
	r->n_entries--;
	ret->index = unpack_number(&r->entries);
	ret->term = unpack_number(&r->entries);
	ret->type = unpack_number(&r->entries) == RAFT_ENTRY_MEMBERS
			    ? RAFT_ENTRY_MEMBERS
			    : RAFT_ENTRY_DATA;
	ret->data = unpack_bytes(&r->entries, &ret->len);
	return !r->entries.bad;
}
