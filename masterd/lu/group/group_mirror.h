/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a node can take one side of an instance's mirrors. */
#ifndef MASTERD_LU_GROUP_GROUP_MIRROR_H
#define MASTERD_LU_GROUP_GROUP_MIRROR_H

#include "masterd/lu/frame/lu.h"

struct group_mirror {
	const json_t *inst;
	const char *primary, *secondary; /* UUIDs, as they will be */
	const char *comes;		 /* the one of them that is new */
	bool ignore_ipolicy;
};

/* ERR_PREREQ unless the policy of the new node's group, its recorded space and
 * the promise to survive lost nodes allow it; no node is asked. */
int group_mirror_room(struct lu *lu, const struct group_mirror *g,
		      struct error *err);

#endif
