/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps as commands: sets of jobs, of which all in a set can run at once. */
#ifndef IALLOCATORS_JOBS_H
#define IALLOCATORS_JOBS_H

#include "iallocators/balance.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* Print the commands; instances by their full names or without the suffix. */
void jobs_print(const struct cluster *c, const struct balance_step *steps,
		int n, bool first_only, bool full_names);

/* Write them to a file, as a shell script. */
int jobs_write(const struct cluster *c, const struct balance_step *steps, int n,
	       bool first_only, const char *path, struct error *err);

/* How many steps, from `first` on, make a set. */
int jobs_set_size(const struct cluster *c, const struct balance_step *steps,
		  int n, int first);

/* The opcodes of one step, as a list in JSON. */
void jobs_opcodes(const struct cluster *c, const struct balance_step *s,
		  struct buf *ret);

#endif
