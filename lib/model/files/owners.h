/* SPDX-License-Identifier: BSD-2-Clause */
/* The owners of files: the same as on Debian's Ganeti, on the master and on
 * candidates, if the machine has Ganeti's users. */
#ifndef MODEL_FILES_OWNERS_H
#define MODEL_FILES_OWNERS_H

#include "lib/model/files/paths.h"

/* From now on the real disk gives the configuration and the queue below these
 * paths to Ganeti's users, if this process may do so and the users exist.  Call
 * it at start; paths must stay valid. */
void owners_begin(const struct paths *paths);

/* The names of the user and group to whom this file belongs on hosts that have
 * them; literals, "root" for all others. */
void owners_names(enum path_id id, const char **ret_user,
		  const char **ret_group);

/* Let the group of Ganeti's daemons use a socket or a folder that belongs to
 * this process: read, write, and for a folder enter.  Nothing where
 * owners_begin() gives nothing away. */
void owners_share(const char *file);

#endif
