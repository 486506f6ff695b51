/* SPDX-License-Identifier: BSD-2-Clause */
/* Block devices of the host have many names: below /dev/disk each link is one.
 * For instance_adopt.c. */
#ifndef MASTERD_LU_SPEC_INSTANCE_ADOPT_DEVICES_H
#define MASTERD_LU_SPEC_INSTANCE_ADOPT_DEVICES_H

#include "masterd/lu/spec/instance_spec.h"

/* A disk that is there under this name, as node calls want it; to be freed. */
json_t *adopt_device(const char *template, const char *driver,
		     const char *path);

/* Fail where two of these paths are the same device by the word of the node, or
 * one is a device that a disk of the configuration, also as a volume, or
 * another job has under another name.  The device is the job's from then on. */
WAITS int adopt_check_devices(struct lu *lu, const char *template,
			      const char *node, const struct strv *paths,
			      struct error *err);

#endif
