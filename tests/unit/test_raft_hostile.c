/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages from outside that make no sense: lib/raft/ ignores or answers them,
 * and stays what it was. */
#include "tests/lib/raft_case.h"

TestSuite(raft_hostile, .init = case_begin, .fini = case_done, .timeout = 120);

/* --- entries --- */

static const struct {
	const char *what;
	uint64_t index, log_term; /* of the message, whose term is 3 */
	uint64_t indices[3], terms[3];
	size_t n;
} appends[] = {
	{"a hole", 2, 1, {3, 5}, {3, 3}, 2},
	{"a hole before", 2, 1, {4, 5}, {3, 3}, 2},
	{"an entry twice", 2, 1, {3, 3}, {3, 3}, 2},
	{"backwards", 2, 1, {4, 3}, {3, 3}, 2},
	{"index 0", 0, 0, {0, 1}, {1, 1}, 2},
	{"terms that fall", 2, 1, {3, 4}, {3, 2}, 2},
	{"a term below the one before", 2, 1, {3}, {0}, 1},
	{"a term of the future", 2, 1, {3}, {4}, 1},
	{"huge indices", UINT64_MAX, 1, {0}, {3}, 1},
	{"huge indices, no entry", UINT64_MAX, 1, {0}, {0}, 0},
	{"up to the end", UINT64_MAX - 1, 1, {UINT64_MAX}, {3}, 1},
	{"a huge term before", 2, UINT64_MAX, {3}, {3}, 1},
};

Test(raft_hostile, entries_that_do_not_fit_together_are_ignored)
{
	for (size_t i = 0; i < ARRAY_SIZE(appends); i++)
		for (int commit = 0; commit < 2; commit++) {
			struct raft_entry entries[3] = {{0}};

			for (size_t k = 0; k < appends[i].n; k++)
				entries[k] = (struct raft_entry){
					.index = appends[i].indices[k],
					.term = appends[i].terms[k],
					.data = "x",
					.len = 1};
			case_alone("11", 1, 0);
			case_step(1, (struct raft_message){
					     .type = RAFT_APPEND,
					     .from = 2,
					     .term = 3,
					     .index = appends[i].index,
					     .log_term = appends[i].log_term,
					     .commit = commit ? UINT64_MAX : 0,
					     .entries = entries,
					     .n_entries = appends[i].n});
			cr_assert_str_eq(case_terms(1), "11", "%s: %s",
					 appends[i].what, case_terms(1));
			cr_assert_leq(case_status(1).commit, 2);
		}
}

Test(raft_hostile, members_that_are_none_do_no_harm)
{
	static const char *const data[] = {"", "x", "\0\0\0\0\0\0\0\0",
					   "\xff\xff\xff\xff\xff\xff\xff\xff"};

	for (size_t i = 0; i < ARRAY_SIZE(data); i++) {
		struct raft_entry entry = {.index = 3,
					   .term = 3,
					   .type = RAFT_ENTRY_MEMBERS,
					   .data = data[i],
					   .len = i < 2 ? i : 8};

		case_alone("11", 1, 0);
		case_step(1, (struct raft_message){.type = RAFT_APPEND,
						   .from = 2,
						   .term = 3,
						   .index = 2,
						   .log_term = 1,
						   .commit = 3,
						   .entries = &entry,
						   .n_entries = 1});
		raft_host_tick(net->hosts[1]);
		cr_assert_str_eq(case_members(1), "1 2 3");
	}
}

/* --- anything --- */

static uint64_t number(uint64_t *seed)
{
	uint64_t x = raft_host_random(seed);

	switch (raft_host_random(seed) % 8) {
	case 0:
		return UINT64_MAX - x % 3;
	case 1:
		return x;
	case 2:
		return (uint64_t)1 << x % 64;
	default:
		return x % 8;
	}
}

