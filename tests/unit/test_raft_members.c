/* SPDX-License-Identifier: BSD-2-Clause */
/* Memberships of lib/raft/: chapter 4 of the thesis, with the correction of
 * 2015 (no change before an entry of the leader's own term is committed). */
#include "tests/lib/raft_case.h"

TestSuite(raft_members, .init = case_begin, .fini = case_done, .timeout = 60);

/* n servers, of which those of `members` are in the cluster, and 1 leads. */
static void led(size_t n, const char *members)
{
	case_led(n, members);
}

static void finish(void)
{
	for (unsigned t = 0; t < 4 * CASE_LONG; t++)
		raft_net_tick(net);
}

/* --- one change --- */

/* Whether it goes by a joint membership, and how it ends. */
Test(raft_members, a_change_of_one_voter_is_taken_over_at_once)
{
	static const struct {
		const char *from, *wanted, *first, *last;
	} rows[] = {
		{"1 2 3", "1 2 3 4", "1 2 3 4", "1 2 3 4"},
		{"1 2 3", "1 2", "1 2", "1 2"},
		{"1 2", "1", "1", "1"},
		{"1", "1 2", "1 2", "1 2"},
		{"1 2 3", "1 2 3+4", "1 2 3+4", "1 2 3+4"},
		{"1 2 3+4", "1 2 3", "1 2 3", "1 2 3"},
		{"1 2 3+4", "1 2 3 4", "1 2 3 4", "1 2 3 4"},
		{"1+2 3", "1+4 5", "1+4 5", "1+4 5"},
		{"1 2 3", "1 2 3", "1 2 3", "1 2 3"},
		{"1 2 3", "1 2 3 4 5", "1 2 3 4 5/1 2 3", "1 2 3 4 5"},
		{"1 2 3", "1 2 4", "1 2 4/1 2 3", "1 2 4"},
		{"1 2 3", "1", "1/1 2 3", "1"},
		{"1", "1 2 3", "1 2 3/1", "1 2 3"},
		{"1 2 3", "1 4 5", "1 4 5/1 2 3", "1 4 5"},
		{"1 2 3", "1+2 3", "1/1 2 3+2 3", "1+2 3"},
		{"1 2 3", "1 4+3", "1 4/1 2 3+3", "1 4+3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		led(5, rows[i].from);
		net->paused = true;
		cr_assert_eq(case_change(1, rows[i].wanted), RAFT_OK, "row %zu",
			     i);
		/* Alone it is committed at once, and the joint one over. */
		if (strcmp(rows[i].from, "1") != 0)
			cr_assert_str_eq(case_members(1), rows[i].first,
					 "row %zu: %s", i, case_members(1));
		case_deliver();
		finish();
		cr_assert(case_leads(1), "row %zu", i);
		cr_assert_str_eq(case_members(1), rows[i].last, "row %zu: %s",
				 i, case_members(1));
		cr_assert(!case_status(1).changing, "row %zu", i);
		cr_assert(raft_net_equal(net), "row %zu", i);
		cr_assert(case_commits(1), "row %zu", i);
	}
}

/* One that is to be a learner and was a voter still has its vote of before. */
Test(raft_members, one_voter_that_becomes_a_learner)
{
	led(3, "1 2 3");
	cr_assert_eq(case_change(1, "1 2+3"), RAFT_OK);
	finish();
	cr_assert_str_eq(case_members(1), "1 2+3");
	cr_assert_str_eq(case_members(3), "1 2+3");
	cr_assert_eq(raft_host_campaign(net->hosts[3]), RAFT_NOT_A_MEMBER);
	raft_net_isolate(net, 3);
	cr_assert(case_commits(1));
}

Test(raft_members, what_cannot_be_is_refused)
{
	struct raft_members many = {0};

	led(3, "1 2 3");
	cr_assert_eq(case_change(2, "1 2"), RAFT_NOT_LEADER);
	cr_assert_eq(case_change(1, ""), RAFT_INVALID);
	cr_assert_eq(case_change(1, "+1 2 3"), RAFT_INVALID);
	many.voters.n = RAFT_MEMBERS_MAX + 1;
	cr_assert_eq(raft_host_change(net->hosts[1], &many), RAFT_INVALID);
	many.voters.n = 1;
	many.voters.ids[0] = 1;
	many.learners.n = SIZE_MAX;
	cr_assert_eq(raft_host_change(net->hosts[1], &many), RAFT_INVALID);
	cr_assert_str_eq(case_members(1), "1 2 3");
	cr_assert_str_eq(case_terms(1), "1");
}

static bool lose_appends(struct raft_net *n, const struct raft_message *m)
{
	(void)n;
	return m->type == RAFT_APPEND;
}

/* 4.1: in force when it is appended, and the next one not before. */
Test(raft_members, a_change_is_in_force_at_once_and_one_at_a_time)
{
	led(4, "1 2 3");
	net->lose = lose_appends;
	cr_assert_eq(case_change(1, "1 2 3 4"), RAFT_OK);
	cr_assert_str_eq(case_members(1), "1 2 3 4");
	cr_assert(case_status(1).changing);
	cr_assert_eq(case_change(1, "1 2 3"), RAFT_BUSY);
	cr_assert_eq(case_change(1, "1 2 3+4"), RAFT_BUSY);
	net->lose = NULL;
	finish();
	cr_assert(!case_status(1).changing);
	cr_assert_eq(case_change(1, "1 2 3"), RAFT_OK);
}

Test(raft_members, no_change_while_one_is_joint)
{
	led(5, "1 2 3");
	raft_net_part(net, 1, 4);
	raft_net_part(net, 1, 5);
	cr_assert_eq(case_change(1, "1 4 5"), RAFT_OK);
	raft_net_run(net, 4);
	cr_assert_str_eq(case_members(1), "1 4 5/1 2 3");
	cr_assert_eq(case_change(1, "1 2 3"), RAFT_BUSY);
}

/* The correction of 2015. */
Test(raft_members, no_change_before_an_own_entry_is_committed)
{
	case_make(3, "1 2 3");
	raft_net_start_all(net);
	net->lose = lose_appends;
	raft_net_elect(net, 1);
	cr_assert(case_leads(1));
	cr_assert(!case_status(1).ready);
	cr_assert_eq(case_change(1, "1 2"), RAFT_NOT_YET);
	net->lose = NULL;
	raft_net_run(net, 5);
	cr_assert_eq(case_change(1, "1 2"), RAFT_OK);
}

/* A change that is overwritten was never. */
Test(raft_members, a_change_is_rolled_back_with_its_entry)
{
	led(4, "1 2 3");
	raft_net_isolate(net, 1);
	cr_assert_eq(case_change(1, "1 2 3 4"), RAFT_OK);
	cr_assert_str_eq(case_members(1), "1 2 3 4");
	for (int again = 0; again < 2; again++) {
		raft_net_crash(net, 1);
		raft_net_start(net, 1);
		cr_assert_str_eq(case_members(1), "1 2 3 4");
	}
	for (unsigned t = 0; t < 10 * CASE_LONG; t++)
		if (raft_net_leader(net) == NULL)
			raft_net_tick(net);
	raft_net_run(net, 3);
	raft_net_heal(net);
	finish();
	cr_assert_str_eq(case_members(1), "1 2 3");
	cr_assert(!case_status(raft_net_leader(net)->config.id).changing);
}

/* ... also to the one before the last, and while it is joint. */
Test(raft_members, a_joint_change_is_rolled_back)
{
	led(5, "1 2 3");
	cr_assert_eq(case_change(1, "1 2 3+4"), RAFT_OK);
	finish();
	raft_net_isolate(net, 1);
	cr_assert_eq(case_change(1, "1 4 5"), RAFT_OK);
	cr_assert_str_eq(case_members(1), "1 4 5/1 2 3");
	for (unsigned t = 0; t < 10 * CASE_LONG; t++)
		if (raft_net_leader(net) == NULL || case_leads(1))
			raft_net_tick(net);
	raft_net_heal(net);
	finish();
	cr_assert_str_eq(case_members(1), "1 2 3+4");
}

/* --- majorities --- */

Test(raft_members, both_majorities_commit_a_joint_change)
{
	static const struct {
		const char *away;
		bool committed, finished;
	} rows[] = {
		{"", true, true},	 {"2", true, true},
		{"4", true, true},	 {"2 4", true, true},
		{"2 3", false, false},	 {"4 5", false, false},
		{"2 4 5", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raft_members away = raft_disk_members(rows[i].away);

		led(5, "1 2 3");
		for (size_t k = 0; k < away.voters.n; k++)
			raft_net_part(net, 1, away.voters.ids[k]);
		cr_assert_eq(case_change(1, "1 4 5"), RAFT_OK);
		raft_net_run(net, 8);
		cr_assert_eq(case_status(1).commit > 1, rows[i].committed,
			     "row %zu", i);
		cr_assert_eq(!case_status(1).changing, rows[i].finished,
			     "row %zu", i);
	}
}

Test(raft_members, both_majorities_elect_while_it_is_joint)
{
	static const struct {
		const char *away;
		bool elected;
	} rows[] = {
		{"1", true},	  {"1 3", false},   {"1 4", true},
		{"1 4 5", false}, {"1 4 6", false}, {"1 6", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raft_members away = raft_disk_members(rows[i].away);

		led(6, "1 2 3");
		/* All but 6 are told of the joint one, and nobody of its end:
		 * 4 and 5 say nothing. */
		raft_net_cut(net, 4, 1);
		raft_net_cut(net, 5, 1);
		raft_net_isolate(net, 6);
		cr_assert_eq(case_change(1, "4 5 6"), RAFT_OK);
		raft_net_run(net, 1);
		raft_net_heal(net);
		net->paused = true;
		cr_assert_str_eq(case_members(2), "4 5 6/1 2 3");
		case_clear();
		net->paused = false;
		for (size_t k = 0; k < away.voters.n; k++)
			raft_net_crash(net, away.voters.ids[k]);
		for (uint64_t id = 1; id <= 6; id++)
			if (net->hosts[id]->raft != NULL) {
				raft_net_crash(net,
					       id); /* no leader is heard */
				raft_net_start(net, id);
			}
		raft_net_elect(net,
			       2); /* it leads, and leaves when that is done */
		cr_assert_eq(net->judge.leader_term == 2, rows[i].elected,
			     "row %zu", i);
	}
}

/* A leader that is lost in the middle: the next one ends it. */
Test(raft_members, the_next_leader_ends_a_joint_change)
{
	led(5, "1 2 3");
	raft_net_cut(net, 4, 1);
	raft_net_cut(net, 5, 1);
	cr_assert_eq(case_change(1, "2 3 4 5"), RAFT_OK);
	raft_net_run(net, 4);
	cr_assert_str_eq(case_members(2), "2 3 4 5/1 2 3");
	raft_net_crash(net, 1);
	raft_net_heal(net);
	for (unsigned t = 0; t < 20 * CASE_LONG; t++)
		raft_net_tick(net);
	cr_assert_not_null(raft_net_leader(net));
	for (uint64_t id = 2; id <= 5; id++)
		cr_assert_str_eq(case_members(id), "2 3 4 5");
	cr_assert(case_commits(raft_net_leader(net)->config.id));
}

/* --- a leader that leaves (4.2.2) --- */

Test(raft_members, a_removed_leader_goes_when_that_is_committed)
{
	led(3, "1 2 3");
	raft_net_part(net, 1, 3);
	cr_assert_eq(case_change(1, "2 3"), RAFT_OK);
	raft_net_run(net, 6);
	/* 1 and 2 have it, but 1 does not count. */
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).commit, 1);
	raft_net_heal(net);
	raft_net_run(net, 6);
	cr_assert(!case_leads(1));
	cr_assert_eq(case_status(1).commit, 2);
	cr_assert_eq(raft_host_campaign(net->hosts[1]), RAFT_NOT_A_MEMBER);
	finish();
	finish();
	cr_assert(case_leads(2) || case_leads(3));
	cr_assert(!case_leads(1));
	cr_assert_str_eq(case_members(2), "2 3");
}

Test(raft_members, a_leader_may_be_replaced_by_others)
{
	static const char *const wanted[] = {"2 3", "2", "4 5", "4 5+1",
					     "2 3 4 5+1"};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		led(5, "1 2 3");
		cr_assert_eq(case_change(1, wanted[i]), RAFT_OK);
		finish();
		finish();
		cr_assert_not_null(raft_net_leader(net), "row %zu", i);
		cr_assert(!case_leads(1), "row %zu", i);
		cr_assert_str_eq(case_members(raft_net_leader(net)->config.id),
				 wanted[i]);
		cr_assert(case_commits(raft_net_leader(net)->config.id));
	}
}

