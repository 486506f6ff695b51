/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances and what their group says: its policy, its disk parameters. */
#ifndef MASTERD_LU_GROUP_GROUP_H
#define MASTERD_LU_GROUP_GROUP_H

#include "masterd/lu/frame/lu.h"

/* Add the names, sorted, of the group's instances (by their primary nodes) that
 * obey its present policy and will violate that of `after`, with `cluster` as
 * the cluster object. */
void group_new_violations(struct lu *lu, const json_t *cluster,
			  const json_t *before, const json_t *after,
			  struct strv *ret_names);

/* Warn of them in the job's log, if there are any. */
void group_warn_violations(struct lu *lu, const struct strv *names);

/* Add a sentence for each rule of the (filled) policy that the instance breaks
 * when its disk `index` (none: SIZE_MAX) has this size in MiB. */
void group_violations_with_disk(struct lu *lu, const json_t *inst,
				const json_t *policy, size_t index,
				int64_t size, struct strv *ret_sentences);

/* -1 with err, which names all of them, when the instance as it is breaks rules
 * of the policy of this node's group. */
int group_check_policy(struct lu *lu, const json_t *inst, const char *node_uuid,
		       struct error *err);

/* ERR_PREREQ when an instance of the group cannot reach its disks with the disk
 * parameters that are changed ({template: {name: value}}, may be NULL); cluster
 * and group as they are going to be. */
int group_check_access(struct lu *lu, const json_t *cluster,
		       const json_t *group, const json_t *changes,
		       struct error *err);

#endif
