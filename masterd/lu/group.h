/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances and the policy of their group. */
#ifndef MASTERD_LU_GROUP_H
#define MASTERD_LU_GROUP_H

#include "masterd/lu.h"

/* Add the names of the group's instances (by their primary nodes) that keep
 * its policy as it was and break the one of `after`; sorted. */
void group_new_violations(struct lu *lu, const json_t *before,
			  const json_t *after, struct strv *ret_names);

#endif
