/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of servers of lib/consensus/, in virtual time:
 *
 *	log_lives [--until-caught] FROM TO   live these seeds; TAP
 *	log_lives --trace SEED               live one, and say how it went
 *
 * First everything goes wrong that may: messages are lost, doubled and late,
 * servers are cut off, killed, stopped for a while, lose power; disks fail;
 * members come and go; a disk is put back to an older image.  Then all is
 * mended, and within a limited time there must be a leader, the same state
 * everywhere, and one more entry. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "tests/lib/log_world.h"
#include "tests/sim/seeds.h"

/* A life is so many steps of so many milliseconds. */
#define STEPS 300
#define STEP_MS 200
/* So long all may take once it is mended. */
#define MENDED_MS 120000

struct life {
	struct log_world w;
	unsigned chaos; /* 0 to 4 */
	bool images;
	size_t next_told;
	uint64_t n_images, n_told, n_kills, n_changes;
};

static bool percent(unsigned chance)
{
	return random_below(100) < chance;
}

static struct log_server *any(struct life *l)
{
	return &l->w.servers[1 + random_below(l->w.n)];
}

/* Mostly the leader. */
static struct log_server *some_leader(struct life *l)
{
	struct log_server *s = log_world_leader(&l->w);

	return s == NULL || percent(10) ? any(l) : s;
}

static bool is_up(const struct log_server *s)
{
	return s->c != NULL && !s->frozen;
}

/* --- what happens --- */

static void propose(struct life *l)
{
	struct log_server *s = some_leader(l);

	for (uint64_t i = random_below(5); is_up(s) && i > 0; i--)
		log_server_propose(s, percent(5) ? random_below(40000)
						 : random_below(200));
}

static void read_something(struct life *l)
{
	struct log_server *s = percent(50) ? any(l) : some_leader(l);

	if (is_up(s))
		log_server_read(s);
}

static void kill_one(struct life *l)
{
	struct log_server *s = percent(40) ? some_leader(l) : any(l);

	log_server_kill(s, percent(50));
	l->n_kills++;
	if (percent(50))
		log_server_start(s);
}

/* Whose disk was an old image is told so, and joins as another. */
static void come_back(struct life *l, struct log_server *s)
{
	if (s->is_old && s->died != NULL &&
	    (s->died_code == NULL || strcmp(s->died_code, ECODE_FENCED) == 0 ||
	     strcmp(s->died_code, ECODE_FAULT) == 0)) {
		l->n_told++;
		log_server_renew(s);
	}
	log_server_start(s);
}

static void restart(struct life *l)
{
	for (size_t i = 1; i <= l->w.n; i++)
		if (l->w.servers[i].c == NULL && !l->w.servers[i].starting &&
		    percent(30))
			come_back(l, &l->w.servers[i]);
}

static void stop_for_a_while(struct life *l)
{
	log_server_freeze(any(l));
}

static void go_on(struct life *l)
{
	for (size_t i = 1; i <= l->w.n; i++)
		if (percent(30))
			log_server_thaw(&l->w.servers[i]);
}

static void cut(struct life *l)
{
	size_t a = 1 + random_below(l->w.n), b = 1 + random_below(l->w.n);

	if (percent(50))
		for (b = 1; b <= l->w.n; b++)
			l->w.cut[a][b] = l->w.cut[b][a] = true;
	else
		l->w.cut[a][b] = true;
}

static void heal(struct life *l)
{
	memset(l->w.cut, 0, sizeof(l->w.cut));
}

static void keep(struct life *l)
{
	struct log_server *s = any(l);

	if (is_up(s))
		log_server_keep(s, percent(60));
}

static void break_disk(struct life *l)
{
	struct log_server *s = any(l);

	if (!is_up(s))
		return;
	s->may_die = true;
	s->disk.fail_at = s->disk.n_ops + 1 + random_below(5);
}

static void fill_disk(struct life *l)
{
	struct log_server *s = any(l);

	s->disk.full = is_up(s) && percent(50);
}

static void lead(struct life *l)
{
	struct log_server *s = any(l);

	if (is_up(s) && (l->w.elects || log_world_leader(&l->w) == NULL))
		log_server_lead(s);
}

static void transfer(struct life *l)
{
	struct log_server *s = log_world_leader(&l->w);

	if (s != NULL && is_up(s))
		log_server_transfer(s, any(l)->id);
}

/* --- members --- */

static bool lives(struct life *l, uint64_t id)
{
	return log_world_server(&l->w, id) != NULL;
}

