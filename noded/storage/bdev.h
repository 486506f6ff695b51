/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks of instances: one class for each storage type (bdev_<type>.c).
 *
 * `disk` is the object of the configuration.  All functions run in the task of
 * a call and may wait.  Except for create they are idempotent: repeating a call
 * is no error.  Returned paths are local (with the root in front). */
#ifndef NODED_STORAGE_BDEV_H
#define NODED_STORAGE_BDEV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

#define MIB (1024 * 1024)

struct bdev_class {
	const char *dev_type; /* in the configuration: "file", "plain"... */

	/* Make the disk.  Fails when it exists: it is somebody's data. */
	WAITS int (*create)(const struct paths *p, const json_t *disk,
			    int64_t size_mib, struct error *err);
	WAITS int (*remove)(const struct paths *p, const json_t *disk,
			    struct error *err);

	/* 1 and the path of its device or file, to be freed, if it is there
	 * and usable; 0 if not; -1 on errors. */
	WAITS int (*find)(const struct paths *p, const json_t *disk,
			  char **ret_path, struct error *err);

	/* Make it usable here; the path, to be freed. */
	WAITS char *(*assemble)(const struct paths *p, const json_t *disk,
				struct error *err);
	WAITS int (*shutdown)(const struct paths *p, const json_t *disk,
			      struct error *err);

	/* Bytes, or -1. */
	WAITS int64_t (*size)(const struct paths *p, const json_t *disk,
			      struct error *err);

	/* The following may be NULL where the type has nothing to do. */
	WAITS int (*grow)(const struct paths *p, const json_t *disk,
			  int64_t amount_mib, bool dry_run, bool backing_store,
			  struct error *err);
	WAITS int (*rename)(const struct paths *p, const json_t *disk,
			    const json_t *new_id, struct error *err);
	/* Write zeros from offset on. */
	WAITS int (*wipe)(const struct paths *p, const json_t *disk,
			  int64_t offset_mib, int64_t size_mib,
			  struct error *err);
	/* Store a text with the disk: its owner. */
	WAITS int (*setinfo)(const struct paths *p, const json_t *disk,
			     const char *text, struct error *err);
	/* An instance begins to use the disk on this node (exclusively or not),
	 * or ends it. */
	WAITS int (*open)(const struct paths *p, const json_t *disk,
			  bool exclusive, struct error *err);
	WAITS int (*close)(const struct paths *p, const json_t *disk,
			   struct error *err);
};

/* One for each template that has a driver (lib/model/kinds/templates.def). */
#define STORAGE(...)
#define DRIVEN(class) extern const struct bdev_class bdev_##class;
#define UNDRIVEN(class)
#define DISK_TEMPLATE(id, class, driver, ...) driver(class)
#include "lib/model/kinds/templates.def"
#undef STORAGE
#undef DRIVEN
#undef UNDRIVEN
#undef DISK_TEMPLATE

/* The class of a disk by its dev_type. */
const struct bdev_class *bdev_of(const json_t *disk, struct error *err);

/* --- folders of file-based disks (bdev_file.c); paths are virtual --- */

/* Making a folder that exists, and removing one that does not, is no error; a
 * folder that contains files is not removed. */
WAITS int bdev_file_make_folder(const struct paths *p, const char *folder,
				struct error *err);
WAITS int bdev_file_remove_folder(const struct paths *p, const char *folder,
				  struct error *err);
WAITS int bdev_file_rename_folder(const struct paths *p, const char *old_folder,
				  const char *new_folder, struct error *err);

/* --- links var/run/ganeti/instance-disks/<instance>:<index> (bdev.c) --- */

/* The local path of the link; to be freed. */
char *bdev_link_path(const struct paths *p, const char *instance,
		     int64_t index);
int bdev_link(const struct paths *p, const char *instance, int64_t index,
	      const char *target, struct error *err);
int bdev_unlink(const struct paths *p, const char *instance, int64_t index,
		struct error *err);
/* Remove all links to this device. */
void bdev_unlink_target(const struct paths *p, const char *target);
/* The index of a disk in its instance, from "disk/<n>"; fallback without it. */
int64_t bdev_index(const json_t *disk, int64_t fallback);

#endif
