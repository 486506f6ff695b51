/* SPDX-License-Identifier: BSD-2-Clause */
/* Files.  Everything here blocks, so the loop may use it only for small things
 * at start.  What belongs to the queue and the configuration goes through
 * disk.h. */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* The content (NUL behind it, not counted), to be freed; NULL on error, also
 * when it has more than max bytes. */
char *fs_read(const char *path, size_t max, size_t *ret_len, struct error *err);

/* The same of a regular file alone.  A pipe (nobody may ever write to it) or a
 * link (it may lead anywhere) is the error ECODE_NOFILE. */
char *fs_read_file(const char *path, size_t max, size_t *ret_len,
		   struct error *err);

/* Open a regular file, as fs_read_file() has it; -1 with err. */
int fs_open_file(const char *path, int flags, mode_t mode, struct error *err);

/* Replace the file at path as a whole: temporary file, fsync, rename, fsync of
 * the folder.  The file exists with mode from its first moment. */
int fs_write_atomic(const char *path, const void *data, size_t len, mode_t mode,
		    struct error *err);

/* The same; the file belongs to this owner from its first moment (NULL: to the
 * user of this process). */
struct fs_owner {
	uid_t uid;
	gid_t gid;
};
int fs_write_atomic_as(const char *path, const void *data, size_t len,
		       mode_t mode, const struct fs_owner *owner,
		       struct error *err);

/* Make the folder and those above it that are missing, each with mode. */
int fs_mkdirs(const char *path, mode_t mode, struct error *err);

/* The mount point of the file system that path is in, or would be in if it
 * existed; to be freed. */
char *fs_mount_point(const char *path);

/* 0 when files can be made in the folder, which has to exist; else the error
 * says why not, for example that the file system is read-only. */
int fs_check_writable(const char *folder, struct error *err);

bool fs_exists(const char *path);
bool fs_is_dir(const char *path);
bool fs_is_executable(const char *path); /* a regular file that we may run */

/* For the beginning of a program: standard streams that its caller has closed
 * lead nowhere.  Otherwise the next file or socket would be one of them, and
 * get what is printed. */
void fs_hold_standard(void);

/* The folder of the program that runs, behind all links, to be freed; NULL if
 * that is not known.  What was built or installed together lies near it. */
char *fs_own_folder(void);

/* Add the names in a folder, sorted, without "." and "..". */
int fs_list(const char *path, struct strv *ret_names, struct error *err);

/* Remove a file; that it is not there is no error. */
int fs_remove(const char *path, struct error *err);

/* Remove a folder and all in it; that it is not there is no error.  Follows no
 * symbolic link, and leaves what is mounted in it, which is an error. */
int fs_remove_tree(const char *path, struct error *err);

/* Open (or make) a file and take an exclusive flock() on it; the descriptor
 * holds it.  -1 with err when another process has it. */
int fs_lock(const char *path, struct error *err);

/* Write our pid into an exclusively locked file and return its descriptor. */
int fs_write_pid(const char *path, struct error *err);

/* The pid in the file if the process that wrote it still runs and holds the
 * lock, else 0. */
pid_t fs_read_pid(const char *path);

#endif
