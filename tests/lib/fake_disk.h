/* SPDX-License-Identifier: BSD-2-Clause */
/* A disk in memory that forgets: what was not synced may be lost or torn when
 * fake_disk_crash() is called, and operations fail when told to.
 *
 * Modelled after a journaling file system: changes of names (files appearing,
 * being replaced, moved, removed) become durable in their order; after a crash
 * a beginning of them is there.  The content of a lazily written file may be
 * torn even then.  Of a log file's unsynced writes any sectors may be there.  A
 * folder that is moved is durable at once, with all that is in it. */
#ifndef TESTS_LIB_FAKE_DISK_H
#define TESTS_LIB_FAKE_DISK_H

#include "lib/base/disk.h"
#include "lib/base/list.h"
#include "lib/base/table.h"

struct fake_disk {
	struct disk disk; /* give &d.disk to the code under test */

	/* Faults.  Operations that change something are counted from 1. */
	size_t n_ops;
	size_t fail_at;	       /* the operation with this number fails */
	size_t die_at;	       /* this one and all after it fail; 0: never */
	bool full;	       /* ENOSPC for all that needs new space */
	bool fail_syncs;       /* of logs and folders */
	bool fail_log;	       /* writes into logs */
	size_t fail_log_after; /* the same after so many more; 0: never */
	size_t n_log_sync;     /* how many log_sync there were */

	/* Private. */
	struct table now, safe; /* path -> struct blob */
	struct table folders, logs;
	struct list pending;
	int next_handle;
};

void fake_disk_init(struct fake_disk *d);
void fake_disk_done(struct fake_disk *d);

/* The power fails and comes back: forget (by seed) what is not durable; clear
 * the faults.  Logs must be opened anew. */
void fake_disk_crash(struct fake_disk *d, uint64_t seed);

/* Make an empty disk the same as another one, as a power cut would leave that
 * if nothing were lost but what was written to logs and is not durable. */
void fake_disk_copy(struct fake_disk *to, const struct fake_disk *from);

/* Whether die_at has come. */
bool fake_disk_dead(const struct fake_disk *d);

/* The content of a file, borrowed; NULL if there is none. */
const char *fake_disk_text(struct fake_disk *d, const char *path);
/* The same as it is after a crash that loses all that is not durable. */
const char *fake_disk_safe_text(struct fake_disk *d, const char *path);
/* Put a file there, durable. */
void fake_disk_put(struct fake_disk *d, const char *path, const char *text);
/* The raw content of a log, to damage it; size bytes. */
char *fake_disk_log(struct fake_disk *d, const char *path, size_t *ret_size);

#endif
