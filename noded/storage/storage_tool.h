/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's programs that make and change storage: LVM's, DRBD's and others.
 *
 * On a real node a program is found in the usual folders.  A node of a virtual
 * cluster shares its machine with others, so it runs none of the machine's: it
 * has those alone that somebody put below its root, in /usr/sbin.  Programs run
 * in the language of no country, as numbers in their output are parsed. */
#ifndef NODED_STORAGE_STORAGE_TOOL_H
#define NODED_STORAGE_STORAGE_TOOL_H

#include <jansson.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/proc.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* LVM and DRBD answer in a second; what takes longer than this hangs. */
#define STORAGE_TOOL_MS 120000u
/* A program whose work grows with the disk; less than a master waits for the
 * call. */
#define STORAGE_TOOL_LONG_MS 840000u

/* Run argv (ended by NULL; argv[0] a name without folder); 0 when it ran,
 * however it ended.  `input` goes to its stdin (NULL: nothing). */
WAITS int storage_tool_run(const struct paths *p, const char *const *argv,
			   const char *input, struct proc_result *ret,
			   struct error *err);

/* For whom the running task changes something, as its mark (task_set_mark()):
 * a master, which another one may replace while a program runs.  Then no other
 * program that changes something is begun for it. */
struct storage_caller {
	int (*in_force)(void *arg, struct error *err);
	void *arg;
};

/* Between two acts of one function: 0 while the caller is obeyed (or there is
 * none), else -1 with err of ECODE_FENCED. */
int storage_tool_in_force(struct error *err);

/* The same as storage_tool_run() for a program that changes something, which
 * only runs for a caller in force; fail with what it said unless it exits with
 * 0. */
WAITS int storage_tool_check(const struct paths *p, const char *const *argv,
			     struct error *err);
WAITS int storage_tool_check_strv(const struct paths *p,
				  const struct strv *argv, struct error *err);
/* The same with STORAGE_TOOL_LONG_MS. */
WAITS int storage_tool_check_long(const struct paths *p,
				  const struct strv *argv, struct error *err);

/* The same as storage_tool_run(); what it printed, to be freed. */
WAITS char *storage_tool_read(const struct paths *p, const char *const *argv,
			      struct error *err);

/* The same as JSON. */
WAITS json_t *storage_tool_json(const struct paths *p, const char *const *argv,
				struct error *err);

/* Fill err with how the program ended and what it said; returns -1. */
int storage_tool_failed(const char *name, const struct proc_result *result,
			struct error *err);

#endif
