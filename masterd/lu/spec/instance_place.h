/* SPDX-License-Identifier: BSD-2-Clause */
/* Can a node take a new instance?  For OP_INSTANCE_CREATE. */
#ifndef MASTERD_LU_SPEC_INSTANCE_PLACE_H
#define MASTERD_LU_SPEC_INSTANCE_PLACE_H

#include "masterd/lu/spec/instance_spec.h"

/* For expand: want the resources of all nodes, or (opportunistic) of those that
 * are free, at least as many as the template needs. */
void place_want_nodes(struct lu *lu, bool opportunistic, const char *template);
/* Names of the nodes whose resources came, for the allocator; to be freed. */
json_t *place_nodes(struct lu *lu);

/* The nodes that are named, with the secondary (warned of and left out where
 * the template has no mirrors); ERR_PREREQ unless they can be. */
int place_named_nodes(struct lu *lu, const struct op_instance_create *op,
		      struct inst_nodes *ret, struct error *err);
/* Those of an allocator's answer [name, name?]: ERR_EXEC unless they are known,
 * as many as the template needs, and among those that we hold. */
int place_chosen_nodes(struct lu *lu, const char *iallocator,
		       const char *template, const json_t *names,
		       struct inst_nodes *ret, struct error *err);

/* What depends on others who place instances at the same time, so to be asked
 * under the lock of the nodes' resources: ERR_PREREQ unless the nodes can be
 * used, the policy of the group allows the instance, and there is space,
 * memory, CPUs and spindles. */
WAITS int place_check_room(struct lu *lu, const struct op_instance_create *op,
			   const struct inst_spec *s,
			   const struct inst_nodes *nodes, struct error *err);

/* ERR_PREREQ when recorded space is short, or the group could not lose the
 * nodes then that its policy lets it lose.  Nothing waits: to be called once
 * more right before the reservation is recorded, since other jobs book other
 * nodes of the group meanwhile. */
int place_check_capacity(struct lu *lu, const struct op_instance_create *op,
			 const struct inst_spec *s,
			 const struct inst_nodes *nodes, struct error *err);

/* What does not: ERR_PREREQ unless the OS and the hypervisor's parameters are
 * served on both nodes, and the bridges are there. */
WAITS int place_check_host(struct lu *lu, const struct op_instance_create *op,
			   const struct inst_spec *s,
			   const struct inst_nodes *nodes, struct error *err);

#endif
