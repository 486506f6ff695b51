/* SPDX-License-Identifier: BSD-2-Clause */
/* Clusters as text files (option -t): sections of lines with columns separated
 * by '|', with one empty line between sections:
 *
 *   groups     name|uuid|alloc_policy|tags|networks
 *   nodes      name|total_mem|node_mem|free_mem|total_disk|free_disk|cpus|
 *              status|group uuid|spindles|tags|exclusive_storage|
 *              free_spindles|node_cpus|cpu_speed
 *   instances  name|mem|disk|vcpus|status|auto_balance|primary|secondary|
 *              template|tags|spindle_use|spindles|forthcoming
 *   tags       one a line
 *   policies   group or empty|std|min;max;...|templates|vcpu|spindles
 */
#ifndef IALLOCATORS_INPUT_TEXT_H
#define IALLOCATORS_INPUT_TEXT_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"

/* Fill the zeroed cluster with what stands in text, which it keeps pointing
 * into and which is changed.  cluster_finish() is up to the caller. */
int text_read(struct cluster *c, char *text, struct error *err);

/* A number as it stands in such files, and in options; what names it in
 * messages.  It may have spaces before it, none behind (text_number.c). */
int text_double(const char *what, const char *text, double *ret,
		struct error *err);

/* The same for a whole number; what is too big wraps. */
int text_int(const char *what, const char *text, int64_t *ret,
	     struct error *err);

/* What holds where a file names no policy. */
struct policy text_default_policy(struct cluster *c);

#endif
