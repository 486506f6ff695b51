/* SPDX-License-Identifier: BSD-2-Clause */
/* On which physical volumes a new volume goes. */
#ifndef NODED_STORAGE_LVM_PLACE_H
#define NODED_STORAGE_LVM_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

struct lvm_wish {
	const char *group;
	int64_t mib, stripes;
	int64_t spindles; /* physical volumes, -1: it does not say */
	bool exclusive;	  /* they are for this volume alone */
	const char
		*owner; /* the tag of the instance's other volumes, or NULL */
};

struct lvm_place {
	struct strv pvs; /* LVM may choose of these */
	/* To be tried first: they have volumes of the same owner, and room for
	 * the whole.  So an instance, and a mirror's data with its metadata, is
	 * lost with one drive and not with each of several. */
	struct strv near;
	int64_t stripes;
};

/* From the reports of lvm.h.  -1 with err when there is no room. */
int lvm_place_find(const json_t *physical, const json_t *volumes,
		   const struct lvm_wish *wish, struct lvm_place *ret,
		   struct error *err);
void lvm_place_done(struct lvm_place *place);

#endif
