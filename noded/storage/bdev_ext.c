/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks of external storage: logical_id [provider, volume], parameters of their
 * own.  The provider's scripts (noded/scripts/extstorage.h) do the work; this
 * file decides which script is run when, and with which variables.  Attaching a
 * volume again is harmless, so looking for a disk attaches it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/scripts/extstorage.h"
#include "noded/storage/bdev.h"

/* The characters that Ganeti allows. */
#define INFO_CHARACTERS                                                        \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+."
#define INFO_MAX 128

static WAITS int run(const struct paths *p, const json_t *disk,
		     const struct ext_values *values, const char *script,
		     char **ret_output, struct error *err)
{
	return extstorage_run(p, disk, script, values, ret_output, err);
}

static WAITS int ext_create(const struct paths *p, const json_t *disk,
			    const struct bdev_new *new, struct error *err)
{
	return run(p, disk, &(struct ext_values){.size_mib = new->size_mib},
		   "create", NULL, err);
}

static WAITS int ext_shutdown(const struct paths *p, const json_t *disk,
			      struct error *err)
{
	return run(p, disk, NULL, "detach", NULL, err);
}

static WAITS int ext_remove(const struct paths *p, const json_t *disk,
			    struct error *err)
{
	if (ext_shutdown(p, disk, err) < 0)
		return -1;
	return run(p, disk, NULL, "remove", NULL, err);
}

static bool is_device(const char *file)
{
	struct stat st;

	/* A provider that needs no kernel device may return a file. */
	return *file == '/' && stat(file, &st) == 0 &&
	       (S_ISBLK(st.st_mode) || S_ISREG(st.st_mode));
}

/* The first line of attach's output is the path; further lines are URIs for
 * hypervisors that access the storage themselves, which ours do not. */
static WAITS char *ext_assemble(const struct paths *p, const json_t *disk,
				struct error *err)
{
	auto_free char *output = NULL;

	if (run(p, disk, NULL, "attach", &output, err) < 0)
		return NULL;
	output[strcspn(output, "\n")] = '\0';
	if (is_device(output))
		return steal(&output);
	error_set(err, ERR_BLOCKDEV, NULL,
		  "External storage: attach gave '%.200s', which is no device "
		  "here",
		  output);
	return NULL;
}

static WAITS int ext_find(const struct paths *p, const json_t *disk,
			  char **ret_path, struct error *err)
{
	*ret_path = ext_assemble(p, disk, err);
	return *ret_path != NULL ? 1 : -1;
}

static WAITS int64_t ext_size(const struct paths *p, const json_t *disk,
			      struct error *err)
{
	auto_free char *file = ext_assemble(p, disk, err);
	auto_close int fd = -1;
	uint64_t bytes = 0;
	struct stat st;

	if (file == NULL)
		return -1;
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		if (S_ISREG(st.st_mode))
			return st.st_size;
		if (ioctl(fd, BLKGETSIZE64, &bytes) == 0)
			return (int64_t)bytes;
	}
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s: can't get the size of the device: %s", file,
			 strerror(errno));
}

static WAITS int ext_grow(const struct paths *p, const json_t *disk,
			  const struct bdev_growth *growth, struct error *err)
{
	struct ext_values values = {.size_mib = json_int(disk, "size", 0)};

	if (!growth->backing_store || growth->dry_run)
		return 0;
	values.new_size_mib = values.size_mib + growth->amount_mib;
	return run(p, disk, &values, "grow", NULL, err);
}

static WAITS int ext_setinfo(const struct paths *p, const json_t *disk,
			     const char *text, struct error *err)
{
	auto_free char *info = xstrndup(text, INFO_MAX);

	for (char *c = info; *c != '\0'; c++)
		if (strchr(INFO_CHARACTERS, *c) == NULL)
			*c = '_';
	return run(p, disk, &(struct ext_values){.metadata = info}, "setinfo",
		   NULL, err);
}

static WAITS int ext_open(const struct paths *p, const json_t *disk,
			  bool exclusive, struct error *err)
{
	struct ext_values values = {.exclusive = exclusive ? "True" : "False"};

	return run(p, disk, &values, "open", NULL, err);
}

static WAITS int ext_close(const struct paths *p, const json_t *disk,
			   struct error *err)
{
	return run(p, disk, NULL, "close", NULL, err);
}

const struct bdev_class bdev_ext = {
	.dev_type = "ext",
	.create = ext_create,
	.remove = ext_remove,
	.find = ext_find,
	.assemble = ext_assemble,
	.shutdown = ext_shutdown,
	.size = ext_size,
	.grow = ext_grow,
	.setinfo = ext_setinfo,
	.open = ext_open,
	.close = ext_close,
};
