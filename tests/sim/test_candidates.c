/* SPDX-License-Identifier: BSD-2-Clause */
/* Other nodes become candidates: whoever may become master knows what was
 * acknowledged meanwhile, from the old candidates or from the new ones. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "masterd/quorum/quorum.h"
#include "masterd/quorum/quorum_private.h"
#include "masterd/role_private.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define N_NODES 7
#define N_CANDIDATES 3
#define MINUTE_MS 60000

static struct sim s;

static void setup(void)
{
	sim_init_big(&s, N_NODES, N_CANDIDATES, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL); /* all have everything */
}

static void teardown(void)
{
	sim_done(&s);
}

TestSuite(candidates, .init = setup, .fini = teardown, .timeout = 400);

/* Cut the nodes whose bit is set off from the others. */
static void cut(unsigned side)
{
	for (size_t i = 0; i < N_NODES; i++)
		for (size_t k = 0; k < N_NODES; k++)
			s.cut[i][k] = (side >> i & 1) != (side >> k & 1);
}

/* What several jobs change comes into one write of the configuration. */
static void set_candidate(size_t node, bool candidate)
{
	sim_set_candidate(s.master->config, &s.nodes[node], candidate);
}

/* Nodes 2 and 3 are to be replaced by 4 and 5. */
static void replace_candidates(void)
{
	for (size_t i = 1; i < 3; i++) {
		set_candidate(i, false);
		set_candidate(i + 2, true);
	}
}

static bool committed, ended;

static void commit_task(void *arg)
{
	struct error err;

	(void)arg;
	committed = config_commit(s.master->config, &err) == 0;
	ended = true;
}

static void commit(int64_t ms)
{
	committed = ended = false;
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("commit", commit_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, ms, NULL, NULL);
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

static bool fail_over(size_t node, int64_t ms)
{
	sim_take_over(&s.nodes[node], true);
	return sim_run(&s, ms, serves, &s.nodes[node]);
}

Test(candidates, all_at_once_need_the_old_ones)
{
	/* The master, 4 and 5; with 2 and 3: 6 and 7. */
	replace_candidates();
	cut(0x66);
	commit(30 * MINUTE_MS);
	cr_assert_not(committed, "the old ones do not know of it");
	/* The isolated master continues, as nobody has told it otherwise. */
	cr_assert(fail_over(1, 5 * MINUTE_MS));
	cut(0);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_not(committed);
	cr_assert_null(s.nodes[0].master);
}

/* Its node daemon does not know the new one, without whom nobody can lead. */
Test(candidates, who_was_away_learns_whom_it_has_to_hear)
{
	cut(1 << 2);
	set_candidate(1, false);
	set_candidate(3, true);
	commit(5 * MINUTE_MS);
	cr_assert(committed);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cut(0);
	sim_power_cut(&s.nodes[0], 1);
	cr_assert_not(fail_over(3, 2 * MINUTE_MS), "nobody hears it");
	cr_assert_not(fail_over(2, 2 * MINUTE_MS), "the other one has more");
	cr_assert(fail_over(3, 5 * MINUTE_MS));
}

Test(candidates, whom_it_has_to_hear_is_written_when_there_is_room)
{
	struct sim_node *n = &s.nodes[2];
	const char *file = path(n->paths, PATH_CONSENSUS_CERTS);
	struct disk *disk = &n->disk.disk;
	struct error err;

	sim_kill(&n->masterd);
	cr_assert_eq(disk->remove(disk, file, &err), 0);
	n->disk.full = true;
	sim_stand_by(n);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_not(disk->exists(disk, file));
	n->disk.full = false;
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect(disk->exists(disk, file));
}

/* The old ones decide who comes after them. */
Test(candidates, new_ones_that_are_away_are_taken_in_later)
{
	replace_candidates();
	cut(0x18); /* 4 and 5 */
	commit(MINUTE_MS);
	cr_assert(committed);
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = s.nodes[1].down = s.nodes[2].down = true;
	cr_assert(fail_over(3, 5 * MINUTE_MS));
}

static bool has_log(size_t node)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));

	return n->disk.disk.exists(&n->disk.disk, file);
}

static void dismiss_old_ones(void)
{
	task_set_owner(&s.nodes[0].masterd);
	for (size_t i = 1; i < 3; i++)
		cr_assert(quorum_dismiss(s.master->quorum, s.nodes[i].name));
	task_set_owner(NULL);
}

