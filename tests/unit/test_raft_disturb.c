/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may disturb a leader of lib/raft/, and who must not; and when it steps
 * down by itself: sections 4.2.3, 6.2 and 9.6 of the thesis. */
#include "tests/lib/raft_case.h"

TestSuite(raft_disturb, .init = case_begin, .fini = case_done, .timeout = 60);

Test(raft_disturb, who_hears_a_leader_gives_no_vote)
{
	for (int pre = 0; pre < 2; pre++) {
		case_led(3, "1 2 3");
		net->paused = true;
		case_step(2, (struct raft_message){.type = RAFT_ASK_VOTE,
						   .from = 3,
						   .term = 9,
						   .index = 99,
						   .log_term = 8,
						   .pre = pre});
		cr_assert_eq(case_status(2).term, 1);
		cr_assert_eq(case_status(2).leader, 1);
		for (const struct raft_letter *l = *case_mail(); l != NULL;
		     l = l->next)
			cr_assert(l->m.type != RAFT_VOTE || l->m.reject);
	}
}

/* The leader hears one, too: itself. */
Test(raft_disturb, a_leader_gives_no_vote)
{
	for (int pre = 0; pre < 2; pre++) {
		case_led(3, "1 2 3");
		net->paused = true;
		case_step(1, (struct raft_message){.type = RAFT_ASK_VOTE,
						   .from = 3,
						   .term = 9,
						   .index = 99,
						   .log_term = 8,
						   .pre = pre});
		cr_assert(case_leads(1));
		cr_assert_eq(case_status(1).term, 1);
	}
}

/* The leader itself wants it: a transfer. */
Test(raft_disturb, a_vote_asked_with_force_is_given)
{
	case_led(3, "1 2 3");
	net->paused = true;
	case_step(2, (struct raft_message){.type = RAFT_ASK_VOTE,
					   .from = 3,
					   .term = 2,
					   .index = 99,
					   .log_term = 1,
					   .force = true});
	cr_assert_eq(case_status(2).term, 2);
	cr_assert(!case_sent(RAFT_VOTE, 3)->reject);
}

Test(raft_disturb, a_vote_is_given_again_when_the_leader_is_silent)
{
	case_led(3, "1 2 3");
	raft_net_crash(net, 1);
	net->hosts[3]->config.elects = false;
	/* 3 begins anew and has heard of no leader, 2 has. */
	raft_net_crash(net, 3);
	raft_net_start(net, 3);
	cr_assert(!raft_net_elect(net, 3));
	for (unsigned t = 0; t < CASE_ELECTION; t++)
		raft_host_tick(net->hosts[3]);
	for (unsigned t = 0; t < CASE_LONG; t++)
		raft_net_tick(net);
	raft_net_elect(net, 3);
	cr_assert_not_null(raft_net_leader(net));
}

/* Cut off it cannot raise its term, and comes back without a noise. */
Test(raft_disturb, who_was_cut_off_does_not_disturb)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	raft_net_run(net, 50 * CASE_LONG);
	cr_assert_eq(case_status(3).term, 1);
	raft_net_heal(net);
	raft_net_run(net, 5 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
	cr_assert_eq(case_status(3).leader, 1);
}

/* One that hears nothing but is heard: the worst of a cut in one direction. */
Test(raft_disturb, who_hears_nothing_does_not_disturb)
{
	case_led(3, "1 2 3");
	raft_net_cut(net, 1, 3);
	raft_net_cut(net, 2, 3);
	raft_net_run(net, 50 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
	cr_assert(case_commits(1));
}

/* Two hear each other and one of them the leader: nobody changes. */
Test(raft_disturb, a_cut_between_leader_and_one_follower_changes_nothing)
{
	case_led(3, "1 2 3");
	raft_net_part(net, 1, 3);
	raft_net_run(net, 50 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
}

/* 6.2: it steps down, so that who asks it is not kept waiting. */
Test(raft_disturb, a_leader_without_a_majority_steps_down)
{
	for (int with = 0; with < 3; with++) {
		case_led(5, "1 2 3 4 5");
		for (uint64_t id = 2 + (uint64_t)with; id <= 5; id++)
			raft_net_part(net, 1, id);
		raft_net_run(net, CASE_ELECTION - 1);
		raft_net_run(net, CASE_LONG + 2);
		if (with == 2)
			cr_assert(case_leads(1), "it has a majority");
		else
			cr_assert(!case_leads(1), "it heard %d of four", with);
	}
}

/* It hears them, but they do not hear it; or the other way. */
Test(raft_disturb, a_leader_that_is_not_answered_steps_down)
{
	case_led(3, "1 2 3");
	raft_net_cut(net, 2, 1);
	raft_net_cut(net, 3, 1);
	raft_net_run(net, CASE_LONG + 2);
	cr_assert(!case_leads(1));
}

Test(raft_disturb, learners_are_no_majority)
{
	case_led(4, "1 2 3+4");
	raft_net_part(net, 1, 2);
	raft_net_part(net, 1, 3);
	raft_net_run(net, CASE_LONG + 2);
	cr_assert(!case_leads(1));
}

Test(raft_disturb, a_sole_voter_needs_nobody)
{
	case_led(3, "1+2 3");
	raft_net_isolate(net, 1);
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert(case_commits(1));
}
