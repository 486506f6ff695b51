/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of servers of lib/raft/, in virtual time:
 *
 *	raft_lives FROM TO          live these seeds; TAP
 *	raft_lives --trace SEED     live one, and print all that happens
 *	raft_lives --count FROM TO  what happened in them, in numbers
 *	raft_lives --bug NAME FROM TO  with a driver that is wrong: one of the
 *	                            seeds must notice; TAP
 *
 * A life has two parts.  First everything goes wrong that may go wrong:
 * messages are lost, doubled and late, servers are cut off and crash with
 * writes that were not durable, disks are slow, snapshots come and fail, the
 * members change all the time.  Then all is mended, and within a limited time
 * there must be a leader, the same state everywhere, and one more entry.  The
 * judge (tests/lib/raft_judge.h) looks at every event of both. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "tests/lib/raft_net.h"
#include "tests/sim/seeds.h"

/* In ticks: how long all may take once it is mended. */
#define MENDED_TICKS 1500
/* How many ticks the bad part lasts at least; up to three times that. */
#define BAD_TICKS 150

static const struct bug {
	const char *name;
	enum raft_host_bug bug;
} bugs[] = {
	{"vote-not-synced", RAFT_HOST_VOTE_NOT_SYNCED},
	{"ack-before-write", RAFT_HOST_ACK_BEFORE_WRITE},
	{"skip-entry", RAFT_HOST_SKIP_ENTRY},
	{"stale-read", RAFT_HOST_STALE_READ},
	{"written-early", RAFT_HOST_WRITTEN_EARLY},
	{"lost-tail", RAFT_HOST_LOST_TAIL},
};

struct counts {
	uint64_t ticks, terms, committed, acknowledged, reads, crashes;
	uint64_t installs, compactions, changes, transfers, campaigns, mended;
};

struct life {
	struct raft_net *net;
	enum raft_host_bug bug;
	bool elects;
	unsigned chaos; /* how much goes wrong, 0 to 4 */
	size_t value_max;
	struct counts counts;
};

/* --- a beginning --- */

static uint64_t below(struct life *l, uint64_t n)
{
	return raft_net_below(l->net, n);
}

static bool percent(struct life *l, unsigned chance)
{
	return below(l, 100) < chance;
}

/* So often in a thousand. */
static bool seldom(struct life *l, unsigned chance)
{
	return below(l, 1000) < chance;
}

static void configure(struct life *l, struct raft_host *h, bool small)
{
	struct raft_config *c = &h->config;

	h->bug = l->bug;
	h->seed = below(l, UINT64_MAX);
	h->at_once = h->keeps = false;
	h->shows_queued = percent(l, 50) || l->bug == RAFT_HOST_WRITTEN_EARLY;
	h->withhold = percent(l, 25) ? 30 : 0;
	h->lazy = percent(l, 25) ? 50 : 0;
	h->groups = percent(l, 50);
	c->elects = l->elects;
	if (!small)
		return;
	c->max_message_bytes = 1 + below(l, 100);
	c->max_inflight = 1 + below(l, 4);
	c->max_uncommitted_bytes = 200 + below(l, 2000);
}

static void begin(struct life *l, uint64_t seed)
{
	uint64_t first = seed * 0x9e3779b97f4a7c15;
	size_t n = 3 + raft_host_random(&first) % 5;
	size_t voters = 1 + raft_host_random(&first) % n;
	char members[64] = "";
	unsigned election = 5 + raft_host_random(&first) % 15;
	bool small;

	for (size_t i = 1; i <= voters; i++)
		snprintf(members + strlen(members),
			 sizeof(members) - strlen(members), "%zu ", i);
	l->net = raft_net_create(n, members);
	l->net->seed = first;
	l->elects = percent(l, 70);
	l->chaos = (unsigned)below(l, 5);
	l->value_max = percent(l, 80) ? 20 : 300;
	small = percent(l, 40);
	for (uint64_t id = 1; id <= n; id++) {
		struct raft_host *h = l->net->hosts[id];

		configure(l, h, small);
		h->config.election_ticks = election;
		h->config.heartbeat_ticks =
			1 + (unsigned)below(l, election / 4);
	}
	l->net->loss = percent(l, 50) ? (unsigned)below(l, 30) : 0;
	l->net->duplicates = percent(l, 50) ? (unsigned)below(l, 30) : 0;
	l->net->delay = percent(l, 70) ? (unsigned)below(l, 6) : 0;
	l->net->disk_delay = percent(l, 70) ? (unsigned)below(l, 12) : 0;
	if (percent(l, 5))
		l->net->delay = 30;
	if (l->bug == RAFT_HOST_VOTE_NOT_SYNCED) {
		/* Shows when others ask for votes at the same time. */
		l->chaos = 4;
		l->net->disk_delay = 1;
		l->net->delay = 6;
		l->net->duplicates = 40;
	} else if (l->bug != RAFT_HOST_SOUND) {
		/* Shows when writes are lost. */
		l->chaos = 4;
		l->net->disk_delay = 12;
		l->net->delay = 2;
	}
	if (percent(l, 50))
		raft_net_found(l->net);
	raft_net_start_all(l->net);
}