/* Until then what is acknowledged has more than one copy. */
Test(candidates, the_old_ones_stay_until_the_new_ones_have_joined)
{
	uint64_t id;

	replace_candidates();
	dismiss_old_ones();
	cut(0x18); /* 4 and 5 */
	commit(MINUTE_MS);
	cr_assert(committed);
	id = sim_submit(&s, op_delay(1, NULL), NULL);
	cr_assert_neq(id, 0);
	cr_assert(has_log(1) && has_log(2));
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	cr_assert(fail_over(1, 5 * MINUTE_MS));
	cr_assert_not_null(queue_job(s.nodes[1].master->queue, id));
}

Test(candidates, and_go_when_these_have)
{
	replace_candidates();
	cut(0x18);
	commit(MINUTE_MS);
	cut(0);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	for (size_t i = 1; i < 3; i++) {
		cr_expect_not(has_log(i), "node %zu", i + 1);
		cr_expect(has_log(i + 2), "node %zu", i + 3);
	}
}

/* A candidate is slow for a moment while another node is to take its place:
 * with its vote it goes on, so that the other candidate may still become
 * master. */
Test(candidates, one_that_is_not_heard_for_a_moment_keeps_its_vote)
{
	set_candidate(1, false);
	set_candidate(3, true);
	cut(0x0a); /* 2 and 4 */
	commit(MINUTE_MS);
	cr_assert(committed);
	cut(0x08);
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = true;
	cr_assert(fail_over(2, 5 * MINUTE_MS));
}

/* Those that are gone for good do not keep the others from going on. */
Test(candidates, who_is_not_heard_never_blocks_who_is)
{
	auto_free char *got = NULL;

	replace_candidates();
	cut(0x1c); /* 3, 4 and 5 */
	commit(MINUTE_MS);
	cr_assert(committed);
	cut(0x1e); /* and 2 */
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cut(0x1c);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	got = sim_do(&s, json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET",
				   "kind", "cluster", "tags", "later"));
	cr_assert_str_eq(got, "success");
}

/* Without the vote of the node that is removed there is no majority to take it
 * from it: so others have it first. */
Test(candidates, who_is_removed_votes_for_that)
{
	auto_free char *got = NULL, *later = NULL;

	sim_power_cut(&s.nodes[2], 7);
	s.nodes[2].down = true;
	got = sim_do(&s, json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE",
				   "node_name", s.nodes[1].name));
	cr_assert_str_eq(got, "success");
	later = sim_do(&s,
		       json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET",
				 "kind", "cluster", "tags", "later"));
	cr_assert_str_eq(later, "success");
	cr_assert_not(has_log(1));
}

/* The job that removes the node waits for its lock, and when it gets that
 * another one promotes the node, as who fills the pool does. */
Test(candidates, who_is_promoted_while_it_is_removed_has_no_vote)
{
	struct sim_node *n = &s.nodes[5];
	json_t *op = json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE",
			       "node_name", n->name);
	struct config *c = s.master->config;
	bool without = true;

	sim_submit(&s, op_delay(4, n->name), NULL);
	sim_submit(&s, op, NULL);
	s.max_disk_us = 300000; /* so that what is committed takes a while */
	sim_run(&s, 4000, NULL, NULL);
	set_candidate(5, true);
	commit(0);
	for (int i = 0; i < 1000; i++) {
		sim_run(&s, 20, NULL, NULL);
		without &= config_get(c, CONFIG_NODE, n->uuid) != NULL ||
			   !quorum_has_member(s.master->quorum, n->name);
	}
	cr_expect_null(config_get(c, CONFIG_NODE, n->uuid));
	cr_expect(without, "a member that is in no configuration");
}

/* A node that is removed or offline is waited for by nobody. */
Test(candidates, who_is_offline_does_not_stay)
{
	struct config *c = s.master->config;
	auto_free char *got = NULL;

	replace_candidates();
	for (size_t i = 1; i < 3; i++) {
		json_t *node = config_edit(
			config_get(c, CONFIG_NODE, s.nodes[i].uuid));

		json_set_bool(node, "offline", true);
		config_put(c, CONFIG_NODE, node);
	}
	cut(0x18);
	commit(MINUTE_MS);
	cr_assert(committed);
	cut(0x1e); /* all of them */
	got = sim_do(&s, json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET",
				   "kind", "cluster", "tags", "later"));
	cr_assert_str_eq(got, "success");
}

