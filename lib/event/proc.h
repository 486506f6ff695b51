/* SPDX-License-Identifier: BSD-2-Clause */
/* Run a program and wait for it: argv arrays only, never a shell.
 *
 * Each program gets a process group of its own; at the time limit the whole
 * group is killed.  Output is kept up to a limit; the rest is read and dropped,
 * and the result says so.  At most PROC_MAX programs are being started at the
 * same time, because uv_spawn() holds the loop until the exec; further starts
 * wait. */
#ifndef EVENT_PROC_H
#define EVENT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"

#define PROC_MAX 32
#define PROC_FDS_MAX 512
#define PROC_OUTPUT_MAX (1024 * 1024)

struct proc_spec {
	const char *const *argv; /* argv[0]: a path, or a name found in PATH */
	const char *const *env;	 /* "K=V"..., NULL: ours is inherited */
	const char *cwd;	 /* NULL: ours */
	const char *input;	 /* to stdin; NULL: /dev/null */
	size_t input_len;
	const int *fds;	     /* further descriptors; the program's 3, 4... */
	size_t n_fds;	     /* more than PROC_FDS_MAX are an error */
	unsigned timeout_ms; /* 0: none */
	size_t output_max;   /* of each stream; 0: PROC_OUTPUT_MAX */
	bool merge_stderr;   /* both streams into out, as they come */
	const char *output_file; /* append both there instead (mode 0600) */
	bool detached; /* Goes on when we end.  Its output goes to /dev/null or
			* output_file, and proc_run() returns as soon as it is
			* started. */
};

struct proc_result {
	int pid;
	int status; /* exit code; -1 if it ended by a signal */
	int signal;
	bool timed_out;
	bool truncated;
	char *out; /* NUL-terminated, never NULL after success */
	size_t out_len;
	char *err;
	size_t err_len;
};

#define auto_proc __attribute__((cleanup(proc_result_done), unused))

/* 0 when the program ran, however it ended; -1 when it could not be started.
 * *ret is then zeroed.  Free it with proc_result_done(). */
WAITS int proc_run(const struct proc_spec *spec, struct proc_result *ret,
		   struct error *err);
void proc_result_done(struct proc_result *r);

/* Whether it exited with 0, within its time limit. */
bool proc_succeeded(const struct proc_result *r);

/* How it ended, for messages: "exited with exit code 3", "was ended by signal
 * 9", "exceeded its time limit"; returns ret_text. */
#define PROC_HOW_MAX 48
const char *proc_how(const struct proc_result *r, char ret_text[PROC_HOW_MAX]);

/* Run argv (ended by NULL) and fail with its stderr unless it exits with 0. */
WAITS int proc_check(const char *const *argv, unsigned timeout_ms,
		     struct error *err);

/* Forget detached programs that still run, so that the loop can be closed.
 * They go on. */
void proc_forget_all(void);

#endif
