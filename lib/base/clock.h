/* SPDX-License-Identifier: BSD-2-Clause */
/* The time.  All code asks here, so that the simulation can run on a time of
 * its own. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970. */
int64_t clock_wall_us(void);

/* Microseconds since some fixed moment; never jumps, so deadlines are kept in
 * it. */
int64_t clock_mono_us(void);

/* From now on both clocks return what fn returns (microseconds since 1970);
 * NULL: the real clocks again.  For the simulation and tests. */
void clock_replace(int64_t (*fn)(void));

/* The same for the wall clock alone, as an administrator may set it; NULL: it
 * is what clock_replace() says. */
void clock_replace_wall(int64_t (*fn)(void));

/* Seconds since 1970 as Ganeti writes them into objects (ctime, mtime). */
double clock_seconds(void);

#endif
