/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking instances off nodes that go down together: hroller's rounds.  An
 * instance goes to the first node of its group that takes it, by the checks
 * that always hold. */
#ifndef IALLOCATORS_BALANCE_CLEARING_H
#define IALLOCATORS_BALANCE_CLEARING_H

#include "iallocators/model/model.h"
#include "lib/base/error.h"

/* Nodes that go down together, and where instances are meanwhile. */
struct round {
	int *nodes;
	int n;
	struct place {
		int primary, secondary;
	} * places; /* by instance */
	bool has_master;
};

/* What has to leave a node. */
enum clearing {
	CLEAR_NOTHING,
	CLEAR_LOOSE, /* instances without a secondary */
	CLEAR_SECONDARIES
};

/* Not mirrored by DRBD: has to be moved away before its node goes down. */
bool clearing_is_loose(const struct instance *inst);

/* Divide n nodes into rounds, each taking as many of those left, in their
 * order, as can be cleared together.  Each round begins with the cluster as it
 * is, and leaves it so.  Rounds are added to *rounds, which holds as many as
 * the cluster has nodes, and last as long as the cluster; -1 if some node
 * cannot even be cleared alone. */
int clearing_divide(struct cluster *c, const int *nodes, int n,
		    enum clearing what, struct round *rounds, int *n_rounds,
		    struct error *err);

/* Divide a round, cleared of what has no secondary, again: all its primaries
 * fail over, and then its secondaries go, too. */
int clearing_divide_fully(struct cluster *c, const struct round *r,
			  struct round *rounds, int *n_rounds,
			  struct error *err);

#endif
