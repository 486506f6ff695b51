/* SPDX-License-Identifier: BSD-2-Clause */
/* What hspace prints: for people, as NAME=value for shells, or as JSON. */
#ifndef IALLOCATORS_CAPACITY_HSPACE_SHOW_H
#define IALLOCATORS_CAPACITY_HSPACE_SHOW_H

#include <jansson.h>

#include "iallocators/capacity/capacity.h"
#include "iallocators/options/tool_programs.h"

/* What is printed about one way to fill the cluster. */
struct report {
	struct capacity *k;
	const struct hspace_opts *o;
	bool machine, exclusive, simulated;
	json_t *json; /* with --format=json, else NULL: put all in there */
	enum template template;
	const struct resources *before;
	struct resources after;
};

/* The cluster before anything is added. */
void space_show_cluster(const struct report *r);
/* The size of the new instances; with tiers the one to start from. */
void space_show_spec(const struct report *r, bool tiered,
		     const struct instance *inst);
/* What found a place, of ever smaller sizes; */
void space_show_tiered(struct report *r);
/* of the standard size.  An error if the sums do not fit together. */
int space_show_standard(struct report *r, struct error *err);
/* Where each new instance is, on standard error. */
void space_show_map(const struct report *r, const char *title);
/* That all is well, last. */
int space_show_end(const struct report *r, struct error *err);

#endif