Test(candidates, afterwards_the_new_ones_are_enough)
{
	auto_free char *got = NULL;

	replace_candidates();
	commit(MINUTE_MS);
	cr_assert(committed);
	cut(0x06); /* 2 and 3 */
	got = sim_do(&s, json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET",
				   "kind", "cluster", "tags", "later"));
	cr_assert_str_eq(got, "success");
}

/* What was acknowledged before is with the new ones when they are it. */
Test(candidates, they_have_the_jobs_before_they_count)
{
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	replace_candidates();
	commit(MINUTE_MS);
	cr_assert(committed);
	sim_power_cut(&s.nodes[0], 7);
	s.nodes[0].down = s.nodes[1].down = s.nodes[2].down = true;
	cr_assert(fail_over(3, 5 * MINUTE_MS));
	cr_assert_not_null(queue_job(s.nodes[3].master->queue, id));
}

static bool is_let_in(size_t node)
{
	const json_t *cluster = config_cluster(s.master->config);

	return json_get(json_get(cluster, "candidate_certs"),
			s.nodes[node].uuid) != NULL;
}

static void shut_out(void)
{
	task_set_owner(&s.nodes[0].masterd);
	role_begin_to_shut_out(s.nodes[0].role);
	task_set_owner(NULL);
}

/* A change that is not committed does not keep it from becoming a member. */
Test(candidates, who_is_one_by_what_is_committed_is_let_in)
{
	cut(0x08);
	set_candidate(3, true);
	commit(MINUTE_MS);
	cr_assert(committed);
	cr_assert(is_let_in(3));
	cut(0x01);
	set_candidate(3, false);
	shut_out();
	sim_run(&s, 500, NULL, NULL);
	cr_assert(is_let_in(3), "it may just be joining");
	cut(0x08);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not(is_let_in(3), "now it is none");
	cut(0);
}

/* Each node that takes part in the log. */
static void expect_members_let_in(void)
{
	for (size_t i = 0; i < N_NODES; i++)
		if (quorum_has_member(s.master->quorum, s.nodes[i].name))
			cr_assert(is_let_in(i), "node %zu", i + 1);
}

/* It becomes one, which is not in force yet when it ceases to be one, and is
 * taken into the log between the two. */
Test(candidates, who_takes_part_for_a_moment_is_let_in)
{
	set_candidate(3, true);
	commit(1);
	set_candidate(3, false);
	for (size_t i = 4; i < 6; i++) {
		set_candidate(i, true);
		s.nodes[i].down = true;
	}
	shut_out();
	for (int i = 0; i < 100; i++) {
		commit(100);
		expect_members_let_in();
	}
}

static bool fetches(struct sim *sim, void *arg)
{
	struct sim_node *n = arg;
	auto_free char *file =
		xprintf("%s/half", path(n->paths, PATH_CONSENSUS_DIR));

	(void)sim;
	return n->disk.disk.exists(&n->disk.disk, file);
}

static bool has_ended(struct sim *sim, void *arg)
{
	(void)sim;
	return !((struct sim_node *)arg)->masterd.alive;
}

static const char *job_file(struct sim_node *n, uint64_t id)
{
	auto_free char *file = xprintf(
		"%s/job-%ju", path(n->paths, PATH_QUEUE_DIR), (uintmax_t)id);

	return fake_disk_text(&n->disk, file);
}

/* Node 4 is brought up to date twice, as the first time its disk failed; the
 * second time the power fails at this operation of its disk.  What a life
 * before has written, and not synced, looks as if it were there. */
