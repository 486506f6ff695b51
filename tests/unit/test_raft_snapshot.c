/* SPDX-License-Identifier: BSD-2-Clause */
/* Snapshots in lib/raft/: chapter 5 of the thesis. */
#include "tests/lib/raft_case.h"

TestSuite(raft_snapshot, .init = case_begin, .fini = case_done, .timeout = 60);

/* Three servers of which 3 was away so long that it needs a snapshot. */
static void one_behind(void)
{
	case_led(3, "1 2 3");
	raft_net_isolate(net, 3);
	for (int i = 0; i < 5; i++)
		case_commits(1);
	cr_assert(raft_host_compact(net->hosts[1]));
	cr_assert(raft_host_compact(net->hosts[2]));
	case_commits(1);
}

static void expect_equal(void)
{
	cr_assert(raft_net_equal(net));
	cr_assert_eq(case_status(3).commit, case_status(1).commit);
	cr_assert(case_commits(1));
}

Test(raft_snapshot, who_is_behind_the_first_entry_gets_one)
{
	one_behind();
	raft_net_heal(net);
	raft_net_run(net, 10);
	cr_assert_eq(net->hosts[3]->disk.snapshot.index, 6);
	cr_assert_eq(net->hosts[3]->disk.log.first, 7);
	cr_assert_eq(net->hosts[3]->state.n, 6);
	expect_equal();
}

Test(raft_snapshot, one_that_is_not_at_hand_comes_later)
{
	one_behind();
	net->hosts[1]->no_snapshot = true;
	raft_net_heal(net);
	raft_net_run(net, 3 * CASE_LONG);
	cr_assert(case_leads(1));
	cr_assert_eq(case_status(3).commit, 1);
	net->hosts[1]->no_snapshot = false;
	raft_net_run(net, 3 * CASE_LONG);
	expect_equal();
}

static bool lose_snapshots(struct raft_net *n, const struct raft_message *m)
{
	(void)n;
	return m->type == RAFT_SNAPSHOT;
}

Test(raft_snapshot, one_that_was_lost_is_sent_again)
{
	for (int tell = 0; tell < 2; tell++) {
		one_behind();
		net->lose = lose_snapshots;
		raft_net_heal(net);
		raft_net_run(net, 6);
		if (tell)
			raft_host_unreachable(net->hosts[1], 3);
		net->lose = NULL;
		raft_net_run(net, 5 * CASE_LONG);
		expect_equal();
	}
}

/* A leader that compacts on while the follower is busy with an older one. */
Test(raft_snapshot, a_newer_one_may_have_to_follow)
{
	struct raft_host *h;

	one_behind();
	h = net->hosts[3];
	h->at_once = false;
	raft_net_heal(net);
	raft_net_run(net, 10);
	cr_assert(h->installing);
	for (int i = 0; i < 5; i++) {
		case_commits(1);
		cr_assert(raft_host_compact(net->hosts[1]));
	}
	raft_host_install(h, true);
	raft_net_look(net, h);
	for (int i = 0; i < 5 * CASE_LONG; i++) {
		raft_net_tick(net);
		raft_host_install(h, true);
	}
	expect_equal();
}

Test(raft_snapshot, the_leader_says_that_one_is_being_sent)
{
	struct raft_progress p;

	one_behind();
	net->hosts[3]->at_once = false;
	raft_net_heal(net);
	raft_net_run(net, 6);
	cr_assert(raft_progress(net->hosts[1]->raft, 3, &p));
	cr_assert(p.snapshot);
	raft_host_install(net->hosts[3], true);
	raft_net_run(net, 6);
	cr_assert(raft_progress(net->hosts[1]->raft, 3, &p));
	cr_assert(!p.snapshot);
	cr_assert_eq(p.match, case_status(1).last);
}

/* --- putting it in place --- */