/* --- what happens --- */

/* Any that is up; NULL: none is. */
static struct raft_host *any(struct life *l)
{
	struct raft_net *net = l->net;
	uint64_t start = below(l, net->n);

	for (uint64_t i = 0; i < net->n; i++) {
		struct raft_host *h = net->hosts[(start + i) % net->n + 1];

		if (h->raft != NULL)
			return h;
	}
	return NULL;
}

/* Mostly a leader, if there is one. */
static struct raft_host *some_leader(struct life *l)
{
	struct raft_host *h = any(l);

	for (uint64_t i = 0; i < l->net->n && h != NULL; i++) {
		if (raft_host_leads(h) || percent(l, 5))
			return h;
		h = any(l);
	}
	return h;
}

static void propose(struct life *l)
{
	struct raft_host *h = some_leader(l);

	for (uint64_t i = below(l, 4); h != NULL && i > 0; i--)
		raft_net_propose(l->net, h->config.id,
				 8 + below(l, l->value_max));
}

static void read_something(struct life *l)
{
	struct raft_host *h = percent(l, 50) ? any(l) : some_leader(l);

	if (h != NULL)
		raft_net_read(l->net, h->config.id);
}

static void crash(struct life *l)
{
	struct raft_host *h = percent(l, 40) ? some_leader(l) : any(l);

	if (h == NULL)
		return;
	raft_net_crash(l->net, h->config.id);
	l->counts.crashes++;
}

/* It is back before anybody misses it. */
static void reboot(struct life *l)
{
	struct raft_host *h = any(l);

	if (h == NULL)
		return;
	raft_net_crash(l->net, h->config.id);
	raft_net_start(l->net, h->config.id);
	l->counts.crashes++;
}

/* Who has just voted has forgotten everything but its disk. */
static void reboot_voter(struct life *l)
{
	for (uint64_t id = 1; id <= l->net->n; id++) {
		struct raft_host *h = l->net->hosts[id];
		struct raft_status s = {0};

		if (h->raft != NULL)
			s = raft_host_status(h);
		if (s.vote == 0 || s.vote == id || s.leader != 0)
			continue;
		raft_net_crash(l->net, id);
		raft_net_start(l->net, id);
		l->counts.crashes++;
	}
}

static void restart(struct life *l)
{
	for (uint64_t id = 1; id <= l->net->n; id++)
		if (l->net->hosts[id]->raft == NULL && percent(l, 20))
			raft_net_start(l->net, id);
}

/* Some cannot hear others any more, or all can. */
static void cut(struct life *l)
{
	struct raft_net *net = l->net;
	uint64_t id = 1 + below(l, net->n);

	switch (below(l, 5)) {
	case 0:
		raft_net_isolate(net, id);
		return;
	case 1:
		raft_net_cut(net, id, 1 + below(l, net->n));
		return;
	case 2: /* two halves */
		for (uint64_t a = 1; a <= net->n; a++)
			for (uint64_t b = a + 1; b <= net->n; b++)
				if ((a <= id) != (b <= id))
					raft_net_part(net, a, b);
		return;
	default:
		raft_net_heal(net);
	}
}

/* It is stopped for a while, and knows nothing of it. */
static void stall(struct life *l)
{
	uint64_t id = 1 + below(l, l->net->n);

	l->net->asleep[id] = l->net->now + 1 + below(l, 60);
}

static void compact(struct life *l)
{
	struct raft_host *h = any(l);

	if (h != NULL && raft_host_compact(h))
		l->counts.compactions++;
}

static void keep(struct life *l)
{
	struct raft_host *h = any(l);

	if (h != NULL)
		raft_host_keep(h);
}

/* Each that gets a snapshot has it now, or it failed. */
static void end_installs(struct life *l, unsigned chance)
{
	for (uint64_t id = 1; id <= l->net->n; id++) {
		struct raft_host *h = l->net->hosts[id];
		bool ok;

		if (h->raft == NULL || !h->installing || !percent(l, chance))
			continue;
		ok = percent(l, 75) || chance == 100;
		raft_host_install(h, ok);
		raft_net_look(l->net, h);
		l->counts.installs += ok;
	}
}

/* --- members --- */

