/* SPDX-License-Identifier: BSD-2-Clause */
/* How instances of a node share its memory while they run: who gives some up
 * when one more comes, and who gets some back when there is more.  Numbers
 * only, MiB. */
#ifndef MODEL_CONFIG_ROOM_H
#define MODEL_CONFIG_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct room_guest {
	int64_t size; /* what it has, changed by these functions */
	int64_t min;  /* it never goes below, except by itself */
	int64_t most; /* it never grows above */
	bool chosen;  /* somebody chose its size: it shrinks last */
};

/* Take `missing` from those that have more than their min, each in proportion
 * to what it has above; from chosen ones only what the others cannot give.
 * Returns what is missing still. */
int64_t room_shrink(struct room_guest *guests, size_t n, int64_t missing);

/* Give `room` to those that have less than their most, each in proportion to
 * what it lacks.  Returns what is left. */
int64_t room_grow(struct room_guest *guests, size_t n, int64_t room);

#endif
