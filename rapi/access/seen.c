/* SPDX-License-Identifier: BSD-2-Clause */
/* By what stat() says: who replaces a file or writes to it changes one of
 * these. */
#include "rapi/access/seen.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool seen_changed(struct seen *s, const char *file)
{
	struct stat now;

	if (stat(file, &now) < 0)
		now = (struct stat){0};
	if (is_same(&now, &s->stat))
		return false;
	s->stat = now;
	return true;
}

bool seen_exists(const struct seen *s)
{
	return s->stat.st_ino != 0;
}