static struct raft_message nonsense(uint64_t *seed)
{
	static struct raft_entry entries[4];
	static struct raft_snapshot s;
	static char junk[64];
	size_t n = raft_host_random(seed) % 5;
	uint64_t kind = raft_host_random(seed) % 12;

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(raft_host_random(seed) % 5);
	for (size_t i = 0; i < n && i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct raft_entry){
			.index = i > 0 && kind % 2 ? entries[i - 1].index + 1
						   : number(seed),
			.term = number(seed),
			.type = raft_host_random(seed) % 2 ? RAFT_ENTRY_MEMBERS
							   : RAFT_ENTRY_DATA,
			.data = junk,
			.len = raft_host_random(seed) % sizeof(junk)};
	s = (struct raft_snapshot){.index = number(seed),
				   .term = number(seed),
				   .members = raft_disk_members("1 2 3"),
				   .data = junk,
				   .len = 16};
	if (raft_host_random(seed) % 4 == 0)
		s.members.learners.n = number(seed);
	return (struct raft_message){
		.type = (enum raft_message_type)kind,
		.from = number(seed),
		.term = number(seed),
		.index = number(seed),
		.log_term = number(seed),
		.commit = number(seed),
		.hint = number(seed),
		.round = number(seed),
		.reject = raft_host_random(seed) % 2,
		.pre = raft_host_random(seed) % 2,
		.force = raft_host_random(seed) % 2,
		.entries = n == 0 ? NULL : entries,
		.n_entries = n < ARRAY_SIZE(entries) ? n : ARRAY_SIZE(entries),
		.snapshot = raft_host_random(seed) % 2 ? NULL : &s,
	};
}

/* A server in each role hears it.  Nothing can be promised about the states
 * that a liar makes, but all goes on. */
Test(raft_hostile, nonsense_crashes_nothing)
{
	uint64_t seed = 16;

	case_judged = false;
	for (int round = 0; round < 400; round++) {
		uint64_t id;

		case_led(3, "1 2 3");
		id = 1 + raft_host_random(&seed) % 2;
		if (round % 4 == 3) {
			net->paused = true;
			raft_net_crash(net, 2);
			raft_net_start(net, 2);
			raft_host_campaign(net->hosts[2]);
		}
		for (int i = 0; i < 50; i++) {
			struct raft_message m = nonsense(&seed);

			if (raft_host_random(&seed) % 3 > 0)
				m.term = case_status(id).term;
			/* The numbers of a host are as big as its memory. */
			if (m.type == RAFT_SNAPSHOT && m.snapshot != NULL &&
			    m.snapshot->index > 1000)
				continue;
			case_step(id, m);
			if (i % 10 == 9)
				raft_host_tick(net->hosts[id]);
		}
	}
}

/* A message of a type that there is not, of a later version perhaps. */
Test(raft_hostile, an_unknown_type_is_ignored)
{
	for (unsigned type = RAFT_READ_AT + 1; type < 300; type++) {
		case_led(3, "1 2 3");
		case_step(1, (struct raft_message){
				     .type = (enum raft_message_type)type,
				     .from = 2,
				     .term = 1});
		cr_assert(case_leads(1));
		cr_assert(case_commits(1));
	}
}

/* Who is no member says that it leads: that is so for one who was just added.
 * But nobody unknown makes a server vote or answer for its own term. */
Test(raft_hostile, messages_of_oneself_and_of_nobody_are_ignored)
{
	for (unsigned type = RAFT_APPEND; type <= RAFT_READ_AT; type++)
		for (uint64_t from = 0; from < 2; from++) {
			case_led(3, "1 2 3");
			case_step(1,
				  (struct raft_message){
					  .type = (enum raft_message_type)type,
					  .from = from,
					  .term = 1,
					  .index = 1,
					  .log_term = 1});
			cr_assert(case_leads(1), "type %u from %" PRIu64, type,
				  from);
			cr_assert(case_commits(1));
		}
}
