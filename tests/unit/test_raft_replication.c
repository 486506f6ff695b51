/* SPDX-License-Identifier: BSD-2-Clause */
/* Replication in lib/raft/: sections 3.5 and 3.6.2 of the thesis, what figure
 * 3.1 says about AppendEntries and leaders, and writes that are under way while
 * other things happen. */
#include "tests/lib/raft_case.h"

TestSuite(raft_replication, .init = case_begin, .fini = case_done,
	  .timeout = 60);

/* --- the receiver of AppendEntries, figure 3.1 --- */

static const struct append_row {
	const char *log;
	uint64_t term; /* of the follower */
	uint64_t from_term, index, log_term;
	const char *terms;
	uint64_t commit;
	/* Then: */
	const char *after;
	bool ok;
	uint64_t acknowledged, committed;
} append_rows[] = {
	/* Nothing there, from the beginning. */
	{"", 0, 1, 0, 0, "1", 0, "1", true, 1, 0},
	{"", 0, 1, 0, 0, "111", 2, "111", true, 3, 2},
	{"", 0, 3, 0, 0, "123", 3, "123", true, 3, 3},
	{"", 0, 1, 0, 0, "", 0, "", true, 0, 0},
	/* Behind what is there. */
	{"11", 1, 1, 2, 1, "1", 0, "111", true, 3, 0},
	{"11", 1, 2, 2, 1, "2", 3, "112", true, 3, 3},
	/* 2: the entry before is not there, or of another term. */
	{"11", 1, 2, 3, 1, "2", 3, "11", false, 0, 0},
	{"11", 1, 2, 2, 2, "2", 3, "11", false, 0, 0},
	{"", 0, 2, 5, 1, "2", 0, "", false, 0, 0},
	/* 3: entries that contradict, and all behind them, go. */
	{"1111", 1, 2, 2, 1, "2", 0, "112", true, 3, 0},
	{"1122", 2, 3, 1, 1, "33", 0, "133", true, 3, 0},
	{"1112", 2, 3, 0, 0, "3", 0, "3", true, 1, 0},
	/* ... and others stay: an old append that comes late. */
	{"1111", 1, 1, 1, 1, "1", 0, "1111", true, 2, 0},
	{"1111", 1, 1, 0, 0, "11", 0, "1111", true, 2, 0},
	{"1122", 2, 2, 1, 1, "12", 0, "1122", true, 3, 0},
	/* A part is there, the rest is new. */
	{"112", 2, 2, 1, 1, "1222", 0, "11222", true, 5, 0},
	/* 5: committed up to what the message shows, not to what is there. */
	{"1111", 1, 2, 2, 1, "", 4, "1111", true, 2, 2},
	{"1111", 1, 2, 1, 1, "1", 4, "1111", true, 2, 2},
	{"1111", 1, 1, 4, 1, "", 2, "1111", true, 4, 2},
	{"11", 1, 1, 2, 1, "1", 9, "111", true, 3, 3},
	/* 1: a term that is over. */
	{"11", 3, 2, 2, 1, "2", 3, "11", false, 0, 0},
};

Test(raft_replication, a_follower_does_as_figure_3_1_says)
{
	for (size_t i = 0; i < ARRAY_SIZE(append_rows); i++) {
		const struct append_row *r = &append_rows[i];
		const struct raft_message *m;

		case_alone(r->log, r->term, 0);
		case_step(1, case_append(2, r->from_term, r->index, r->log_term,
					 r->terms, r->commit));
		cr_assert_str_eq(case_terms(1), r->after, "row %zu: %s", i,
				 case_terms(1));
		cr_assert_eq(case_status(1).commit, r->committed, "row %zu", i);
		cr_assert_eq(case_status(1).term,
			     r->from_term > r->term ? r->from_term : r->term);
		m = case_sent(RAFT_APPENDED, 2);
		if (r->ok) {
			cr_assert_not_null(m, "row %zu", i);
			cr_assert(!m->reject, "row %zu", i);
			cr_assert_eq(m->index, r->acknowledged, "row %zu", i);
		} else {
			cr_assert(m == NULL || m->reject, "row %zu", i);
		}
		if (r->from_term >= r->term)
			cr_assert_eq(case_status(1).leader, 2, "row %zu", i);
	}
}

