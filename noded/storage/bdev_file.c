/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks in files, of one node ("file") or on a file system that all nodes
 * share ("sharedfile"): sparse files, logical_id [driver, path], or images of
 * the format qcow2 (storage/qcow2.h) where the disk's parameters say so.
 *
 * A path comes from the master, but what it may reach is decided here: it must
 * be below one of the allowed folders (storage/file_place.h), and the walk from
 * there follows no symbolic link. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/json/json.h"
#include "noded/storage/bdev.h"
#include "noded/storage/file_place.h"
#include "noded/storage/qcow2.h"

#define DISK_MODE 0600
#define FOLDER_MODE 0750
/* Larger sizes are mistakes; and sums cannot overflow. */
#define SIZE_MIB_MAX (INT64_C(1) << 40)
#define WIPE_CHUNK (1024 * 1024)

static int fail(struct error *err, const char *virtual_path, const char *what)
{
	return error_set(err, ERR_BLOCKDEV, NULL, "%s: can't %s: %s",
			 virtual_path, what, strerror(errno));
}

/* The virtual path of a disk, borrowed from it; NULL and err. */
static const char *disk_path(const json_t *disk, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const json_t *value = json_array_get(id, 1);
	const char *snapshot = json_string_value(json_array_get(id, 2));

	if (json_is_string(value) &&
	    (json_array_size(id) == 2 ||
	     (json_array_size(id) == 3 && qcow2_is(disk) && snapshot != NULL &&
	      qcow2_snapshot_is_valid(snapshot))))
		return json_string_value(value);
	error_set(err, ERR_BLOCKDEV, NULL,
		  "The logical_id of a file-based disk must be [driver, path]");
	return NULL;
}

static int check_format(const json_t *disk, struct error *err)
{
	const char *format =
		json_str(json_get(disk, "params"), "format", "raw");

	if (qcow2_is(disk) || strcmp(format, "raw") == 0)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "\"%s\" is no format of a file-based disk", format);
}

static int find_place(const struct paths *p, const json_t *disk,
		      struct file_place *ret, const char **ret_path,
		      struct error *err)
{
	if (check_format(disk, err) < 0)
		return -1;
	*ret_path = disk_path(disk, err);
	if (*ret_path == NULL)
		return -1;
	return file_place_open(p, *ret_path, ret, err);
}

/* 0 if there is a file that can be used as a disk; -1 with err. */
static int stat_disk(const struct file_place *place, const char *virtual_path,
		     struct stat *ret, struct error *err)
{
	if (place->folder_fd < 0)
		return 0;
	if (fstatat(place->folder_fd, place->name, ret, AT_SYMLINK_NOFOLLOW) <
	    0)
		return errno == ENOENT ? 0 : fail(err, virtual_path, "look at");
	if (S_ISREG(ret->st_mode))
		return 1;
	return error_set(err, ERR_BLOCKDEV, NULL, "%s is not a regular file",
			 virtual_path);
}

static int need_size(int64_t mib, struct error *err)
{
	if (mib >= 0 && mib <= SIZE_MIB_MAX)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%" PRId64 " MiB is not a size of a disk", mib);
}

static int create_now(const struct paths *p, const json_t *disk,
		      int64_t size_mib, struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	auto_close int fd = -1;
	const char *file;

	if (need_size(size_mib, err) < 0 ||
	    find_place(p, disk, &place, &file, err) < 0)
		return -1;
	if (place.folder_fd < 0) {
		errno = ENOENT;
		return fail(err, file, "create");
	}
	/* An image is made of the empty file afterwards. */
	if (qcow2_is(disk))
		size_mib = 0;
	fd = openat(place.folder_fd, place.name,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    DISK_MODE);
	if (fd < 0 && errno == EEXIST)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: can't create: File exists; if nobody on "
				 "this node needs it, remove it",
				 file);
	if (fd < 0)
		return fail(err, file, "create");
	if (ftruncate(fd, size_mib * MIB) < 0) {
		fail(err, file, "make as large as asked");
		unlinkat(place.folder_fd, place.name, 0);
		return -1;
	}
	return 0;
}

static int remove_now(const struct paths *p, const json_t *disk,
		      struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	const char *file;

	if (find_place(p, disk, &place, &file, err) < 0)
		return -1;
	if (place.folder_fd >= 0 &&
	    unlinkat(place.folder_fd, place.name, 0) < 0 && errno != ENOENT)
		return fail(err, file, "remove");
	return 0;
}

