/* SPDX-License-Identifier: BSD-2-Clause */
/* What every daemon does: options, going to the background, the pid file, the
 * log, signals, an orderly end. */
#ifndef EVENT_DAEMON_H
#define EVENT_DAEMON_H

#include <stdbool.h>
#include <uv.h>

#include "lib/base/error.h"

struct daemon {
	const char *name;     /* "ganeti-noded": pid file, log, messages */
	const char *pid_file; /* written and locked; removed at the end */
	const char *log_file; /* NULL: stderr */
	bool foreground;
	bool debug;

	/* Called on the loop once it runs: start listening.  -1: the daemon
	 * ends with status 1 and says why; with background start the parent
	 * prints it and exits 1, so whoever started us knows. */
	int (*start)(struct daemon *d, struct error *err);

	/* SIGTERM or SIGINT: stop listening, finish tasks; when the last
	 * handle is closed daemon_main returns. */
	void (*stop)(struct daemon *d);
	/* SIGHUP; may be NULL. */
	void (*reload)(struct daemon *d);

	void *arg;

	/* Private. */
	uv_loop_t loop;
	uv_signal_t on_term, on_int, on_hup;
	int pid_fd;
	int ready_fd;
	int status;
	bool stopping;
};

/* Run the daemon to its end; returns main's exit status.  In background mode
 * the caller's process exits 0 only after start() succeeded. */
int daemon_main(struct daemon *d);

/* Ask it to end with this exit status, as SIGTERM would. */
void daemon_quit(struct daemon *d, int status);

#endif
