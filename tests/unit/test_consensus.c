/* SPDX-License-Identifier: BSD-2-Clause */
/* What a server of the log does in situations that are made on purpose; random
 * ones are lived through by tests/sim/log_lives.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/consensus/wire.h"
#include "tests/lib/log_world.h"

static struct log_world w;

static void begin(size_t n, size_t voters, bool elects)
{
	log_world_init(&w, n, voters, 7);
	w.elects = elects;
	for (size_t i = 1; i <= n; i++)
		log_server_start(&w.servers[i]);
	log_world_run(&w, 1000, NULL);
}

static void end(void)
{
	cr_expect_str_eq(w.problem, "");
	log_world_done(&w);
}

static struct consensus_status status(size_t i)
{
	struct consensus_status st;

	consensus_status(w.servers[i].c, &st);
	return st;
}

static bool has_leader(struct log_world *world)
{
	return log_world_leader(world) != NULL;
}

static bool at_rest(struct log_world *world)
{
	return log_world_at_rest(world);
}

static void lead(size_t i)
{
	log_server_lead(&w.servers[i]);
	cr_assert(log_world_run(&w, 10000, has_leader));
	cr_assert_eq(log_world_leader(&w), &w.servers[i]);
}

static void cut_off(size_t i, bool off)
{
	for (size_t k = 1; k <= w.n; k++)
		w.cut[i][k] = w.cut[k][i] = off;
}

Test(consensus, elects_by_itself_if_it_may)
{
	begin(3, 3, true);
	cr_assert(log_world_run(&w, 10000, has_leader));
	log_server_propose(log_world_leader(&w), 10);
	cr_assert(log_world_run(&w, 5000, at_rest));
	cr_expect_eq(w.n_acknowledged, 1);
	end();
}

static bool is_acknowledged(struct log_world *world)
{
	return world->n_acknowledged > 0;
}

/* What a follower has to say comes back with the leader's parcel. */
Test(consensus, a_follower_answers_without_a_parcel_of_its_own)
{
	size_t before;

	begin(3, 3, false);
	w.delay_ms = 1;
	lead(1);
	log_world_run(&w, 2000, NULL);
	before = w.servers[2].n_sent + w.servers[3].n_sent;
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 5000, is_acknowledged));
	cr_expect_eq(w.servers[2].n_sent + w.servers[3].n_sent, before);
	end();
}

struct asking {
	struct consensus_question question;
	size_t n, len;
};

static void on_answered(struct consensus_question *q, const void *data,
			size_t len)
{
	struct asking *a = container_of(q, struct asking, question);

	(void)data;
	a->n++;
	a->len = len;
}

/* Whoever waits for an answer gets none when there is nothing to be said. */
Test(consensus, who_asks_rubbish_is_not_kept_waiting)
{
	struct asking a = {.question.answered = on_answered};

	begin(3, 3, true);
	cr_expect_not(
		consensus_receive(w.servers[1].c, "rubbish", 7, &a.question));
	log_world_run(&w, 2 * CONSENSUS_ANSWER_MS, NULL);
	cr_expect_eq(a.n, 0);
	end();
}

/* Records of a new format wait until the last member can read them. */
Test(consensus, knows_the_oldest_format_of_all_members)
{
	log_world_init(&w, 3, 3, 7);
	w.elects = true;
	for (size_t i = 1; i <= 3; i++)
		w.servers[i].format = i == 3 ? 2 : 3;
	log_server_start(&w.servers[1]);
	log_server_start(&w.servers[2]);
	cr_assert(log_world_run(&w, 10000, has_leader));
	log_world_run(&w, 1000, NULL);
	cr_expect_eq(consensus_format(log_world_leader(&w)->c), 1,
		     "one was never heard");
	log_server_start(&w.servers[3]);
	log_world_run(&w, 2000, NULL);
	cr_expect_eq(consensus_format(log_world_leader(&w)->c), 2);
	end();
}