static int find_now(const struct paths *p, const json_t *disk, char **ret_path,
		    struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	const char *file;
	struct stat st;
	int rc;

	if (find_place(p, disk, &place, &file, err) < 0)
		return -1;
	rc = stat_disk(&place, file, &st, err);
	if (rc == 1)
		*ret_path = paths_local(p, file);
	return rc;
}

static char *assemble_now(const struct paths *p, const json_t *disk,
			  struct error *err)
{
	char *local = NULL;
	int rc = find_now(p, disk, &local, err);

	if (rc == 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "%s: there is no such file; is its file system "
			  "mounted?",
			  disk_path(disk, err));
	return local;
}

static int file_shutdown(const struct paths *p, const json_t *disk,
			 struct error *err)
{
	(void)p, (void)disk, (void)err;
	return 0;
}

static int64_t image_bytes(const struct file_place *place,
			   const char *virtual_path, struct error *err)
{
	auto_close int fd =
		openat(place->folder_fd, place->name,
		       O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 ? qcow2_bytes(fd, virtual_path, err)
		       : fail(err, virtual_path, "open");
}

static int64_t size_now(const struct paths *p, const json_t *disk,
			struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	const char *file;
	struct stat st;
	int rc;

	if (find_place(p, disk, &place, &file, err) < 0)
		return -1;
	rc = stat_disk(&place, file, &st, err);
	if (rc == 0) {
		errno = ENOENT;
		fail(err, file, "look at");
	}
	if (rc == 1 && qcow2_is(disk))
		return image_bytes(&place, file, err);
	return rc == 1 ? st.st_size : -1;
}

/* An open descriptor of the disk for writing, or -1. */
static int open_disk(const struct paths *p, const json_t *disk,
		     const char **ret_path, struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	int fd = -1;

	if (find_place(p, disk, &place, ret_path, err) < 0)
		return -1;
	if (place.folder_fd < 0)
		errno = ENOENT;
	else
		fd = openat(place.folder_fd, place.name,
			    O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : fail(err, *ret_path, "open");
}

/* To a size, not by an amount: a repeated call does nothing. */
static int grow_now(const struct paths *p, const json_t *disk,
		    const struct bdev_growth *growth, struct error *err)
{
	const char *file;
	auto_close int fd = open_disk(p, disk, &file, err);
	int64_t recorded = json_int(disk, "size", 0);
	struct stat st;

	if (fd < 0 || need_size(recorded, err) < 0 ||
	    need_size(growth->amount_mib, err) < 0 ||
	    need_size(recorded + growth->amount_mib, err) < 0)
		return -1;
	if (!growth->backing_store || growth->dry_run)
		return 0;
	if (fstat(fd, &st) < 0)
		return fail(err, file, "look at");
	if (st.st_size >= (recorded + growth->amount_mib) * MIB)
		return 0;
	if (ftruncate(fd, (recorded + growth->amount_mib) * MIB) < 0)
		return fail(err, file, "grow");
	return 0;
}

static int rename_now(const struct paths *p, const json_t *disk,
		      const json_t *new_id, struct error *err)
{
	auto_place struct file_place from = FILE_PLACE_NONE;
	auto_place struct file_place to = FILE_PLACE_NONE;
	auto_json json_t *new_disk = json_make("{s:O}", "logical_id", new_id);
	const char *old_file, *new_file;
	struct stat st;

	if (find_place(p, disk, &from, &old_file, err) < 0 ||
	    find_place(p, new_disk, &to, &new_file, err) < 0)
		return -1;
	if (from.folder_fd < 0 || to.folder_fd < 0) {
		errno = ENOENT;
		return fail(err, old_file, "rename");
	}
	if (file_place_rename(&from, &to) == 0)
		return 0;
	/* Done before? */
	if (errno == ENOENT && stat_disk(&to, new_file, &st, err) == 1)
		return 0;
	if (errno == EOPNOTSUPP)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: can't rename: its file system has "
				 "neither renames that replace nothing nor "
				 "hard links",
				 old_file);
	return fail(err, old_file, "rename");
}

/* Write zeros, on file systems that cannot punch holes. */
static int write_zeros(int fd, int64_t offset, int64_t len)
{
	auto_free char *zeros = xalloc(WIPE_CHUNK);

	while (len > 0) {
		size_t n = len < WIPE_CHUNK ? (size_t)len : WIPE_CHUNK;
		ssize_t done = pwrite(fd, zeros, n, offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		offset += done;
		len -= done;
	}
	return 0;
}

static int wipe_now(const struct paths *p, const json_t *disk,
		    int64_t offset_mib, int64_t size_mib, struct error *err)
{
	const char *file;
	auto_close int fd = open_disk(p, disk, &file, err);
	struct stat st;
	int rc;

	if (fd < 0 || need_size(offset_mib, err) < 0 ||
	    need_size(size_mib, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return fail(err, file, "look at");
	if ((offset_mib + size_mib) * MIB > st.st_size)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: the part to wipe is not inside the disk",
				 file);
	if (size_mib == 0)
		return 0;
	rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		       offset_mib * MIB, size_mib * MIB);
	if (rc < 0)
		rc = write_zeros(fd, offset_mib * MIB, size_mib * MIB);
	return rc < 0 ? fail(err, file, "wipe") : 0;
}

/* --- the class: all of the above beside the loop, for the file system may be
 * one of the network and not answer for long --- */

/* Outside of a task nobody is held up. */
static bool go_beside(void)
{
	if (task_name() == NULL)
		return false;
	task_leave();
	return true;
}

#define BESIDE(call)                                                           \
	({                                                                     \
		bool beside_ = go_beside();                                    \
		typeof(call) result_ = (call);                                 \
		if (beside_)                                                   \
			task_enter();                                          \
		result_;                                                       \
	})

/* The place of an image that is there. */
static int open_image(const struct paths *p, const json_t *disk,
		      struct file_place *ret, struct error *err)
{
	const char *file;

	if (find_place(p, disk, ret, &file, err) < 0)
		return -1;
	if (ret->folder_fd >= 0)
		return 0;
	errno = ENOENT;
	return fail(err, file, "open");
}

static WAITS int make_image(const struct paths *p, const json_t *disk,
			    int64_t size_mib, struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;

	if (BESIDE(open_image(p, disk, &place, err)) < 0)
		return -1;
	if (qcow2_make(&place, size_mib * MIB, err) == 0)
		return 0;
	unlinkat(place.folder_fd, place.name, 0);
	return error_wrap(err, "Can't make %s", disk_path(disk, err));
}

static WAITS int file_create(const struct paths *p, const json_t *disk,
			     const struct bdev_new *new, struct error *err)
{
	if (BESIDE(create_now(p, disk, new->size_mib, err)) < 0)
		return -1;
	return qcow2_is(disk) ? make_image(p, disk, new->size_mib, err) : 0;
}

/* The snapshot that the disk is; NULL: it is none. */
static const char *snapshot_of(const json_t *disk)
{
	return json_string_value(
		json_array_get(json_get(disk, "logical_id"), 2));
}

/* The image is there no more, or none of that name: fine. */
static WAITS int drop_snapshot(const struct paths *p, const json_t *disk,
			       struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	auto_free char *file = NULL;
	int rc = BESIDE(find_now(p, disk, &file, err));

	if (rc <= 0)
		return rc;
	if (BESIDE(open_image(p, disk, &place, err)) < 0)
		return -1;
	return qcow2_snapshot(&place, snapshot_of(disk), false, err);
}

static WAITS int file_remove(const struct paths *p, const json_t *disk,
			     struct error *err)
{
	return snapshot_of(disk) != NULL ? drop_snapshot(p, disk, err)
					 : BESIDE(remove_now(p, disk, err));
}

static WAITS json_t *file_snapshot(const struct paths *p, const json_t *disk,
				   const char *name, int64_t size_mib,
				   struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;

	(void)size_mib;
	if (!qcow2_is(disk) || !qcow2_snapshot_is_valid(name)) {
		error_set(err, ERR_BLOCKDEV, NULL,
			  "Cannot make a snapshot \"%s\" of %s: only images of "
			  "the format qcow2 can have some",
			  name, disk_path(disk, err));
		return NULL;
	}
	if (BESIDE(open_image(p, disk, &place, err)) < 0 ||
	    qcow2_snapshot(&place, name, true, err) < 0)
		return NULL;
	return json_make("[O, O, s]",
			 json_array_get(json_get(disk, "logical_id"), 0),
			 json_array_get(json_get(disk, "logical_id"), 1), name);
}

static WAITS int file_find(const struct paths *p, const json_t *disk,
			   char **ret_path, struct error *err)
{
	return BESIDE(find_now(p, disk, ret_path, err));
}

static WAITS char *file_assemble(const struct paths *p, const json_t *disk,
				 struct error *err)
{
	return BESIDE(assemble_now(p, disk, err));
}

static WAITS int64_t file_size(const struct paths *p, const json_t *disk,
			       struct error *err)
{
	return BESIDE(size_now(p, disk, err));
}

/* To a size as well. */
static WAITS int grow_image(const struct paths *p, const json_t *disk,
			    const struct bdev_growth *growth, struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	int64_t size_mib = json_int(disk, "size", 0) + growth->amount_mib;
	int64_t bytes = BESIDE(size_now(p, disk, err));

	if (bytes < 0 || need_size(growth->amount_mib, err) < 0 ||
	    need_size(size_mib, err) < 0)
		return -1;
	if (!growth->backing_store || growth->dry_run ||
	    bytes >= size_mib * MIB)
		return 0;
	if (BESIDE(open_image(p, disk, &place, err)) < 0)
		return -1;
	if (qcow2_resize(&place, size_mib * MIB, err) < 0)
		return error_wrap(err, "Can't grow %s", disk_path(disk, err));
	return 0;
}

static WAITS int file_grow(const struct paths *p, const json_t *disk,
			   const struct bdev_growth *growth, struct error *err)
{
	return qcow2_is(disk) ? grow_image(p, disk, growth, err)
			      : BESIDE(grow_now(p, disk, growth, err));
}

static WAITS int file_rename(const struct paths *p, const json_t *disk,
			     const json_t *new_id, struct error *err)
{
	return BESIDE(rename_now(p, disk, new_id, err));
}

static WAITS int wipe_image(const struct paths *p, const json_t *disk,
			    int64_t offset_mib, int64_t size_mib,
			    struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;
	int64_t bytes = BESIDE(size_now(p, disk, err));

	if (bytes < 0 || need_size(offset_mib, err) < 0 ||
	    need_size(size_mib, err) < 0)
		return -1;
	if ((offset_mib + size_mib) * MIB > bytes)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: the part to wipe is not inside the disk",
				 disk_path(disk, err));
	if (BESIDE(open_image(p, disk, &place, err)) < 0)
		return -1;
	return qcow2_zero(&place, offset_mib * MIB, size_mib * MIB, err);
}

static WAITS int file_wipe(const struct paths *p, const json_t *disk,
			   int64_t offset_mib, int64_t size_mib,
			   struct error *err)
{
	return qcow2_is(disk)
		       ? wipe_image(p, disk, offset_mib, size_mib, err)
		       : BESIDE(wipe_now(p, disk, offset_mib, size_mib, err));
}

#define FILE_CLASS(type)                                                       \
	{                                                                      \
		.dev_type = type, .create = file_create,                       \
		.remove = file_remove, .find = file_find,                      \
		.assemble = file_assemble, .shutdown = file_shutdown,          \
		.size = file_size, .grow = file_grow, .rename = file_rename,   \
		.wipe = file_wipe, .snapshot = file_snapshot,                  \
	}

const struct bdev_class bdev_file = FILE_CLASS("file");
const struct bdev_class bdev_sharedfile = FILE_CLASS("sharedfile");

/* --- folders --- */

static int fail_folder(struct error *err, const char *what, const char *folder)
{
	return error_set(err, ERR_FILE_PATH, NULL,
			 "Cannot %s file storage directory %s: %s", what,
			 folder, strerror(errno));
}

int bdev_file_make_folder(const struct paths *p, const char *folder,
			  struct error *err)
{
	return BESIDE(file_place_make(p, folder, FOLDER_MODE, err));
}

static int remove_folder(const struct paths *p, const char *folder,
			 struct error *err)
{
	auto_place struct file_place place = FILE_PLACE_NONE;

	if (file_place_open(p, folder, &place, err) < 0)
		return -1;
	if (place.folder_fd >= 0 &&
	    unlinkat(place.folder_fd, place.name, AT_REMOVEDIR) < 0 &&
	    errno != ENOENT)
		return fail_folder(err, "remove", folder);
	return 0;
}

static int rename_folder(const struct paths *p, const char *old_folder,
			 const char *new_folder, struct error *err)
{
	auto_place struct file_place from = FILE_PLACE_NONE;
	auto_place struct file_place to = FILE_PLACE_NONE;

	if (file_place_open(p, old_folder, &from, err) < 0 ||
	    file_place_open(p, new_folder, &to, err) < 0)
		return -1;
	if (from.folder_fd < 0 || to.folder_fd < 0) {
		errno = ENOENT;
		return fail_folder(err, "rename", old_folder);
	}
	if (file_place_rename_folder(&from, &to) == 0)
		return 0;
	/* Done before? */
	if (errno == ENOENT &&
	    faccessat(to.folder_fd, to.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	return fail_folder(err, "rename", old_folder);
}

int bdev_file_remove_folder(const struct paths *p, const char *folder,
			    struct error *err)
{
	return BESIDE(remove_folder(p, folder, err));
}

int bdev_file_rename_folder(const struct paths *p, const char *old_folder,
			    const char *new_folder, struct error *err)
{
	return BESIDE(rename_folder(p, old_folder, new_folder, err));
}
