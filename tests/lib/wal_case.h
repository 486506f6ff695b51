/* SPDX-License-Identifier: BSD-2-Clause */
/* A write-ahead log on a disk that forgets, for its tests. */
#ifndef TESTS_LIB_WAL_CASE_H
#define TESTS_LIB_WAL_CASE_H

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/consensus/wal.h"
#include "tests/lib/fake_disk.h"

#define WAL_CASE_DIR "/log"
#define WAL_CASE_SEGMENT (16u * 1024)

struct wal_case {
	struct fake_disk disk;
	struct wal *wal;
	struct raft_config core; /* as wal_fill() gives it */
	uint64_t write;
	size_t cache_bytes;
};

/* The membership of one server, at index 1. */
static inline struct raft_snapshot wal_case_begin(void)
{
	struct raft_snapshot s = {.index = 1, .term = 1};

	raft_ids_add(&s.members.voters, 1);
	s.data = "begin";
	s.len = strlen("begin");
	return s;
}

static inline void wal_case_init(struct wal_case *c, bool begin)
{
	struct raft_snapshot s = wal_case_begin();
	struct error err;

	*c = (struct wal_case){0};
	fake_disk_init(&c->disk);
	cr_assert_eq(wal_create(&c->disk.disk, WAL_CASE_DIR, begin ? &s : NULL,
				&err),
		     0, "%s", err.text);
}

/* NULL and err when it cannot be opened. */
static inline struct wal *wal_case_try(struct wal_case *c, struct error *err)
{
	struct wal_config config = {.disk = &c->disk.disk,
				    .dir = WAL_CASE_DIR,
				    .segment_bytes = WAL_CASE_SEGMENT,
				    .cache_bytes = c->cache_bytes};

	wal_close(c->wal);
	c->wal = wal_open(&config, err);
	c->write = 0;
	if (c->wal != NULL)
		wal_fill(c->wal, &c->core);
	return c->wal;
}

static inline void wal_case_open(struct wal_case *c)
{
	struct error err;

	cr_assert_not_null(wal_case_try(c, &err), "%s", err.text);
}

static inline void wal_case_done(struct wal_case *c)
{
	wal_close(c->wal);
	fake_disk_done(&c->disk);
}

/* The power fails and comes back. */
static inline void wal_case_crash(struct wal_case *c, uint64_t seed)
{
	wal_close(c->wal);
	c->wal = NULL;
	fake_disk_crash(&c->disk, seed);
}

static inline uint64_t wal_case_last(const struct wal_case *c)
{
	return c->core.store.last(c->core.store.arg);
}

static inline uint64_t wal_case_first(const struct wal_case *c)
{
	return c->core.store.first(c->core.store.arg);
}

static inline uint64_t wal_case_term(const struct wal_case *c, uint64_t index)
{
	return c->core.store.term(c->core.store.arg, index);
}

/* The data of an entry as a text, to be freed; NULL: it is not at hand. */
static inline char *wal_case_text(const struct wal_case *c, uint64_t index)
{
	struct raft_entry e;

	if (c->core.store.entries(c->core.store.arg, index, index + 1, 1, &e,
				  1) == 0)
		return NULL;
	cr_assert_eq(e.index, index);
	return e.len == 0 ? xstrdup("") : xstrndup(e.data, e.len);
}

/* Add an entry of a term; it is not written yet. */
static inline void wal_case_add(struct wal_case *c, uint64_t index,
				uint64_t term, const char *text)
{
	struct raft_entry e = {.index = index,
			       .term = term,
			       .data = text,
			       .len = strlen(text)};
	struct raft_ready ready = {.write = ++c->write,
				   .hard = {.term = term, .vote = 1},
				   .entries = &e,
				   .n_entries = 1};

	wal_add(c->wal, &ready);
}

/* Write what was added: 0, or -1. */
static inline int wal_case_write(struct wal_case *c, struct error *err)
{
	if (!wal_write_begin(c->wal))
		return 0;
	if (wal_write_work(c->wal, err) < 0)
		return -1;
	cr_assert_leq(wal_write_end(c->wal), c->write);
	return 0;
}

static inline void wal_case_put(struct wal_case *c, uint64_t index,
				uint64_t term, const char *text)
{
	struct error err;

	wal_case_add(c, index, term, text);
	cr_assert_eq(wal_case_write(c, &err), 0, "%s", err.text);
}

/* Entries from..to of a term, whose text is their index. */
static inline void wal_case_fill(struct wal_case *c, uint64_t from, uint64_t to,
				 uint64_t term)
{
	for (uint64_t i = from; i <= to; i++) {
		auto_free char *text = xprintf("%" PRIu64, i);

		wal_case_put(c, i, term, text);
	}
}

/* Keep a snapshot, and remove what it makes needless. */
static inline int wal_case_snapshot(struct wal_case *c, uint64_t index,
				    uint64_t term, bool own, struct error *err)
{
	struct raft_snapshot s = wal_case_begin();

	s.index = index;
	s.term = term;
	wal_snapshot_begin(c->wal, &s, own);
	if (wal_snapshot_work(c->wal, err) < 0)
		return -1;
	wal_snapshot_end(c->wal, true);
	if (wal_remove_begin(c->wal)) {
		int rc = wal_remove_work(c->wal, err);

		wal_remove_end(c->wal);
		return rc;
	}
	return 0;
}

/* Load what the store was asked for in vain. */
static inline void wal_case_load(struct wal_case *c)
{
	struct error err;

	cr_assert(wal_load_begin(c->wal));
	cr_assert_eq(wal_load_work(c->wal, &err), 0, "%s", err.text);
	wal_load_end(c->wal);
}

#endif
