/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/wal_case.h"

static struct wal_case c;

static void setup(void)
{
	wal_case_init(&c, true);
	wal_case_open(&c);
}

static void teardown(void)
{
	wal_case_done(&c);
}

TestSuite(wal, .init = setup, .fini = teardown);

static void expect(uint64_t index, uint64_t term, const char *text)
{
	auto_free char *found = wal_case_text(&c, index);

	cr_expect_str_eq(found == NULL ? "(none)" : found, text);
	cr_expect_eq(wal_case_term(&c, index), term);
}

Test(wal, a_new_cluster_begins_with_its_snapshot)
{
	struct raft_snapshot s;
	struct error err;

	cr_expect_eq(wal_case_first(&c), 2);
	cr_expect_eq(wal_case_last(&c), 1);
	cr_expect_eq(wal_case_term(&c, 1), 1);
	cr_expect_eq(wal_snapshot_index(c.wal), 1);
	cr_expect(raft_ids_have(&wal_snapshot_members(c.wal)->voters, 1));
	cr_expect_eq(c.core.hard.term, 1);
	cr_assert_eq(wal_snapshot_read(c.wal, &s, &err), 0);
	cr_expect_eq(s.len, 5);
	cr_expect_arr_eq(s.data, "begin", 5);
	wal_snapshot_free(&s);
}

Test(wal, who_joins_begins_with_nothing)
{
	struct raft_snapshot s;

	wal_case_done(&c);
	wal_case_init(&c, false);
	wal_case_open(&c);
	cr_expect_eq(wal_case_first(&c), 1);
	cr_expect_eq(wal_case_last(&c), 0);
	cr_expect_eq(wal_case_term(&c, 0), 0);
	cr_expect_not(c.core.store.snapshot(c.core.store.arg, &s));
	wal_case_put(&c, 1, 3, "first");
	wal_case_open(&c);
	expect(1, 3, "first");
}

Test(wal, entries_are_there_after_a_restart)
{
	wal_case_fill(&c, 2, 40, 1);
	wal_case_crash(&c, 7);
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 40);
	expect(2, 1, "2");
	expect(40, 1, "40");
	cr_expect_eq(c.core.hard.vote, 1);
	wal_case_put(&c, 41, 2, "more");
	wal_case_open(&c);
	expect(41, 2, "more");
	cr_expect_eq(c.core.hard.term, 2);
}

Test(wal, one_record_may_have_several_writes)
{
	struct error err;

	wal_case_add(&c, 2, 1, "a");
	wal_case_add(&c, 3, 1, "b");
	wal_case_add(&c, 4, 1, "c");
	cr_assert_eq(wal_case_write(&c, &err), 0);
	cr_expect_eq(c.disk.n_log_sync, 1);
	wal_case_open(&c);
	expect(4, 1, "c");
}

Test(wal, entries_replace_those_behind_them)
{
	struct error err;

	wal_case_fill(&c, 2, 9, 1);
	wal_case_put(&c, 5, 2, "new");
	cr_expect_eq(wal_case_last(&c), 5);
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 5);
	expect(5, 2, "new");
	/* Also in one record, and below its own first entry. */
	wal_case_add(&c, 6, 2, "x");
	wal_case_add(&c, 7, 2, "y");
	wal_case_add(&c, 4, 3, "z");
	cr_assert_eq(wal_case_write(&c, &err), 0);
	cr_expect_eq(wal_case_last(&c), 4);
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 4);
	expect(4, 3, "z");
	expect(3, 1, "3");
}

Test(wal, a_write_without_entries_keeps_the_vote)
{
	struct raft_ready ready = {.write = 1,
				   .hard = {.term = 8, .vote = 3, .commit = 1}};
	struct error err;

	wal_add(c.wal, &ready);
	c.write = 1;
	cr_assert_eq(wal_case_write(&c, &err), 0);
	wal_case_open(&c);
	cr_expect_eq(c.core.hard.term, 8);
	cr_expect_eq(c.core.hard.vote, 3);
}

