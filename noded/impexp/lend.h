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
};

/* From now on the file `at`, which is made, is what the image holds. */
int lend_begin(const char *image, bool writable, const char *at,
	       struct lend *ret, struct error *err);

/* All that was written to it is in the image, and the file is gone. -1 with err
 * when that is not sure.  Does nothing where nothing is lent. */
int lend_end(struct lend *l, struct error *err);

/* Lend images while a program runs: argv is IMAGE AT... -- PROGRAM ARGUMENT...;
 * the program's exit status. */
int lend_run(char **argv);

#endif
