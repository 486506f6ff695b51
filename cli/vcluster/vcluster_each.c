/* SPDX-License-Identifier: BSD-2-Clause */
/* The same for many nodes, by a few processes side by side.  What is done are
 * small files, each of which waits for the disk; disks do many of these at
 * once. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/remote/run.h"
#include "cli/vcluster/vcluster.h"
#include "lib/base/mem.h"

#define WORKERS 16
#define LEAST_NODES 8 /* for fewer it is not worth a process */

static int do_share(const struct vcluster *v, size_t first, size_t step,
		    vcluster_fn *fn, struct error *err)
{
	for (size_t i = first; i < v->n; i += step)
		if (fn(v, &v->nodes[i], err) < 0)
			return error_wrap(err, "Node %s", v->nodes[i].name);
	return 0;
}

static _Noreturn void work(const struct vcluster *v, size_t first,
			   vcluster_fn *fn, int out)
{
	struct error err;

	/* A command that was killed makes nothing behind its destroy. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (do_share(v, first, WORKERS, fn, &err) == 0)
		_exit(0);
	/* Shorter than what a pipe takes as a whole. */
	if (write(out, err.text, strlen(err.text)) < 0)
		_exit(2);
	_exit(1);
}

int vcluster_each(const struct vcluster *v, size_t first, vcluster_fn *fn,
		  struct error *err)
{
	char text[ERROR_TEXT_MAX] = "it ended";
	pid_t pids[WORKERS];
	int ends[2], rc = 0;

	if (v->n < first + LEAST_NODES || pipe2(ends, 0) < 0)
		return do_share(v, first, 1, fn, err);
	fflush(NULL);
	for (size_t i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			work(v, first + i, fn, ends[1]);
	}
	close(ends[1]);
	for (size_t i = 0; i < WORKERS; i++)
		if (pids[i] < 0 || run_wait(pids[i]) != 0)
			rc = -1;
	if (rc < 0) {
		ssize_t n = read(ends[0], text, sizeof(text) - 1);

		if (n > 0)
			text[n] = '\0';
		error_set(err, ERR_SYSTEM, ECODE_ENVIRON, "%s", text);
	}
	close(ends[0]);
	return rc;
}