static struct raft_message snapshot(uint64_t from, uint64_t term,
				    uint64_t index, uint64_t log_term,
				    const char *members)
{
	static struct raft_snapshot s;
	static uint64_t data[2] = {4711, 42};

	s = (struct raft_snapshot){.index = index,
				   .term = log_term,
				   .members = raft_disk_members(members),
				   .data = data,
				   .len = sizeof(data)};
	case_judged = false; /* nobody was in that state */
	return (struct raft_message){.type = RAFT_SNAPSHOT,
				     .from = from,
				     .term = term,
				     .snapshot = &s};
}

Test(raft_snapshot, state_log_and_members_are_those_of_the_snapshot)
{
	struct raft_host *h = case_alone("11", 1, 0);

	case_step(1, snapshot(2, 3, 9, 2, "1 2 3 4+5"));
	cr_assert_eq(h->state.index, 9);
	cr_assert_eq(h->state.hash, 4711);
	cr_assert_eq(h->disk.log.first, 10);
	cr_assert_eq(h->disk.log.n, 0);
	cr_assert_eq(case_status(1).commit, 9);
	cr_assert_eq(case_status(1).last, 9);
	cr_assert_str_eq(case_members(1), "1 2 3 4+5");
	cr_assert_eq(case_sent(RAFT_APPENDED, 2)->index, 9);
	cr_assert(!case_sent(RAFT_APPENDED, 2)->reject);
	raft_host_crash(h, 0, 0, false);
	raft_net_start(net, 1);
	cr_assert_str_eq(case_members(1), "1 2 3 4+5");
	cr_assert_eq(case_status(1).last, 9);
}

/* ... and not those of entries that it takes the place of. */
Test(raft_snapshot, members_of_entries_that_are_gone_are_gone)
{
	struct raft_members other = raft_disk_members("1 2 3 7 8");
	size_t len;
	auto_free char *data = raft_members_encode(&other, &len);

	case_make(3, "1 2 3");
	case_log(1, "11");
	raft_host_put(net->hosts[1], 1, RAFT_ENTRY_MEMBERS, data, len);
	net->paused = true;
	raft_net_start(net, 1);
	cr_assert_str_eq(case_members(1), "1 2 3 7 8");
	case_step(1, snapshot(2, 3, 9, 2, "1 2 3 4"));
	cr_assert_str_eq(case_members(1), "1 2 3 4");
	/* Not even when what follows is overwritten. */
	case_step(1, case_append(2, 3, 9, 2, "33", 9));
	case_step(1, case_append(2, 4, 9, 2, "4", 9));
	cr_assert_str_eq(case_members(1), "1 2 3 4");
	cr_assert(!case_status(1).changing);
}

/* It is not said before it is in place; entries wait as well. */
Test(raft_snapshot, nothing_is_said_before_it_is_in_place)
{
	struct raft_host *h = case_alone("11", 1, 0);

	h->at_once = false;
	case_step(1, snapshot(2, 3, 9, 2, "1 2 3"));
	raft_host_sync(h, SIZE_MAX);
	cr_assert(h->installing);
	cr_assert_eq(case_count(RAFT_APPENDED, 0), 0);
	/* Messages go on, of all kinds. */
	case_step(1, (struct raft_message){.type = RAFT_HEARTBEAT,
					   .from = 2,
					   .term = 3,
					   .commit = 9,
					   .round = 4});
	case_step(1, snapshot(2, 3, 9, 2, "1 2 3"));
	case_step(1, snapshot(2, 3, 12, 2, "1 2 3"));
	case_step(1, (struct raft_message){.type = RAFT_APPEND,
					   .from = 2,
					   .term = 3,
					   .index = 9,
					   .log_term = 2,
					   .commit = 9});
	for (int t = 0; t < 3; t++)
		raft_host_tick(h);
	raft_host_sync(h, SIZE_MAX);
	for (const struct raft_letter *l = *case_mail(); l != NULL; l = l->next)
		cr_assert(l->m.type != RAFT_APPENDED || l->m.reject ||
			  l->m.index < 9);
	raft_host_install(h, true);
	raft_host_sync(h, SIZE_MAX);
	cr_assert_geq(h->state.index, 9);
	cr_assert_not_null(case_sent(RAFT_APPENDED, 2));
}

