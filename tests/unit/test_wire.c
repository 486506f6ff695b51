/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/consensus/wire.h"

static const struct wire_head head = {
	.kind = WIRE_MESSAGES,
	.cluster = 1,
	.from = 2,
	.to = 3,
	.mark = {.term = 4, .vote = 5, .index = 6, .kept = 7},
	.number = 8,
	.about = 9,
	.known = {.term = 10, .vote = 11, .index = 12, .kept = 13},
	.format = 14,
	.takes_answer = true,
};

static struct raft_snapshot a_snapshot(void)
{
	struct raft_snapshot s = {
		.index = 50, .term = 4, .data = "state", .len = 5};

	raft_ids_add(&s.members.voters, 2);
	raft_ids_add(&s.members.learners, 9);
	return s;
}

/* A parcel with a message of each kind. */
static void pack_all(struct buf *b, const struct raft_snapshot *snapshot)
{
	const struct raft_entry entries[] = {
		{.index = 7, .term = 3, .data = "one", .len = 3},
		{.index = 8, .term = 4, .type = RAFT_ENTRY_MEMBERS},
	};
	struct raft_message m = {.type = RAFT_APPEND,
				 .term = 4,
				 .index = 6,
				 .log_term = 3,
				 .commit = 5,
				 .entries = entries,
				 .n_entries = 2};

	wire_begin(b, &head);
	wire_add(b, &m);
	m = (struct raft_message){
		.type = RAFT_SNAPSHOT, .term = 4, .snapshot = snapshot};
	wire_add(b, &m);
	m = (struct raft_message){.type = RAFT_ASK_VOTE,
				  .term = 5,
				  .hint = 21,
				  .round = 22,
				  .pre = true,
				  .force = true};
	wire_add(b, &m);
	m = (struct raft_message){.type = RAFT_APPENDED, .reject = true};
	wire_add(b, &m);
}

Test(wire, comes_as_it_went)
{
	struct raft_snapshot snapshot = a_snapshot();
	auto_buf struct buf b = {0};
	struct wire_parcel p;
	struct raft_message m;

	pack_all(&b, &snapshot);
	cr_assert(wire_open(&p, b.data, b.len));
	cr_expect_eq(memcmp(&p.head, &head, sizeof(head)), 0);
	cr_assert(wire_next(&p, &m));
	cr_expect_eq(m.type, RAFT_APPEND);
	cr_expect_eq(m.from, 2);
	cr_expect_eq(m.to, 3);
	cr_expect_eq(m.term, 4);
	cr_expect_eq(m.index, 6);
	cr_expect_eq(m.log_term, 3);
	cr_expect_eq(m.commit, 5);
	cr_assert_eq(m.n_entries, 2);
	cr_expect_eq(m.entries[0].index, 7);
	cr_expect_arr_eq(m.entries[0].data, "one", 3);
	cr_expect_eq(m.entries[1].type, RAFT_ENTRY_MEMBERS);
	cr_expect_eq(m.entries[1].len, 0);
	cr_assert(wire_next(&p, &m));
	cr_assert_not_null(m.snapshot);
	cr_expect_eq(m.snapshot->index, 50);
	cr_expect_arr_eq(m.snapshot->data, "state", 5);
	cr_expect(raft_ids_have(&m.snapshot->members.learners, 9));
	cr_assert(wire_next(&p, &m));
	cr_expect(m.pre && m.force && !m.reject);
	cr_expect_eq(m.hint, 21);
	cr_expect_eq(m.round, 22);
	cr_assert(wire_next(&p, &m));
	cr_expect(m.reject && !m.pre);
	cr_expect_not(wire_next(&p, &m));
	wire_done(&p);
}

Test(wire, members_come_as_they_went)
{
	struct raft_snapshot snapshot = a_snapshot();
	auto_buf struct buf b = {0};
	struct raft_members members;
	struct wire_parcel p;
	uint64_t commit;

	wire_begin(&b, &head);
	wire_add_members(&b, &snapshot.members, 77);
	cr_assert(wire_open(&p, b.data, b.len));
	cr_assert(wire_members(&p, &members, &commit));
	cr_expect_eq(commit, 77);
	cr_expect(raft_ids_equal(&members.voters, &snapshot.members.voters));
	wire_done(&p);
}

/* Read all that is there, with no more than the bytes that there are. */
static size_t read_all(const char *data, size_t len)
{
	auto_free char *exact = xmemdup(data, len);
	struct wire_parcel p;
	struct raft_message m;
	size_t n = 0;

	if (wire_open(&p, exact, len))
		while (wire_next(&p, &m))
			n++;
	wire_done(&p);
	return n;
}

Test(wire, what_is_cut_off_ends_where_it_is_whole)
{
	struct raft_snapshot snapshot = a_snapshot();
	auto_buf struct buf b = {0};
	size_t before = 0;

	pack_all(&b, &snapshot);
	for (size_t len = 1; len < b.len; len++) {
		size_t n = read_all(b.data, len);

		cr_assert(n >= before && n < 4);
		before = n;
	}
}

Test(wire, no_byte_makes_it_read_beyond_the_end)
{
	struct raft_snapshot snapshot = a_snapshot();
	auto_buf struct buf b = {0};

	pack_all(&b, &snapshot);
	for (size_t i = 0; i < b.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.data[i] ^= (char)(1 << bit);
			cr_assert_leq(read_all(b.data, b.len), 64);
			b.data[i] ^= (char)(1 << bit);
		}
}

Test(wire, another_version_is_refused)
{
	auto_buf struct buf b = {0};
	struct wire_parcel p;

	wire_begin(&b, &head);
	b.data[0] ^= 2;
	cr_expect_not(wire_open(&p, b.data, b.len));
	wire_done(&p);
}
