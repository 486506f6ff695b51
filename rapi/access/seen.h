/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a file is still the one that was read. */
#ifndef RAPI_SEEN_H
#define RAPI_SEEN_H

#include <stdbool.h>
#include <sys/stat.h>

/* Zeroed: no file. */
struct seen {
	struct stat stat;
};

/* Look at the file; whether it differs from what was seen before, also by being
 * there or not. */
bool seen_changed(struct seen *s, const char *file);

/* Whether there was a file. */
bool seen_exists(const struct seen *s);

#endif