/* What is committed is never given up, whoever wants it. */
Test(raft_replication, what_is_committed_stays)
{
	case_alone("1111", 1, 0);
	case_step(1, case_append(2, 1, 4, 1, "", 3));
	cr_assert_eq(case_status(1).commit, 3);
	case_judged = false;
	case_step(1, case_append(3, 2, 1, 1, "222", 0));
	cr_assert_eq(case_status(1).commit, 3);
	cr_assert_eq(strncmp(case_terms(1), "111", 3), 0);
}

Test(raft_replication, an_answer_waits_for_the_disk)
{
	struct raft_host *h = case_alone("1", 1, 0);

	h->at_once = false;
	case_step(1, case_append(2, 2, 1, 1, "22", 1));
	case_step(1, case_append(2, 2, 3, 2, "2", 1));
	cr_assert_eq(case_count(RAFT_APPENDED, 0), 0);
	raft_host_sync(h, 1);
	cr_assert_eq(case_count(RAFT_APPENDED, 2), 1);
	cr_assert_eq(case_sent(RAFT_APPENDED, 2)->index, 3);
	/* The second is not said by the first one's write. */
	raft_host_sync(h, 1);
	cr_assert_eq(case_sent(RAFT_APPENDED, 2)->index, 4);
}

/* --- the rules for leaders --- */

/* Figure 3.6: followers (a) to (f) of the leader of term 8. */
Test(raft_replication, all_logs_of_figure_3_6_become_the_leaders)
{
	static const char *const logs[] = {
		"1114455666",	"111445566", "1114",	    "11144556666",
		"111445566677", "1114444",   "11122233333",
	};

	for (unsigned bytes = 0; bytes < 4; bytes++) {
		case_make(7, "1 2 3 4 5 6 7");
		for (uint64_t id = 1; id <= 7; id++) {
			case_log(id, logs[id - 1]);
			case_hard(id, 7, 0);
			net->hosts[id]->config.max_message_bytes = bytes;
		}
		raft_net_start_all(net);
		cr_assert(raft_net_elect(net, 1));
		raft_net_run(net, 30);
		cr_assert(case_leads(1));
		for (uint64_t id = 1; id <= 7; id++) {
			cr_assert_str_eq(case_terms(id), "11144556668",
					 "%" PRIu64 ": %s", id, case_terms(id));
			cr_assert_eq(case_status(id).commit, 11);
		}
	}
}

/* It is of its own term, so that those before can be committed (6.4). */
Test(raft_replication, a_new_leader_appends_an_empty_entry)
{
	case_make(3, "1 2 3");
	case_log(1, "11");
	raft_net_start_all(net);
	raft_net_elect(net, 1);
	raft_net_run(net, 3);
	cr_assert_str_eq(case_terms(3), "112");
	cr_assert_eq(raft_disk_at(&net->hosts[3]->seen.log, 3)->len, 0);
	cr_assert_eq(raft_disk_at(&net->hosts[3]->seen.log, 3)->type,
		     RAFT_ENTRY_DATA);
}

/* Lose what carries an entry of this term and would be taken. */
static bool lose_term(struct raft_net *n, const struct raft_message *m)
{
	const struct raft_entry *before =
		raft_disk_at(&n->hosts[m->to]->seen.log, m->index);

	if (before == NULL || before->term != m->log_term)
		return false;
	for (size_t i = 0; i < m->n_entries; i++)
		if (m->entries[i].term == *(uint64_t *)n->arg)
			return true;
	return false;
}

/* 3.6.2 and figure 3.7: a majority has the entry of term 2, and yet it may be
 * overwritten until one of term 4 is committed. */
Test(raft_replication, an_old_entry_is_not_committed_by_counting)
{
	uint64_t own = 4;

	case_make(5, "1 2 3 4 5");
	case_log(1, "12");
	case_log(2, "12");
	case_log(3, "1");
	case_log(4, "1");
	case_log(5, "13");
	for (uint64_t id = 1; id <= 5; id++) {
		case_hard(id, 3, 0);
		net->hosts[id]->config.max_message_bytes = 1;
	}
	for (uint64_t id = 1; id <= 4; id++)
		raft_net_start(net, id);
	net->lose = lose_term;
	net->arg = &own;
	cr_assert(raft_net_elect(net, 1));
	raft_net_run(net, 8);
	cr_assert_str_eq(case_terms(3), "12");
	cr_assert_str_eq(case_terms(4), "12");
	for (uint64_t id = 1; id <= 4; id++)
		cr_assert_eq(case_status(id).commit, 0);
	cr_assert(!case_status(1).ready);
	/* Figure 3.7 (d): the fifth may still win and overwrite it. */
	raft_net_crash(net, 1);
	raft_net_start(net, 5);
	net->lose = NULL;
	for (uint64_t id = 2; id <= 4; id++) {
		raft_net_crash(net, id);
		raft_net_start(net, id);
	}
	raft_net_elect(net, 5); /* it hears that there was a term 4 */
	cr_assert(raft_net_elect(net, 5));
	raft_net_run(net, 8);
	cr_assert_str_eq(case_terms(2), "135");
	cr_assert_eq(case_status(2).commit, 3);
}

