/* SPDX-License-Identifier: BSD-2-Clause */
/* The network over which instances talk to their nodes: the cluster's parameter
 * instance_communication_network names it, and every group has it. */
#ifndef MASTERD_LU_GROUP_COMMUNICATION_H
#define MASTERD_LU_GROUP_COMMUNICATION_H

#include "masterd/lu/frame/lu.h"

/* If a network of that name exists: warn of properties that are unusual for
 * this purpose.  name "" or NULL: no network. */
void communication_warn(struct lu *lu, const char *name);

/* Say in the job's log how the parameter changes. */
void communication_say(struct lu *lu, const char *before, const char *name);

/* Submit a job that makes the network, if it does not exist, and connects it to
 * the groups that lack it.  Returns the LU's result; JSON null if there is
 * nothing to do. */
WAITS json_t *communication_everywhere(struct lu *lu, const char *name,
				       struct error *err);
/* The same for the cluster's network and one new group. */
WAITS json_t *communication_in_group(struct lu *lu, const char *group_uuid,
				     struct error *err);

#endif
