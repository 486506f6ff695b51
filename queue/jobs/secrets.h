/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of opcodes that must not be written anywhere: they stay in memory
 * until the opcode runs, and in the stored input a mark stands for each.  The
 * opcodes within one that creates many instances (its parameter "instances")
 * are treated in the same way. */
#ifndef QUEUE_JOBS_SECRETS_H
#define QUEUE_JOBS_SECRETS_H

#include <jansson.h>

#include "lib/base/error.h"

/* Take the secrets out of an opcode: an object of them, NULL if it has none. */
json_t *secrets_take(json_t *op);

/* Put them back into the input for running it.  ERR_EXEC when it once had some
 * that are lost (secrets NULL). */
int secrets_give(json_t *input, const json_t *secrets, struct error *err);

/* Private parameters are stored, as the configuration has them anyway, but
 * nobody who asks for a job sees them: put the mark in their place. */
void secrets_hide(json_t *input);

#endif