static void change_members(struct life *l)
{
	struct raft_host *h = some_leader(l);
	struct raft_members m;

	if (h == NULL)
		return;
	m = raft_host_status(h).members;
	m = raft_net_members(l->net, &m);
	if (raft_host_change(h, &m) == RAFT_OK)
		l->counts.changes++;
	raft_net_look(l->net, h);
}

static void transfer(struct life *l)
{
	struct raft_host *h = some_leader(l);

	if (h == NULL)
		return;
	if (raft_host_transfer(h, 1 + below(l, l->net->n)) == RAFT_OK)
		l->counts.transfers++;
	raft_net_look(l->net, h);
}

static void campaign(struct life *l)
{
	struct raft_host *h = any(l);

	if (h == NULL)
		return;
	if (raft_host_campaign(h) == RAFT_OK)
		l->counts.campaigns++;
	raft_net_look(l->net, h);
}

/* Somebody asks for votes, and another one does the same. */
static void rival(struct life *l)
{
	for (uint64_t id = 1; id <= l->net->n; id++) {
		const struct raft_host *h = l->net->hosts[id];

		if (h->raft == NULL ||
		    raft_host_status(h).role == RAFT_FOLLOWER ||
		    raft_host_status(h).role == RAFT_LEADER)
			continue;
		campaign(l);
		return;
	}
}

static void unreachable(struct life *l)
{
	struct raft_host *h = some_leader(l);

	if (h != NULL)
		raft_host_unreachable(h, 1 + below(l, l->net->n));
}

/* Each so often in a thousand ticks, quietly and in the worst life. */
static const struct happening {
	void (*what)(struct life *l);
	unsigned least, most;
} happenings[] = {
	{propose, 300, 300},	{read_something, 80, 80},
	{crash, 2, 25},		{restart, 200, 200},
	{cut, 4, 40},		{compact, 5, 60},
	{keep, 20, 20},		{change_members, 8, 60},
	{transfer, 4, 20},	{unreachable, 0, 20},
	{reboot, 0, 60},	{campaign, 0, 60},
	{reboot_voter, 0, 100}, {rival, 0, 200},
	{stall, 0, 20},
};

static bool go_on(const struct life *l)
{
	return l->net->judge.problem[0] == '\0';
}

static void live_badly(struct life *l)
{
	uint64_t ticks = BAD_TICKS + below(l, 2 * BAD_TICKS);

	for (uint64_t t = 0; t < ticks && go_on(l); t++) {
		for (size_t i = 0; i < ARRAY_SIZE(happenings); i++) {
			const struct happening *h = &happenings[i];

			if (seldom(l, h->least + (h->most - h->least) *
							 l->chaos / 4))
				h->what(l);
		}
		if (!l->elects && seldom(l, 40))
			campaign(l);
		end_installs(l, 25);
		raft_net_tick(l->net);
		l->counts.ticks++;
	}
}

/* --- the end --- */

static void mend(struct life *l)
{
	struct raft_net *net = l->net;

	raft_net_heal(net);
	memset(net->asleep, 0, sizeof(net->asleep));
	net->loss = net->duplicates = 0;
	net->delay = net->delay > 1 ? 1 : net->delay;
	net->disk_delay = net->disk_delay > 1 ? 1 : net->disk_delay;
	for (uint64_t id = 1; id <= net->n; id++)
		net->hosts[id]->withhold = net->hosts[id]->lazy = 0;
	raft_net_start_all(net);
}

static void mended_tick(struct life *l)
{
	const struct raft_host *leader = raft_net_leader(l->net);

	end_installs(l, 100);
	if (!l->elects && leader == NULL && seldom(l, 50))
		campaign(l);
	raft_net_tick(l->net);
	end_installs(l, 100);
}

/* A leader that is ready, and nothing to be done. */
static bool at_rest(struct life *l)
{
	const struct raft_host *leader = raft_net_leader(l->net);
	struct raft_status status;

	if (leader == NULL)
		return false;
	status = raft_host_status(leader);
	return status.ready && !status.changing && status.transfer_to == 0 &&
	       leader->state.index == status.last && raft_net_equal(l->net);
}

static void wait_for_rest(struct life *l, const char *what)
{
	unsigned t = 0;

	for (; t < MENDED_TICKS && go_on(l) && !at_rest(l); t++)
		mended_tick(l);
	l->counts.mended += t;
	if (t == MENDED_TICKS)
		raft_judge_broken(&l->net->judge, NULL,
				  "%s: no rest after %d ticks", what,
				  MENDED_TICKS);
}

