/* SPDX-License-Identifier: BSD-2-Clause */
/* The disk under the queue and the configuration, as an interface: the real
 * one calls the kernel, the simulation's loses what was not synced and fails
 * when told to.  All functions block and may be called between task_leave()
 * and task_enter(); paths are absolute. */
#ifndef BASE_DISK_H
#define BASE_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"

struct disk {
	/* As the functions of fs.h with the same names; read is
	 * fs_read_file(). */
	char *(*read)(struct disk *d, const char *path, size_t max,
		      size_t *ret_len, struct error *err);
	int (*write_atomic)(struct disk *d, const char *path, const void *data,
			    size_t len, mode_t mode, struct error *err);
	int (*mkdirs)(struct disk *d, const char *path, mode_t mode,
		      struct error *err);
	int (*list)(struct disk *d, const char *path, struct strv *ret_names,
		    struct error *err);
	int (*remove)(struct disk *d, const char *path, struct error *err);
	bool (*exists)(struct disk *d, const char *path);

	/* As write_atomic, but durable only after the next sync_all. */
	int (*write_lazy)(struct disk *d, const char *path, const void *data,
			  size_t len, mode_t mode, struct error *err);

	/* Move a file; durable only after the next sync_all. */
	int (*rename)(struct disk *d, const char *from, const char *to,
		      struct error *err);

	/* Make durable all that was done in the file system of folder. */
	int (*sync_all)(struct disk *d, const char *folder, struct error *err);

	/* A log file for group commit: opened (made with size bytes of zeros
	 * when missing or shorter), written at an offset, synced by data.
	 * The handle is >= 0. */
	int (*log_open)(struct disk *d, const char *path, size_t size,
			struct error *err);
	int (*log_write)(struct disk *d, int log, size_t offset,
			 const void *data, size_t len, struct error *err);
	int (*log_sync)(struct disk *d, int log, struct error *err);
	void (*log_close)(struct disk *d, int log);

	/* Take a file's lock, as fs_lock(): a handle >= 0, or -1.  NULL: there
	 * is nobody to lock out. */
	int (*lock)(struct disk *d, const char *path, struct error *err);
	void (*unlock)(struct disk *d, int handle);

	/* When the file was last written, in nanoseconds of the disk's own
	 * clock (only good for comparison); 0: there is no such file.  NULL:
	 * this disk keeps no times. */
	int64_t (*written_ns)(struct disk *d, const char *path);

	/* How large a journal may be on this disk, in bytes; 0: as large as its
	 * owner likes. */
	size_t journal_size;
};

/* The kernel's file systems; one static object, nothing to free. */
struct disk *disk_real(void);

/* The owner of files and folders that the real disk makes from now on.  fn
 * returns false where a path has no owner of its own: the file then belongs to
 * this process.  Call it before there is a second thread. */
typedef bool disk_owner_fn(const char *path, struct fs_owner *ret);
void disk_real_set_owner(disk_owner_fn *fn);

#endif