/* Figure 3.7 (e): with an own one behind it both are committed. */
Test(raft_replication, an_old_entry_is_committed_with_an_own_one)
{
	case_make(3, "1 2 3");
	case_log(1, "12");
	case_log(2, "1");
	raft_net_start_all(net);
	raft_net_elect(net, 1);
	raft_net_run(net, 5);
	cr_assert(case_status(1).ready);
	cr_assert_eq(case_status(1).commit, 3);
	cr_assert_str_eq(case_terms(2), "123");
}

static bool lose_appends(struct raft_net *n, const struct raft_message *m)
{
	(void)n;
	return m->type == RAFT_APPEND;
}

/* Any index in a batch that a majority has. */
Test(raft_replication, a_part_of_a_batch_is_committed)
{
	case_led(3, "1 2 3");
	net->lose = lose_appends;
	for (int i = 0; i < 5; i++)
		raft_net_propose(net, 1, 8);
	raft_net_settle(net);
	cr_assert_eq(case_status(1).commit, 1);
	case_step(1, (struct raft_message){.type = RAFT_APPENDED,
					   .from = 2,
					   .term = 1,
					   .index = 4});
	case_judged = false; /* 2 does not have it */
	cr_assert_eq(case_status(1).commit, 4);
	cr_assert_eq(net->hosts[1]->state.index, 4);
}

/* 10.2.1: its own disk and the others' work side by side. */
Test(raft_replication, a_leader_sends_before_it_has_written)
{
	struct raft_host *h;

	case_led(3, "1 2 3");
	h = net->hosts[1];
	h->at_once = false;
	net->disk_delay = 1000;
	net->paused = true;
	raft_net_propose(net, 1, 8);
	cr_assert_eq(raft_host_queued(h), 1);
	cr_assert_gt(case_count(RAFT_APPEND, 2), 0);
	cr_assert_gt(case_count(RAFT_APPEND, 3), 0);
	/* The two others are a majority without it. */
	case_deliver();
	cr_assert_eq(raft_host_queued(h), 1);
	cr_assert_eq(case_status(1).commit, 2);
}

Test(raft_replication, a_leader_does_not_count_what_it_has_not_written)
{
	struct raft_host *h;

	case_led(3, "1 2 3");
	h = net->hosts[1];
	raft_net_isolate(net, 3);
	h->at_once = false;
	net->disk_delay = 1000;
	raft_net_propose(net, 1, 8);
	raft_net_settle(net);
	cr_assert_str_eq(case_terms(2), "11");
	cr_assert_eq(case_status(1).commit, 1);
	raft_host_sync(h, 1);
	cr_assert_eq(case_status(1).commit, 2);
}

Test(raft_replication, a_sole_voter_commits_when_it_has_written)
{
	struct raft_host *h;

	case_led(1, "1");
	h = net->hosts[1];
	h->at_once = false;
	net->disk_delay = 1000;
	raft_net_propose(net, 1, 8);
	cr_assert_eq(case_status(1).commit, 1);
	raft_host_sync(h, 1);
	cr_assert_eq(case_status(1).commit, 2);
	cr_assert_eq(net->n_acknowledged, 1);
}

/* A majority of each size, and not one less. */
Test(raft_replication, a_majority_commits)
{
	static const char *const members[] = {"1", "1 2", "1 2 3", "1 2 3 4",
					      "1 2 3 4 5"};

	for (size_t n = 1; n <= 5; n++)
		for (size_t up = 1; up <= n; up++) {
			case_led(n, members[n - 1]);
			for (uint64_t id = up + 1; id <= n; id++)
				raft_net_isolate(net, id);
			cr_assert_eq(case_commits(1), up > n / 2, "%zu of %zu",
				     up, n);
		}
}

