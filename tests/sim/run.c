/* SPDX-License-Identifier: BSD-2-Clause */
/* Random lives of a cluster: run --seed S [--steps N] does N random things,
 * with nodes that go away, replies that get lost and, sometimes, a master that
 * is killed; then everything is healed and checked.  Prints one line a seed;
 * the same seed gives the same trace.  --seeds A-B runs a range, each in a
 * process of its own. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define INSTANCES 12
#define STEPS_DEFAULT 60
#define HEAL_MS (4 * 3600 * 1000)

struct life {
	struct sim s;
	uint64_t *acknowledged;
	size_t n_acknowledged;
	unsigned crashes;
};

static void submit(struct life *l, json_t *op STEALS)
{
	char *error = NULL;
	uint64_t id = sim_submit(&l->s, op, &error);

	free(error);
	if (id == 0)
		return;
	l->acknowledged = xrealloc(l->acknowledged,
				   (l->n_acknowledged + 1) * sizeof(uint64_t));
	l->acknowledged[l->n_acknowledged++] = id;
}

static void random_job(struct life *l)
{
	static const char *const verbs[] = {
		"OP_INSTANCE_REMOVE", "OP_INSTANCE_STARTUP",
		"OP_INSTANCE_SHUTDOWN", "OP_INSTANCE_STARTUP"};
	auto_free char *name = xprintf("web%d", (int)random_below(INSTANCES));
	const char *node = l->s.nodes[random_below(l->s.n_nodes)].name;
	uint64_t what = random_below(100);

	if (what < 40)
		submit(l, op_add(name, what < 20 ? node : NULL, what % 2));
	else if (what < 70)
		submit(l, op_named(verbs[random_below(4)], name));
	else if (what < 80)
		submit(l, op_move("OP_INSTANCE_FAILOVER", name, node));
	else if (what < 90)
		submit(l, op_move("OP_INSTANCE_MIGRATE", name, node));
	else
		submit(l, op_delay(0.001 * (double)(1 + random_below(2000)),
				   what < 95 ? node : NULL));
}

static void step(struct life *l)
{
	uint64_t what = random_below(100);

	if (what < 70) {
		random_job(l);
	} else if (what < 95) {
		sim_run(&l->s, (int64_t)random_below(2000), NULL, NULL);
	} else {
		sim_crash(&l->s, random_below(UINT64_MAX));
		sim_restart(&l->s);
		l->crashes++;
	}
}

static bool all_final(struct sim *s, void *arg)
{
	struct life *l = arg;

	for (size_t i = 0; i < l->n_acknowledged; i++) {
		const struct job *j =
			queue_job(s->master->queue, l->acknowledged[i]);

		if (j != NULL && !job_is_final(j))
			return false;
	}
	return true;
}

static bool ended(const struct job *j, void *arg)
{
	return job_is_final(j) || !(*(bool *)arg = false);
}

static bool queue_quiet(struct sim *s, void *arg)
{
	bool quiet = true;

	(void)arg;
	queue_each(s->master->queue, ended, &quiet);
	return quiet;
}

/* What must hold after everything is healed: nothing lost, nothing open, no
 * lock, no reservation.  With crashes the nodes may differ from the
 * configuration (that is what verify reports); without, they must not. */
static void check(struct life *l, struct strv *ret)
{
	auto_strv struct strv problems = {0};

	if (!sim_run(&l->s, HEAL_MS, all_final, l) ||
	    !sim_run(&l->s, HEAL_MS, queue_quiet, l))
		strv_add(ret, "a job never ends");
	for (size_t i = 0; i < l->n_acknowledged; i++)
		if (queue_job(l->s.master->queue, l->acknowledged[i]) == NULL)
			strv_addf(ret, "acknowledged job %ju is lost",
				  (uintmax_t)l->acknowledged[i]);
	sim_check(&l->s, &problems);
	for (size_t i = 0; i < problems.n; i++)
		if (l->crashes == 0 || str_starts(problems.items[i], "lock") ||
		    str_starts(problems.items[i], "job") ||
		    strstr(problems.items[i], "forthcoming") != NULL)
			strv_add(ret, problems.items[i]);
}

static int run_seed(uint64_t seed, int steps)
{
	struct life *l = xalloc(sizeof(*l));
	auto_strv struct strv problems = {0};
	auto_free char *text = NULL;

	sim_init(&l->s, 4, seed);
	l->s.max_delay_ms = 50;
	for (int i = 0; i < steps; i++)
		step(l);
	check(l, &problems);
	text = strv_join(&problems, "; ");
	printf("# seed %ju: %zu jobs, %u crashes, trace %016jx: %s\n",
	       (uintmax_t)seed, l->n_acknowledged, l->crashes,
	       (uintmax_t)l->s.trace, problems.n == 0 ? "ok" : text);
	fflush(stdout);
	sim_done(&l->s);
	free(l->acknowledged);
	free(l);
	return problems.n == 0 ? 0 : 1;
}

/* A process a seed, so that a crash of one names it and ends only it. */
static int run_range(uint64_t from, uint64_t to, int steps)
{
	int failed = 0;

	for (uint64_t seed = from; seed <= to; seed++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(run_seed(seed, steps));
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
			printf("not ok %ju - seed %ju\n",
			       (uintmax_t)(seed - from + 1), (uintmax_t)seed);
			failed = 1;
		} else {
			printf("ok %ju - seed %ju\n",
			       (uintmax_t)(seed - from + 1), (uintmax_t)seed);
		}
		fflush(stdout);
	}
	printf("1..%ju\n", (uintmax_t)(to - from + 1));
	return failed;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'r'},
		{"steps", required_argument, NULL, 'n'},
		{0},
	};
	uintmax_t from = 1, to = 1;
	int steps = STEPS_DEFAULT, c;
	bool range = false;

	mem_init();
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's') {
			from = to = strtoumax(optarg, NULL, 10);
		} else if (c == 'r' &&
			   sscanf(optarg, "%ju-%ju", &from, &to) == 2) {
			range = true;
		} else if (c == 'n') {
			steps = atoi(optarg);
		} else {
			fprintf(stderr, "Usage: run --seed S | --seeds A-B "
					"[--steps N]\n");
			return 2;
		}
	}
	return range ? run_range(from, to, steps) : run_seed(from, steps);
}