Test(wal, a_large_entry_gets_a_segment_of_its_own)
{
	auto_free char *large = xalloc(5 * WAL_CASE_SEGMENT + 1);

	memset(large, 'x', 5 * WAL_CASE_SEGMENT);
	wal_case_put(&c, 2, 1, "small");
	wal_case_put(&c, 3, 1, large);
	wal_case_put(&c, 4, 1, "small again");
	wal_case_open(&c);
	expect(3, 1, large);
	expect(4, 1, "small again");
}

Test(wal, the_next_segment_is_made_in_time)
{
	struct error err;

	wal_case_put(&c, 2, 1, "a");
	cr_assert_not(wal_segment_begin(c.wal));
	wal_case_put(&c, 3, 1, "b");
	cr_assert(wal_segment_begin(c.wal));
	/* What fits goes on meanwhile; what needs it, waits. */
	wal_case_put(&c, 4, 1, "c");
	wal_case_put(&c, 5, 1, "d");
	wal_case_add(&c, 6, 1, "e");
	cr_expect_not(wal_write_begin(c.wal));
	cr_assert_eq(wal_segment_work(c.wal, &err), 0);
	wal_segment_end(c.wal, true);
	cr_assert_eq(wal_case_write(&c, &err), 0);
	expect(6, 1, "e");
	wal_case_open(&c);
	expect(6, 1, "e");
}

Test(wal, without_the_next_segment_one_is_made_at_once)
{
	wal_case_fill(&c, 2, 3, 1);
	cr_assert(wal_segment_begin(c.wal));
	wal_segment_end(c.wal, false);
	wal_case_fill(&c, 4, 30, 1);
	wal_case_open(&c);
	expect(30, 1, "30");
}

Test(wal, a_full_disk_lets_a_write_be_repeated)
{
	struct error err;

	wal_case_fill(&c, 2, 5, 1); /* the segment is full */
	c.disk.full = true;
	wal_case_add(&c, 6, 1, "six");
	cr_assert(wal_write_begin(c.wal));
	cr_assert_eq(wal_write_work(c.wal, &err), -1);
	cr_assert_str_eq(err.ecode, ECODE_NOSPACE);
	c.disk.full = false;
	cr_assert_eq(wal_write_work(c.wal, &err), 0, "%s", err.text);
	wal_write_end(c.wal);
	wal_case_open(&c);
	expect(6, 1, "six");
}

/* --- memory --- */

Test(wal, old_entries_are_read_back)
{
	struct raft_entry e[8];

	c.cache_bytes = 1;
	wal_case_open(&c);
	wal_case_fill(&c, 2, 30, 1);
	expect(2, 1, "2"); /* nothing is applied yet */
	wal_applied(c.wal, 20);
	cr_expect_null(wal_case_text(&c, 10));
	cr_expect_eq(wal_case_term(&c, 10), 1);
	expect(21, 1, "21");
	cr_assert_eq(wal_wanted(c.wal), WAL_ENTRIES);
	wal_case_load(&c);
	cr_expect_eq(wal_wanted(c.wal), WAL_NOTHING);
	expect(10, 1, "10");
	/* The bound of bytes holds there, too, and one is always given. */
	cr_expect_eq(c.core.store.entries(c.core.store.arg, 10, 13, 1, e, 8),
		     1);
	wal_load_drop(c.wal);
	cr_expect_null(wal_case_text(&c, 10));
}

Test(wal, what_was_replaced_is_not_read_back)
{
	c.cache_bytes = 1;
	wal_case_open(&c);
	wal_case_fill(&c, 2, 10, 1);
	wal_case_fill(&c, 6, 10, 2);
	wal_applied(c.wal, 10);
	for (uint64_t i = 2; i <= 10; i++) {
		auto_free char *text = xprintf("%" PRIu64, i);
		auto_free char *held = wal_case_text(&c, i);

		if (held == NULL)
			wal_case_load(&c);
		expect(i, i < 6 ? 1 : 2, text);
	}
}

