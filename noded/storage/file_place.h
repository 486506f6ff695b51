/* SPDX-License-Identifier: BSD-2-Clause */
/* Where file-based disks may be: below the folders listed in
 * /etc/ganeti/file-storage-paths and the cluster's file_storage_dir and
 * shared_file_storage_dir.  These folders themselves may be symbolic links or
 * mounts; below them no symbolic link is followed. */
#ifndef NODED_STORAGE_FILE_PLACE_H
#define NODED_STORAGE_FILE_PLACE_H

#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* A file's name in an open folder. */
struct file_place {
	int folder_fd; /* -1: the folder does not exist */
	char *name;
};

#define FILE_PLACE_NONE                                                        \
	{                                                                      \
		.folder_fd = -1                                                \
	}
#define auto_place __attribute__((cleanup(file_place_done), unused))

/* Find the virtual path, which must be below an allowed folder; it is no error
 * if its own folder does not exist.  ERR_FILE_PATH says what is wrong. */
int file_place_open(const struct paths *p, const char *virtual_path,
		    struct file_place *ret, struct error *err);
void file_place_done(struct file_place *place);

/* Give a file, or a folder, another name that nothing has yet; an empty folder
 * may be replaced.  -1 with errno, which is EOPNOTSUPP where the file system
 * has no way to do that. */
int file_place_rename(const struct file_place *from,
		      const struct file_place *to);
int file_place_rename_folder(const struct file_place *from,
			     const struct file_place *to);

/* Make the folder at the virtual path, and missing ones above it, below the
 * allowed one. */
int file_place_make(const struct paths *p, const char *virtual_path,
		    mode_t mode, struct error *err);

/* 0 if this folder is allowed: one of the list, or below one; -1 with err. */
int file_place_check(const struct paths *p, const char *virtual_path,
		     struct error *err);

/* Add the allowed folders that can do harm (such as /etc). */
void file_place_bad_folders(const struct paths *p, struct strv *ret);

#endif
