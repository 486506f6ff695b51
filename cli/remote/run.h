/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs started by the commands: daemons, editors, shells.  Blocking, argv
 * arrays only. */
#ifndef CLI_REMOTE_RUN_H
#define CLI_REMOTE_RUN_H

#include <sys/types.h>

#include "lib/base/error.h"

/* The path of one of our programs: beside the running binary, as in a build or
 * an installation, or where it was installed.  To be freed; just the name if it
 * is in neither place. */
char *run_find(const char *program);

/* Start argv with these variables set ("K=V", NULL ends; may be NULL) on top of
 * our environment; stdout and stderr stay ours.  The pid, or -1. */
pid_t run_start(const char *const *argv, const char *const *env,
		struct error *err);

/* Run argv to its end without input, and collect what it prints on stdout and
 * stderr, as it comes (at most RUN_OUTPUT_MAX bytes of it); *ret_output is to
 * be freed.  What others print that it leaves running is not waited for.  Its
 * exit status as of run_wait(), -1 when it could not be started. */
#define RUN_OUTPUT_MAX (16 * 1024 * 1024)
int run_output(const char *const *argv, const char *const *env,
	       char **ret_output, struct error *err);

/* Wait for a process: its exit status, or 128 + the signal that ended it. */
int run_wait(pid_t pid);

#endif