Test(consensus, elects_nobody_without_the_order)
{
	begin(3, 3, false);
	log_world_run(&w, 60000, NULL);
	cr_expect_null(log_world_leader(&w));
	lead(2);
	/* The leader is gone: still nobody without the order. */
	log_server_kill(&w.servers[2], true);
	log_world_run(&w, 60000, NULL);
	cr_expect_null(log_world_leader(&w));
	lead(3);
	log_server_start(&w.servers[2]);
	log_server_propose(&w.servers[3], 10);
	cr_assert(log_world_run(&w, 10000, at_rest));
	end();
}

Test(consensus, an_order_that_is_taken_back_elects_nobody)
{
	begin(3, 3, false);
	for (size_t i = 2; i <= 3; i++)
		log_server_kill(&w.servers[i], false);
	log_server_lead(&w.servers[1]);
	log_world_run(&w, 30000, NULL);
	consensus_lead_no_more(w.servers[1].c);
	for (size_t i = 2; i <= 3; i++)
		log_server_start(&w.servers[i]);
	log_world_run(&w, 60000, NULL);
	cr_expect_null(log_world_leader(&w));
	lead(1);
	end();
}

/* The others are enough to commit before this one has it on its own disk, and
 * only what is there is applied.  Who waits for it to lead is told by the last
 * change that it tells of. */
Test(consensus, a_leader_with_a_slow_disk_leads_when_it_has_applied_all)
{
	begin(3, 3, false);
	w.servers[1].disk_us = 500000;
	lead(1);
	cr_expect_eq(w.servers[1].behind, 0);
	end();
}

/* The leader that is gone is missed only after an election's time. */
Test(consensus, an_order_counts_though_the_leader_is_not_missed_yet)
{
	begin(3, 3, false);
	lead(2);
	log_world_run(&w, 1000, NULL);
	log_server_kill(&w.servers[2], true);
	cr_assert_neq(status(3).raft.leader, 0);
	log_server_lead(&w.servers[3]);
	cr_assert(log_world_run(&w, 10000, has_leader));
	cr_expect_eq(log_world_leader(&w), &w.servers[3]);
	end();
}

Test(consensus, who_does_not_lead_says_so)
{
	begin(3, 3, false);
	log_server_propose(&w.servers[1], 10);
	cr_expect_eq(w.n_refused, 1);
	lead(2);
	log_world_run(&w, 1000, NULL);
	log_server_propose(&w.servers[1], 10);
	cr_expect_eq(w.n_refused, 2);
	end();
}

Test(consensus, a_change_waits_for_a_majority_and_is_not_lost)
{
	begin(3, 3, false);
	lead(1);
	cut_off(1, true);
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 20000, NULL);
	cr_expect_eq(w.n_acknowledged + w.n_refused, 0);
	cr_expect_eq(status(1).silent.n, 2);
	cr_expect_neq(status(1).raft.role, RAFT_LEADER);
	/* What comes while it does not lead waits as well. */
	log_server_propose(&w.servers[1], 10);
	cut_off(1, false);
	cr_assert(log_world_run(&w, 20000, at_rest));
	cr_expect_eq(w.n_acknowledged, 2);
	end();
}

Test(consensus, what_another_leader_has_not_is_refused)
{
	begin(3, 3, false);
	lead(1);
	cut_off(1, true);
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 5000, NULL);
	lead(2);
	cut_off(1, false);
	cr_assert(log_world_run(&w, 20000, at_rest));
	cr_expect_eq(w.n_refused, 1);
	cr_expect_not(status(1).told);
	end();
}

Test(consensus, who_gives_up_refuses_what_waits_and_takes_part)
{
	begin(3, 3, false);
	lead(1);
	cut_off(1, true);
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 5000, NULL);
	cr_expect_eq(w.n_refused, 0);
	consensus_give_up(w.servers[1].c);
	cr_expect_eq(w.n_refused, 1);
	log_server_propose(&w.servers[1], 10);
	cr_expect_eq(w.n_refused, 2);
	lead(2);
	cut_off(1, false);
	log_server_propose(&w.servers[2], 10);
	cr_assert(log_world_run(&w, 20000, at_rest));
	cr_expect_eq(w.n_acknowledged, 1);
	end();
}

