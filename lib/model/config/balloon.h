/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory between the instances of a node while they run: which of them give
 * some up when another one starts, and which get some back when memory becomes
 * free.  Numbers only, in MiB. */
#ifndef MODEL_CONFIG_BALLOON_H
#define MODEL_CONFIG_BALLOON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balloon_guest {
	int64_t size; /* its present memory, changed by these functions */
	int64_t min;  /* the functions never shrink it below this */
	int64_t most; /* the functions never let it grow beyond this */
	bool chosen;  /* an admin has chosen its size: it shrinks last */
};

/* Take `missing` MiB from the guests that have more than their min, each in
 * proportion to what it has above its min.  Guests with a chosen size give only
 * what the others cannot.  Returns how much is still missing. */
int64_t balloon_shrink(struct balloon_guest *guests, size_t n, int64_t missing);

/* Give `mib` MiB to the guests that have less than their most, each in
 * proportion to what it lacks.  Returns what is left over. */
int64_t balloon_grow(struct balloon_guest *guests, size_t n, int64_t mib);

#endif