static void fail_second_fetch(size_t op)
{
	struct sim_node *n = &s.nodes[3];
	uint64_t ids[5];

	for (int i = 0; i < 5; i++)
		ids[i] = sim_submit(&s, op_delay(0.1, NULL), NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	set_candidate(3, true);
	commit(1);
	cr_assert(sim_run(&s, MINUTE_MS, fetches, n));
	n->disk.fail_syncs = true;
	cr_assert(sim_run(&s, MINUTE_MS, has_ended, n));
	n->disk.fail_syncs = false;
	n->disk.die_at = n->disk.n_ops + op;
	sim_run(&s, 5000, NULL, NULL);
	sim_power_cut(n, op);
	sim_start_daemon(n);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	for (int i = 0; i < 5; i++)
		cr_expect(str_eq(job_file(n, ids[i]),
				 job_file(&s.nodes[0], ids[i])),
			  "operation %zu: job %ju", op, (uintmax_t)ids[i]);
}

Test(candidates, what_is_fetched_is_durable_whenever_the_power_fails)
{
	for (size_t op = 1; op <= 60; op++) {
		fail_second_fetch(op);
		teardown();
		setup();
	}
}

Test(candidates, a_damaged_log_is_fetched_anew)
{
	struct sim_node *n = &s.nodes[1];
	auto_free char *file =
		xprintf("%s/snapshot", path(n->paths, PATH_CONSENSUS_DIR));
	uint64_t id = sim_submit(&s, op_delay(1, NULL), NULL);

	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_power_cut(n, 7);
	fake_disk_put(&n->disk, file, "rubbish");
	sim_start_daemon(n);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(has_log(1));
	cr_assert(str_eq(job_file(n, id), job_file(&s.nodes[0], id)));
	cr_assert(fail_over(1, MINUTE_MS));
	cr_assert_not_null(queue_job(n->master->queue, id));
}

#define FULL 10000

static char *archived(const struct sim_node *n, int id)
{
	return xprintf("%s/archive/0/job-%d", path(n->paths, PATH_QUEUE_DIR),
		       id);
}

/* A full folder, as it is on node 1. */
static void fill_archive(size_t node)
{
	struct sim_node *n = &s.nodes[node];
	auto_free char *folder =
		xprintf("%s/archive/0", path(n->paths, PATH_QUEUE_DIR));
	struct error err;

	cr_assert_eq(n->disk.disk.mkdirs(&n->disk.disk, folder, 0750, &err), 0);
	for (int id = 1000001; id <= 1000000 + FULL; id++) {
		auto_free char *file = archived(n, id);

		fake_disk_put(&n->disk, file, "{}");
	}
}

/* Node 2 starts with a damaged log, and with this text in a file of the full
 * folder: what is there then. */
static const char *fetch_anew(const char *text)
{
	struct sim_node *n = &s.nodes[1];
	auto_free char *log =
		xprintf("%s/snapshot", path(n->paths, PATH_CONSENSUS_DIR));
	auto_free char *file = archived(n, 1000007);

	sim_power_cut(n, 7);
	fake_disk_put(&n->disk, log, "rubbish");
	fake_disk_put(&n->disk, file, text);
	sim_start_daemon(n);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(has_log(1));
	return fake_disk_text(&n->disk, file);
}

/* The power failed when the files had been written and not synced. */
Test(candidates, a_full_archive_is_not_believed_by_its_size)
{
	fill_archive(0);
	fill_archive(1);
	cr_expect_str_eq(fetch_anew(""), "{}");
}

/* Afterwards it is known, and not looked at again but for its size. */
Test(candidates, a_full_archive_is_compared_once)
{
	struct sim_node *n = &s.nodes[1];
	auto_free char *file = archived(n, 1000008);
	struct error err;

	fill_archive(0);
	fill_archive(1);
	cr_expect_str_eq(fetch_anew("{}"), "{}");
	cr_expect_str_eq(fetch_anew("{ }"), "{ }");
	cr_assert_eq(n->disk.disk.remove(&n->disk.disk, file, &err), 0);
	cr_expect_str_eq(fetch_anew("{ }"), "{}");
}

/* Entries that are not in the files yet would be gone with it. */
Test(lone_candidate, a_log_whose_server_is_not_known_is_not_replaced,
     .timeout = 60)
{
	struct sim_node *n = &s.nodes[0];
	auto_free char *file = NULL;

	sim_init_big(&s, 1, 1, 1);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	file = xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));
	sim_power_cut(n, 7);
	fake_disk_put(&n->disk, file, "rubbish");
	sim_start_daemon(n);
	sim_take_over(n, false);
	cr_expect_not(sim_run(&s, MINUTE_MS, serves, n));
	cr_expect_str_eq(fake_disk_text(&n->disk, file), "rubbish");
	sim_done(&s);
}

