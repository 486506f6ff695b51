/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration in a form that can be shown to others, for example in the
 * report of a bug. */
#ifndef MODEL_CONFIG_SANITIZE_H
#define MODEL_CONFIG_SANITIZE_H

#include <jansson.h>
#include <stdbool.h>

/* A copy without secrets, to be freed: the keys of mirrored disks, private and
 * secret OS parameters, members that are called a password, and passwords in
 * URLs are replaced.  anonymous: names, tags, addresses and public OS
 * parameters are replaced, too, the same value everywhere by the same one;
 * networks keep their sizes, and addresses their places in them.  UUIDs, links,
 * volume groups and names of OSes stay, as a report needs them. */
json_t *sanitize_config(const json_t *config, bool anonymous);

/* The logical id of a disk for errors and logs, without the key that a mirror
 * has in it; to be freed. */
char *sanitize_disk_id(const json_t *disk);

#endif
