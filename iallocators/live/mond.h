/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU load that monitoring daemons report (option --mond): of each node, or
 * with Xen of each instance.  A node's load is divided among its instances by
 * their virtual CPUs. */
#ifndef IALLOCATORS_LIVE_MOND_H
#define IALLOCATORS_LIVE_MOND_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"

struct mond_options {
	const char *file;  /* NULL: ask the daemon of each node */
	bool per_instance; /* Xen's collector */
	bool all_or_fail;  /* instead of doing without */
};

/* Loads by node; negative: unknown. */
struct mond_loads {
	double *nodes; /* from the cluster's arena; NULL: nothing is known */
};

/* Before cluster_finish(): get the reports and set the load of instances.  If a
 * node is silent all is left as it is, with a word on standard error. */
int mond_read(struct cluster *c, const struct mond_options *o,
	      struct mond_loads *ret, struct error *err);

/* After it: the load of nodes. */
void mond_set_nodes(struct cluster *c, const struct mond_loads *loads);

#endif