/* Its last word is still believed when the other one begins. */
Test(candidates, a_failover_at_once_after_the_master_hangs)
{
	for (int i = 0; i < 30; i++) {
		sim_submit(&s, op_delay(0.1, NULL), NULL);
		sim_run(&s, 100 * i, NULL, NULL);
		sim_pause(&s.nodes[0].masterd);
		sim_run(&s, 100 * i, NULL, NULL);
		cr_assert(fail_over(1, 20000), "after %d ms", 100 * i);
		sim_resume(&s.nodes[0].masterd);
		sim_run(&s, MINUTE_MS, NULL, NULL);
		cr_assert(fail_over(0, MINUTE_MS));
		sim_run(&s, MINUTE_MS, NULL, NULL);
	}
}

static int joined;

static WAITS void join_task(void *arg)
{
	struct quorum *q = s.master->quorum;
	auto_free char *cluster = xprintf("%016jx", (uintmax_t)q->me.cluster);
	auto_free char *id =
		xprintf("%016jx", (uintmax_t)(quorum_node_hash(s.nodes[1].name)
					      << QUORUM_LIFE_BITS));
	auto_json json_t *node =
		json_make("{s:s, s:s}", "name", s.nodes[1].name, "primary_ip",
			  s.nodes[1].address);
	auto_json json_t *answer = NULL;
	struct error err;

	(void)arg;
	answer = quorum_give_order(q, node,
				   json_make("[s, s, s]", "join", cluster, id),
				   10000, &err);
	joined = answer != NULL;
}

