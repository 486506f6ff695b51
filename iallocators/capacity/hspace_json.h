/* SPDX-License-Identifier: BSD-2-Clause */
/* hspace --format=json: what --machine-readable has, as one object.
 *
 *   cluster    nodes, memory, disk (MiB), cpus, vcpus, spindles: all there is
 *   initial    the resources before anything was added
 *   tiered     spec: the size to start from; sizes: [{memory, disk, vcpus,
 *              spindles, count}], in the order in which they were placed;
 *              final: the resources afterwards; usage: {used, pool,
 *              unavailable}, each {cpus, npus, memory, disk, spindles}
 *   standard   spec; instances: how many found a place; usage: the share of
 *              instances that were there before; failures: [{reason, count}] of
 *              the first that found none, the most frequent first; final
 *
 * Shares of nothing, which are no number, are null.
 */
#ifndef IALLOCATORS_CAPACITY_HSPACE_JSON_H
#define IALLOCATORS_CAPACITY_HSPACE_JSON_H

#include <jansson.h>

#include "iallocators/capacity/capacity.h"

/* All of these give an object or array to be freed. */
json_t *space_cluster(const struct cluster *c, const struct resources *all);
json_t *space_resources(const struct resources *r);
/* An instance of that size, and how many nodes each needs. */
json_t *space_spec(const struct capacity *k, const struct instance *inst);
/* One of the three of "usage". */
json_t *space_usage(const struct resources *r);
/* count instances of that size. */
json_t *space_size(const struct instance *inst, int count);
json_t *space_failures(const struct capacity *k);
json_t *space_share(int64_t part, int64_t whole);

#endif
