/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether nodes can take a new instance.  For OP_INSTANCE_CREATE. */
#ifndef MASTERD_LU_SPEC_INSTANCE_PLACE_H
#define MASTERD_LU_SPEC_INSTANCE_PLACE_H

#include "masterd/lu/spec/instance_spec.h"

/* The template of a new instance; given NULL: the first one of the cluster. */
const char *instance_place_template(const struct lu *lu, const char *given);

/* For expand: want the resources of all nodes, or (opportunistic) of the nodes
 * that are free and can take an instance, at least as many as the template
 * needs (NULL: as above); ECODE_NORES when the cluster has fewer. */
int instance_place_want_nodes(struct lu *lu, bool opportunistic,
			      const char *given, struct error *err);
/* The names of the nodes whose resources were locked, for the allocator; to be
 * freed. */
json_t *instance_place_nodes(struct lu *lu);

/* The nodes that the opcode names (a secondary is dropped with a warning if the
 * template has no mirrors); ERR_PREREQ unless they can be used. */
int instance_place_named_nodes(struct lu *lu,
			       const struct op_instance_create *op,
			       struct inst_nodes *ret, struct error *err);
/* The nodes of an allocator's answer [name, name?]: ERR_EXEC unless they are
 * known, as many as the template needs, and locked by this job. */
int instance_place_chosen_nodes(struct lu *lu, const char *iallocator,
				const char *template, const json_t *names,
				struct inst_nodes *ret, struct error *err);

/* The checks whose result depends on other jobs that place instances, so they
 * need the lock of the nodes' resources: ERR_PREREQ unless the nodes can be
 * used, the policy of the group allows the instance, and there are space,
 * memory, CPUs and spindles. */
WAITS int instance_place_check_room(struct lu *lu,
				    const struct op_instance_create *op,
				    const struct inst_spec *s,
				    const struct inst_nodes *nodes,
				    struct error *err);

/* ERR_PREREQ when recorded space is short, when the group of the nodes is not
 * the wanted one or does not allow the instance, or when it could then no
 * longer lose as many nodes as its policy demands.  Does not wait: it is called
 * again right before the booking, since meanwhile other jobs book on other
 * nodes of the group and move nodes to other groups. */
WAITS int instance_place_check_capacity(struct lu *lu,
					const struct op_instance_create *op,
					const struct inst_spec *s,
					const struct inst_nodes *nodes,
					struct error *err);

/* The other checks: ERR_PREREQ unless both nodes have the OS and the bridges
 * and accept the hypervisor's parameters. */
WAITS int instance_place_check_host(struct lu *lu,
				    const struct op_instance_create *op,
				    const struct inst_spec *s,
				    const struct inst_nodes *nodes,
				    struct error *err);

#endif