/* It would forget what it has acknowledged. */
Test(candidates, an_old_order_to_join_does_not_reach_who_takes_part)
{
	struct sim_node *n = &s.nodes[1];
	auto_free char *file =
		xprintf("%s/server", path(n->paths, PATH_CONSENSUS_DIR));
	auto_free char *before = NULL, *after = NULL;
	struct error err;
	size_t len;

	before = n->disk.disk.read(&n->disk.disk, file, 1000, &len, &err);
	joined = -1;
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("join", join_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_eq(joined, 0);
	after = n->disk.disk.read(&n->disk.disk, file, 1000, &len, &err);
	cr_assert_not_null(before);
	cr_assert(memcmp(before, after, len) == 0);
}

/* The order to take part under another number, from a leader whose log ended
 * there. */
static WAITS void late_join_task(void *arg)
{
	const uint64_t *end = arg;
	struct quorum *q = role_quorum(s.nodes[1].role);
	auto_free char *cluster = xprintf("%016jx", (uintmax_t)q->me.cluster);
	auto_free char *id =
		xprintf("%016jx", (uintmax_t)(quorum_node_hash(s.nodes[1].name)
					      << QUORUM_LIFE_BITS));
	auto_free char *term = xprintf("%016jx", (uintmax_t)end[0]);
	auto_free char *last = xprintf("%016jx", (uintmax_t)end[1]);
	auto_json json_t *order =
		json_make("[s, s, s, s, s]", "join", cluster, id, term, last);
	auto_json json_t *answer = NULL;
	struct error err;

	answer = quorum_order(q, order, &err);
	joined = answer != NULL;
}

static int join_late(uint64_t term, uint64_t last)
{
	uint64_t end[2] = {term, last};

	joined = -1;
	task_set_owner(&s.nodes[1].masterd);
	task_spawn("join", late_join_task, end);
	task_set_owner(NULL);
	sim_run(&s, 1000, NULL, NULL);
	return joined;
}

/* A node daemon that hangs obeys late, when there may be no master who objects.
 * A server that was away, and is taken in anew, has an older log. */
Test(candidates, an_old_order_to_join_is_known_by_the_log_of_who_gave_it)
{
	struct consensus_status now;

	sim_kill(&s.nodes[0].masterd);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	consensus_status(role_quorum(s.nodes[1].role)->log, &now);
	cr_assert_eq(now.raft.leader, 0);
	cr_expect_eq(join_late(now.raft.last_term, now.raft.last - 1), 0);
	cr_expect_eq(join_late(now.raft.last_term - 1, now.raft.last + 9), 0);
	cr_expect_eq(join_late(now.raft.last_term, now.raft.last), 1);
}

static size_t n_said;

static WAITS void write_out_task(void *arg)
{
	struct state *state = s.master->quorum->state;
	struct error err;

	(void)arg;
	for (int i = 0; i < 300; i++) {
		n_said += state_write_out(state, &err) == 0;
		task_sleep(20);
	}
	ended = true;
}

/* How often all is said to be there in the next seconds. */
static size_t count_said(void)
{
	n_said = 0;
	ended = false;
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("write out", write_out_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(ended);
	return n_said;
}

/* The disk is tried once a second, which takes a while, too. */
Test(candidates, what_a_full_disk_has_not_taken_is_not_said_to_be_there)
{
	struct fake_disk *disk = &s.nodes[0].disk;
	json_t *node = config_edit(
		config_get(s.master->config, CONFIG_NODE, s.nodes[5].uuid));

	disk->full = true;
	json_set_bool(node, "vm_capable", false);
	config_put(s.master->config, CONFIG_NODE, node);
	commit(MINUTE_MS);
	cr_assert(committed);
	s.max_disk_us = 200000;
	cr_expect_eq(count_said(), 0);
	disk->full = false;
	cr_expect_gt(count_said(), 0);
}

static char *config_file(struct sim_node *n)
{
	struct error err;
	size_t len;

	return n->disk.disk.read(&n->disk.disk,
				 path(n->paths, PATH_CONFIG_DATA), 10000000,
				 &len, &err);
}

static WAITS void all_write_out_task(void *arg)
{
	(void)arg;
	quorum_write_out(s.master->quorum, 10000);
	ended = true;
}

static void begin_to_write_out(void)
{
	ended = false;
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("write out", all_write_out_task, NULL);
	task_set_owner(NULL);
}

/* verify compares the files; a daemon may just be changing its role. */
Test(candidates, the_files_of_a_standby_that_is_coming_are_waited_for)
{
	struct sim_node *n = &s.nodes[1];
	auto_free char *before = config_file(n), *after = NULL;

	sim_pause(&n->masterd);
	set_candidate(5, true);
	commit(MINUTE_MS);
	cr_assert(committed);
	begin_to_write_out();
	sim_run(&s, 3000, NULL, NULL);
	cr_expect_not(ended);
	sim_resume(&n->masterd);
	sim_run(&s, 5000, NULL, NULL);
	cr_expect(ended);
	after = config_file(n);
	cr_expect(strcmp(before, after) != 0);
}

static void drain_task(void *arg)
{
	struct error err;

	(void)arg;
	cr_assert_eq(queue_set_drained(s.master->queue, true, &err), 0);
}

Test(candidates, who_takes_over_lifts_a_drain)
{
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("drain", drain_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_kill(&s.nodes[0].masterd);
	sim_await_master(&s.nodes[0]);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert(queue_drained(s.nodes[0].master->queue), "a start does not");
	cr_assert(fail_over(1, 5 * MINUTE_MS));
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_assert_not(queue_drained(s.nodes[1].master->queue));
}

/* --- a master that stands still while another takes over --- */

static struct sim_submission late;

/* Its first calls are on their way when it stops; then node 2 takes over and
 * has a job of its own, and the first one goes on. */
static void stand_still(void)
{
	s.max_delay_ms = 5000;
	sim_submission_begin(&late, &s.nodes[0], op_delay(1, NULL));
	sim_run(&s, 10, NULL, NULL);
	cr_assert_not(sim_submission_over(&late));
	sim_pause(&s.nodes[0].masterd);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	s.max_delay_ms = 5;
	cr_assert(fail_over(1, 5 * MINUTE_MS));
	cr_assert_neq(sim_submit(&s, op_delay(1, NULL), NULL), 0);
	cut(0);
	sim_resume(&s.nodes[0].masterd);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	cr_assert_null(s.nodes[0].master);
	json_decref(late.ops);
}

Test(candidates, a_late_acknowledgement_is_of_what_the_next_master_has)
{
	const struct job *j;

	stand_still();
	if (late.id == 0) /* it heard of node 2 first */
		return;
	j = queue_job(s.nodes[1].master->queue, late.id);
	cr_assert_not_null(j);
	cr_assert(job_is_final(j));
}

Test(candidates, what_was_not_safe_in_time_is_never_acknowledged)
{
	cut(0x01);
	stand_still();
	cr_assert_eq(late.id, 0);
}

/* Ganeti's node daemon, started in place of ours on a candidate, serves no log:
 * the node gets files as one of Ganeti's does, and nobody waits for it. */
Test(candidates, one_that_becomes_ganetis_takes_no_part)
{
	sim_kill(&s.nodes[2].daemon);
	sim_kill(&s.nodes[2].masterd);
	s.nodes[2].ganetis = true;
	sim_start_daemon(&s.nodes[2]);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect_not(quorum_has_member(s.master->quorum, s.nodes[2].name));
	cr_expect(quorum_has_member(s.master->quorum, s.nodes[1].name));
	cut(0x02);
	set_candidate(3, true);
	commit(MINUTE_MS);
	cr_expect(committed, "of two the master goes on alone");
	cut(0);
	sim_kill(&s.nodes[2].daemon);
	s.nodes[2].ganetis = false;
	sim_start_daemon(&s.nodes[2]);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect(quorum_has_member(s.master->quorum, s.nodes[2].name));
}

static struct consensus_status log_status(void)
{
	struct consensus_status status;

	consensus_status(s.master->quorum->log, &status);
	return status;
}

TestSuite(many_candidates, .fini = teardown, .timeout = 400);

/* The log has so many members; the others are candidates without a part. */
Test(many_candidates, more_than_the_log_can_have_change_nothing)
{
	struct consensus_status before, after;

	sim_init_big(&s, 35, RAFT_MEMBERS_MAX + 2, 1);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	before = log_status();
	cr_expect_eq(before.raft.members.voters.n +
			     before.raft.members.learners.n,
		     RAFT_MEMBERS_MAX);
	sim_run(&s, 5 * MINUTE_MS, NULL, NULL);
	after = log_status();
	cr_expect(raft_ids_equal(&before.raft.members.voters,
				 &after.raft.members.voters));
	cr_expect(raft_ids_equal(&before.raft.members.learners,
				 &after.raft.members.learners));
	cr_expect_lt(after.raft.last, before.raft.last + 10);
}

static void set_node(const char *name, const char *key, bool value)
{
	auto_free char *got =
		sim_do(&s, json_make("{s:s, s:s, s:b, s:b}", "OP_ID",
				     "OP_NODE_SET_PARAMS", "node_name", name,
				     key, value, "auto_promote", 1));

	cr_assert_str_eq(got, "success");
}

/* One candidate more than the log can have: this one. */
static struct sim_node *leave_one_out(void)
{
	sim_init_big(&s, 34, RAFT_MEMBERS_MAX + 1, 1);
	sim_run(&s, 3 * MINUTE_MS, NULL, NULL);
	for (size_t i = 0; i <= RAFT_MEMBERS_MAX; i++)
		if (!quorum_has_member(s.master->quorum, s.nodes[i].name))
			return &s.nodes[i];
	cr_assert_fail("all are members");
	return NULL;
}

/* A former candidate keeps its vote for one that has yet to join; but it must
 * not keep the place that this one needs. */
Test(many_candidates, one_that_was_left_out_joins_when_there_is_room)
{
	struct sim_node *n = leave_one_out();

	set_node(s.nodes[1].name, "master_candidate", false);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	cr_expect(quorum_has_member(s.master->quorum, n->name));
	cr_expect_not(quorum_has_member(s.master->quorum, s.nodes[1].name));
}

/* A change of a node waits for all candidates that are about to join. */
Test(many_candidates, one_that_is_left_out_is_not_waited_for)
{
	int64_t begun_us;

	leave_one_out();
	begun_us = clock_mono_us();
	set_node(s.nodes[33].name, "vm_capable", false);
	cr_expect_lt(clock_mono_us() - begun_us, 5000000);
}

Test(many_candidates, and_is_like_others_when_it_has_joined)
{
	struct sim_node *n = leave_one_out();

	set_node(s.nodes[1].name, "master_candidate", false);
	sim_run(&s, MINUTE_MS, NULL, NULL);
	sim_pause(&n->masterd);
	begin_to_write_out();
	sim_run(&s, 3000, NULL, NULL);
	cr_expect_not(ended, "its files are waited for");
	sim_resume(&n->masterd);
	sim_run(&s, 5000, NULL, NULL);
	cr_expect(ended);
}
