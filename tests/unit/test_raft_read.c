/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads of lib/raft/: section 6.4 of the thesis.  The judge compares each
 * answer with what was acknowledged when it was asked. */
#include "tests/lib/raft_case.h"

TestSuite(raft_read, .init = case_begin, .fini = case_done, .timeout = 60);

Test(raft_read, a_leader_answers_with_what_is_committed)
{
	case_led(3, "1 2 3");
	case_commits(1);
	cr_assert_eq(raft_net_read(net, 1), RAFT_OK);
	raft_net_run(net, 3);
	cr_assert_eq(net->n_answered, 1);
	cr_assert_eq(net->answered_index, 2);
}

Test(raft_read, a_sole_voter_answers_at_once)
{
	case_led(2, "1+2");
	case_commits(1);
	cr_assert_eq(raft_net_read(net, 1), RAFT_OK);
	cr_assert_eq(net->n_answered, 1);
	cr_assert_eq(net->answered_index, 2);
}

Test(raft_read, a_follower_asks_the_leader)
{
	case_led(3, "1 2 3");
	case_commits(1);
	cr_assert_eq(raft_net_read(net, 3), RAFT_OK);
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 1);
	cr_assert_eq(net->answered_index, 2);
}

Test(raft_read, a_learner_may_read_as_well)
{
	case_led(4, "1 2 3+4");
	case_commits(1);
	cr_assert_eq(raft_net_read(net, 4), RAFT_OK);
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 1);
}

/* Without a majority that hears it, it may be a leader no more. */
Test(raft_read, a_leader_that_is_alone_does_not_answer)
{
	case_led(3, "1 2 3");
	case_commits(1);
	raft_net_isolate(net, 1);
	raft_net_elect(net, 2);
	for (int t = 0; t < CASE_LONG; t++) {
		raft_host_tick(net->hosts[2]);
		raft_host_tick(net->hosts[3]);
		raft_net_settle(net);
	}
	cr_assert(case_leads(2) || case_leads(3));
	cr_assert(case_commits(case_leads(2) ? 2 : 3));
	cr_assert(case_leads(1), "it has not heard of it");
	cr_assert_eq(raft_net_read(net, 1), RAFT_OK);
	raft_net_run(net, 2);
	cr_assert_eq(net->n_answered, 0);
	raft_net_heal(net);
	raft_net_run(net, 2 * CASE_LONG);
	cr_assert_eq(net->n_answered, 0, "that was another leader");
	cr_assert_eq(raft_net_read(net, 1), RAFT_OK);
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 1);
}

/* A follower's answer of before the question proves nothing. */
Test(raft_read, an_answer_to_an_earlier_heartbeat_does_not_count)
{
	struct raft_message old = {0};

	case_led(3, "1 2 3");
	net->paused = true;
	while (case_sent(RAFT_HEARTBEAT, 2) == NULL)
		raft_net_tick(net);
	old = *case_sent(RAFT_HEARTBEAT, 2);
	case_clear();
	cr_assert_eq(raft_net_read(net, 1), RAFT_OK);
	case_clear();
	old.type = RAFT_HEARTBEATEN;
	old.from = 2;
	old.commit = 0;
	case_step(1, old);
	old.from = 3;
	case_step(1, old);
	cr_assert_eq(net->n_answered, 0);
	case_deliver();
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 1);
}

static bool lose_appends(struct raft_net *n, const struct raft_message *m)
{
	(void)n;
	return m->type == RAFT_APPEND;
}

/* A new leader does not know what was committed before it. */
Test(raft_read, none_before_an_own_entry_is_committed)
{
	case_led(3, "1 2 3");
	case_commits(1); /* 2 and 3 may not know that */
	raft_net_crash(net, 1);
	net->lose = lose_appends;
	for (unsigned t = 0; t < 10 * CASE_LONG; t++)
		if (raft_net_leader(net) == NULL)
			raft_net_tick(net);
	raft_net_read(net, 2);
	raft_net_read(net, 3);
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 0);
	net->lose = NULL;
	raft_net_run(net, 6);
	if (net->n_answered == 0) {
		raft_net_read(net, 2);
		raft_net_run(net, 6);
	}
	cr_assert_gt(net->n_answered, 0);
}

Test(raft_read, nobody_to_ask)
{
	case_make(3, "1 2 3");
	raft_net_start_all(net);
	cr_assert_eq(raft_net_read(net, 1), RAFT_NOT_LEADER);
}

/* The one that answers has applied so much; the reader waits until it has. */
Test(raft_read, a_reader_waits_until_it_has_applied_as_much)
{
	case_led(3, "1 2 3");
	net->hosts[3]->withhold = 100;
	net->hosts[3]->at_once = false;
	net->disk_delay = 5;
	case_commits(1);
	raft_net_read(net, 3);
	raft_net_run(net, 10);
	net->hosts[3]->withhold = 0;
	raft_net_run(net, 10);
	cr_assert_eq(net->n_answered, 1);
	cr_assert_geq(net->hosts[3]->state.index, 2);
}

Test(raft_read, many_reads_and_writes_together)
{
	case_led(3, "1 2 3");
	for (int i = 0; i < 100; i++) {
		raft_net_propose(net, 1, 8);
		raft_net_read(net, 1 + (uint64_t)i % 3);
		raft_net_read(net, 1);
		if (i % 10 == 0)
			raft_net_tick(net);
	}
	raft_net_run(net, 10);
	cr_assert_eq(net->n_acknowledged, 100);
	cr_assert_eq(net->n_answered, 200);
}

/* A context that is used again after a restart must not get the answer to the
 * one before. */
Test(raft_read, an_answer_to_a_former_life_is_not_handed_out)
{
	case_led(3, "1 2 3");
	net->paused = true;
	raft_net_read(net, 3);
	raft_net_crash(net, 3);
	raft_net_start(net, 3);
	case_deliver(); /* the question goes, its answer comes to the new one */
	case_commits(1);
	raft_net_run(net, 4);
	cr_assert_eq(net->n_strange, 0);
	cr_assert_eq(net->n_answered, 0);
}

static bool twice(struct raft_net *n, const struct raft_message *m)
{
	(void)m;
	n->duplicates = 100;
	return false;
}

Test(raft_read, an_answer_is_handed_out_once)
{
	case_led(3, "1 2 3");
	net->lose = twice;
	for (int i = 0; i < 5; i++)
		raft_net_read(net, 3);
	raft_net_settle(net);
	raft_net_run(net, 6);
	cr_assert_eq(net->n_answered, 5);
	cr_assert_eq(net->n_strange, 0);
}