Test(consensus, the_leadership_is_handed_over)
{
	begin(3, 3, false);
	lead(1);
	cr_assert_eq(log_server_transfer(&w.servers[1], 3), RAFT_OK);
	log_world_run(&w, 3000, NULL);
	cr_expect_eq(log_world_leader(&w), &w.servers[3]);
	cr_expect(status(3).told);
	cr_expect_not(status(1).told);
	end();
}

static void change(size_t leader, const uint64_t *voters, size_t n_voters,
		   const uint64_t *learners, size_t n_learners)
{
	struct raft_members m = {0};

	for (size_t i = 0; i < n_voters; i++)
		raft_ids_add(&m.voters, voters[i]);
	for (size_t i = 0; i < n_learners; i++)
		raft_ids_add(&m.learners, learners[i]);
	cr_assert_eq(log_server_change(&w.servers[leader], &m), RAFT_OK);
	cr_assert(log_world_run(&w, 30000, at_rest));
}

Test(consensus, a_new_server_gets_the_state_and_then_the_log)
{
	begin(2, 1, false);
	lead(1);
	for (int i = 0; i < 50; i++)
		log_server_propose(&w.servers[1], 1000);
	cr_assert(log_world_run(&w, 5000, at_rest));
	log_server_keep(&w.servers[1], true);
	log_world_run(&w, 1000, NULL);
	cr_expect_lt(consensus_log_bytes(w.servers[1].c), 1000);
	change(1, (uint64_t[]){1}, 1, (uint64_t[]){2}, 1);
	cr_expect_eq(w.servers[2].state.hash, w.servers[1].state.hash);
	change(1, (uint64_t[]){1, 2}, 2, NULL, 0);
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 5000, at_rest));
	cr_expect_eq(w.servers[2].state.hash, w.servers[1].state.hash);
	end();
}

Test(consensus, one_of_two_goes_on_alone_if_the_other_has_no_vote)
{
	begin(2, 1, false);
	lead(1);
	change(1, (uint64_t[]){1}, 1, (uint64_t[]){2}, 1);
	log_server_kill(&w.servers[2], false);
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 1000, NULL);
	cr_expect_eq(w.n_acknowledged, 1);
	/* Also after it was away itself, though nobody answers it. */
	log_server_kill(&w.servers[1], true);
	log_server_start(&w.servers[1]);
	log_world_run(&w, 10000, NULL);
	lead(1);
	end();
}

static void put_back(size_t i)
{
	log_server_kill(&w.servers[i], false);
	log_server_put_image(&w.servers[i]);
	log_server_start(&w.servers[i]);
	log_world_run(&w, 10000, NULL);
	cr_expect_null(w.servers[i].c);
	cr_expect_str_eq(w.servers[i].died_code, ECODE_FENCED);
}

Test(consensus, an_older_disk_is_told_so)
{
	begin(3, 3, false);
	lead(1);
	log_server_take_image(&w.servers[3]);
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 10000, at_rest));
	put_back(3);
	/* It comes back as another, which is taken in for the old one. */
	log_server_renew(&w.servers[3]);
	log_server_start(&w.servers[3]);
	change(1, (uint64_t[]){1, 2}, 2, (uint64_t[]){w.servers[3].id}, 1);
	change(1, (uint64_t[]){1, 2, w.servers[3].id}, 3, NULL, 0);
	cr_expect_eq(w.servers[3].state.hash, w.servers[1].state.hash);
	end();
}

/* From a time when the others were no members yet, and only the leader has
 * heard of what came since. */
Test(consensus, an_older_disk_of_a_leader_is_told_so)
{
	begin(3, 1, false);
	lead(1);
	log_server_take_image(&w.servers[1]);
	change(1, (uint64_t[]){1}, 1, (uint64_t[]){2, 3}, 2);
	change(1, (uint64_t[]){1, 2, 3}, 3, NULL, 0);
	log_server_take_image(&w.servers[1]);
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 10000, at_rest));
	put_back(1);
	end();
}

Test(consensus, what_others_said_is_known_after_a_restart)
{
	begin(3, 3, false);
	lead(1);
	log_server_take_image(&w.servers[3]);
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 10000, at_rest));
	log_world_run(&w, 10000, NULL); /* it is written now and then */
	for (size_t i = 1; i <= 2; i++) {
		log_server_kill(&w.servers[i], true);
		log_server_start(&w.servers[i]);
	}
	put_back(3);
	end();
}

