/* SPDX-License-Identifier: BSD-2-Clause */
/* Handing over the leadership of lib/raft/: section 3.10 of the thesis. */
#include "tests/lib/raft_case.h"

TestSuite(raft_transfer, .init = case_begin, .fini = case_done, .timeout = 60);

Test(raft_transfer, the_leadership_goes_where_it_is_sent)
{
	case_led(3, "1 2 3");
	for (uint64_t from = 1, i = 0; i < 6; i++) {
		uint64_t to = from % 3 + 1;

		cr_assert_eq(raft_host_transfer(net->hosts[from], to), RAFT_OK);
		raft_net_settle(net);
		raft_net_run(net, 3);
		cr_assert(case_leads(to));
		cr_assert(!case_leads(from));
		cr_assert(case_commits(to));
		from = to;
	}
	/* No time of silence: one term each. */
	cr_assert_eq(raft_host_status(raft_net_leader(net)).term, 7);
}

/* It gets all entries first. */
Test(raft_transfer, who_is_behind_is_brought_up_to_date)
{
	for (int compact = 0; compact < 2; compact++) {
		case_led(3, "1 2 3");
		raft_net_isolate(net, 3);
		for (int i = 0; i < 5; i++)
			case_commits(1);
		if (compact)
			cr_assert(raft_host_compact(net->hosts[1]));
		raft_net_heal(net);
		cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_OK);
		raft_net_run(net, CASE_ELECTION - 2);
		cr_assert(case_leads(3), "compacted: %d", compact);
		cr_assert_eq(case_status(3).term, 2);
	}
}

Test(raft_transfer, nothing_is_proposed_meanwhile)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_OK);
	cr_assert_eq(case_status(1).transfer_to, 3);
	cr_assert_neq(raft_net_propose(net, 1, 8), RAFT_OK);
	cr_assert_eq(case_status(1).last, 1);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 2), RAFT_BUSY);
}

/* An election's time, then it leads on. */
Test(raft_transfer, one_that_fails_is_given_up)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_OK);
	raft_net_run(net, CASE_LONG);
	cr_assert_eq(case_status(1).transfer_to, 0);
	cr_assert(case_leads(1));
	cr_assert(case_commits(1));
	cr_assert_eq(raft_host_transfer(net->hosts[1], 2), RAFT_OK);
	raft_net_run(net, 3);
	cr_assert(case_leads(2));
}

Test(raft_transfer, only_to_voters_and_only_by_the_leader)
{
	case_led(4, "1 2+3");
	cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_NOT_A_MEMBER);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 4), RAFT_NOT_A_MEMBER);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 0), RAFT_NOT_A_MEMBER);
	cr_assert_eq(raft_host_transfer(net->hosts[2], 1), RAFT_NOT_LEADER);
	cr_assert_eq(case_status(1).transfer_to, 0);
	cr_assert(case_commits(1));
}

/* It changes nothing, whatever it says. */
Test(raft_transfer, to_oneself)
{
	case_led(3, "1 2 3");
	raft_host_transfer(net->hosts[1], 1);
	raft_net_run(net, 2 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
	cr_assert(case_commits(1));
}

/* The voters hear the leader, and vote yet: it is the leader that asks. */
Test(raft_transfer, an_order_of_the_leader_needs_no_silence)
{
	case_led(3, "1 2 3");
	case_step(2, (struct raft_message){
			     .type = RAFT_ELECT_NOW, .from = 1, .term = 1});
	raft_net_settle(net);
	raft_net_run(net, 2);
	cr_assert(case_leads(2));
	cr_assert_eq(case_status(2).term, 2);
}

Test(raft_transfer, an_order_that_is_old_or_to_a_learner_is_ignored)
{
	case_led(4, "1 2 3+4");
	case_step(2, (struct raft_message){
			     .type = RAFT_ELECT_NOW, .from = 1, .term = 0});
	case_step(4, (struct raft_message){
			     .type = RAFT_ELECT_NOW, .from = 1, .term = 1});
	raft_net_run(net, 5);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(1).term, 1);
}

/* A leader that changes while it hands over. */
Test(raft_transfer, none_while_members_take_the_target_away)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	cr_assert_eq(case_change(1, "1 2"), RAFT_OK);
	raft_net_run(net, 4);
	cr_assert_eq(raft_host_transfer(net->hosts[1], 3), RAFT_NOT_A_MEMBER);
	cr_assert(case_commits(1));
}

/* The order is lost, or its answer: somebody leads in the end. */
Test(raft_transfer, an_order_that_is_lost_leaves_a_leader)
{
	for (int cut = 0; cut < 2; cut++) {
		case_led(3, "1 2 3");
		if (cut)
			raft_net_cut(net, 2, 1);
		net->paused = true;
		raft_host_transfer(net->hosts[1], 2);
		if (!cut)
			case_clear();
		case_deliver();
		raft_net_run(net, 5 * CASE_LONG);
		raft_net_heal(net);
		raft_net_run(net, 5 * CASE_LONG);
		cr_assert_not_null(raft_net_leader(net));
		cr_assert(case_commits(raft_net_leader(net)->config.id));
	}
}