Test(raft_snapshot, one_that_fails_changes_nothing_and_comes_again)
{
	struct raft_host *h;

	one_behind();
	h = net->hosts[3];
	h->at_once = false;
	raft_net_heal(net);
	for (int i = 0; i < 3; i++) {
		for (int t = 0; t < 5 * CASE_LONG && !h->installing; t++)
			raft_net_tick(net);
		cr_assert(h->installing, "time %d", i);
		raft_host_install(h, false);
		raft_net_look(net, h);
		cr_assert_eq(h->state.index, 1);
		cr_assert_leq(case_status(3).commit, 1);
		cr_assert_eq(case_status(3).last, 1);
		cr_assert_str_eq(case_members(3), "1 2 3");
	}
	h->at_once = true;
	raft_net_run(net, 5 * CASE_LONG);
	expect_equal();
}

Test(raft_snapshot, a_crash_in_the_middle_leaves_the_old_or_the_new)
{
	for (int installed = 0; installed < 2; installed++) {
		struct raft_host *h;

		one_behind();
		h = net->hosts[3];
		h->at_once = false;
		raft_net_heal(net);
		for (int t = 0; t < 5 * CASE_LONG && !h->installing; t++)
			raft_net_tick(net);
		cr_assert(h->installing);
		raft_host_crash(h, SIZE_MAX, 0, installed);
		h->at_once = true;
		raft_net_start(net, 3);
		cr_assert_eq(case_status(3).last, installed ? 6 : 1);
		raft_net_run(net, 5 * CASE_LONG);
		expect_equal();
	}
}

/* --- those that are of no use --- */

Test(raft_snapshot, an_old_one_is_ignored)
{
	struct raft_host *h = case_alone("1111", 1, 0);
	const struct raft_message *m;

	case_step(1, (struct raft_message){.type = RAFT_APPEND,
					   .from = 2,
					   .term = 1,
					   .index = 4,
					   .log_term = 1,
					   .commit = 3});
	cr_assert_eq(h->state.index, 3);
	for (uint64_t index = 0; index <= 3; index++) {
		case_clear();
		case_step(1, snapshot(2, 1, index, index > 0, "1 2 3 9"));
		cr_assert_str_eq(case_terms(1), "1111");
		cr_assert_eq(h->state.index, 3);
		cr_assert_neq(h->state.hash, 4711);
		cr_assert_str_eq(case_members(1), "1 2 3");
		/* The leader hears where to go on. */
		m = case_sent(RAFT_APPENDED, 2);
		cr_assert(m == NULL || m->reject || m->index <= 4);
	}
	/* And of a term that is over. */
	case_hard(1, 1, 0);
	case_step(1, snapshot(3, 0, 99, 1, "1 2 3"));
	cr_assert_eq(h->state.index, 3);
}

/* Section 5.3 (7 in the paper): entries behind it that are there stay, as they
 * may have been acknowledged. */
Test(raft_snapshot, entries_behind_it_that_fit_stay)
{
	struct raft_host *h = case_alone("1111", 1, 0);

	case_step(1, snapshot(2, 1, 2, 1, "1 2 3"));
	cr_assert_eq(case_status(1).last, 4);
	cr_assert_eq(case_status(1).commit, 2);
	cr_assert_eq(raft_disk_last(&h->disk.log), 4);
}

Test(raft_snapshot, entries_of_another_history_go)
{
	struct raft_host *h = case_alone("1122", 2, 0);

	case_step(1, snapshot(2, 3, 4, 3, "1 2 3"));
	cr_assert_eq(h->state.hash, 4711);
	cr_assert_eq(case_status(1).last, 4);
	cr_assert_eq(h->disk.log.n, 0);
	h = case_alone("112222", 2, 0);
	case_step(1, snapshot(2, 3, 4, 3, "1 2 3"));
	cr_assert_eq(h->state.hash, 4711);
	cr_assert_eq(case_status(1).last, 4);
}

