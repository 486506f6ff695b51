/* SPDX-License-Identifier: BSD-2-Clause */
/* An image (qcow2) lent as a raw file, to what can work on nothing else: the
 * copies of disks, and scripts of operating systems.
 *
 * QEMU's qemu-storage-daemon opens the image and shows what is in it by FUSE.
 * It holds the lock of the image meanwhile, so no guest can have it open, and
 * ends when we end, in whatever way. */
#ifndef NODED_IMPEXP_LEND_H
#define NODED_IMPEXP_LEND_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/error.h"

struct lend {
	char *at;  /* the raw file */
	pid_t pid; /* 0: nothing is lent */
	pid_t nbd; /* what opens a snapshot; 0: nothing */
};

/* From now on the file `at`, which is made, is what the image holds, or what it
 * held at this snapshot (NULL or "": now), which can only be read, also while a
 * guest has the image open. */
int lend_begin(const char *image, const char *snapshot, bool writable,
	       const char *at, struct lend *ret, struct error *err);

/* All that was written to it is in the image, and the file is gone. -1 with err
 * when that is not sure.  Does nothing where nothing is lent. */
int lend_end(struct lend *l, struct error *err);

/* Lend images while a program runs: argv is, for each, IMAGE SNAPSHOT AT, then
 * "--" and the program with its arguments; the program's exit status. */
int lend_run(char **argv);

#endif