Test(raft_replication, only_a_leader_takes_proposals)
{
	uint64_t index = 77;

	case_led(3, "1 2 3");
	cr_assert_eq(raft_host_say(net->hosts[2], "x", &index, NULL),
		     RAFT_NOT_LEADER);
	cr_assert_eq(index, 77);
	cr_assert_str_eq(case_terms(2), "1");
}

Test(raft_replication, a_proposal_is_told_where_it_is)
{
	uint64_t index, term;

	case_led(3, "1 2 3");
	cr_assert_eq(raft_host_say(net->hosts[1], "x", &index, &term), RAFT_OK);
	cr_assert_eq(index, 2);
	cr_assert_eq(term, 1);
	cr_assert_eq(raft_host_say(net->hosts[1], "y", NULL, NULL), RAFT_OK);
	raft_net_run(net, 3);
	cr_assert_eq(
		memcmp(raft_disk_at(&net->hosts[3]->applied, 2)->data, "x", 1),
		0);
	cr_assert_eq(
		memcmp(raft_disk_at(&net->hosts[3]->applied, 3)->data, "y", 1),
		0);
}

Test(raft_replication, too_much_that_is_not_committed_is_refused)
{
	case_make(3, "1 2 3");
	net->hosts[1]->config.max_uncommitted_bytes = 100;
	raft_net_start_all(net);
	raft_net_elect(net, 1);
	raft_net_isolate(net, 1);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(raft_net_propose(net, 1, 20), RAFT_OK);
	cr_assert_eq(raft_net_propose(net, 1, 20), RAFT_FULL);
	raft_net_heal(net);
	raft_net_run(net, 5);
	cr_assert_eq(raft_net_propose(net, 1, 20), RAFT_OK);
}

/* --- writes that are under way --- */

/* The entry of a leader is overwritten by the next one before its write was
 * reported; the reports come in order, and each says only its own. */
Test(raft_replication, an_entry_that_was_overwritten_is_not_acknowledged)
{
	struct raft_host *h = case_alone("1", 1, 0);

	for (int shows = 0; shows < 2; shows++) {
		h = case_alone("1", 1, 0);
		h->at_once = false;
		h->shows_queued = shows;
		case_step(1, case_append(2, 2, 1, 1, "222", 1));
		case_step(1, case_append(3, 3, 1, 1, "3", 1));
		raft_host_sync(h, 1);
		cr_assert_str_eq(case_terms(1), "13");
		cr_assert_eq(case_status(1).last, 2);
		cr_assert_eq(case_count(RAFT_APPENDED, 3), 0);
		raft_host_sync(h, 1);
		cr_assert_eq(case_sent(RAFT_APPENDED, 3)->index, 2);
	}
}

/* And back again: the first write has the right entry, the second takes it
 * away, the third is not yet there. */
Test(raft_replication, an_entry_comes_back_while_it_is_overwritten)
{
	for (int shows = 0; shows < 2; shows++) {
		struct raft_host *h;

		case_make(7, "1 2 3 4 5 6 7");
		case_log(1, "1");
		net->paused = true;
		raft_net_start(net, 1);
		h = net->hosts[1];
		h->at_once = false;
		h->shows_queued = shows;
		case_step(1, case_append(2, 2, 1, 1, "222", 1));
		case_step(1, case_append(3, 3, 1, 1, "333", 1));
		case_step(1, (struct raft_message){.type = RAFT_HEARTBEAT,
						   .from = 4,
						   .term = 4});
		case_step(1, case_append(4, 4, 1, 1, "2224", 4));
		for (size_t n = raft_host_queued(h); n > 1; n--) {
			raft_host_sync(h, 1);
			cr_assert_eq(case_status(1).last, 5);
			cr_assert_eq(case_count(RAFT_APPENDED, 4), 0);
		}
		raft_host_sync(h, 1);
		cr_assert_eq(case_sent(RAFT_APPENDED, 4)->index, 5);
		cr_assert_str_eq(case_terms(1), "12224");
		cr_assert_eq(case_status(1).commit, 4);
		cr_assert_eq(h->state.index, 4);
	}
}

