/* SPDX-License-Identifier: BSD-2-Clause */
/* What the source cluster says of an instance and of its export, judged: who
 * gets it from here need not look at its shape again. */
#ifndef CLI_MOVE_SOURCE_H
#define CLI_MOVE_SOURCE_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

/* Members of an interface, by their places. */
enum {
	SOURCE_NIC_NAME,
	SOURCE_NIC_UUID,
	SOURCE_NIC_IP,
	SOURCE_NIC_MAC,
	SOURCE_NIC_MODE,
	SOURCE_NIC_LINK,
	SOURCE_NIC_VLAN,
	SOURCE_NIC_NETWORK,
	SOURCE_NIC_LENGTH
};

/* The one instance of the result of OP_INSTANCE_QUERY_DATA, borrowed; NULL with
 * err when the result has another shape.  Each text that is needed is there and
 * not empty, disks have sizes, interfaces at least SOURCE_NIC_LENGTH members.
 */
const json_t *move_source_instance(const json_t *result, struct error *err);

/* Whether that is the result of OP_BACKUP_PREPARE for another cluster:
 * handshake, x509_key_name and x509_ca. */
int move_source_prepared(const json_t *result, struct error *err);

/* Whether that is an answer to GET /2/instances/NAME of which the tags can be
 * taken: a list of texts, or none. */
int move_source_tags(const json_t *answer, struct error *err);

/* Whether it is to run. */
bool move_source_is_up(const json_t *instance);

/* The size of all disks. */
int64_t move_source_size_mib(const json_t *instance);

#endif
