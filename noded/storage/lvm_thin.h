/* SPDX-License-Identifier: BSD-2-Clause */
/* Thin volumes: their data are in a pool of the volume group, which has room
 * for what is written and not for what could be. */
#ifndef NODED_STORAGE_LVM_THIN_H
#define NODED_STORAGE_LVM_THIN_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

struct lvm_thin {
	const char *group, *name;
	const char *pool;  /* in the same group */
	const char *owner; /* a tag, or NULL */
	int64_t mib;	   /* what the guest sees */
};

/* Make one.  `volumes` (lvm_volumes()) says whether there is such a pool. */
WAITS int lvm_thin_create(const struct paths *p, const json_t *volumes,
			  const struct lvm_thin *thin, struct error *err);

/* It takes nothing of its pool until it is written to. */
WAITS int lvm_thin_grow(const struct paths *p, const char *device,
			int64_t bytes, bool dry_run, struct error *err);

/* What is free in the pools of a group, in MiB: it belongs to the group's free
 * space, as volumes can be made of it. */
double lvm_thin_free_mib(const json_t *volumes, const char *group);

#endif
