/* SPDX-License-Identifier: BSD-2-Clause */
/* schedules FIRST LAST: for each seed a cluster of 20 nodes and random orders
 * (schedule_orders.c) while others run: adds, removals, evacuations, moves,
 * changes; some calls of nodes fail.  After each change of the configuration
 * the books are looked at (books.c); when all jobs have ended, whether anything
 * is left over.  At the end: whether each kind of order was done at times. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config/config_private.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/schedules.h"
#include "tests/sim/seeds.h"

#define N_ORDERS 30
#define PAUSE_MS 4000
#define WAIT_MS (3600 * 1000)
#define ENOUGH_SEEDS 100 /* that each kind of order must be done in one */
#define FAILURES 40 /* per cent of the orders are given with a failing node */

/* What all seeds have done together, in memory that their processes share. */
struct tally {
	unsigned done[SCHEDULE_KINDS], failed[SCHEDULE_KINDS];
	unsigned instances, looks;
};

static struct sim s;
static struct strv problems;
static struct tally *tally;

static struct given {
	uint64_t id;
	size_t kind;
} orders[N_ORDERS];

/* --- after each step --- */

static void look(struct sim *sim)
{
	static uint64_t seen;
	const struct config *c;

	if (sim->master == NULL || sim->master->config->changes == seen ||
	    problems.n > 0)
		return;
	c = sim->master->config;
	seen = c->changes;
	books_check(c, &problems);
	__atomic_add_fetch(&tally->looks, 1, __ATOMIC_RELAXED);
}

/* --- orders --- */

static void must(json_t *op STEALS)
{
	auto_free char *got = sim_do(&s, op);

	if (!str_eq(got, "success"))
		strv_addf(&problems, "to begin with: %s", got);
}

static struct sim_node *random_node(void)
{
	return &s.nodes[random_below(SCHEDULE_NODES)];
}

static void make_mirrored(int i)
{
	auto_free char *name = xprintf("mirror%d", i);
	const struct sim_node *a = random_node(), *b = random_node();

	while (a == b)
		b = random_node();
	must(op_add(name, a->name, false));
	sim_make_mirrored(&s, name, a, b, 2 * i, 2);
}

static void begin(void)
{
	must(json_make("{s:s}", "OP_ID", "OP_NODE_REFRESH_STATE"));
	must(json_make("{s:s, s:s, s:s}", "OP_ID", "OP_NETWORK_ADD",
		       "network_name", SCHEDULE_NETWORK, "network",
		       "198.51.100.0/26"));
	must(json_make("{s:s, s:s, s:s, s:s, s:s}", "OP_ID",
		       "OP_NETWORK_CONNECT", "network_name", SCHEDULE_NETWORK,
		       "group_name", "default", "network_mode", "bridged",
		       "network_link", "br0"));
	for (int i = 0; i < SCHEDULE_MIRRORED; i++)
		make_mirrored(i);
}

/* Calls whose failure must be undone whole. */
static void fail_somewhere(void)
{
	static const char *const calls[] = {
		"blockdev_create", "drbd_attach_net", "drbd_disconnect_net"};

	random_node()->fail_on = calls[random_below(3)];
}

static void heal(void)
{
	for (size_t i = 0; i < SCHEDULE_NODES; i++)
		s.nodes[i].fail_on = NULL;
}

static void give(struct given *o)
{
	char *refused = NULL;

	if (random_below(100) < FAILURES)
		fail_somewhere();
	o->id = sim_submit(&s, schedule_order(s.master->config, &o->kind),
			   &refused);
	if (o->id == 0)
		strv_addf(&problems, "refused: %s", refused);
	free(refused);
	/* Half of them begin together with the next. */
	if (random_below(2) == 0)
		sim_run(&s, (int64_t)random_below(PAUSE_MS), NULL, NULL);
	heal();
}

/* --- afterwards --- */

static bool find_unfinished(const struct job *j, void *arg)
{
	uint64_t *id = arg;

	if (!job_is_final(j))
		*id = j->id;
	return *id == 0;
}

static bool all_final(struct sim *sim, void *arg)
{
	uint64_t id = 0;

	(void)arg;
	queue_each(sim->master->queue, find_unfinished, &id);
	return id == 0;
}

/* For whoever looks at one seed. */
static bool tell_job(const struct job *j, void *arg)
{
	const struct job_op *op = &j->ops[0];

	(void)arg;
	printf("# job %ju: %s: %s %s\n", (uintmax_t)j->id, op->input,
	       job_state_name(job_status(j)),
	       op->result == NULL ? "" : op->result);
	return true;
}

static void count(void)
{
	for (size_t i = 0; i < N_ORDERS; i++) {
		const struct job *j = queue_job(s.master->queue, orders[i].id);
		bool done = j != NULL && job_status(j) == JOB_SUCCESS;

		__atomic_add_fetch(done ? &tally->done[orders[i].kind]
					: &tally->failed[orders[i].kind],
				   1, __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(
		&tally->instances,
		json_object_size(config_all(s.master->config, CONFIG_INSTANCE)),
		__ATOMIC_RELAXED);
}

static int run(const struct seeds *seeds, uint64_t seed)
{
	auto_free char *text = NULL;

	sim_init_big(&s, SCHEDULE_NODES, 1 + seed % 4, seed);
	begin();
	s.watch = look;
	for (size_t i = 0; i < N_ORDERS; i++)
		give(&orders[i]);
	if (!sim_run(&s, WAIT_MS, all_final, NULL))
		strv_add(&problems, "jobs did not end");
	sim_run(&s, 60000, NULL, NULL);
	books_check_quiet(s.master->config, &problems);
	sim_check(&s, &problems);
	count();
	if (seeds->from == seeds->to)
		queue_each(s.master->queue, tell_job, NULL);
	text = strv_join(&problems, "; ");
	if (problems.n > 0)
		printf("# seed %" PRIu64 ": %s\n", seed, text);
	fflush(stdout);
	sim_done(&s);
	return problems.n > 0;
}

static int tell_kinds(int test, uintmax_t n_seeds)
{
	bool ok = true;

	for (size_t i = 0; i < SCHEDULE_KINDS; i++) {
		printf("# %s: %u done, %u failed\n", schedule_kind_name(i),
		       tally->done[i], tally->failed[i]);
		ok &= tally->done[i] > 0 || n_seeds < ENOUGH_SEEDS;
	}
	printf("# %u instances at the ends, the books were looked at %u "
	       "times\n",
	       tally->instances, tally->looks);
	printf("%sok %d - orders of each kind were done\n", ok ? "" : "not ",
	       test);
	return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct seeds seeds = {.run = run, .repeat = argv[0], .options = ""};
	int failed;

	mem_init();
	seeds.from = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	seeds.to = argc > 2 ? strtoull(argv[2], NULL, 10) : seeds.from;
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 2;
	if (argc == 2) { /* one, to be looked at with a debugger */
		seeds_pin(0);
		return run(&seeds, seeds.from);
	}
	puts("1..2");
	failed = !seeds_run(&seeds, 1);
	return tell_kinds(2, seeds.to - seeds.from + 1) + failed;
}
