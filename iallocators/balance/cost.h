/* SPDX-License-Identifier: BSD-2-Clause */
/* What a move costs the cluster: the data that it copies between nodes, in MiB
 * that nodes of speed 1 would copy in the same time.  So the cost of a plan is
 * a time, too: divide it by what one spindle copies in a second.
 *
 *   migration, failover   the instance's memory, if it runs, divided by the
 *                         lower cpu_speed of both nodes
 *   replacing disks       the instance's disks, divided by the lower number of
 *                         spindles of the node that has the data and the new
 *                         secondary: what Ganeti records of a node's I/O
 *
 * A move of several steps costs their sum.  Values that are no positive number
 * count as 1.
 */
#ifndef IALLOCATORS_BALANCE_COST_H
#define IALLOCATORS_BALANCE_COST_H

#include "iallocators/balance/moves.h"
#include "iallocators/model/model.h"

/* The score a TiB may cost, unless the user says: copying 100 GiB between nodes
 * of one spindle is worth as much as --min-gain asks for at least. */
#define COST_PRICE 0.1
#define COST_TIB (1024.0 * 1024)

/* Of a move of the instance from where it is; target is a node, or NO_INDEX for
 * one that is as fast as need be. */
double cost_of_move(const struct cluster *c, const struct instance *inst,
		    enum balance_move move, int target);

#endif