Test(wal, the_snapshot_is_read_back)
{
	struct raft_snapshot s;

	cr_assert_not(c.core.store.snapshot(c.core.store.arg, &s));
	cr_assert_eq(wal_wanted(c.wal), WAL_SNAPSHOT);
	wal_case_load(&c);
	cr_assert(c.core.store.snapshot(c.core.store.arg, &s));
	cr_expect_eq(s.index, 1);
	cr_expect_arr_eq(s.data, "begin", 5);
}

/* --- snapshots --- */

static size_t count_segments(void)
{
	auto_strv struct strv names = {0};
	struct error err;
	size_t n = 0;

	c.disk.disk.list(&c.disk.disk, WAL_CASE_DIR, &names, &err);
	for (size_t i = 0; i < names.n; i++)
		n += str_starts(names.items[i], "log-");
	return n;
}

Test(wal, a_snapshot_lets_the_log_forget)
{
	size_t before;
	struct error err;

	wal_case_fill(&c, 2, 40, 1);
	before = count_segments();
	cr_assert_eq(wal_case_snapshot(&c, 30, 1, true, &err), 0);
	cr_expect_lt(count_segments(), before);
	cr_expect_gt(wal_case_first(&c), 2);
	cr_expect_leq(wal_case_first(&c), 31);
	cr_expect_eq(wal_case_term(&c, wal_case_first(&c) - 1), 1);
	expect(40, 1, "40");
	wal_case_open(&c);
	cr_expect_eq(wal_snapshot_index(c.wal), 30);
	cr_expect_leq(wal_case_first(&c), 31);
	expect(31, 1, "31");
	expect(40, 1, "40");
}

Test(wal, bytes_are_counted_from_a_snapshot_on)
{
	struct error err;

	wal_case_fill(&c, 2, 10, 1);
	cr_expect_eq(wal_bytes_since_snapshot(c.wal), 10);
	cr_assert_eq(wal_case_snapshot(&c, 9, 1, true, &err), 0);
	wal_case_put(&c, 11, 1, "abcd");
	cr_expect_eq(wal_bytes_since_snapshot(c.wal), 4);
	wal_case_open(&c);
	cr_expect_eq(wal_bytes_since_snapshot(c.wal), 2 + 4);
}

Test(wal, anothers_snapshot_takes_the_place_of_the_log)
{
	struct error err;

	wal_case_fill(&c, 2, 20, 1);
	cr_assert_eq(wal_case_snapshot(&c, 100, 5, false, &err), 0);
	cr_expect_eq(wal_case_first(&c), 101);
	cr_expect_eq(wal_case_last(&c), 100);
	cr_expect_eq(wal_case_term(&c, 100), 5);
	wal_case_put(&c, 101, 6, "go on");
	wal_case_open(&c);
	cr_expect_eq(wal_case_first(&c), 101);
	expect(101, 6, "go on");
	cr_expect_eq(count_segments(), 1);
}

/* The old segments may still be there when the power fails. */
Test(wal, what_anothers_snapshot_replaced_never_comes_back)
{
	struct raft_snapshot s = wal_case_begin();
	struct error err;

	wal_case_fill(&c, 2, 20, 1);
	s.index = 10;
	s.term = 1;
	wal_snapshot_begin(c.wal, &s, false);
	cr_assert_eq(wal_snapshot_work(c.wal, &err), 0);
	wal_case_crash(&c, 1);
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 10);
	cr_expect_eq(c.core.hard.vote, 1); /* not forgotten with them */
}

/* --- marks --- */

