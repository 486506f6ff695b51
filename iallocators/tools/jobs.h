/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps as commands: sets of jobs, of which all in a set can run at once. */
#ifndef IALLOCATORS_TOOLS_JOBS_H
#define IALLOCATORS_TOOLS_JOBS_H

#include "iallocators/balance/balance.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* How commands are written down: for people, or as a script. */
struct jobs_style {
	const char *indent;
	const char *check; /* a command before each job, or NULL */
	bool first_only;   /* the first set of jobs */
	bool full_names;   /* of instances, not without the suffix */
};

/* For the screen, or for a script that -C FILE asks for. */
struct jobs_style jobs_style(bool script);

/* Add n steps to out as commands, grouped into sets of jobs that can run at the
 * same time. */
void jobs_add(const struct cluster *c, const struct balance_step *steps, int n,
	      const struct jobs_style *style, struct buf *out);

/* Write commands to a file, as a shell script, and tell that. */
int jobs_write(const struct buf *commands, const char *path, struct error *err);

/* How many steps, from `first` on, make a set. */
int jobs_set_size(const struct cluster *c, const struct balance_step *steps,
		  int n, int first);

/* The opcodes of one step, as a list in JSON. */
void jobs_opcodes(const struct cluster *c, const struct balance_step *s,
		  struct buf *ret);

#endif
