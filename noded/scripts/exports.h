/* SPDX-License-Identifier: BSD-2-Clause */
/* Exports of instances that this node keeps.  Each is a folder below
 * /var/lib/ganeti/export, named like the instance, with config.ini and a file
 * for each disk.  The same as Ganeti's. */
#ifndef NODED_SCRIPTS_EXPORTS_H
#define NODED_SCRIPTS_EXPORTS_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

/* The local path of a file of an export (virtual_path), to be freed; NULL with
 * err unless it is below the folder of exports, without a link on the way.
 * make: it is one of "<instance>.new", an export that is not finished; the
 * folder is made, and an existing file removed. */
char *exports_file(const struct paths *p, const char *virtual_path, bool make,
		   struct error *err);

/* Write the description of the instance (as in node calls) and its disks, whose
 * files must be there, and put the new export in place of an old one. */
int exports_finalize(const struct paths *p, const json_t *instance,
		     const json_t *disks, struct error *err);

/* The description in a folder (virtual), as text; to be freed. */
char *exports_info(const struct paths *p, const char *folder,
		   struct error *err);

/* The names of all; to be freed. */
json_t *exports_list(const struct paths *p, struct error *err);

/* Remove an export with all its files, and what unfinished ones have left; of
 * the name "<instance>+new" these alone.  What is not there is no error. */
int exports_remove(const struct paths *p, const char *name, struct error *err);

#endif
