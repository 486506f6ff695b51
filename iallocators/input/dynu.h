/* SPDX-License-Identifier: BSD-2-Clause */
/* The load of instances from a file (option -U), "name cpu memory disk net" a
 * line; of lines with the same name the last counts. */
#ifndef IALLOCATORS_INPUT_DYNU_H
#define IALLOCATORS_INPUT_DYNU_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"
#include "lib/base/table.h"

struct dynu {
	struct table loads; /* by name: UTIL_COUNT numbers */
};

/* Read the file; -1 with err when it cannot be read.  Free what it holds. */
int dynu_read(const char *path, struct dynu *ret, struct error *err);
void dynu_done(struct dynu *d);

/* Before cluster_finish(): set the load of the instances that are named. */
void dynu_apply(const struct dynu *d, struct cluster *c);

#endif
