/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files behind lu_room.h share: a node, who runs on it with how much
 * memory, and changes of that. */
#ifndef MASTERD_LU_PARTS_LU_ROOM_PRIVATE_H
#define MASTERD_LU_PARTS_LU_ROOM_PRIVATE_H

#include "lib/model/config/room.h"
#include "masterd/lu/parts/lu_room.h"

struct floor {
	struct lu *lu;
	const char *node;
	const json_t *self; /* does not count; NULL: none */
	int64_t capacity, fixed;
	struct room_guest *guests;
	const json_t **insts; /* of the guests, kept by the LU */
	size_t n;
	bool runs_here; /* self */
};
void floor_done(struct floor *f);
#define auto_floor __attribute__((cleanup(floor_done), unused))

/* Fill in what runs there and is on its way there; lu, node and self are set.
 * -1 with err when the node does not answer. */
WAITS int floor_look(struct floor *f, struct error *err);
/* Memory that nobody has; negative where they have too much. */
int64_t floor_room(const struct floor *f);
/* The guests' sizes, to be freed. */
int64_t *floor_sizes(const struct floor *f);
/* Bring about the guests' sizes where they differ from those before; rows get
 * [name, from, to].  A failure is an error where the room is needed, else only
 * said. */
WAITS int floor_apply(struct floor *f, const int64_t *before, json_t *rows,
		      bool needed, struct error *err);
/* What a job has taken on the node for an instance; 0: nothing. */
int64_t floor_taken(const struct floor *f, const char *uuid);

/* How much an instance of that size may have. */
struct room_guest room_guest_of(struct lu *lu, const json_t *inst,
				int64_t size);

WAITS int room_set_size(struct lu *lu, const json_t *inst, const char *node,
			int64_t mib, struct error *err);
/* ERR_PREREQ/ECODE_NORES; -1. */
int room_refuse(struct lu *lu, const struct room_want *w, int64_t needed,
		int64_t room, struct error *err);

/* Whether there is something to share: all that maxmem promises does not fit
 * at once. */
bool room_is_tight(struct lu *lu, const char *node);

/* Only one job at a time looks at a node and changes sizes there. */
WAITS int room_take_turn(struct lu *lu, const char *node, struct error *err);
void room_give_turn(struct lu *lu, const char *node);

#endif