/* Who leads while its own writes of an earlier time are under way. */
Test(raft_replication, a_leader_sends_what_its_disk_does_not_have)
{
	struct raft_host *h;

	case_led(3, "1 2 3");
	h = net->hosts[1];
	h->at_once = h->shows_queued = false;
	net->disk_delay = 1000;
	for (int i = 0; i < 10; i++)
		raft_net_propose(net, 1, 8);
	raft_net_run(net, 5);
	cr_assert_eq(case_status(2).commit, 11);
	cr_assert_eq(case_status(1).commit, 11);
	cr_assert_eq(raft_disk_last(&h->disk.log), 1);
	raft_host_sync(h, SIZE_MAX);
	cr_assert_eq(raft_disk_last(&h->disk.log), 11);
	cr_assert_eq(h->state.index, 11);
}

Test(raft_replication, a_crash_with_writes_under_way_loses_nothing)
{
	case_led(3, "1 2 3");
	for (uint64_t id = 1; id <= 3; id++)
		net->hosts[id]->at_once = false;
	net->disk_delay = 3;
	for (int i = 0; i < 30; i++) {
		uint64_t id = 1 + (uint64_t)i % 3;
		struct raft_host *leader = raft_net_leader(net);

		if (leader != NULL)
			raft_net_propose(net, leader->config.id, 8);
		raft_net_run(net, 2);
		raft_net_crash(net, id);
		raft_net_run(net, 5);
		raft_net_start(net, id);
		raft_net_run(net, 3 * CASE_LONG);
	}
	cr_assert(raft_net_equal(net));
	cr_assert_gt(net->n_acknowledged, 10);
}

/* --- messages of terms that are over --- */

Test(raft_replication, an_old_leader_hears_that_it_is_none)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 1);
	raft_net_propose(net, 1, 8);
	for (uint64_t id = 2; id <= 3; id++)
		for (int t = 0; t < CASE_ELECTION; t++)
			raft_host_tick(net->hosts[id]);
	raft_net_settle(net);
	if (!case_leads(2) && !case_leads(3))
		cr_assert(raft_net_elect(net, 2));
	raft_net_run(net, 1);
	cr_assert(case_leads(1), "it does not know yet");
	raft_net_heal(net);
	raft_net_run(net, 4);
	cr_assert(!case_leads(1));
	cr_assert_eq(case_status(1).term, 2);
	raft_net_run(net, 4);
	cr_assert_str_eq(case_terms(1), "12");
	cr_assert_eq(net->n_acknowledged, 0);
}

Test(raft_replication, a_message_of_an_old_term_changes_nothing)
{
	static const enum raft_message_type types[] = {
		RAFT_APPEND,	  RAFT_APPENDED, RAFT_HEARTBEAT,
		RAFT_HEARTBEATEN, RAFT_ASK_VOTE, RAFT_VOTE,
		RAFT_ELECT_NOW,	  RAFT_READ,	 RAFT_READ_AT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct raft_status status;

		case_alone("113", 3, 2);
		case_step(1, case_append(2, 3, 3, 3, "", 1));
		case_step(1, (struct raft_message){.type = types[i],
						   .from = 3,
						   .term = 2,
						   .index = 3,
						   .log_term = 3,
						   .commit = 3,
						   .round = 1});
		status = case_status(1);
		cr_assert_eq(status.term, 3, "type %zu", i);
		cr_assert_eq(status.commit, 1, "type %zu", i);
		cr_assert_eq(status.leader, 2, "type %zu", i);
		cr_assert_eq(status.role, RAFT_FOLLOWER, "type %zu", i);
	}
}

/* --- several messages before one look at what is to be done --- */

/* Entries that a newer leader replaces before they were handed out to be
 * written never get to the disk, so nobody may hear that they are here. */
Test(raft_replication, what_was_replaced_at_once_is_not_acknowledged)
{
	struct raft_host *h = case_alone("1", 1, 0);

	h->lazy = 100;
	case_step(1, case_append(2, 2, 1, 1, "22", 0));
	case_step(1, case_append(3, 3, 1, 1, "3", 0));
	h->lazy = 0;
	case_step(1, (struct raft_message){
			     .type = RAFT_HEARTBEAT, .from = 3, .term = 3});
	cr_assert_eq(case_count(RAFT_APPENDED, 2), 0);
	cr_assert_eq(case_count(RAFT_APPENDED, 3), 1);
	cr_assert_eq(case_sent(RAFT_APPENDED, 3)->index, 2);
	cr_assert_str_eq(case_terms(1), "13");
}
