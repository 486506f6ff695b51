/* SPDX-License-Identifier: BSD-2-Clause */
/* The longest allowed folder that holds the path is opened by its name.  From
 * there each part is opened with openat() and O_NOFOLLOW, so a symbolic link
 * cannot be put in between check and use.  Folders such as /etc are refused
 * even if the list has them. */
#include "noded/storage/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/kinds/template.h"

#define LIST_MAX (64 * 1024)

/* No disks of instances belong there; a list that has them is a mistake or an
 * attack. */
static const char *const harmful[] = {
	"/",	    "/bin",  "/boot", "/dev",
	"/etc",	    "/home", "/lib",  "/lib32",
	"/lib64",   "/proc", "/root", "/run",
	"/sbin",    "/sys",  "/usr",  "/var/lib/ganeti",
	"/var/run", NULL,
};

/* Where the cluster mounts Gluster unless it is told another place. */
#define MOUNTED "/var/run/ganeti/gluster"

static bool is_harmful(const char *folder)
{
	if (strcmp(folder, "/") == 0)
		return true;
	if (paths_is_below(folder, MOUNTED))
		return false;
	for (const char *const *h = harmful + 1; *h != NULL; h++)
		if (paths_is_below(folder, *h))
			return true;
	return false;
}

/* The lines of the list, without comments, as virtual paths. */
static void read_list(const struct paths *p, struct strv *ret)
{
	struct error err;
	auto_free char *text =
		fs_read(path(p, PATH_FILE_STORAGE_PATHS), LIST_MAX, NULL, &err);
	auto_strv struct strv lines = {0};

	if (text == NULL)
		return; /* the file is optional */
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		auto_free char *folder = paths_virtual(p, lines.items[i]);

		if (paths_is_normal(folder))
			strv_add_unique(ret, folder);
	}
}

/* Those of the list, and the cluster's own, which are what node_verify is asked
 * about. */
static void allowed_folders(const struct paths *p, struct strv *ret)
{
	read_list(p, ret);
	for (size_t i = 0; i < STORAGE_COUNT; i++) {
		const struct storage_info *s = &storage_table[i];
		auto_free char *folder =
			s->verify != NULL ? ssconf_read(p, s->place) : NULL;

		if (folder != NULL && paths_is_normal(folder))
			strv_add_unique(ret, folder);
	}
}

void file_place_bad_folders(const struct paths *p, struct strv *ret)
{
	auto_strv struct strv folders = {0};

	read_list(p, &folders);
	for (size_t i = 0; i < folders.n; i++)
		if (is_harmful(folders.items[i]))
			strv_add(ret, folders.items[i]);
}

/* The longest allowed folder that has virtual_path; NULL and err. */
static char *find_base(const struct paths *p, const char *virtual_path,
		       struct error *err)
{
	auto_strv struct strv folders = {0};
	const char *best = NULL;

	if (!paths_is_normal(virtual_path)) {
		error_set(err, ERR_FILE_PATH, NULL,
			  "File storage path must be absolute and without "
			  "'..', but '%s' is not",
			  virtual_path);
		return NULL;
	}
	allowed_folders(p, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		const char *folder = folders.items[i];

		if (!is_harmful(folder) &&
		    paths_is_below(virtual_path, folder) &&
		    (best == NULL || strlen(folder) > strlen(best)))
			best = folder;
	}
	if (best != NULL)
		return xstrdup(best);
	error_set(err, ERR_FILE_PATH, NULL,
		  "Path '%s' is not acceptable for file storage: it is below "
		  "none of the allowed folders; add one to %s on this node",
		  virtual_path,
		  path(p, PATH_FILE_STORAGE_PATHS) + strlen(p->root));
	return NULL;
}

int file_place_check(const struct paths *p, const char *virtual_path,
		     struct error *err)
{
	auto_free char *base = find_base(p, virtual_path, err);

	return base != NULL ? 0 : -1;
}

static int fail(struct error *err, const char *virtual_path)
{
	return error_set(err, ERR_FILE_PATH, NULL,
			 "Cannot use '%s' for file storage: %s", virtual_path,
			 errno == ELOOP || errno == ENOTDIR
				 ? "a part of it is not a folder (symbolic "
				   "links are not followed)"
				 : strerror(errno));
}

/* Open the next folder; with a mode it is made if it does not exist.  1, 0 if
 * it does not exist, -1 with err. */
