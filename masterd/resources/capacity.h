/* SPDX-License-Identifier: BSD-2-Clause */
/* The policy value max-node-failures: a group must be able to lose that many
 * nodes (lib/model/config/survive.h says what that means). */
#ifndef MASTERD_RESOURCES_CAPACITY_H
#define MASTERD_RESOURCES_CAPACITY_H

#include "lib/base/error.h"
#include "masterd/config/config.h"

/* An instance that is to be placed, or one of the configuration with other
 * numbers. */
struct capacity_new {
	const char
		*uuid; /* its own numbers in the configuration do not count */
	const char *name, *template;
	const char *node, *secondary; /* UUIDs; secondary may be NULL */
	int64_t memory, vcpus;	      /* minmem */
	bool moves; /* auto_balance: it is moved when its node is lost */
};

/* ERR_PREREQ/ECODE_NORES, with names of nodes and instances, when the group of
 * new->node could not lose as many nodes as its policy demands.  Neither asks
 * nodes nor waits: call it right before the change. */
int capacity_check_new(const struct config *c, const struct capacity_new *new,
		       struct error *err);

/* The same for a group as it is, ERR_PREREQ; 0 without such a policy. */
int capacity_check_group(const struct config *c, const char *group_uuid,
			 struct error *err);

#endif