/* 4.2.2: who is not in its own newest membership may be the only one that can
 * be elected. */
Test(raft_members, a_leader_that_leaves_is_needed_until_it_is_committed)
{
	static const struct {
		const char *from, *wanted;
	} rows[] = {
		{"1 2", "2"},	    {"1 2", "2+1"}, {"1 2 3", "2"},
		{"1 2 3", "2+1 3"}, {"1 2", "2 3"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		led(3, rows[i].from);
		net->lose = lose_appends;
		cr_assert_eq(case_change(1, rows[i].wanted), RAFT_OK);
		raft_net_run(net, 2);
		raft_net_crash(net, 1);
		raft_net_start(net, 1);
		net->lose = NULL;
		for (unsigned t = 0; t < 20 * CASE_LONG; t++)
			raft_net_tick(net);
		cr_assert_not_null(raft_net_leader(net), "row %zu", i);
		cr_assert(case_commits(raft_net_leader(net)->config.id),
			  "row %zu", i);
	}
}

Test(raft_members, who_is_removed_does_not_disturb)
{
	led(3, "1 2 3");
	raft_net_isolate(net, 3);
	cr_assert_eq(case_change(1, "1 2"), RAFT_OK);
	finish();
	raft_net_heal(net); /* it has not heard that it is out */
	cr_assert_str_eq(case_members(3), "1 2 3");
	for (int i = 0; i < 20; i++)
		finish();
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
	cr_assert(case_commits(1));
}

/* --- learners, new servers --- */

Test(raft_members, learners_get_all_and_count_for_nothing)
{
	led(4, "1 2+3 4");
	cr_assert(case_commits(1));
	raft_net_run(net, 4);
	cr_assert_eq(case_status(3).commit, 2);
	raft_net_isolate(net, 2);
	cr_assert(!case_commits(1));
	raft_net_heal(net);
	raft_net_run(net, 4);
	cr_assert_eq(net->n_acknowledged, 2);
	raft_net_isolate(net, 3);
	raft_net_isolate(net, 4);
	cr_assert(case_commits(1));
	raft_net_run(net, 20 * CASE_LONG);
	cr_assert_eq(case_status(3).term, 1, "a learner does not campaign");
	cr_assert(case_leads(1));
}

/* The thesis (4.1): a server votes without looking at its own membership, as
 * who asks may know better.  2 knows that 3 is a voter, 3 does not. */
Test(raft_members, a_learner_votes_for_who_takes_it_for_a_voter)
{
	led(3, "1 2+3");
	raft_net_isolate(net, 3);
	cr_assert_eq(case_change(1, "1 2 3"), RAFT_OK);
	raft_net_run(net, 6);
	cr_assert_str_eq(case_members(2), "1 2 3");
	cr_assert_str_eq(case_members(3), "1 2+3");
	raft_net_crash(net, 1);
	raft_net_heal(net);
	for (unsigned t = 0; t < 20 * CASE_LONG; t++)
		raft_net_tick(net);
	cr_assert(case_leads(2));
	cr_assert_str_eq(case_members(3), "1 2 3");
	cr_assert(case_commits(2));
}

/* The same with one that knows of no cluster at all. */
Test(raft_members, a_new_server_votes_for_who_takes_it_for_a_voter)
{
	led(3, "1 2");
	raft_net_isolate(net, 3);
	cr_assert_eq(case_change(1, "1 2 3"), RAFT_OK);
	raft_net_run(net, 6);
	raft_net_crash(net, 1);
	raft_net_heal(net);
	for (unsigned t = 0; t < 20 * CASE_LONG; t++)
		raft_net_tick(net);
	cr_assert(case_leads(2));
}

Test(raft_members, new_servers_join_one_after_the_other)
{
	led(1, "1");
	for (uint64_t id = 2; id <= 9; id++) {
		char members[64] = "1";

		cr_assert_eq(raft_net_add(net), id);
		raft_net_start(net, id);
		for (uint64_t k = 2; k < id; k++)
			sprintf(members + strlen(members), " %" PRIu64, k);
		sprintf(members + strlen(members), "+%" PRIu64, id);
		cr_assert_eq(case_change(1, members), RAFT_OK);
		raft_net_run(net, 8);
		*strchr(members, '+') = ' ';
		cr_assert_eq(case_change(1, members), RAFT_OK);
		raft_net_run(net, 8);
		cr_assert_str_eq(case_members(id), members);
		cr_assert(case_commits(1));
	}
	/* And down again to one, each finished before the next. */
	for (uint64_t id = 9; id >= 2; id--) {
		char members[64] = "1";

		for (uint64_t k = 2; k < id; k++)
			sprintf(members + strlen(members), " %" PRIu64, k);
		cr_assert_eq(case_change(1, members), RAFT_OK);
		raft_net_run(net, 8);
		cr_assert(!case_status(1).changing);
		raft_net_crash(net, id);
		cr_assert(case_commits(1));
	}
	cr_assert_str_eq(case_members(1), "1");
}

Test(raft_members, down_to_one_and_up_again_at_once)
{
	led(5, "1 2 3 4 5");
	for (int i = 0; i < 5; i++) {
		cr_assert_eq(case_change(1, "1"), RAFT_OK);
		finish();
		cr_assert_str_eq(case_members(1), "1");
		cr_assert(case_commits(1));
		cr_assert_eq(case_change(1, "1 2 3 4 5"), RAFT_OK);
		finish();
		cr_assert(!case_status(1).changing);
		cr_assert(raft_net_equal(net));
	}
}

/* --- what a restart knows --- */

Test(raft_members, a_restart_reads_them_from_log_and_snapshot)
{
	led(4, "1 2 3");
	cr_assert_eq(case_change(1, "1 2 3+4"), RAFT_OK);
	finish();
	for (int i = 0; i < 3; i++) {
		raft_net_crash(net, 2);
		raft_net_start(net, 2);
		cr_assert_str_eq(case_members(2), "1 2 3+4");
		finish();
		if (i == 0)
			cr_assert(raft_host_compact(net->hosts[2]));
		if (i == 1)
			cr_assert_eq(case_change(1, "1 2 3"), RAFT_OK);
		finish();
		if (i == 1)
			cr_assert_eq(case_change(1, "1 2 3+4"), RAFT_OK);
		finish();
	}
}

/* --- their bytes --- */

Test(raft_members, bytes_and_back)
{
	static const char *const rows[] = {
		"1",
		"1 2 3",
		"1 2/2 3+4",
		"7 18446744073709551615",
		"1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 "
		"24 "
		"25 26 27 28 29 30 31 32",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raft_members m = raft_disk_members(rows[i]), back = {0};
		size_t len;
		auto_free char *bytes = raft_members_encode(&m, &len);

		cr_assert(raft_members_decode(bytes, len, &back), "%s",
			  rows[i]);
		cr_assert_str_eq(raft_disk_members_text(&back), rows[i]);
		for (size_t cut = 0; cut < len; cut++) {
			auto_free char *part = xmemdup(bytes, cut);

			raft_members_decode(part, cut, &back);
		}
		cr_assert(!raft_members_decode(bytes, len - 1, &back));
	}
}

/* Nobody has two votes. */
Test(raft_members, bytes_with_one_twice_or_in_disorder_are_refused)
{
	static const uint64_t lists[][3] = {{1, 1, 2}, {1, 2, 2}, {2, 1, 3}};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		struct raft_members m = {.voters = {.n = 3}}, back;
		auto_free char *bytes = NULL;
		size_t len;

		memcpy(m.voters.ids, lists[i], sizeof(lists[i]));
		bytes = raft_members_encode(&m, &len);
		cr_assert(!raft_members_decode(bytes, len, &back), "row %zu",
			  i);
	}
}