static int step(int *fd, const char *name, mode_t mode)
{
	int next;

	if (mode != 0 && mkdirat(*fd, name, mode) < 0 && errno != EEXIST)
		return -1;
	next = openat(*fd, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return errno == ENOENT ? 0 : -1;
	close(*fd);
	*fd = next;
	return 1;
}

/* Open the folders from base down to virtual_path, except for the last `keep`
 * names. */
static int walk(const struct paths *p, const char *base,
		const char *virtual_path, size_t keep, mode_t mode,
		struct strv *ret_rest, int *ret_fd, struct error *err)
{
	auto_free char *local = paths_local(p, base);
	auto_close int fd = open(local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 1;

	if (fd < 0)
		return error_set(err, ERR_FILE_PATH, NULL,
				 "Cannot open the file storage folder '%s' on "
				 "this node: %s; create it",
				 base, strerror(errno));
	if (virtual_path[strlen(base)] == '/')
		str_split(ret_rest, virtual_path + strlen(base) + 1, '/');
	for (size_t i = 0; rc == 1 && i + keep < ret_rest->n; i++)
		rc = step(&fd, ret_rest->items[i], mode);
	if (rc < 0)
		return fail(err, virtual_path);
	*ret_fd = -1;
	if (rc == 1) {
		*ret_fd = fd;
		fd = -1;
	}
	return 0;
}

int file_place_open(const struct paths *p, const char *virtual_path,
		    struct file_place *ret, struct error *err)
{
	auto_free char *base = find_base(p, virtual_path, err);
	auto_strv struct strv names = {0};
	int fd;

	if (base == NULL ||
	    walk(p, base, virtual_path, 1, 0, &names, &fd, err) < 0)
		return -1;
	if (names.n == 0)
		return error_set(err, ERR_FILE_PATH, NULL,
				 "'%s' is the file storage folder itself",
				 virtual_path);
	ret->folder_fd = fd;
	ret->name = xstrdup(names.items[names.n - 1]);
	return 0;
}

void file_place_done(struct file_place *place)
{
	if (place->folder_fd >= 0)
		close(place->folder_fd);
	free(place->name);
}

int file_place_make(const struct paths *p, const char *virtual_path,
		    mode_t mode, struct error *err)
{
	auto_free char *base = find_base(p, virtual_path, err);
	auto_strv struct strv names = {0};
	int fd;

	if (base == NULL ||
	    walk(p, base, virtual_path, 0, mode, &names, &fd, err) < 0)
		return -1;
	if (fd >= 0)
		close(fd);
	return 0;
}

static int rename_over_nothing(const struct file_place *from,
			       const struct file_place *to)
{
	return renameat2(from->folder_fd, from->name, to->folder_fd, to->name,
			 RENAME_NOREPLACE);
}

/* NFS, CephFS and Gluster refuse every rename that has a flag. */
static bool has_no_flags(void)
{
	return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* Both names are there after a rename that was cut off between its steps; else
 * it is one name. */
static bool is_same_file(const struct file_place *a, const struct file_place *b)
{
	struct stat sa, sb;

	if (str_eq(a->name, b->name) && fstat(a->folder_fd, &sa) == 0 &&
	    fstat(b->folder_fd, &sb) == 0 && sa.st_dev == sb.st_dev &&
	    sa.st_ino == sb.st_ino)
		return false;
	return fstatat(a->folder_fd, a->name, &sa, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(b->folder_fd, b->name, &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* A link replaces nothing on any file system. */
static int link_over_nothing(const struct file_place *from,
			     const struct file_place *to)
{
	if (linkat(from->folder_fd, from->name, to->folder_fd, to->name, 0) ==
	    0)
		return 0;
	if (errno == EPERM)
		errno = EOPNOTSUPP; /* there are no hard links either */
	return -1;
}

int file_place_rename(const struct file_place *from,
		      const struct file_place *to)
{
	if (rename_over_nothing(from, to) == 0)
		return 0;
	/* The kernel looks at the new name before it asks the file system. */
	if (errno == EEXIST
		    ? !is_same_file(from, to)
		    : !has_no_flags() || link_over_nothing(from, to) < 0)
		return -1;
	return unlinkat(from->folder_fd, from->name, 0);
}

int file_place_rename_folder(const struct file_place *from,
			     const struct file_place *to)
{
	/* So it can be nothing but a folder, and these replace no content. */
	auto_free char *folder = xprintf("%s/", from->name);

	if (rename_over_nothing(from, to) == 0)
		return 0;
	if (!has_no_flags())
		return -1;
	return renameat(from->folder_fd, folder, to->folder_fd, to->name);
}
