/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of a cluster (life.h).  run --seed S [--steps N] lives one and
 * prints one line; the same seed gives the same trace.  --seeds A-B lives many,
 * a process each (so that a crash of one names it and ends only it), on as many
 * CPUs as there are, and prints TAP: the seeds that failed, with the command
 * that repeats each.  --until-caught is for builds with a planted bug: it
 * succeeds at the first seed that fails.  --take-overs: other nodes become
 * master, too (takeover.c). */
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/life.h"

#define STEPS_DEFAULT 120

/* A seed takes a tenth of a second; one that takes so long hangs. */
#define SEED_LIMIT_S 60

#define WORKERS_MAX 64

struct options {
	const char *program;
	uintmax_t from, to;
	int steps;
	bool range, until_caught, take_overs;
};

static int run_seed(const struct options *o, uint64_t seed, bool quiet)
{
	auto_strv struct strv problems = {0};
	struct life *l = life_run(seed, o->steps, o->take_overs, &problems);
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

/* Tasks hand control around: on one CPU that is ten times as fast. */
static void pin(unsigned worker)
{
	cpu_set_t all, one;
	unsigned seen = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	worker %= (unsigned)CPU_COUNT(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && seen++ == worker) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
		}
}

static pid_t start_seed(const struct options *o, uintmax_t seed,
			unsigned worker)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	pin(worker);
	alarm(SEED_LIMIT_S);
	/* What is fine needs no line. */
	if (o->to - o->from > 100 && freopen("/dev/null", "w", stderr) == NULL)
		_exit(2);
	_exit(run_seed(o, seed, true));
}

static void tell_failed(const struct options *o, uintmax_t seed, int status)
{
	printf("# seed %ju failed (%s %d), repeat it with:\n"
	       "#   gdb --args %s --seed %ju --steps %d%s\n",
	       seed, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       o->program, seed, o->steps,
	       o->take_overs ? " --take-overs" : "");
	fflush(stdout);
}

struct worker {
	pid_t pid;
	uintmax_t seed;
};

/* Wait for one of them to end: its place, and whether it failed. */
static unsigned reap(const struct options *o, struct worker *workers,
		     unsigned n, uintmax_t *failed)
{
	int status;
	pid_t pid = wait(&status);

	for (unsigned i = 0; i < n; i++) {
		if (workers[i].pid != pid)
			continue;
		workers[i].pid = 0;
		if (status != 0) {
			tell_failed(o, workers[i].seed, status);
			(*failed)++;
		}
		return i;
	}
	abort();
}

static unsigned n_running(const struct worker *workers, unsigned n)
{
	unsigned running = 0;

	for (unsigned i = 0; i < n; i++)
		running += workers[i].pid != 0;
	return running;
}

static uintmax_t run_all(const struct options *o)
{
	struct worker workers[WORKERS_MAX] = {{0}};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = cpus < 1		  ? 1
		     : cpus > WORKERS_MAX ? WORKERS_MAX
					  : (unsigned)cpus;
	uintmax_t seed = o->from, failed = 0;

	for (unsigned i = 0; i < n && seed <= o->to; i++, seed++)
		workers[i] = (struct worker){start_seed(o, seed, i), seed};
	while (n_running(workers, n) > 0) {
		unsigned i = reap(o, workers, n, &failed);

		if (seed > o->to || (o->until_caught && failed > 0))
			continue;
		workers[i] = (struct worker){start_seed(o, seed, i), seed};
		seed++;
	}
	return failed;
}

static int run_range(const struct options *o)
{
	uintmax_t failed = run_all(o);
	bool ok = o->until_caught ? failed > 0 : failed == 0;

	printf("1..1\n%sok 1 - %s %ju-%ju\n", ok ? "" : "not ",
	       o->until_caught ? "the planted bug is caught by a seed of"
			       : "seeds",
	       o->from, o->to);
	return ok ? 0 : 1;
}

static int usage(void)
{
	fprintf(stderr, "Usage: run --seed S | --seeds A-B [--steps N] "
			"[--until-caught] [--take-overs]\n");
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
		{0},
	};
	struct options o = {
		.program = argv[0], .from = 1, .to = 1, .steps = STEPS_DEFAULT};
	int c;

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
			o.take_overs = true;
		else
			return usage();
	}
	if (o.range)
		return run_range(&o);
	pin(0);
	return run_seed(&o, o.from, false);
}
