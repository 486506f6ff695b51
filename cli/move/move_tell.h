/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines for the user, each about one instance; several processes may write
 * them, each a whole line at once. */
#ifndef CLI_MOVE_TELL_H
#define CLI_MOVE_TELL_H

#include <stdio.h>

/* Write "NAME: TEXT"; characters that would control a terminal become '?'. */
void move_tell(FILE *out, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
