/* SPDX-License-Identifier: BSD-2-Clause */
/* Space on LVM, for the calls about the node. */
#ifndef NODED_CALLS_CALLS_LVM_H
#define NODED_CALLS_CALLS_LVM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/event/task.h"
#include "noded/calls/calls.h"

/* The space of a unit of storage on LVM, in MiB: of a volume group, or, as
 * "lvm-pv", how many of its physical volumes there are and how many are empty,
 * where they are exclusive (else 0).  false: there is no such group, or that
 * cannot be found out. */
WAITS bool call_lvm_space(struct call *c, const char *type, const char *name,
			  bool exclusive, int64_t *ret_size, int64_t *ret_free);

/* storage_list of "lvm-vg" and "lvm-pv"; NULL with err. */
WAITS json_t *call_lvm_rows(struct call *c, const char *type, const char *name,
			    const json_t *fields, struct error *err);

/* Answers to checks of node_verify; never NULL. */
WAITS json_t *call_lvm_check_volumes(struct call *c, const json_t *what);
WAITS json_t *call_lvm_check_groups(struct call *c);
WAITS json_t *call_lvm_check_pvs(struct call *c, const json_t *groups);
WAITS json_t *call_lvm_check_exclusive(struct call *c, const json_t *groups);
WAITS json_t *call_lvm_check_partial(struct call *c);

#endif
