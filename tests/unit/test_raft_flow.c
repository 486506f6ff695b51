/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow of messages from a leader of lib/raft/ to the others: heartbeats,
 * what was lost, strange answers, and how much is under way. */
#include "tests/lib/raft_case.h"

TestSuite(raft_flow, .init = case_begin, .fini = case_done, .timeout = 60);

static bool lose_appends(struct raft_net *n, const struct raft_message *m)
{
	(void)n;
	return m->type == RAFT_APPEND;
}

/* --- heartbeats and loss --- */

Test(raft_flow, heartbeats_come_in_time)
{
	case_led(3, "1 2 3");
	net->hosts[2]->config.election_ticks = 1; /* not read any more */
	for (int i = 0; i < 20; i++) {
		net->paused = true;
		case_clear();
		raft_net_run(net, net->hosts[1]->config.heartbeat_ticks);
		cr_assert_gt(case_count(RAFT_HEARTBEAT, 2) +
				     case_count(RAFT_APPEND, 2),
			     0);
		case_deliver();
	}
	cr_assert(case_leads(1));
}

static void see_commit(struct raft_net *n, const struct raft_message *m)
{
	struct raft_progress p;

	if (m->type != RAFT_HEARTBEAT || n->hosts[m->from]->raft == NULL)
		return;
	if (raft_progress(n->hosts[m->from]->raft, m->to, &p))
		cr_assert_leq(m->commit, p.match);
	*(unsigned *)n->arg += 1;
}

/* Who has another entry there must not take it for committed. */
Test(raft_flow, a_heartbeat_says_no_more_than_the_follower_has)
{
	unsigned seen = 0;

	case_make(3, "1 2 3");
	case_log(1, "13");
	case_log(2, "1");
	case_log(3, "122");
	raft_net_start(net, 1);
	raft_net_start(net, 2);
	raft_net_elect(net, 1);
	net->see = see_commit;
	net->arg = &seen;
	for (int i = 0; i < 5; i++)
		raft_net_propose(net, 1, 8);
	raft_net_settle(net);
	raft_net_start(net, 3);
	net->lose = lose_appends;
	raft_net_run(net, 10);
	cr_assert_gt(seen, 3);
	cr_assert_eq(case_status(3).commit, 0);
	cr_assert_str_eq(case_terms(3), "122");
}

Test(raft_flow, a_heartbeat_that_says_more_is_not_believed)
{
	case_alone("11", 1, 0);
	case_step(1, (struct raft_message){.type = RAFT_HEARTBEAT,
					   .from = 2,
					   .term = 1,
					   .commit = 1000});
	cr_assert_leq(case_status(1).commit, 2);
	cr_assert_eq(case_status(1).leader, 2);
}

Test(raft_flow, what_was_lost_is_sent_again)
{
	case_led(3, "1 2 3");
	net->lose = lose_appends;
	for (int i = 0; i < 3; i++)
		raft_net_propose(net, 1, 8);
	raft_net_settle(net);
	cr_assert_str_eq(case_terms(2), "1");
	net->lose = NULL;
	raft_net_run(net, 6);
	cr_assert_eq(net->n_acknowledged, 3);
	cr_assert_str_eq(case_terms(2), "1111");
	cr_assert_str_eq(case_terms(3), "1111");
}

/* A follower misses that something is committed: the next heartbeat says so. */
Test(raft_flow, a_follower_that_lags_learns_what_is_committed)
{
	case_led(3, "1 2 3");
	raft_net_cut(net, 1, 3);
	cr_assert(case_commits(1));
	raft_net_heal(net);
	raft_net_run(net, 6);
	cr_assert_eq(case_status(3).commit, 2);
}

Test(raft_flow, who_was_unreachable_gets_all)
{
	case_led(3, "1 2 3");
	raft_host_unreachable(net->hosts[1], 2);
	raft_host_unreachable(net->hosts[1], 9);
	raft_host_unreachable(net->hosts[1], 1);
	raft_host_unreachable(net->hosts[2], 1);
	/* Nothing was lost in truth. */
	cr_assert(case_commits(1));
	raft_net_run(net, 6);
	cr_assert_str_eq(case_terms(2), "11");
	/* And now it was. */
	raft_net_isolate(net, 2);
	cr_assert(case_commits(1));
	raft_host_unreachable(net->hosts[1], 2);
	raft_net_heal(net);
	raft_net_run(net, 6);
	cr_assert_str_eq(case_terms(2), "111");
}

