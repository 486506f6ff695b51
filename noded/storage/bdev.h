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
#include "lib/base/units.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* How a disk is to be made. */
struct bdev_new {
	int64_t size_mib;
	const char *info; /* a text for the storage to keep with it, or NULL */
	bool primary;	  /* this is the node that uses it */
	/* It gets whole physical volumes for itself. */
	bool exclusive;
};

/* How a disk is to grow. */
struct bdev_growth {
	int64_t amount_mib; /* from the size that the object has */
	bool dry_run;
	bool backing_store; /* what holds the data; else what is above it */
	bool exclusive;
};

/* What was found out for one disk and serves for the next, within a call.
 * Zeroed, it knows nothing yet. */
struct bdev_look {
	json_t *volumes; /* lvm_volumes() */
	char *drbd;	 /* the text of /proc/drbd */
	char *drbd_show; /* what drbdsetup show prints of all; with secrets */
};

#define auto_look __attribute__((cleanup(bdev_look_done), unused))

struct bdev_class {
	const char *dev_type; /* in the configuration: "file", "plain"... */

	/* create() keeps the text with the disk, setinfo() need not. */
	bool create_keeps_info;
	/* Make the disk.  Fails when it exists: it is somebody's data. */
	WAITS int (*create)(const struct paths *p, const json_t *disk,
			    const struct bdev_new *new, struct error *err);
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
			  const struct bdev_growth *growth, struct error *err);
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
	/* How it is: Ganeti's BlockDevStatus, to be freed; JSON null where it
	 * is not there.  NULL in the class: it is fine where it can be
	 * found. */
	WAITS json_t *(*status)(const struct paths *p, const json_t *disk,
				struct bdev_look *look, struct error *err);
	/* Keep what is on it now under another name; its logical id, to be
	 * freed. */
	WAITS json_t *(*snapshot)(const struct paths *p, const json_t *disk,
				  const char *name, int64_t size_mib,
				  struct error *err);
	/* On how many physical volumes it is; -1: that has no meaning. */
	WAITS int64_t (*spindles)(const struct paths *p, const json_t *disk);
	/* Where QEMU can open the disk without a device of the kernel's, to be
	 * freed; NULL: nowhere.  bdev_uri() asks it. */
	char *(*uri)(const json_t *disk);
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

/* Ganeti's words for the state of what is below a disk on this node. */
enum bdev_local { BDEV_OKAY = 1, BDEV_SYNC, BDEV_UNKNOWN, BDEV_FAULTY };

/* Forget what was found out. */
void bdev_look_done(struct bdev_look *look);

/* The state of a disk as the class tells it; JSON null when it is not there,
 * NULL with err when that cannot be found out.  `look` may be NULL. */
WAITS json_t *bdev_status(const struct paths *p, const json_t *disk,
			  struct bdev_look *look, struct error *err);

/* Where QEMU opens the disk itself, as its way of access ("userspace") wants
 * it: "rbd:pool/image", to be freed; NULL: it opens the path. */
char *bdev_uri(const json_t *disk);

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
/* The instance that has a link to it, to be freed; NULL: none has. */
char *bdev_user(const struct paths *p, const char *target);
/* Remove all links to this device. */
void bdev_unlink_target(const struct paths *p, const char *target);
/* The index of a disk in its instance, from "disk/<n>"; fallback without it. */
int64_t bdev_index(const json_t *disk, int64_t fallback);

#endif
