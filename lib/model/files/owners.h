/* SPDX-License-Identifier: BSD-2-Clause */
/* To whom files belong: as Debian's Ganeti has it, on master and candidates
 * alike, where its users are there. */
#ifndef MODEL_FILES_OWNERS_H
#define MODEL_FILES_OWNERS_H

#include "lib/model/files/paths.h"

/* From now on the real disk gives configuration and queue of these paths to
 * Ganeti's users, if we may and they are there.  At start; paths must live. */
void owners_begin(const struct paths *paths);

#endif
