/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters that are only described (option --simulate): empty, all nodes of a
 * group equal. */
#ifndef IALLOCATORS_INPUT_SIMULATE_H
#define IALLOCATORS_INPUT_SIMULATE_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* One group for each "policy,nodes,disk,memory,cpus[,spindles[,exclusive]]";
 * the last of them is the first group, as in the reference.  The cluster is
 * zeroed before, and cluster_finish() is up to the caller. */
int simulate_clusters(struct cluster *c, const struct strv *specs,
		      struct error *err);

/* MiB of "512", "10g", "1T" ...: small letters count in powers of 1024.  what
 * names the size in messages. */
int simulate_size(const char *what, const char *text, int64_t *ret,
		  struct error *err);

#endif
