/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of a cluster (life.h).  run --seed S [--steps N] lives one and
 * prints one line; the same seed gives the same trace.  --seeds A-B lives many
 * (seeds.h) and prints TAP: the seeds that failed, with the command that
 * repeats each.  --until-caught is for builds with a planted bug: it
 * succeeds at the first seed that fails.  --take-overs: other nodes become
 * master, too (takeover.c).  --changes: and candidates change, old disks come
 * back, and so on (changes.c). */
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/life.h"
#include "tests/sim/seeds.h"

#define STEPS_DEFAULT 120

struct options {
	const char *program;
	uintmax_t from, to;
	int steps;
	bool range, until_caught;
	enum life_kind kind;
};

static int run_seed(const struct options *o, uint64_t seed, bool quiet)
{
	auto_strv struct strv problems = {0};
	struct life *l = life_run(seed, o->steps, o->kind, &problems);
	auto_free char *text = strv_join(&problems, "; ");

	if (!quiet || problems.n > 0)
		printf("# seed %ju: %zu nodes, %zu orders, %u faults, %u "
		       "masters, "
		       "trace %016jx: %s\n",
		       (uintmax_t)seed, l->s.n_nodes, l->n_orders, l->n_faults,
		       l->s.n_masters, (uintmax_t)l->s.trace,
		       problems.n == 0 ? "ok" : text);
	fflush(stdout);
	life_free(l);
	return problems.n == 0 ? 0 : 1;
}

static int run_one(const struct seeds *seeds, uint64_t seed)
{
	return run_seed(seeds->arg, seed, true);
}

static int run_range(struct options *o)
{
	auto_free char *repeat = xprintf("gdb --args %s --seed", o->program);
	static const char *const kinds[] = {"", " --take-overs", " --changes"};
	auto_free char *options =
		xprintf(" --steps %d%s", o->steps, kinds[o->kind]);
	struct seeds seeds = {
		.from = o->from,
		.to = o->to,
		.until_caught = o->until_caught,
		.run = run_one,
		.arg = o,
		.repeat = repeat,
		.options = options,
	};

	puts("1..1");
	return seeds_run(&seeds, 1) ? 0 : 1;
}

static int usage(void)
{
	fprintf(stderr, "Usage: run --seed S | --seeds A-B [--steps N] "
			"[--until-caught] [--take-overs | --changes]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'r'},
		{"steps", required_argument, NULL, 'n'},
		{"until-caught", no_argument, NULL, 'c'},
		{"take-overs", no_argument, NULL, 't'},
		{"changes", no_argument, NULL, 'g'},
		{0},
	};
	struct options o = {
		.program = argv[0], .from = 1, .to = 1, .steps = STEPS_DEFAULT};
	int c;

	/* Of its threads one runs at a time: one heap is a quarter faster. */
	mallopt(M_ARENA_MAX, 1);
	mem_init();
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			o.from = o.to = strtoumax(optarg, NULL, 10);
		else if (c == 'r' &&
			 sscanf(optarg, "%ju-%ju", &o.from, &o.to) == 2)
			o.range = true;
		else if (c == 'n')
			o.steps = atoi(optarg);
		else if (c == 'c')
			o.until_caught = true;
		else if (c == 't')
			o.kind = LIFE_TAKE_OVERS;
		else if (c == 'g')
			o.kind = LIFE_CHANGES;
		else
			return usage();
	}
	if (o.range)
		return run_range(&o);
	seeds_pin(0);
	return run_seed(&o, o.from, false);
}