/* A node that was offline for a while has another number than before. */
Test(consensus, a_former_number_holds_up_nobody_who_starts)
{
	begin(3, 3, false);
	lead(1);
	log_server_kill(&w.servers[3], false);
	change(1, (uint64_t[]){1}, 1, (uint64_t[]){2}, 1);
	log_server_renew(&w.servers[3]);
	log_server_start(&w.servers[3]);
	change(1, (uint64_t[]){1}, 1, (uint64_t[]){2, w.servers[3].id}, 2);
	change(1, (uint64_t[]){1, 2, w.servers[3].id}, 3, NULL, 0);
	log_world_run(&w, 10000, NULL); /* who there is was written down */
	log_server_kill(&w.servers[2], false);
	log_server_start(&w.servers[2]);
	log_world_run(&w, 2000, NULL);
	cr_assert_eq(log_server_transfer(&w.servers[1], 2), RAFT_OK);
	log_world_run(&w, 2000, NULL);
	cr_expect_eq(log_world_leader(&w), &w.servers[2]);
	end();
}

Test(consensus, a_read_sees_what_was_acknowledged)
{
	begin(3, 3, false);
	lead(1);
	for (int i = 0; i < 5; i++) {
		log_server_propose(&w.servers[1], 10);
		log_world_run(&w, 50, NULL);
		log_server_read(&w.servers[2]);
	}
	log_world_run(&w, 5000, NULL);
	cr_expect_eq(w.n_reads, 5);
	/* Without a majority there is no answer. */
	cut_off(1, true);
	log_server_read(&w.servers[1]);
	log_world_run(&w, 10000, NULL);
	cr_expect_eq(w.n_reads, 5);
	end();
}

Test(consensus, a_full_disk_stops_nothing_for_good)
{
	begin(1, 1, false);
	lead(1);
	w.servers[1].disk.full = true;
	for (int i = 0; i < 40; i++) {
		log_server_propose(&w.servers[1], 10000);
		log_world_run(&w, 100, NULL);
	}
	cr_expect(status(1).full);
	cr_expect_lt(w.n_acknowledged, 40);
	w.servers[1].disk.full = false;
	cr_assert(log_world_run(&w, 10000, at_rest));
	cr_expect_eq(w.n_acknowledged, 40);
	cr_expect_not(status(1).full);
	end();
}

Test(consensus, a_disk_that_fails_ends_it)
{
	begin(1, 1, false);
	lead(1);
	w.servers[1].may_die = true;
	w.servers[1].disk.fail_syncs = true;
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 1000, NULL);
	cr_expect_null(w.servers[1].c);
	cr_expect_eq(w.n_acknowledged, 0);
	log_server_start(&w.servers[1]);
	log_world_run(&w, 1000, NULL);
	lead(1);
	end();
}

static const char *const rubbish[] = {"", "x",
				      "................................"
				      "................................"};

Test(consensus, rubbish_is_ignored)
{
	begin(1, 1, false);
	lead(1);
	for (size_t i = 0; i < 3; i++)
		consensus_receive(w.servers[1].c, rubbish[i],
				  strlen(rubbish[i]), NULL);
	log_server_propose(&w.servers[1], 10);
	cr_assert(log_world_run(&w, 5000, at_rest));
	end();
}

/* --- what is kept of others --- */

#define PEERS "/log/peers"

/* One witness less, and nothing else. */
Test(consensus, a_file_of_others_that_cannot_be_read_stops_nobody)
{
	const size_t len = 1024 * 1024 + 1;
	auto_free char *large = xalloc(len + 1);

	memset(large, 'x', len);
	begin(3, 3, false);
	log_server_kill(&w.servers[1], false);
	fake_disk_put(&w.servers[1].disk, PEERS, large);
	log_server_start(&w.servers[1]);
	log_world_run(&w, 1000, NULL);
	cr_assert_not_null(w.servers[1].c);
	lead(1);
	end();
}

