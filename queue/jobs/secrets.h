/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of opcodes that must not be written anywhere: they stay in memory
 * until the opcode runs, and in the stored input a mark stands for each.  The
 * opcodes within one that creates many instances (its parameter "instances")
 * are treated in the same way. */
#ifndef QUEUE_JOBS_SECRETS_H
#define QUEUE_JOBS_SECRETS_H

#include <jansson.h>

#include "lib/base/error.h"

/* Take the secrets out of an opcode, which is changed: an object with them, to
 * be freed; NULL if it has none. */
json_t *secrets_take(json_t *op);

/* Put the secrets back into the input of an opcode that is about to run.
 * ERR_EXEC when it had secrets that are lost (secrets is NULL). */
int secrets_give(json_t *input, const json_t *secrets, struct error *err);

/* Replace private parameters by the mark, for everybody who asks for a job.
 * They are stored nevertheless, as the configuration has them anyway. */
void secrets_hide(json_t *input);

#endif
