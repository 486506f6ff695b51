/* SPDX-License-Identifier: BSD-2-Clause */
/* The UUIDs of what an opcode names. */
#ifndef MASTERD_JOBS_EXEC_UUIDS_H
#define MASTERD_JOBS_EXEC_UUIDS_H

#include "masterd/lu/frame/lu.h"

/* The members of the LU's opcode that give by UUID what other members give by
 * name, as far as the client has left them out: {member: UUID or [UUID]}, to be
 * freed. */
json_t *exec_uuids(struct lu *lu);

#endif