Test(wal, a_mark_says_what_is_durable)
{
	struct wal_mark before = wal_mark(c.wal), now;

	wal_case_fill(&c, 2, 9, 2);
	now = wal_mark(c.wal);
	cr_expect_eq(now.term, 2);
	cr_expect_eq(now.index, 9);
	cr_expect(wal_mark_is_older(&before, &now));
	cr_expect_not(wal_mark_is_older(&now, &before));
	cr_expect_not(wal_mark_is_older(&now, &now));
	before = now;
	now.vote = 2; /* another vote in the same term */
	cr_expect(wal_mark_is_older(&now, &before));
	now.term = 3;
	now.index = 0; /* a newer term, none of its entries */
	cr_expect_not(wal_mark_is_older(&now, &before));
	before.kept = 1;
	now.kept = 0;
	cr_expect(wal_mark_is_older(&now, &before));
}

/* --- damage --- */

static void expect_refused(void)
{
	struct error err;

	cr_assert_null(wal_case_try(&c, &err));
	cr_expect_str_eq(err.ecode == NULL ? "" : err.ecode, ECODE_FAULT);
}

static char *segment(unsigned number, size_t *ret_size)
{
	auto_free char *path = xprintf(WAL_CASE_DIR "/log-%016x", number);

	return fake_disk_log(&c.disk, path, ret_size);
}

Test(wal, a_record_that_is_lost_before_others_is_noticed)
{
	size_t size;

	wal_case_fill(&c, 2, 4, 1);
	segment(1, &size)[4096 + 100] ^= 1;
	expect_refused();
}

Test(wal, a_segment_that_is_missing_is_noticed)
{
	struct error err;

	wal_case_fill(&c, 2, 20, 1);
	c.disk.disk.remove(&c.disk.disk, WAL_CASE_DIR "/log-0000000000000002",
			   &err);
	expect_refused();
}

static void put_vote(uint64_t term, uint64_t commit)
{
	struct raft_ready ready = {
		.write = ++c.write,
		.hard = {.term = term, .vote = 1, .commit = commit}};
	struct error err;

	wal_add(c.wal, &ready);
	cr_assert_eq(wal_case_write(&c, &err), 0, "%s", err.text);
}

/* The segment before them looks as if its removal had failed. */
Test(wal, a_loss_before_records_without_entries_is_noticed)
{
	size_t size;

	wal_case_fill(&c, 2, 5, 1); /* a segment */
	put_vote(2, 1);
	put_vote(3, 1);
	segment(1, &size)[3 * 4096 + 100] ^= 1;
	expect_refused();
}

Test(wal, a_log_that_ends_before_what_was_committed_is_damaged)
{
	wal_case_fill(&c, 2, 3, 1);
	put_vote(2, 3);
	wal_case_open(&c);
	put_vote(2, 4);
	expect_refused();
}

/* All that the segment before them had is in the snapshot. */
Test(wal, a_log_may_have_nothing_but_votes)
{
	struct error err;

	wal_case_fill(&c, 2, 5, 1); /* a segment */
	put_vote(2, 5);
	cr_assert_eq(wal_case_snapshot(&c, 5, 1, true, &err), 0);
	c.disk.disk.remove(&c.disk.disk, WAL_CASE_DIR "/log-0000000000000001",
			   &err);
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 5);
	cr_expect_eq(c.core.hard.term, 2);
	wal_case_put(&c, 6, 2, "more");
	wal_case_open(&c);
	expect(6, 2, "more");
}

/* Where the log ended before some of its entries were replaced. */
Test(wal, a_log_may_begin_with_a_vote_of_a_longer_one)
{
	struct error err;

	wal_case_fill(&c, 2, 5, 1); /* a segment */
	put_vote(2, 1);
	wal_case_put(&c, 4, 2, "new");
	cr_assert_eq(wal_case_snapshot(&c, 4, 2, true, &err), 0);
	wal_case_open(&c);
	cr_expect_eq(wal_case_first(&c), 4);
	cr_expect_eq(wal_case_last(&c), 4);
	expect(4, 2, "new");
}

