/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit of bytes in a second, kept by pauses. */
#ifndef NODED_IMPEXP_PACE_H
#define NODED_IMPEXP_PACE_H

#include <stdint.h>

struct impexp_pace {
	int64_t bytes_per_s; /* 0: no limit */
	int64_t due_us;	     /* when all bytes so far may be through */
};

/* How long to pause now that n more bytes are through.  What was not used of
 * the limit in the last tenth of a second may be made up for, no more. */
int64_t impexp_pace_us(struct impexp_pace *pace, int64_t n, int64_t now_us);

#endif
