/* SPDX-License-Identifier: BSD-2-Clause */
/* The logical volumes of which the disks of instances consist. */
#ifndef MASTERD_LU_PARTS_VOLUMES_H
#define MASTERD_LU_PARTS_VOLUMES_H

#include <jansson.h>
#include <stdbool.h>

struct error;

/* Add the volumes of one disk to *ret, {node's UUID: {"vg/volume": instance's
 * name}}: a plain disk itself, of a mirrored one its parts on both nodes. */
void volumes_add(json_t *ret, const json_t *inst, const json_t *disk);

/* The member of an object, borrowed; if it does not exist it is made from
 * preset. */
json_t *volumes_member(json_t *object, const char *key, json_t *preset);

/* A pattern of the list of reserved volumes is a regular expression, as in
 * Python, for whole names "vg/volume".  ERR_PREREQ/ECODE_INVAL if it is none.
 */
int volumes_check_pattern(const char *pattern, struct error *err);
/* Whether it is for this volume; one that is none is for no volume. */
bool volumes_match(const char *pattern, const char *volume);

#endif
