/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the allocator framework share. */
#ifndef MASTERD_IALLOCATOR_PRIVATE_H
#define MASTERD_IALLOCATOR_PRIVATE_H

#include <stdint.h>

#include "masterd/iallocator.h"

struct config;

/* MiB that the disks take on a node, DRBD's metadata included. */
int64_t iallocator_disk_space(const json_t *disks, const char *template);

/* Check an allocator's answer (its whole output) to a request; the "result",
 * to be freed, or NULL with err as iallocator_run has it. */
json_t *iallocator_check_answer(const struct config *c, const char *name,
				const json_t *request, const char *text,
				struct error *err);

#endif
