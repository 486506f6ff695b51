/* SPDX-License-Identifier: BSD-2-Clause */
/* Which logical volumes the disks of instances are made of. */
#ifndef MASTERD_LU_PARTS_VOLUMES_H
#define MASTERD_LU_PARTS_VOLUMES_H

#include <jansson.h>

/* Add those of one disk to *ret, {node's UUID: {"vg/volume": instance's name}}:
 * of a plain one itself, of a mirrored one its parts on both nodes. */
void volumes_add(json_t *ret, const json_t *inst, const json_t *disk);

/* The member of an object, which is made with a preset when it is not there;
 * borrowed. */
json_t *volumes_member(json_t *object, const char *key, json_t *preset);

#endif