/* Without servers that are no more. */
static struct raft_members cleaned(struct life *l,
				   const struct raft_members *now)
{
	struct raft_members m = {0};

	for (size_t i = 0; i < now->voters.n; i++)
		if (lives(l, now->voters.ids[i]))
			raft_ids_add(&m.voters, now->voters.ids[i]);
	for (size_t i = 0; i < now->learners.n; i++)
		if (lives(l, now->learners.ids[i]))
			raft_ids_add(&m.learners, now->learners.ids[i]);
	return m;
}

static void change(struct life *l, struct log_server *s,
		   const struct raft_members *wanted)
{
	if (log_server_change(s, wanted) == RAFT_OK)
		l->n_changes++;
}

/* Whose disk is an old image is lost as a member, and may not know yet. */
static bool any_is_old(const struct life *l)
{
	for (size_t i = 1; i <= l->w.n; i++)
		if (l->w.servers[i].is_old)
			return true;
	return false;
}

static void change_members(struct life *l)
{
	struct log_server *s = log_world_leader(&l->w);
	struct consensus_status st;
	struct raft_members m;

	if (s == NULL || !is_up(s) || any_is_old(l))
		return;
	consensus_status(s->c, &st);
	m = cleaned(l, &st.raft.members);
	for (uint64_t i = random_below(3); i > 0; i--) {
		const struct log_server *t = any(l);

		if (raft_ids_have(&m.voters, t->id)) {
			raft_ids_remove(&m.voters, t->id);
			if (percent(50))
				raft_ids_add(&m.learners, t->id);
		} else if (raft_ids_have(&m.learners, t->id)) {
			raft_ids_remove(&m.learners, t->id);
			raft_ids_add(&m.voters, t->id);
		} else {
			raft_ids_add(&m.learners, t->id);
		}
	}
	if (m.voters.n > 0)
		change(l, s, &m);
}

/* --- old images --- */

static void take_image(struct life *l)
{
	struct log_server *s = any(l);

	if (l->images && is_up(s))
		log_server_take_image(s);
}

/* Whether all members are there and hear each other. */
static bool all_there(struct life *l, const struct raft_members *m)
{
	for (size_t i = 1; i <= l->w.n; i++)
		if (raft_members_have(m, l->w.servers[i].id) &&
		    !is_up(&l->w.servers[i]))
			return false;
	return true;
}

static bool may_lose(struct life *l, const struct log_server *leader)
{
	struct consensus_status st;

	if (leader == NULL || any_is_old(l))
		return false;
	consensus_status(leader->c, &st);
	return !st.raft.changing && st.raft.members.voters.n >= 3 &&
	       cleaned(l, &st.raft.members).voters.n ==
		       st.raft.members.voters.n &&
	       all_there(l, &st.raft.members);
}

/* An old image is a lost disk: one at a time, where the others can do without
 * it, and know of each other what was acknowledged.  More nobody promises. */
static void put_image(struct life *l)
{
	struct log_server *s = any(l);

	if (!l->images || !s->has_image || s->image_id != s->id ||
	    !may_lose(l, log_world_leader(&l->w)))
		return;
	heal(l);
	log_world_run(&l->w, 3000, NULL);
	if (!may_lose(l, log_world_leader(&l->w)))
		return;
	log_server_kill(s, false);
	log_server_put_image(s);
	l->n_images++;
}

/* Each so often in a thousand steps, quietly and in the worst life. */
static const struct happening {
	void (*what)(struct life *l);
	unsigned least, most;
} happenings[] = {
	{propose, 700, 700},  {read_something, 100, 100},
	{kill_one, 5, 100},   {restart, 500, 500},
	{cut, 5, 80},	      {heal, 100, 60},
	{keep, 100, 200},     {change_members, 30, 100},
	{transfer, 10, 30},   {stop_for_a_while, 5, 40},
	{go_on, 300, 300},    {break_disk, 0, 10},
	{fill_disk, 10, 30},  {lead, 20, 20},
	{take_image, 40, 40}, {put_image, 20, 20},
};

static bool is_well(const struct life *l)
{
	return l->w.problem[0] == '\0';
}

static void live_badly(struct life *l)
{
	for (unsigned t = 0; t < STEPS && is_well(l); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(happenings); i++) {
			const struct happening *h = &happenings[i];

			if (random_below(1000) <
			    h->least + (h->most - h->least) * l->chaos / 4)
				h->what(l);
		}
		log_world_run(&l->w, 1 + (int64_t)random_below(STEP_MS), NULL);
	}
}

/* --- the end --- */

/* An administrator looks after it: who is down is started, who is no more is
 * removed, and somebody is told to lead. */
