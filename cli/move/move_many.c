/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes share nothing but the terminal, so one that waits for a slow
 * cluster, or dies, is nobody else's trouble.  A Ctrl-C is meant for this
 * process, which passes it on: the others get SIGTERM, the second one of which
 * ends them at once. */
#include "cli/move/move_many.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/move/move_cluster.h"
#include "cli/move/move_job.h"
#include "cli/move/move_options.h"
#include "cli/move/move_run.h"
#include "cli/move/move_tell.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

/* What ends a program, or means to. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

struct child {
	pid_t pid; /* 0: this place is free */
	const char *instance;
};

static struct child *children;
static volatile sig_atomic_t n_children; /* places */

static void on_end(int number)
{
	(void)number;
	move_job_interrupt();
}

static void on_end_pass_on(int number)
{
	int kept = errno;

	(void)number;
	move_job_interrupt();
	for (int i = 0; i < n_children; i++)
		if (children[i].pid > 0)
			kill(children[i].pid, SIGTERM);
	errno = kept;
}

static void handle(int number, void (*fn)(int), int flags)
{
	struct sigaction act = {.sa_handler = fn, .sa_flags = flags};

	sigemptyset(&act.sa_mask);
	sigaction(number, &act, NULL);
}

static void block_ends(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&set, ends[i]);
	sigprocmask(how, &set, NULL);
}

/* --- one instance --- */

static _Noreturn void run_child(const struct move_options *o,
				struct move_cluster *source,
				struct move_cluster *dest, const char *instance)
{
	int rc;

	n_children = 0; /* those are not ours */
	free(children);
	handle(SIGINT, SIG_IGN, 0);
	handle(SIGHUP, SIG_IGN, 0);
	handle(SIGTERM, on_end, (int)SA_RESETHAND);
	block_ends(SIG_UNBLOCK);
	rc = move_run(o, source, dest, instance);
	move_cluster_leave(source);
	move_cluster_leave(dest);
	exit(rc == 0 ? 0 : 1);
}

/* Signals are held back until the child is known, and knows what they mean. */
static bool start(struct child *place, const struct move_options *o,
		  struct move_cluster *source, struct move_cluster *dest,
		  const char *instance)
{
	pid_t pid;

	block_ends(SIG_BLOCK);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_child(o, source, dest, instance);
	if (pid > 0)
		*place = (struct child){.pid = pid, .instance = instance};
	block_ends(SIG_UNBLOCK);
	if (pid < 0)
		move_tell(stderr, instance, "not moved: fork: %s",
			  strerror(errno));
	return pid > 0;
}

static struct child *find(pid_t pid)
{
	for (int i = 0; i < n_children; i++)
		if (children[i].pid == pid)
			return &children[i];
	return NULL;
}

/* Wait until a child has ended; whether its instance has moved. */
static bool reap(void)
{
	struct child *place;
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);
	place = pid < 0 ? NULL : find(pid);
	if (place == NULL)
		return false;
	place->pid = 0;
	if (WIFSIGNALED(status))
		move_tell(stderr, place->instance,
			  "its process was ended by signal %d; jobs that it "
			  "has begun go on",
			  WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- all --- */

static void prepare(int parallel)
{
	children = xcalloc((size_t)parallel, sizeof(*children));
	n_children = parallel;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		handle(ends[i], on_end_pass_on, SA_RESTART);
	/* Who reads our lines may have gone; the moves go on. */
	handle(SIGPIPE, SIG_IGN, 0);
}

static void finish(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		handle(ends[i], SIG_DFL, 0);
	n_children = 0;
	free(children);
	children = NULL;
}

static void sum_up(int n, int moved, int begun)
{
	if (begun < n)
		fprintf(stderr, "Interrupted: %d instances were not begun\n",
			n - begun);
	if (n > 1)
		printf("%d of %d instances have moved\n", moved, n);
}

bool move_many(const struct move_options *o, struct move_cluster *source,
	       struct move_cluster *dest)
{
	int n = o->n_instances, next = 0, running = 0, moved = 0;

	prepare(o->parallel < n ? (int)o->parallel : n);
	while (running > 0 || (next < n && !move_job_interrupted())) {
		struct child *place = find(0);

		if (next < n && place != NULL && !move_job_interrupted()) {
			running += start(place, o, source, dest,
					 o->instances[next]);
			next++;
			continue;
		}
		moved += reap();
		running--;
	}
	finish();
	sum_up(n, moved, next);
	return moved == n;
}