static void hear(struct consensus *c, const struct wire_head *head)
{
	auto_buf struct buf b = {0};

	wire_begin(&b, head);
	consensus_receive(c, b.data, b.len, NULL);
}

static size_t peers_bytes(void)
{
	struct disk *disk = &w.servers[1].disk.disk;
	struct error err;
	size_t len = 0;
	auto_free char *text = disk->read(disk, PEERS, SIZE_MAX, &len, &err);

	return text == NULL ? 0 : len;
}

/* Each time that a node comes back it has another number. */
Test(consensus, former_numbers_are_kept_up_to_a_limit)
{
	struct wire_head head = {.from = 1000, .mark = {.term = 1}};
	struct consensus_identity me;
	size_t before, limit;
	struct error err;

	begin(3, 3, false);
	lead(1);
	log_server_propose(&w.servers[1], 10);
	log_world_run(&w, 10000, NULL); /* who there is was written down */
	before = peers_bytes();
	cr_assert_gt(before, 0);
	cr_assert_eq(consensus_identity_read(&w.servers[1].disk.disk, "/log",
					     &me, &err),
		     0);
	head.cluster = me.cluster + 1; /* whoever that is */
	head.to = me.id;
	for (size_t i = 0; i < 3000; i++, head.from++)
		hear(w.servers[1].c, &head);
	head.cluster = me.cluster;
	for (size_t i = 0; i < 3000; i++, head.from++)
		hear(w.servers[1].c, &head);
	log_world_run(&w, 10000, NULL);
	limit = before + (size_t)40 * 1000;
	cr_expect_eq(peers_bytes(), limit);
	/* The same again, of what was read. */
	log_server_kill(&w.servers[1], true);
	log_server_start(&w.servers[1]);
	log_world_run(&w, 1000, NULL);
	hear(w.servers[1].c, &head);
	log_world_run(&w, 10000, NULL);
	cr_expect_eq(peers_bytes(), limit);
	end();
}

/* A server that knew of an image put back, and forgot it, would vote for it. */
Test(consensus, what_others_said_while_the_disk_was_full_is_written_later)
{
	struct wire_head head = {.from = 1000, .mark = {.term = 1}};
	struct consensus_identity me;
	struct error err;
	size_t before;

	begin(3, 3, false);
	lead(1);
	log_world_run(&w, 10000, NULL);
	before = peers_bytes();
	cr_assert_eq(consensus_identity_read(&w.servers[1].disk.disk, "/log",
					     &me, &err),
		     0);
	head.cluster = me.cluster;
	head.to = me.id;
	w.servers[1].disk.full = true;
	hear(w.servers[1].c, &head);
	log_world_run(&w, 10000, NULL);
	cr_assert_eq(peers_bytes(), before);
	w.servers[1].disk.full = false;
	log_world_run(&w, 10000, NULL);
	cr_expect_eq(peers_bytes(), before + 40);
	end();
}

/* --- whose folder --- */

static struct consensus_identity found;

static int look(struct fake_disk *disk, struct error *err)
{
	return consensus_identity_read(&disk->disk, "/log", &found, err);
}

Test(consensus, an_identity_that_cannot_be_read_is_not_taken_for_none)
{
	struct fake_disk disk;
	struct error err;

	begin(1, 1, false);
	log_server_kill(&w.servers[1], false);
	cr_assert_eq(look(&w.servers[1].disk, &err), 0);
	cr_expect_eq(found.id, w.servers[1].id);
	w.servers[1].disk.die_at = 1; /* all fails */
	cr_expect_eq(look(&w.servers[1].disk, &err), -1);
	cr_expect_str_neq(err.ecode, ECODE_FAULT);
	w.servers[1].disk.die_at = 0;
	for (size_t i = 0; i < 3; i++) {
		fake_disk_put(&w.servers[1].disk, "/log/server", rubbish[i]);
		cr_expect_eq(look(&w.servers[1].disk, &err), -1);
		cr_expect_str_eq(err.ecode, ECODE_FAULT);
	}
	fake_disk_init(&disk);
	cr_assert_eq(look(&disk, &err), 0);
	cr_expect_eq(found.id, 0, "there is none");
	fake_disk_done(&disk);
	end();
}
