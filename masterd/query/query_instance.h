/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the queries of instances: what stands in the configuration is
 * in query_instance.c, its table in query_instance_fields.c, what nodes say in
 * query_instance_live.c. */
#ifndef MASTERD_QUERY_QUERY_INSTANCE_H
#define MASTERD_QUERY_QUERY_INSTANCE_H

#include "masterd/query/query_private.h"

/* --- query_instance_fields.c --- */
const struct query_field *query_instance_fields(size_t *ret_n);

/* --- query_instance.c --- */

/* Whole members and what is derived of them. */
query_get_fn query_instance_admin_up, query_instance_forthcoming,
	query_instance_template, query_instance_node,
	query_instance_secondaries, query_instance_port;

/* Filled parameters as a whole; one of them (field->arg). */
query_get_fn query_instance_hvparams, query_instance_beparams,
	query_instance_osparams, query_instance_hv, query_instance_be,
	query_instance_custom_nics;

/* Disks: how many, the space they use, a member (field->arg) of all or of the
 * one with field->index. */
query_get_fn query_instance_disk_count, query_instance_disk_usage,
	query_instance_disks, query_instance_disk;

/* NICs: the same; field->arg is a name of a query_instance_fields.c row. */
query_get_fn query_instance_nic_count, query_instance_nics, query_instance_nic;

/* The group of a node, as configuration object; NULL. */
const json_t *query_node_group(const struct query *q, const char *node_uuid);

/* --- query_instance_live.c --- */
query_get_fn query_instance_status, query_instance_running,
	query_instance_usage, query_instance_console;

WAITS void query_instance_collect(struct query *q);
void query_instance_live_done(struct query *q);

#endif
