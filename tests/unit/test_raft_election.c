/* SPDX-License-Identifier: BSD-2-Clause */
/* Elections of lib/raft/: sections 3.4, 3.6.1, 4.2.3, 6.2 and 9.6 of the
 * thesis, and of figure 3.1 what it says about RequestVote and candidates. */
#include "tests/lib/raft_case.h"

TestSuite(raft_election, .init = case_begin, .fini = case_done, .timeout = 60);

static void ask(uint64_t from, uint64_t term, uint64_t index, uint64_t log_term,
		bool pre)
{
	case_step(1, (struct raft_message){.type = RAFT_ASK_VOTE,
					   .from = from,
					   .term = term,
					   .index = index,
					   .log_term = log_term,
					   .pre = pre});
}

/* --- who gets a vote --- */

/* Section 3.6.1: the log whose last entry has the later term is newer, of equal
 * terms the longer one. */
Test(raft_election, a_vote_goes_to_a_log_that_is_not_older)
{
	static const struct {
		const char *log;
		uint64_t term, vote;		    /* of the voter */
		uint64_t ask_term, index, log_term; /* of who asks */
		bool granted, pre_granted;
	} rows[] = {
		{"", 0, 0, 1, 0, 0, true, true},
		{"", 0, 0, 5, 3, 2, true, true},
		{"112", 2, 0, 3, 3, 2, true, true},
		{"112", 2, 0, 3, 4, 2, true, true},
		{"112", 2, 0, 3, 1, 3, true, true},
		{"112", 2, 0, 3, 2, 2, false, false},
		{"112", 2, 0, 3, 9, 1, false, false},
		{"112", 2, 0, 3, 0, 0, false, false},
		{"112", 2, 0, 9, 9, 1, false, false},
		/* The vote of the term is given, or not. */
		{"112", 3, 2, 3, 3, 2, true, false},
		{"112", 3, 3, 3, 3, 2, false, false},
		{"112", 3, 1, 3, 3, 2, false, false},
		{"112", 3, 3, 4, 3, 2, true, true},
		/* A term that is over. */
		{"112", 4, 0, 3, 9, 3, false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int pre = 0; pre < 2; pre++) {
			const struct raft_message *m;
			bool want = pre ? rows[i].pre_granted : rows[i].granted;

			if (pre && rows[i].ask_term == rows[i].term)
				continue;
			case_alone(rows[i].log, rows[i].term, rows[i].vote);
			ask(2, rows[i].ask_term, rows[i].index,
			    rows[i].log_term, pre);
			m = case_sent(RAFT_VOTE, 2);
			cr_assert_eq(m != NULL && !m->reject, want,
				     "row %zu, pre %d", i, pre);
			if (m != NULL)
				cr_assert_eq(m->pre, (bool)pre);
		}
}

Test(raft_election, a_vote_is_given_once_in_a_term)
{
	case_alone("11", 1, 0);
	ask(2, 2, 2, 1, false);
	cr_assert(!case_sent(RAFT_VOTE, 2)->reject);
	ask(3, 2, 9, 1, false);
	cr_assert(case_sent(RAFT_VOTE, 3) == NULL ||
		  case_sent(RAFT_VOTE, 3)->reject);
	case_clear();
	ask(2, 2, 2, 1, false); /* it was lost, and asks again */
	cr_assert(!case_sent(RAFT_VOTE, 2)->reject);
	ask(3, 3, 9, 1, false);
	cr_assert(!case_sent(RAFT_VOTE, 3)->reject);
	cr_assert_eq(case_status(1).vote, 3);
}

Test(raft_election, a_vote_survives_a_restart)
{
	struct raft_host *h = case_alone("11", 1, 0);

	ask(2, 2, 2, 1, false);
	raft_host_crash(h, 0, 0, false);
	raft_net_start(net, 1);
	case_clear();
	cr_assert_eq(case_status(1).term, 2);
	ask(3, 2, 9, 1, false);
	cr_assert(case_sent(RAFT_VOTE, 3) == NULL ||
		  case_sent(RAFT_VOTE, 3)->reject);
}

Test(raft_election, a_vote_is_not_said_before_it_is_durable)
{
	struct raft_host *h = case_alone("11", 1, 0);

	h->at_once = false;
	ask(2, 2, 2, 1, false);
	cr_assert_eq(case_count(RAFT_VOTE, 0), 0);
	raft_host_crash(h, 0, 0, false); /* nobody has heard of it */
	raft_net_start(net, 1);
	ask(3, 2, 2, 1, false);
	cr_assert_eq(case_count(RAFT_VOTE, 0), 0);
	raft_host_sync(h, 1);
	cr_assert(!case_sent(RAFT_VOTE, 3)->reject);
}

/* 9.6: to be asked, and to answer, changes nothing. */
Test(raft_election, a_vote_that_is_tried_changes_no_term_and_no_vote)
{
	struct raft_host *h = case_alone("11", 1, 0);

	ask(2, 2, 2, 1, true);
	cr_assert(!case_sent(RAFT_VOTE, 2)->reject);
	ask(3, 7, 2, 1, true); /* several may be told the same */
	cr_assert(!case_sent(RAFT_VOTE, 3)->reject);
	cr_assert_eq(case_status(1).term, 1);
	cr_assert_eq(h->disk.hard.term, 1);
	cr_assert_eq(h->disk.hard.vote, 0);
}

Test(raft_election, who_asks_with_an_old_term_hears_the_new_one)
{
	const struct raft_message *m;

	case_alone("11", 5, 0);
	ask(2, 3, 9, 1, false);
	m = case_sent(RAFT_VOTE, 2);
	cr_assert(m == NULL || (m->reject && m->term == 5));
	cr_assert_eq(case_status(1).term, 5);
}

/* Rules for all servers: a later term is taken over. */
Test(raft_election, a_later_term_makes_a_follower)
{
	case_led(3, "1 2 3");
	case_step(1, (struct raft_message){.type = RAFT_APPENDED,
					   .from = 2,
					   .term = 7,
					   .reject = true,
					   .index = 1});
	cr_assert_eq(case_status(1).role, RAFT_FOLLOWER);
	cr_assert_eq(case_status(1).term, 7);
	cr_assert_eq(case_status(1).vote, 0);
}

/* --- who is elected --- */

Test(raft_election, a_majority_elects_and_less_does_not)
{
	static const char *const members[] = {
		"1",
		"1 2",
		"1 2 3",
		"1 2 3 4",
		"1 2 3 4 5",
		"1 2 3 4 5 6",
		"1 2 3 4 5 6 7",
		"1 2 3 4 5 6 7 8",
		"1 2 3 4 5 6 7 8 9",
	};

	for (size_t n = 1; n <= 9; n++)
		for (size_t up = 1; up <= n; up++) {
			case_make(n, members[n - 1]);
			for (uint64_t id = 1; id <= up; id++)
				raft_net_start(net, id);
			cr_assert_eq(raft_net_elect(net, 1), up > n / 2,
				     "%zu of %zu", up, n);
		}
}

/* The same with logs: who has all that can be committed is elected. */
Test(raft_election, the_newest_logs_can_be_elected)
{
	static const struct {
		const char *logs[3];
		bool elected[3]; /* if all hear all */
	} rows[] = {
		{{"1", "1", "1"}, {true, true, true}},
		{{"1", "11", "11"}, {false, true, true}},
		{{"1", "11", "1"}, {true, true, true}},
		{{"111", "12", "12"}, {false, true, true}},
		{{"111", "12", "1"}, {true, true, false}},
		{{"13", "1222", "1222"}, {true, true, true}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (uint64_t who = 1; who <= 3; who++) {
			case_make(3, "1 2 3");
			for (uint64_t id = 1; id <= 3; id++) {
				case_log(id, rows[i].logs[id - 1]);
				case_hard(id, 3, 0);
			}
			raft_net_start_all(net);
			cr_assert_eq(raft_net_elect(net, who),
				     rows[i].elected[who - 1],
				     "row %zu, server %" PRIu64, i, who);
		}
}

/* The sole voter that leads at once has led in every term only once. */
Test(raft_election, a_sole_voter_raises_the_term)
{
	case_make(1, "1");
	for (uint64_t term = 1; term <= 5; term++) {
		raft_net_start(net, 1);
		raft_net_elect(net, 1);
		cr_assert(case_leads(1));
		cr_assert_eq(case_status(1).term, term);
		raft_net_crash(net, 1);
	}
	raft_net_start(net, 1);
	raft_net_run(net, CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 6);
}

/* A learner must not get an entry of a term that a crash may bring again. */
Test(raft_election, a_sole_voter_says_nothing_before_its_term_is_durable)
{
	struct raft_host *h;

	case_make(2, "1+2");
	h = net->hosts[1];
	h->at_once = false;
	net->disk_delay = 1000;
	net->paused = true;
	raft_net_start(net, 1);
	raft_host_campaign(h);
	raft_net_propose(net, 1, 8);
	cr_assert_eq(case_count(RAFT_APPEND, 0), 0);
	cr_assert_eq(case_count(RAFT_HEARTBEAT, 0), 0);
	cr_assert_eq(case_status(1).commit, 0);
	raft_host_sync(h, SIZE_MAX);
	cr_assert(case_leads(1));
	cr_assert_gt(case_count(RAFT_APPEND, 2), 0);
}

Test(raft_election, votes_are_counted_once_a_server)
{
	struct raft_message vote;

	case_make(5, "1 2 3 4 5");
	raft_net_start(net, 1);
	net->paused = true;
	raft_host_campaign(net->hosts[1]);
	cr_assert_eq(case_count(RAFT_ASK_VOTE, 0), 4);
	for (int pre = 1; pre >= 0; pre--) {
		vote = (struct raft_message){
			.type = RAFT_VOTE, .from = 2, .term = 1, .pre = pre};
		for (int i = 0; i < 5; i++)
			case_step(1, vote);
		cr_assert_eq(case_status(1).role,
			     pre ? RAFT_PRE_CANDIDATE : RAFT_CANDIDATE);
		vote.from = 3;
		case_step(1, vote);
	}
	cr_assert(case_leads(1));
}

Test(raft_election, votes_of_others_than_voters_do_not_count)
{
	case_make(5, "1 2 3+4");
	raft_net_start(net, 1);
	net->paused = true;
	raft_host_campaign(net->hosts[1]);
	for (uint64_t from = 4; from <= 7; from++)
		case_step(1, (struct raft_message){.type = RAFT_VOTE,
						   .from = from,
						   .term = 1,
						   .pre = true});
	cr_assert_eq(case_status(1).role, RAFT_PRE_CANDIDATE);
	cr_assert_eq(case_count(RAFT_ASK_VOTE, 4), 0);
}

Test(raft_election, answers_of_another_election_do_not_count)
{
	case_alone("11", 4, 0);
	raft_host_campaign(net->hosts[1]);
	/* Not tried but real, of an earlier term, of a later one. */
	case_step(1, (struct raft_message){
			     .type = RAFT_VOTE, .from = 2, .term = 4});
	cr_assert_neq(case_status(1).role, RAFT_LEADER);
	case_step(1, (struct raft_message){.type = RAFT_VOTE,
					   .from = 2,
					   .term = 3,
					   .pre = true});
	cr_assert_eq(case_status(1).role, RAFT_PRE_CANDIDATE);
	cr_assert_eq(case_status(1).term, 4);
}

Test(raft_election, a_candidate_obeys_a_leader_of_its_term)
{
	case_alone("1", 1, 0);
	raft_host_campaign(net->hosts[1]);
	case_step(1, (struct raft_message){.type = RAFT_VOTE,
					   .from = 2,
					   .term = 2,
					   .pre = true});
	cr_assert_eq(case_status(1).role, RAFT_CANDIDATE);
	cr_assert_eq(case_status(1).term, 2);
	case_step(1, (struct raft_message){
			     .type = RAFT_HEARTBEAT, .from = 3, .term = 2});
	cr_assert_eq(case_status(1).role, RAFT_FOLLOWER);
	cr_assert_eq(case_status(1).leader, 3);
	cr_assert_eq(case_status(1).vote, 1);
}

/* --- time --- */

/* Between one and two election times, and not all at the same time. */
Test(raft_election, who_hears_nobody_asks_after_one_to_two_times)
{
	bool seen[CASE_LONG + 1] = {false};
	size_t different = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		unsigned ticks = 0;

		case_make(3, "1 2 3");
		net->hosts[1]->seed = seed;
		net->paused = true;
		raft_net_start(net, 1);
		while (case_count(RAFT_ASK_VOTE, 0) == 0) {
			cr_assert_lt(ticks, CASE_LONG);
			raft_net_tick(net);
			ticks++;
		}
		cr_assert_geq(ticks, CASE_ELECTION);
		seen[ticks] = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		different += seen[i];
	cr_assert_geq(different, CASE_ELECTION / 2);
}

Test(raft_election, a_cluster_elects_by_itself_and_keeps_its_leader)
{
	for (size_t n = 1; n <= 9; n += 2) {
		uint64_t term;

		case_make(n, "1 2 3 4 5 6 7 8 9");
		for (uint64_t id = 1; id <= n; id++) {
			net->hosts[id]->disk.snapshot.members.voters.n = n;
			net->hosts[id]->kept = net->hosts[id]->disk.snapshot;
		}
		net->judge.committed[0].members.voters.n = n;
		raft_net_start_all(net);
		for (unsigned t = 0; t < 10 * CASE_LONG; t++)
			if (raft_net_leader(net) == NULL)
				raft_net_tick(net);
		cr_assert_not_null(raft_net_leader(net), "%zu servers", n);
		raft_net_run(net, CASE_LONG);
		term = raft_host_status(raft_net_leader(net)).term;
		raft_net_run(net, 20 * CASE_LONG);
		cr_assert_eq(raft_host_status(raft_net_leader(net)).term, term);
	}
}

Test(raft_election, a_lost_leader_is_followed_by_another)
{
	case_led(3, "1 2 3");
	raft_net_crash(net, 1);
	for (unsigned t = 0; t < 10 * CASE_LONG; t++)
		if (raft_net_leader(net) == NULL)
			raft_net_tick(net);
	cr_assert_not_null(raft_net_leader(net));
	cr_assert_gt(raft_host_status(raft_net_leader(net)).term, 1);
}

/* No leader of a term may come of it, but one of the next. */
Test(raft_election, a_split_vote_is_repeated)
{
	case_make(4, "1 2 3 4");
	raft_net_start_all(net);
	net->paused = true;
	for (uint64_t id = 1; id <= 4; id++)
		raft_host_campaign(net->hosts[id]);
	case_deliver();
	for (unsigned t = 0; t < 20 * CASE_LONG; t++)
		if (raft_net_leader(net) == NULL)
			raft_net_tick(net);
	cr_assert_not_null(raft_net_leader(net));
}

/* --- without the order nobody is elected --- */

static void make_obedient(size_t n, const char *members)
{
	case_make(n, members);
	for (uint64_t id = 1; id <= n; id++)
		net->hosts[id]->config.elects = false;
	raft_net_start_all(net);
}

Test(raft_election, who_does_not_elect_waits_for_the_order)
{
	make_obedient(3, "1 2 3");
	raft_net_run(net, 20 * CASE_LONG);
	for (uint64_t id = 1; id <= 3; id++) {
		cr_assert_eq(case_status(id).role, RAFT_FOLLOWER);
		cr_assert_eq(case_status(id).term, 0);
	}
	cr_assert(raft_net_elect(net, 2));
	raft_net_crash(net, 2);
	raft_net_run(net, 20 * CASE_LONG);
	cr_assert_null(raft_net_leader(net));
	cr_assert(raft_net_elect(net, 3));
	cr_assert_eq(case_status(3).term, 2);
}

Test(raft_election, a_sole_voter_that_does_not_elect_waits_as_well)
{
	make_obedient(1, "1");
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert(!case_leads(1));
	cr_assert(raft_net_elect(net, 1));
}

/* An order that is not followed by an election is forgotten. */
Test(raft_election, an_order_without_a_majority_elects_nobody_later)
{
	make_obedient(3, "1 2 3");
	raft_net_isolate(net, 1);
	cr_assert(!raft_net_elect(net, 1));
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert_eq(case_status(1).term, 0);
	cr_assert_eq(case_status(1).role, RAFT_FOLLOWER);
	raft_net_heal(net);
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert_null(raft_net_leader(net));
}

Test(raft_election, who_is_told_to_is_elected_even_without_electing)
{
	make_obedient(3, "1 2 3");
	cr_assert(raft_net_elect(net, 1));
	cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_OK);
	raft_net_run(net, 3);
	cr_assert(case_leads(3));
}

Test(raft_election, only_voters_can_be_told_to_campaign)
{
	case_make(3, "1+2");
	raft_net_start_all(net);
	cr_assert_eq(raft_host_campaign(net->hosts[2]), RAFT_NOT_A_MEMBER);
	cr_assert_eq(raft_host_campaign(net->hosts[3]), RAFT_NOT_A_MEMBER);
	raft_net_isolate(net, 1);
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert_eq(case_status(2).role, RAFT_FOLLOWER);
	cr_assert_eq(case_status(3).role, RAFT_FOLLOWER);
	cr_assert_eq(case_status(3).term, 0);
}

Test(raft_election, who_leads_may_be_told_to_campaign)
{
	uint64_t term;

	case_led(3, "1 2 3");
	term = case_status(1).term;
	raft_host_campaign(net->hosts[1]);
	raft_net_run(net, CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, term);
}

/* It need not wait for its time to see that it cannot win. */
Test(raft_election, who_is_refused_by_a_majority_gives_up)
{
	case_alone("1", 1, 0);
	raft_host_campaign(net->hosts[1]);
	for (uint64_t from = 2; from <= 3; from++) {
		cr_assert_eq(case_status(1).role, RAFT_PRE_CANDIDATE);
		case_step(1, (struct raft_message){.type = RAFT_VOTE,
						   .from = from,
						   .term = 1,
						   .reject = true,
						   .pre = true});
	}
	cr_assert_eq(case_status(1).role, RAFT_FOLLOWER);
	cr_assert_eq(case_status(1).term, 1);
}