/* Answers that come late, twice, or are of nothing that was sent. */
Test(raft_flow, strange_answers_do_no_harm)
{
	static const struct raft_message rows[] = {
		{.type = RAFT_APPENDED, .from = 2, .index = 1},
		{.type = RAFT_APPENDED, .from = 2, .index = 0},
		{.type = RAFT_APPENDED, .from = 2, .index = 1000},
		{.type = RAFT_APPENDED, .from = 2, .index = UINT64_MAX},
		{.type = RAFT_APPENDED, .from = 2, .index = 1, .reject = true},
		{.type = RAFT_APPENDED,
		 .from = 2,
		 .index = 3,
		 .hint = 99,
		 .log_term = 88,
		 .reject = true},
		{.type = RAFT_APPENDED,
		 .from = 2,
		 .index = UINT64_MAX,
		 .hint = UINT64_MAX,
		 .log_term = UINT64_MAX,
		 .reject = true},
		{.type = RAFT_APPENDED, .from = 7, .index = 3},
		{.type = RAFT_APPENDED, .from = 1, .index = 3},
		{.type = RAFT_HEARTBEATEN, .from = 2, .round = UINT64_MAX},
		{.type = RAFT_HEARTBEATEN, .from = 9, .round = 1},
		{.type = RAFT_VOTE, .from = 2},
		{.type = RAFT_VOTE, .from = 2, .reject = true, .pre = true},
		{.type = RAFT_READ_AT, .from = 2, .index = 5, .round = 9},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raft_progress p;

		case_led(3, "1 2 3");
		case_commits(1);
		case_commits(1);
		net->paused = true;
		for (int k = 0; k < 3; k++) {
			struct raft_message m = rows[i];

			m.term = 1;
			case_step(1, m);
		}
		cr_assert_eq(case_status(1).commit, 3, "row %zu", i);
		cr_assert(raft_progress(net->hosts[1]->raft, 2, &p));
		cr_assert_eq(p.match, 3, "row %zu", i);
		case_deliver();
		raft_net_run(net, 10);
		cr_assert(case_commits(1), "row %zu", i);
		cr_assert_eq(net->n_answered, 0);
	}
}

Test(raft_flow, the_leader_knows_how_far_all_are)
{
	struct raft_progress p;

	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	case_commits(1);
	cr_assert(raft_progress(net->hosts[1]->raft, 2, &p));
	cr_assert_eq(p.match, 2);
	cr_assert(p.active);
	cr_assert(raft_progress(net->hosts[1]->raft, 3, &p));
	cr_assert_eq(p.match, 1);
	raft_net_run(net, CASE_LONG + 2);
	cr_assert(raft_progress(net->hosts[1]->raft, 3, &p));
	cr_assert(!p.active);
	cr_assert(!raft_progress(net->hosts[1]->raft, 4, &p));
	cr_assert(!raft_progress(net->hosts[2]->raft, 1, &p));
}

/* --- how much is under way --- */

Test(raft_flow, appends_are_cut_to_size)
{
	case_make(2, "1 2");
	net->hosts[1]->config.max_message_bytes = 100;
	raft_net_start(net, 1);
	raft_net_start(net, 2);
	raft_net_elect(net, 1);
	raft_net_isolate(net, 2);
	for (size_t i = 0; i < 20; i++)
		raft_net_propose(net, 1, i == 10 ? 400 : 30);
	raft_net_heal(net);
	for (int i = 0; i < 40; i++) {
		net->paused = true;
		raft_net_tick(net);
		for (const struct raft_letter *l = *case_mail(); l != NULL;
		     l = l->next) {
			size_t bytes = 0;

			for (size_t k = 0; k < l->m.n_entries; k++)
				bytes += l->m.entries[k].len;
			cr_assert(bytes <= 100 || l->m.n_entries == 1,
				  "%zu bytes", bytes);
		}
		case_deliver();
	}
	cr_assert_eq(case_status(2).commit, 21);
}

/* A follower that does not answer gets so many messages, and no more until it
 * answers. */
Test(raft_flow, so_many_messages_are_under_way)
{
	case_make(3, "1 2 3");
	net->hosts[1]->config.max_inflight = 3;
	raft_net_start_all(net);
	raft_net_elect(net, 1);
	raft_net_run(net, 3);
	net->paused = true;
	for (int i = 0; i < 10; i++)
		raft_net_propose(net, 1, 8);
	cr_assert_leq(case_count(RAFT_APPEND, 3), 3);
	cr_assert_gt(case_count(RAFT_APPEND, 3), 0);
	case_deliver();
	cr_assert_eq(net->n_acknowledged, 10);
	/* All that is under way is lost, and heartbeats bring it back. */
	raft_net_part(net, 1, 3);
	for (int i = 0; i < 10; i++) {
		raft_net_propose(net, 1, 8);
		raft_net_settle(net);
	}
	cr_assert_eq(net->n_acknowledged, 20);
	raft_net_heal(net);
	raft_net_run(net, 10);
	cr_assert_eq(case_status(3).commit, 21);
}

Test(raft_flow, entries_that_are_not_at_hand_come_later)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	for (int i = 0; i < 5; i++)
		case_commits(1);
	net->hosts[1]->withhold = 100;
	raft_net_heal(net);
	raft_net_run(net, 10);
	cr_assert(case_leads(1));
	net->hosts[1]->withhold = 0;
	raft_net_run(net, 10);
	cr_assert_eq(case_status(3).commit, 6);
}

Test(raft_flow, what_is_to_be_applied_may_not_be_at_hand)
{
	struct raft_host *h = case_alone("11111", 1, 0);

	h->withhold = 100;
	case_step(1, case_append(2, 1, 5, 1, "", 5));
	cr_assert_eq(case_status(1).commit, 5);
	cr_assert_eq(h->state.index, 0);
	h->withhold = 0;
	raft_host_tick(h);
	cr_assert_eq(h->state.index, 5);
}
