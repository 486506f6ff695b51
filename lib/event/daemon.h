/* SPDX-License-Identifier: BSD-2-Clause */
/* What every daemon does: options, going to the background, the pid file, the
 * log, signals, an orderly end. */
#ifndef EVENT_DAEMON_H
#define EVENT_DAEMON_H

#include <getopt.h>
#include <stdbool.h>
#include <uv.h>

#include "lib/base/error.h"

#define DAEMON_STOP_MS 10000

struct daemon {
	const char *name;     /* "ganeti-noded": pid file, log, messages */
	const char *pid_file; /* written and locked; removed at the end */
	const char *log_file; /* NULL: none; in the foreground: stderr */
	bool foreground;      /* its log is stderr, unless a service manager has
			       * started it (service.h) */
	bool debug;

	/* Called on the loop once it runs: start listening.  On -1 the daemon
	 * ends with status 1 and says why; a process that waits for a start in
	 * the background prints the error and exits with 1.  stop() is then not
	 * called. */
	int (*start)(struct daemon *d, struct error *err);

	/* start() only begins the start; the process that waits for it goes on
	 * when daemon_ready() is called.  start() may set this. */
	bool ready_later;

	/* SIGTERM or SIGINT: stop listening, finish tasks; when the last
	 * handle is closed daemon_main returns. */
	void (*stop)(struct daemon *d);
	/* SIGHUP; may be NULL. */
	void (*reload)(struct daemon *d);

	/* Another process holds the pid file: whether it has ended now, so that
	 * it is worth another try.  Called before the loop runs; it may block.
	 * NULL: nobody makes way. */
	bool (*make_way)(struct daemon *d);

	/* How long tasks and handles have to end after stop(), in ms; the rest
	 * is cut off.  0: DAEMON_STOP_MS. */
	unsigned stop_ms;

	void *arg;

	/* Private. */
	uv_loop_t loop;
	uv_signal_t on_term, on_int, on_hup;
	uv_idle_t soon;
	uv_timer_t watchdog;
	int pid_fd;
	int ready_fd;
	int status;
	bool managed; /* by a service manager */
	bool redirected, started, failed, quitting, stopping;
};

/* The options of every daemon, for getopt_long(): letters, and the rows of the
 * table. */
#define DAEMON_LETTERS "fdh"
#define DAEMON_VERSION 'V'
/* clang-format off */
#define DAEMON_OPTIONS                                  \
	{"foreground", no_argument, NULL, 'f'},         \
	{"debug", no_argument, NULL, 'd'},              \
	{"version", no_argument, NULL, DAEMON_VERSION}, \
	{"help", no_argument, NULL, 'h'}
/* clang-format on */

/* What getopt_long() returned for one of them: it is noted in d, or shown.
 * program: its name with its version; usage: its whole help.  Returns the
 * status with which to exit, or -1 to go on; 1 when it is none of them. */
int daemon_option(struct daemon *d, int letter, const char *program,
		  const char *usage);

/* Run the daemon to its end; returns the exit status for main().  In background
 * mode it also returns in the process that was called, with 0 only after
 * start() has succeeded.  Call it before any thread or loop exists; it calls
 * tasks_init() and tasks_close() itself.  Paths are absolute. */
int daemon_main(struct daemon *d);

/* With ready_later: the daemon is ready (err is NULL), or it cannot start: then
 * it and the process that waits for it end with status 1. */
void daemon_ready(struct daemon *d, const struct error *err);
/* As daemon_ready() with an error, but with another exit status. */
void daemon_fail(struct daemon *d, int status, const struct error *err);

/* Between start() and daemon_ready(): print a line in the process that waits
 * for the start. */
void daemon_progress(struct daemon *d, const char *text);

/* End the process here and now.  Before, err goes to the log and to the process
 * that waits for the start (it ends with the same status), and the pid file is
 * removed.  Nothing else is done; other threads are cut off.  For errors after
 * which any further write could do harm. */
_Noreturn void daemon_abort(struct daemon *d, int status,
			    const struct error *err);

/* Ask the daemon to end with this exit status, as SIGTERM would with 0. */
void daemon_quit(struct daemon *d, int status);

#endif
