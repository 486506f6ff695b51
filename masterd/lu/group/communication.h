/* SPDX-License-Identifier: BSD-2-Clause */
/* The network over which instances talk to their nodes: the cluster's parameter
 * instance_communication_network names it, and every group has it. */
#ifndef MASTERD_LU_GROUP_COMMUNICATION_H
#define MASTERD_LU_GROUP_COMMUNICATION_H

#include "masterd/lu/frame/lu.h"

/* Where a network of that name is there already: warn of what is unusual for
 * this purpose.  The empty name and NULL stand for none. */
void communication_warn(struct lu *lu, const char *name);

/* Say what the parameter changes from and to, in the job's log. */
void communication_say(struct lu *lu, const char *before, const char *name);

/* Submit the job that makes the network, where it is missing, and connects it
 * to the groups that lack it: the result to return, JSON null where there is
 * nothing to do. */
WAITS json_t *communication_everywhere(struct lu *lu, const char *name,
				       struct error *err);
/* The same for the cluster's network and one group, which is new. */
WAITS json_t *communication_in_group(struct lu *lu, const char *group_uuid,
				     struct error *err);

#endif