/* A removal may fail, or be cut off by a crash, while later ones succeed. */
Test(wal, a_segment_that_is_missing_below_the_snapshot_is_not_missed)
{
	struct raft_snapshot s = wal_case_begin();
	struct error err;

	wal_case_fill(&c, 2, 20, 1);
	s.index = 15;
	wal_snapshot_begin(c.wal, &s, true);
	cr_assert_eq(wal_snapshot_work(c.wal, &err), 0);
	wal_snapshot_end(c.wal, true);
	c.disk.disk.remove(&c.disk.disk, WAL_CASE_DIR "/log-0000000000000002",
			   &err);
	wal_case_open(&c);
	expect(16, 1, "16");
	expect(20, 1, "20");
}

/* What an older segment had is gone; in the next one entries come that were
 * replaced by others below them. */
Test(wal, a_log_may_begin_with_entries_that_were_replaced)
{
	struct error err;

	wal_case_fill(&c, 2, 5, 1); /* a segment */
	wal_case_put(&c, 6, 1, "old");
	wal_case_put(&c, 4, 2, "new");
	wal_case_put(&c, 5, 2, "next");
	cr_assert_eq(wal_case_snapshot(&c, 4, 2, true, &err), 0);
	cr_expect_eq(wal_case_first(&c), 4);
	wal_case_open(&c);
	cr_expect_eq(wal_case_first(&c), 4);
	cr_expect_eq(wal_case_term(&c, 3), 1);
	expect(4, 2, "new");
	expect(5, 2, "next");
}

Test(wal, a_log_that_has_lost_all_is_noticed)
{
	struct error err;

	wal_case_fill(&c, 2, 4, 1);
	cr_assert_eq(wal_case_snapshot(&c, 3, 1, true, &err), 0);
	c.disk.disk.remove(&c.disk.disk, WAL_CASE_DIR "/log-0000000000000001",
			   &err);
	expect_refused();
}

Test(wal, a_damaged_snapshot_is_noticed)
{
	fake_disk_put(&c.disk, WAL_CASE_DIR "/snapshot", "what is that?");
	expect_refused();
	fake_disk_put(&c.disk, WAL_CASE_DIR "/snapshot", "");
	expect_refused();
}

/* A torn one cannot be told from it: neither was acknowledged by a sync that
 * is known to have ended. */
Test(wal, a_damaged_last_record_is_one_that_was_not_written)
{
	size_t size;

	wal_case_fill(&c, 2, 4, 1);
	segment(1, &size)[2 * 4096 + 100] ^= 1;
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 3);
	wal_case_put(&c, 4, 2, "again");
	wal_case_open(&c);
	expect(4, 2, "again");
}

Test(wal, records_of_another_log_and_strange_files_are_not_read)
{
	struct wal_case other;
	size_t size, other_size;
	auto_free char *foreign = NULL;
	struct error err;

	wal_case_init(&other, true);
	wal_case_open(&other);
	wal_case_fill(&other, 2, 4, 9);
	foreign = xmemdup(fake_disk_log(&other.disk,
					WAL_CASE_DIR "/log-0000000000000001",
					&other_size),
			  WAL_CASE_SEGMENT);
	wal_case_done(&other);
	wal_case_fill(&c, 2, 3, 1);
	/* Behind the last record, where the next one would be. */
	memcpy(segment(1, &size) + 2 * 4096, foreign + 2 * 4096, 4096);
	fake_disk_put(&c.disk, WAL_CASE_DIR "/log-x", "?");
	fake_disk_put(&c.disk, WAL_CASE_DIR "/log-00000000000000010", "?");
	wal_case_open(&c);
	cr_expect_eq(wal_case_last(&c), 3);
	wal_case_put(&c, 4, 1, "four");
	wal_case_open(&c);
	expect(4, 1, "four");
	cr_expect_eq(wal_case_write(&c, &err), 0);
}
