/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of files that are durable in the journal but not yet made: the
 * newest state of each name.  Pure memory but for overlay_write(). */
#ifndef STORE_OVERLAY_H
#define STORE_OVERLAY_H

#include <stddef.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/table.h"

enum overlay_kind { OVERLAY_FILE, OVERLAY_GONE, OVERLAY_MOVED };

struct overlay_entry {
	enum overlay_kind kind;
	char *text; /* FILE: the content; MOVED: the name it had */
	size_t len;
};

/* Zeroed is empty. */
struct overlay {
	struct table names; /* -> struct overlay_entry */
};

/* Note that a file has this content, is gone, or has another name; what was
 * noted for the name before is forgotten.  overlay_get(): what is noted for a
 * name, borrowed until the next change; NULL when nothing is.  overlay_done():
 * free all, not the struct itself. */
void overlay_file(struct overlay *o, const char *name, char *text STEALS,
		  size_t len);
void overlay_gone(struct overlay *o, const char *name);
void overlay_move(struct overlay *o, const char *from, const char *to);
const struct overlay_entry *overlay_get(const struct overlay *o,
					const char *name);
void overlay_done(struct overlay *o);

/* Put what `older` notes below the entries of o, which win; `older` becomes
 * empty. */
void overlay_merge(struct overlay *o, struct overlay *older);

/* Make all changes in the files below dir, without a sync.  Stops at the first
 * failure; may be repeated.  Blocks. */
int overlay_write(const struct overlay *o, struct disk *disk, const char *dir,
		  struct error *err);

#endif