Test(raft_snapshot, what_makes_no_sense_is_ignored)
{
	static const struct {
		uint64_t index, log_term;
		const char *members;
	} rows[] = {
		{0, 0, "1 2 3"},
		{9, 0, "1 2 3"},
		{9, 8, "1 2 3"},
		{9, 2, ""},
	};
	struct raft_message m;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct raft_host *h = case_alone("11", 1, 0);

		case_step(1, snapshot(2, 3, rows[i].index, rows[i].log_term,
				      rows[i].members));
		cr_assert_neq(h->state.hash, 4711, "row %zu", i);
		cr_assert_eq(case_status(1).last, 2, "row %zu", i);
	}
	case_alone("11", 1, 0);
	m = snapshot(2, 3, 9, 2, "1 2 3");
	m.snapshot = NULL;
	case_step(1, m);
	cr_assert_eq(case_status(1).last, 2);
}

/* --- members and snapshots --- */

/* Its addition is behind the snapshot: it must take one that does not have it.
 */
Test(raft_snapshot, a_new_server_takes_one_that_does_not_know_it)
{
	static const char *const wanted[] = {"1 2", "1+2", "1 2 3", "2"};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		case_led(3, "1");
		for (int k = 0; k < 5; k++)
			case_commits(1);
		cr_assert(raft_host_compact(net->hosts[1]));
		cr_assert_eq(case_change(1, wanted[i]), RAFT_OK);
		raft_net_run(net, 5 * CASE_LONG);
		cr_assert_eq(net->hosts[2]->disk.snapshot.index, 6, "row %zu",
			     i);
		cr_assert_str_eq(case_members(2), wanted[i]);
		cr_assert_not_null(raft_net_leader(net));
		cr_assert(
			!case_status(raft_net_leader(net)->config.id).changing);
		cr_assert(raft_net_equal(net));
	}
}

Test(raft_snapshot, one_may_be_taken_while_members_are_joint)
{
	case_led(5, "1 2 3");
	raft_net_part(net, 1, 4);
	raft_net_cut(net, 5, 1);
	cr_assert_eq(case_change(1, "1 4 5"), RAFT_OK);
	/* 4 and 5 answer just once. */
	raft_net_heal(net);
	net->paused = true;
	raft_net_run(net, 2);
	case_deliver();
	for (uint64_t id = 1; id <= 5; id++) {
		raft_host_compact(net->hosts[id]);
		raft_net_crash(net, id);
		raft_net_start(net, id);
	}
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert_not_null(raft_net_leader(net));
	raft_net_run(net, 10 * CASE_LONG);
	cr_assert_str_eq(case_members(4), "1 4 5");
}

Test(raft_snapshot, a_restart_begins_with_one)
{
	case_led(3, "1 2 3");
	for (int i = 0; i < 4; i++) {
		case_commits(1);
		raft_host_compact(net->hosts[1]);
		case_commits(1);
		raft_net_crash(net, 1);
		raft_net_start(net, 1);
		cr_assert_geq(net->hosts[1]->state.index,
			      net->hosts[1]->disk.snapshot.index);
		raft_net_run(net, 5);
		for (int t = 0; t < 10 && !case_leads(1); t++) {
			raft_net_run(net, CASE_ELECTION);
			raft_net_elect(net, 1);
		}
		raft_net_run(net, 5);
		cr_assert(raft_net_equal(net));
	}
}

/* Compaction while messages with what is gone are under way. */
Test(raft_snapshot, a_log_may_be_compacted_at_any_time)
{
	case_led(3, "1 2 3");
	for (int i = 0; i < 50; i++) {
		net->paused = true;
		raft_net_propose(net, 1, 8);
		if (i % 3 == 0)
			raft_net_part(net, 1, 3);
		case_deliver();
		for (uint64_t id = 1; id <= 3; id++)
			raft_host_compact(net->hosts[id]);
		if (i % 3 == 2)
			raft_net_heal(net);
		raft_net_tick(net);
	}
	raft_net_heal(net);
	raft_net_run(net, 3 * CASE_LONG);
	cr_assert_eq(net->n_acknowledged, 50);
	expect_equal();
}
