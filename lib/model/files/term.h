/* SPDX-License-Identifier: BSD-2-Clause */
/* A small file of a node: which master it obeys, under which term
 * (doc/design/failover.md). */
#ifndef MODEL_FILES_TERM_H
#define MODEL_FILES_TERM_H

#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

/* The highest valid term.  No count reaches it, so a higher one in a file or
 * from a node is damage. */
#define TERM_MAX UINT64_C(999999999999999)

/* A promise of this node: it serves no caller with a lower term. */
struct term {
	uint64_t number; /* 0: this node has promised nothing yet */
	char *master;	 /* to which master; "" if unknown; owned */
};

/* Free what it holds, not the struct itself. */
void term_done(struct term *t);
#define auto_term __attribute__((cleanup(term_done)))

/* Read the promise; a node without one has {0, ""}.  -1 with err when the file
 * cannot be read or used. */
int term_load(struct disk *disk, const struct paths *paths, struct term *ret,
	      struct error *err);
/* Durable when it returns 0. Blocks. */
int term_save(struct disk *disk, const struct paths *paths,
	      const struct term *t, struct error *err);

#endif
