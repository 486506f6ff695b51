/* SPDX-License-Identifier: BSD-2-Clause */
/* What every daemon does: options, going to the background, the pid file, the
 * log, signals, an orderly end. */
#ifndef EVENT_DAEMON_H
#define EVENT_DAEMON_H

#include <stdbool.h>
#include <uv.h>

#include "lib/base/error.h"

#define DAEMON_STOP_MS 10000

struct daemon {
	const char *name;     /* "ganeti-noded": pid file, log, messages */
	const char *pid_file; /* written and locked; removed at the end */
	const char *log_file; /* NULL: none; in the foreground: stderr */
	bool foreground;
	bool debug;

	/* Called on the loop once it runs: start listening.  -1: the daemon
	 * ends at once with status 1 and says why; with background start the
	 * parent prints it and exits 1, so whoever started us knows.  stop() is
	 * then not called. */
	int (*start)(struct daemon *d, struct error *err);

	/* start() only begins; the parent waits until daemon_ready() is
	 * called.  start() may set it as well. */
	bool ready_later;

	/* SIGTERM or SIGINT: stop listening, finish tasks; when the last
	 * handle is closed daemon_main returns. */
	void (*stop)(struct daemon *d);
	/* SIGHUP; may be NULL. */
	void (*reload)(struct daemon *d);

	/* How long tasks and handles have to end after stop(); what is left
	 * then is cut off.  0: DAEMON_STOP_MS. */
	unsigned stop_ms;

	void *arg;

	/* Private. */
	uv_loop_t loop;
	uv_signal_t on_term, on_int, on_hup;
	uv_idle_t soon;
	int pid_fd;
	int ready_fd;
	int status;
	bool redirected, started, failed, quitting, stopping;
};

/* Run the daemon to its end; returns main's exit status.  In background mode
 * this returns in the caller's process too: 0 only after start() succeeded.
 * Call it before any thread or loop exists; tasks_init() and tasks_close() are
 * done here.  Paths are absolute. */
int daemon_main(struct daemon *d);

/* With ready_later: it is ready, or (err) it cannot start and ends with
 * status 1, as whoever started it does. */
void daemon_ready(struct daemon *d, const struct error *err);
/* It cannot start and ends with another status. */
void daemon_fail(struct daemon *d, int status, const struct error *err);

/* Between start() and daemon_ready(): a line for whoever waits for the start.
 */
void daemon_progress(struct daemon *d, const char *text);

/* End the process here and now: the log and whoever waits for the start (which
 * ends with the same status) are told why, the pid file is removed, and nothing
 * else is done; what any thread does is cut off.  For when each further write
 * could do harm. */
_Noreturn void daemon_abort(struct daemon *d, int status,
			    const struct error *err);

/* Ask it to end with this exit status, as SIGTERM would. */
void daemon_quit(struct daemon *d, int status);

#endif