static void look_after(struct life *l)
{
	struct log_server *s = log_world_leader(&l->w);
	struct consensus_status st;
	struct raft_members m;

	for (size_t i = 1; i <= l->w.n; i++) {
		struct log_server *t = &l->w.servers[i];

		t->disk.full = false;
		log_server_thaw(t);
		if (t->c == NULL && !t->starting)
			come_back(l, t);
	}
	if (s == NULL) {
		/* Only who has all that is committed can be elected. */
		if (percent(60))
			return;
		l->next_told = l->next_told % l->w.n + 1;
		if (l->w.servers[l->next_told].c != NULL)
			log_server_lead(&l->w.servers[l->next_told]);
		return;
	}
	consensus_status(s->c, &st);
	m = cleaned(l, &st.raft.members);
	if (!raft_ids_equal(&m.voters, &st.raft.members.voters) ||
	    !raft_ids_equal(&m.learners, &st.raft.members.learners))
		change(l, s, &m);
}

static bool at_rest(struct log_world *w)
{
	return log_world_at_rest(w);
}

static void wait_for_rest(struct life *l, const char *what)
{
	for (unsigned ms = 0; ms < MENDED_MS && is_well(l); ms += 1000) {
		look_after(l);
		if (log_world_run(&l->w, 1000, at_rest))
			return;
	}
	log_world_broken(&l->w, "%s: no rest", what);
}

static void live_well(struct life *l)
{
	uint64_t before = l->w.n_acknowledged;

	heal(l);
	l->w.loss = l->w.duplicates = 0;
	l->w.delay_ms = l->w.disk_us = 1;
	for (int i = 0; i < 10 && l->w.n_acknowledged == before; i++) {
		wait_for_rest(l, i == 0 ? "mended" : "a last entry");
		if (!is_well(l))
			return;
		before = l->w.n_acknowledged;
		log_server_propose(log_world_leader(&l->w), 8);
		wait_for_rest(l, "a last entry");
	}
	if (l->w.n_acknowledged == before)
		log_world_broken(&l->w, "the last entry is not committed");
}

static int live(uint64_t seed, bool trace)
{
	struct life l = {0};
	uint64_t n = 3 + seed % 5;
	int rc;

	log_world_init(&l.w, n, 1 + seed / 5 % n, seed);
	l.chaos = (unsigned)random_below(5);
	l.images = percent(40);
	l.w.elects = percent(60);
	l.w.loss = percent(50) ? (unsigned)random_below(20) : 0;
	l.w.duplicates = percent(50) ? (unsigned)random_below(20) : 0;
	l.w.delay_ms = percent(70) ? (unsigned)random_below(100) : 1;
	l.w.disk_us = percent(70) ? (unsigned)random_below(200000) : 0;
	for (size_t i = 1; i <= l.w.n; i++)
		log_server_start(&l.w.servers[i]);
	if (!l.w.elects) {
		log_world_run(&l.w, 3000, NULL);
		log_server_lead(&l.w.servers[1]);
	}
	live_badly(&l);
	if (is_well(&l))
		live_well(&l);
	rc = is_well(&l) ? 0 : 1;
	if (rc != 0)
		printf("# seed %" PRIu64 ": %s\n", seed, l.w.problem);
	if (trace)
		log_world_print(&l.w);
	if (trace)
		printf("# %zu entries, %" PRIu64 " acknowledged, %" PRIu64
		       " refused, %" PRIu64 " reads, %" PRIu64
		       " kills, %" PRIu64 " changes of members, %" PRIu64
		       " images, %" PRIu64 " told\n",
		       l.w.n_entries, l.w.n_acknowledged, l.w.n_refused,
		       l.w.n_reads, l.n_kills, l.n_changes, l.n_images,
		       l.n_told);
	fflush(stdout);
	log_world_done(&l.w);
	return rc;
}

static int run_seed(const struct seeds *s, uint64_t seed)
{
	(void)s;
	return live(seed, false);
}

static int usage(void)
{
	fprintf(stderr,
		"Usage: log_lives [--until-caught] FROM TO | --trace SEED\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"until-caught", no_argument, NULL, 'u'},
		{"trace", required_argument, NULL, 't'},
		{0},
	};
	auto_free char *repeat = xprintf("%s --trace", argv[0]);
	struct seeds seeds = {.run = run_seed, .repeat = repeat, .options = ""};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			return live(strtoumax(optarg, NULL, 10), true);
		if (c != 'u')
			return usage();
		seeds.until_caught = true;
	}
	if (argc - optind != 2)
		return usage();
	seeds.from = strtoumax(argv[optind], NULL, 10);
	seeds.to = strtoumax(argv[optind + 1], NULL, 10);
	puts("1..1");
	return seeds_run(&seeds, 1) ? 0 : 1;
}