Test(raft_members, bytes_that_are_none_are_refused)
{
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		struct raft_members m;
		size_t len = raft_host_random(&seed) % 64;
		auto_free unsigned char *bytes = xalloc(len + 1);

		for (size_t k = 0; k < len; k++)
			bytes[k] = (unsigned char)(raft_host_random(&seed) %
						   (i % 2 ? 256 : 3));
		if (!raft_members_decode(bytes, len, &m))
			continue;
		cr_assert_leq(m.voters.n, RAFT_MEMBERS_MAX);
		cr_assert_leq(m.outgoing.n, RAFT_MEMBERS_MAX);
		cr_assert_leq(m.learners.n, RAFT_MEMBERS_MAX);
	}
}

Test(raft_members, ids_are_sorted_and_each_once)
{
	struct raft_ids ids = {0}, same = {0};
	uint64_t seed = 3;

	for (int i = 0; i < 1000; i++) {
		uint64_t id = 1 + raft_host_random(&seed) % 60;
		bool had = raft_ids_have(&ids, id);
		bool room = ids.n < RAFT_MEMBERS_MAX;

		if (i % 3 == 2) {
			raft_ids_remove(&ids, id);
			cr_assert(!raft_ids_have(&ids, id));
		} else {
			cr_assert_eq(raft_ids_add(&ids, id), had || room);
			cr_assert_eq(raft_ids_have(&ids, id), had || room);
		}
		for (size_t k = 1; k < ids.n; k++)
			cr_assert_lt(ids.ids[k - 1], ids.ids[k]);
	}
	for (size_t k = ids.n; k > 0; k--)
		raft_ids_add(&same, ids.ids[k - 1]);
	cr_assert(raft_ids_equal(&ids, &same));
	raft_ids_remove(&same, ids.ids[0]);
	cr_assert(!raft_ids_equal(&ids, &same));
}

Test(raft_members, who_has_a_vote)
{
	struct raft_members m = raft_disk_members("1 2/2 3+3 4");

	cr_assert(raft_members_have(&m, 1));
	cr_assert(raft_members_have(&m, 4));
	cr_assert(!raft_members_have(&m, 5));
	cr_assert(raft_members_vote(&m, 1));
	cr_assert(raft_members_vote(&m, 3), "it is still in the old ones");
	cr_assert(!raft_members_vote(&m, 4));
	cr_assert(!raft_members_vote(&m, 5));
}
