/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded resources (Ganeti's "state of record"): what a node has, as the
 * configuration knows it.
 *
 * hv_state is {hypervisor: {mem_total, mem_node, mem_hv, cpu_total, cpu_node}},
 * disk_state {storage: {name: {disk_total, disk_reserved, disk_overhead}}},
 * sizes in MiB.  Both are members, with "_static" at the end of the name, of
 * the cluster, of groups and of nodes.  A node's numbers win over those of its
 * group, and these over the cluster's.  A number that was only measured on a
 * node stands beside these as "mem_node_measured", and counts where no level
 * has a chosen one: Ganeti's programs accept any numbers here, but no other
 * member that they do not know.  Where there is no total, nothing is recorded,
 * and the node itself is asked (doc/design/resources.md). */
#ifndef MODEL_CONFIG_STATE_H
#define MODEL_CONFIG_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

/* What is in force for a node; group and node may be NULL.  All five numbers
 * (all three), to be freed. */
json_t *state_fill_hv(const json_t *cluster, const json_t *group,
		      const json_t *node, const char *hypervisor);
json_t *state_fill_disk(const json_t *cluster, const json_t *group,
			const json_t *node, const char *storage,
			const char *name);

/* The same for all hypervisors and all storages for which any level has
 * recorded something; to be freed. */
json_t *state_fill_hv_all(const json_t *cluster, const json_t *group,
			  const json_t *node);
json_t *state_fill_disk_all(const json_t *cluster, const json_t *group,
			    const json_t *node);

/* Whether somebody chose this number, on any level.  The cluster has all
 * numbers from the beginning, and 0 there means that nobody chose one. */
bool state_hv_is_chosen(const json_t *cluster, const json_t *group,
			const json_t *node, const char *hypervisor,
			const char *number);
bool state_disk_is_chosen(const json_t *cluster, const json_t *group,
			  const json_t *node, const char *storage,
			  const char *name, const char *number);

/* The number that was measured last; NULL: none was.  Borrowed. */
const json_t *state_hv_measured(const json_t *node, const char *hypervisor,
				const char *number);
const json_t *state_disk_measured(const json_t *node, const char *storage,
				  const char *name, const char *number);
/* Put measured numbers into a node that is being edited. */
void state_measure_hv(json_t *node, const char *hypervisor, const char *number,
		      int64_t value);
void state_measure_disk(json_t *node, const char *storage, const char *name,
			const char *number, int64_t value);

/* Numbers of ours for which the configuration has no other place; they are kept
 * in the cluster's hv_state_static.  Read one by its name (missing: the answer
 * when it is not there), and change one in a cluster that is being edited. */

/* 1: a candidate makes itself the master when the master is gone (automatic);
 * 0, or not there: only by order (manual). */
#define STATE_MASTER_FAILOVER "master_failover"

int64_t state_own(const json_t *cluster, const char *key, int64_t missing);
void state_set_own(json_t *cluster, const char *key, int64_t value);
void state_forget_own(json_t *cluster, const char *key);

/* Change the numbers of an object that is being edited (cluster, group or
 * node).  changes NULL or empty: nothing changes.  A number may be given as
 * text; "default" removes it, and also what was measured.  ERR_PREREQ names the
 * wrong one. */
int state_set_hv(json_t *object, const json_t *changes, struct error *err);
int state_set_disk(json_t *object, const json_t *changes, struct error *err);

#endif
