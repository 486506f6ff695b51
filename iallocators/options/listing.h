/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes and instances as tables (-p, --print-instances), on standard error. */
#ifndef IALLOCATORS_OPTIONS_LISTING_H
#define IALLOCATORS_OPTIONS_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "iallocators/model/model.h"
#include "lib/base/str.h"

/* -p: a list of nodes, with these fields. */
struct nodes_opts {
	bool wanted;
	const char *fields; /* or NULL: the usual ones */
};

/* -p and --print-instances. */
struct listing_opts {
	struct nodes_opts nodes;
	bool instances;
};

/* Add a table of the nodes.  fields: names joined by commas; behind a "+" in
 * addition to the usual ones; "" or NULL for these alone. */
void listing_nodes(struct cluster *c, const struct nodeset *nodes,
		   const char *fields, struct buf *out);

/* Add a table of the instances with their primaries among the nodes. */
void listing_instances(const struct cluster *c, const struct nodeset *nodes,
		       struct buf *out);

/* As the options ask, both tables or one or none: "WHAT status:". */
void listing_print(struct cluster *c, const struct nodeset *nodes,
		   const struct listing_opts *o, const char *map_title,
		   const char *status_title);

/* The nodes alone, if they are wanted. */
void listing_print_nodes(struct cluster *c, const struct nodeset *nodes,
			 const struct nodes_opts *o, const char *title);

/* The instances with their halves in two groups: their names on standard error,
 * below a title on `title`.  Whether there are any. */
bool listing_split(const struct cluster *c, FILE *title);

#endif
