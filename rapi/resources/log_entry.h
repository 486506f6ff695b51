/* SPDX-License-Identifier: BSD-2-Clause */
/* An entry of a job's log, as the remote API tells it. */
#ifndef RAPI_LOG_ENTRY_H
#define RAPI_LOG_ENTRY_H

#include <jansson.h>
#include <stdint.h>

/* {"serial", "time", "type", "message"} of [serial, [s, us], type, message], to
 * be freed. */
json_t *log_entry_json(const json_t *entry);

/* The entries behind a serial number in the logs of a job's opcodes, as the
 * field oplog has them; to be freed. */
json_t *log_entry_newer(const json_t *logs, int64_t serial);

#endif
