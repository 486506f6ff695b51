/* SPDX-License-Identifier: BSD-2-Clause */
/* Opcodes for simulated clusters, each to be freed. */
#ifndef TESTS_SIM_OPS_H
#define TESTS_SIM_OPS_H

#include <jansson.h>
#include <stdbool.h>

/* node NULL: the allocator chooses. */
json_t *op_add(const char *name, const char *node, bool with_disk);
json_t *op_named(const char *op_id, const char *instance);
json_t *op_move(const char *op_id, const char *instance, const char *node);
json_t *op_delay(double seconds, const char *node);

#endif
