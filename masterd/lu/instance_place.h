/* SPDX-License-Identifier: BSD-2-Clause */
/* Can a node take a new instance?  For OP_INSTANCE_CREATE. */
#ifndef MASTERD_LU_INSTANCE_PLACE_H
#define MASTERD_LU_INSTANCE_PLACE_H

#include "masterd/lu/instance_spec.h"

/* What depends on others who place instances at the same time, so to be asked
 * under the lock of the node's resources: ERR_PREREQ unless the node can be
 * used, the policy of its group allows the instance, and there is space and
 * memory. */
WAITS int place_check_room(struct lu *lu, const struct op_instance_create *op,
			   const struct inst_spec *s, const char *pnode,
			   struct error *err);

/* ERR_PREREQ when recorded space is short, or the group could not lose the
 * nodes then that its policy lets it lose.  Nothing waits: to be called once
 * more right before the reservation is recorded, since other jobs book other
 * nodes of the group meanwhile. */
int place_check_capacity(struct lu *lu, const struct op_instance_create *op,
			 const struct inst_spec *s, const char *pnode,
			 struct error *err);

/* What does not: ERR_PREREQ unless the OS, the hypervisor's parameters and the
 * bridges are there. */
WAITS int place_check_host(struct lu *lu, const struct op_instance_create *op,
			   const struct inst_spec *s, const char *pnode,
			   struct error *err);

#endif