static void live_well(struct life *l)
{
	uint64_t before = l->net->n_acknowledged;

	mend(l);
	/* The leader may still change under a proposal, but not for ever. */
	for (int i = 0; i < 10 && l->net->n_acknowledged == before; i++) {
		int rc;

		wait_for_rest(l, i == 0 ? "mended" : "a last entry");
		if (!go_on(l))
			return;
		before = l->net->n_acknowledged;
		rc = raft_net_propose(l->net,
				      raft_net_leader(l->net)->config.id, 8);
		if (rc != RAFT_OK)
			raft_judge_broken(&l->net->judge, NULL,
					  "a last entry is refused: %s",
					  raft_error_text((enum raft_error)rc));
		mended_tick(l);
		wait_for_rest(l, "a last entry");
	}
	if (go_on(l) && l->net->n_acknowledged == before)
		raft_judge_broken(&l->net->judge, NULL,
				  "the last entry is not committed");
}

static void count(struct life *l, struct counts *sum)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)&l->counts;

	l->counts.terms = l->net->judge.leader_term;
	l->counts.committed = l->net->judge.n_committed;
	l->counts.acknowledged = l->net->n_acknowledged;
	l->counts.reads = l->net->n_answered;
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static int live(uint64_t seed, enum raft_host_bug bug, FILE *trace,
		struct counts *sum)
{
	struct life l = {.bug = bug};
	bool ok;

	begin(&l, seed);
	l.net->trace = trace;
	live_badly(&l);
	if (go_on(&l))
		live_well(&l);
	ok = go_on(&l);
	if (trace != NULL)
		raft_net_print(l.net, trace);
	if (!ok)
		printf("# seed %" PRIu64 ", tick %" PRIu64 ": %s\n", seed,
		       l.net->now, l.net->judge.problem);
	fflush(stdout);
	count(&l, sum);
	raft_net_destroy(l.net);
	return ok ? 0 : 1;
}

/* --- the program --- */

static int run_seed(const struct seeds *s, uint64_t seed)
{
	struct counts sum = {0};

	return live(seed, *(enum raft_host_bug *)s->arg, NULL, &sum);
}

static int run_range(const char *program, const char *bug_name,
		     enum raft_host_bug bug, char **range)
{
	auto_free char *repeat = xprintf("%s%s%s --trace", program,
					 bug_name == NULL ? "" : " --bug ",
					 bug_name == NULL ? "" : bug_name);
	struct seeds seeds = {
		.from = strtoumax(range[0], NULL, 10),
		.to = strtoumax(range[1], NULL, 10),
		.until_caught = bug != RAFT_HOST_SOUND,
		.run = run_seed,
		.arg = &bug,
		.repeat = repeat,
		.options = "",
	};

	puts("1..1");
	return seeds_run(&seeds, 1) ? 0 : 1;
}

static int run_count(char **range)
{
	static const char *const names[] = {
		"ticks",   "terms",	"committed", "acknowledged",
		"reads",   "crashes",	"installs",  "compactions",
		"changes", "transfers", "campaigns", "ticks to mend",
	};
	struct counts sum = {0};
	int failed = 0;

	for (uintmax_t seed = strtoumax(range[0], NULL, 10);
	     seed <= strtoumax(range[1], NULL, 10); seed++)
		failed += live(seed, RAFT_HOST_SOUND, NULL, &sum);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		printf("%-14s %" PRIu64 "\n", names[i], ((uint64_t *)&sum)[i]);
	printf("%-14s %d\n", "failed", failed);
	return failed == 0 ? 0 : 1;
}

static int usage(void)
{
	fprintf(stderr, "Usage: raft_lives [--bug NAME] FROM TO | --count FROM "
			"TO | [--bug NAME] --trace SEED\nBugs:");
	for (size_t i = 0; i < ARRAY_SIZE(bugs); i++)
		fprintf(stderr, " %s", bugs[i].name);
	putc('\n', stderr);
	return 2;
}

static const struct bug *bug_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(bugs); i++)
		if (strcmp(bugs[i].name, name) == 0)
			return &bugs[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"bug", required_argument, NULL, 'b'},
		{"count", no_argument, NULL, 'c'},
		{"trace", required_argument, NULL, 't'},
		{0},
	};
	const struct bug *bug = NULL;
	const char *trace = NULL;
	bool counting = false;
	enum raft_host_bug number;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			trace = optarg;
		else if (c == 'c')
			counting = true;
		else if (c != 'b' || (bug = bug_of(optarg)) == NULL)
			return usage();
	}
	number = bug == NULL ? RAFT_HOST_SOUND : bug->bug;
	if (trace != NULL) {
		struct counts sum = {0};

		return live(strtoumax(trace, NULL, 10), number, stdout, &sum);
	}
	if (argc - optind != 2)
		return usage();
	if (counting)
		return run_count(argv + optind);
	return run_range(argv[0], bug == NULL ? NULL : bug->name, number,
			 argv + optind);
}
