/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/seeds.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A seed takes a fraction of a second of the CPU; one that takes so long is
 * caught in a loop.  One that hangs takes none; but on a machine that does a
 * lot besides, a seed may have to wait for long. */
#define SEED_CPU_S 60
#define SEED_LIMIT_S 600

#define WORKERS_MAX 64

void seeds_pin(unsigned worker)
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

static pid_t start_seed(const struct seeds *s, uintmax_t seed, unsigned worker)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	seeds_pin(worker);
	setrlimit(RLIMIT_CPU, &(struct rlimit){SEED_CPU_S, SEED_CPU_S});
	alarm(SEED_LIMIT_S);
	/* What is fine needs no line. */
	if (s->to - s->from > 100 && freopen("/dev/null", "w", stderr) == NULL)
		_exit(2);
	_exit(s->run(s, seed));
}

static void tell_failed(const struct seeds *s, uintmax_t seed, int status)
{
	printf("# seed %ju failed (%s %d), repeat it with:\n#   %s %ju%s\n",
	       seed, WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       s->repeat, seed, s->options);
	fflush(stdout);
}

struct worker {
	pid_t pid;
	uintmax_t seed;
};

/* Wait for one of them to end: its place, and whether it failed. */
static unsigned reap(const struct seeds *s, struct worker *workers, unsigned n,
		     uintmax_t *failed)
{
	int status;
	pid_t pid = wait(&status);

	for (unsigned i = 0; i < n; i++) {
		if (workers[i].pid != pid)
			continue;
		workers[i].pid = 0;
		if (status != 0) {
			tell_failed(s, workers[i].seed, status);
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

static uintmax_t run_all(const struct seeds *s)
{
	struct worker workers[WORKERS_MAX] = {{0}};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = cpus < 1		  ? 1
		     : cpus > WORKERS_MAX ? WORKERS_MAX
					  : (unsigned)cpus;
	uintmax_t seed = s->from, failed = 0;

	for (unsigned i = 0; i < n && seed <= s->to; i++, seed++)
		workers[i] = (struct worker){start_seed(s, seed, i), seed};
	while (n_running(workers, n) > 0) {
		unsigned i = reap(s, workers, n, &failed);

		if (seed > s->to || (s->until_caught && failed > 0))
			continue;
		workers[i] = (struct worker){start_seed(s, seed, i), seed};
		seed++;
	}
	return failed;
}

bool seeds_run(const struct seeds *s, int test)
{
	uintmax_t failed = run_all(s);
	bool ok = s->until_caught ? failed > 0 : failed == 0;

	printf("%sok %d - %s %ju-%ju\n", ok ? "" : "not ", test,
	       s->until_caught ? "the planted bug is caught by a seed of"
			       : "seeds",
	       s->from, s->to);
	return ok;
}
