/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of record: what a node has, as the configuration knows it.
 *
 * hv_state: {hypervisor: {mem_total, mem_node, mem_hv, cpu_total, cpu_node}},
 * disk_state: {storage: {name: {disk_total, disk_reserved, disk_overhead}}},
 * sizes in MiB.  Both stand, with "_static" behind, in cluster, groups and
 * nodes; the node's own numbers go before its group's, those before the
 * cluster's.  What was only measured of a node stands beside these as
 * "mem_node_measured" and counts where nobody chose a number on any level:
 * Ganeti's programs take any numbers here, and no other member that they do not
 * know.  Without a total nothing is recorded, and the nodes
 * themselves are asked (doc/design/resources.md). */
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

/* The same of all hypervisors that anybody recorded something for, and of all
 * storages; to be freed. */
json_t *state_fill_hv_all(const json_t *cluster, const json_t *group,
			  const json_t *node);
json_t *state_fill_disk_all(const json_t *cluster, const json_t *group,
			    const json_t *node);

/* Whether somebody chose the number, on any level.  A cluster has all of them
 * from its beginning: there 0 means that nobody did. */
bool state_hv_is_chosen(const json_t *cluster, const json_t *group,
			const json_t *node, const char *hypervisor,
			const char *number);
bool state_disk_is_chosen(const json_t *cluster, const json_t *group,
			  const json_t *node, const char *storage,
			  const char *name, const char *number);

/* What was measured of a number before; NULL: nothing.  Borrowed. */
const json_t *state_hv_measured(const json_t *node, const char *hypervisor,
				const char *number);
const json_t *state_disk_measured(const json_t *node, const char *storage,
				  const char *name, const char *number);
/* Put measured numbers into a node that is being edited. */
void state_measure_hv(json_t *node, const char *hypervisor, const char *number,
		      int64_t value);
void state_measure_disk(json_t *node, const char *storage, const char *name,
			const char *number, int64_t value);

/* Numbers of ours that the configuration has no other place for, kept in the
 * cluster's hv_state_static for the reason above: one by its name (missing
 * where it is not there), and changes of a cluster that is being edited. */
int64_t state_own(const json_t *cluster, const char *key, int64_t missing);
void state_set_own(json_t *cluster, const char *key, int64_t value);
void state_forget_own(json_t *cluster, const char *key);

/* Put changed numbers into an object that is being edited (cluster, group or
 * node); changes NULL or empty: nothing.  The number may be text, "default"
 * takes it away, also what was measured.  ERR_PREREQ names what is wrong. */
int state_set_hv(json_t *object, const json_t *changes, struct error *err);
int state_set_disk(json_t *object, const json_t *changes, struct error *err);

#endif
