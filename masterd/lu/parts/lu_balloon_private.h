/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files behind lu_balloon.h share: a node, the instances that run on
 * it with their memory, and changes of these. */
#ifndef MASTERD_LU_PARTS_LU_BALLOON_PRIVATE_H
#define MASTERD_LU_PARTS_LU_BALLOON_PRIVATE_H

#include "lib/model/config/balloon.h"
#include "masterd/lu/parts/lu_balloon.h"

struct floor {
	struct lu *lu;
	const char *node;
	const json_t *self; /* an instance that does not count; or NULL */
	int64_t capacity, fixed;
	struct balloon_guest *guests;
	const json_t **insts; /* the objects of the guests, kept by the LU */
	size_t n;
	bool runs_here; /* whether `self` runs here */
};
void floor_done(struct floor *f);
#define auto_floor __attribute__((cleanup(floor_done), unused))

/* Find out what runs there and what is on its way; lu, node and self are set by
 * the caller.  -1 with err when the node does not answer. */
WAITS int floor_look(struct floor *f, struct error *err);
/* The free memory; negative when the guests have too much. */
int64_t floor_free(const struct floor *f);
/* The guests' sizes, to be freed. */
int64_t *floor_sizes(const struct floor *f);
/* Make the guests' sizes real where they differ from `before`; rows get [name,
 * from, to].  A failure is an error if the memory is needed, otherwise a
 * warning. */
WAITS int floor_apply(struct floor *f, const int64_t *before, json_t *rows,
		      bool needed, struct error *err);
/* How much some job has booked on the node for an instance; 0: nothing. */
int64_t floor_taken(const struct floor *f, const char *uuid);

/* The limits for an instance of that size. */
struct balloon_guest lu_balloon_guest_of(struct lu *lu, const json_t *inst,
					 int64_t size);

WAITS int lu_balloon_set_size(struct lu *lu, const json_t *inst,
			      const char *node, int64_t mib, struct error *err);
/* ERR_PREREQ/ECODE_NORES; -1. */
int lu_balloon_refuse(struct lu *lu, const struct balloon_want *w,
		      int64_t needed, int64_t mib, struct error *err);

/* Whether the maxmem of all instances does not fit at once, so that sizes
 * matter. */
bool lu_balloon_is_tight(struct lu *lu, const char *node);

/* Wait for the job's turn at the node: only one at a time looks at sizes there
 * and changes them. */
WAITS int lu_balloon_take_turn(struct lu *lu, const char *node,
			       struct error *err);
void lu_balloon_give_turn(struct lu *lu, const char *node);

#endif
