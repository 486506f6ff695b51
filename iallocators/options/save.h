/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters as text files, such as text_read() reads. */
#ifndef IALLOCATORS_OPTIONS_SAVE_H
#define IALLOCATORS_OPTIONS_SAVE_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* Add the text of the cluster as it is now. */
void save_text(const struct cluster *c, struct buf *out);

/* Write it to PREFIX.suffix (-S) and tell that it is the state `when`; with
 * NULL for the prefix nothing. */
int save_state(const struct cluster *c, const char *prefix, const char *suffix,
	       const char *when, struct error *err);

/* The same to PREFIX.original, with nodes online that only -O takes as
 * offline. */
int save_original(const struct cluster *c, const char *prefix, const char *when,
		  struct error *err);

/* The same with the nodes of one group, and the instances there. */
int save_group(const struct cluster *c, int group, const char *prefix,
	       const char *suffix, const char *when, struct error *err);

#endif
