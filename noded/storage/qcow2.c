/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs get the folder as their descriptor 3.  The size alone is read
 * from the header (QEMU's docs/interop/qcow2.txt), as that is asked for often,
 * also while a guest holds the lock. */
#include "noded/storage/qcow2.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"

#define FORMAT "qcow2"
/* The first members of the header: magic, version, two about a backing file,
 * the size of clusters, and the size. */
#define HEADER_BYTES 32
#define VERSION_AT 4
#define BACKING_AT 8
#define SIZE_AT 24
/* Nothing here writes data, so all of it is a matter of seconds. */
#define PROGRAM_MS 300000u
/* qemu-io refuses 2 GiB in one command. */
#define ZERO_AT_ONCE (INT64_C(1) << 30)

bool qcow2_is(const json_t *disk)
{
	return strcmp(json_str(json_get(disk, "params"), "format", ""),
		      FORMAT) == 0;
}

static uint64_t number_at(const unsigned char *header, size_t at, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | header[at + i];
	return value;
}

int64_t qcow2_bytes(int fd, const char *virtual_path, struct error *err)
{
	static const unsigned char magic[] = {'Q', 'F', 'I', 0xfb};
	unsigned char header[HEADER_BYTES];
	ssize_t n = pread(fd, header, sizeof(header), 0);
	uint64_t version, bytes;

	if (n < 0)
		return error_set(err, ERR_BLOCKDEV, NULL, "%s: can't read: %s",
				 virtual_path, strerror(errno));
	if (n == HEADER_BYTES && memcmp(header, magic, sizeof(magic)) == 0) {
		version = number_at(header, VERSION_AT, 4);
		bytes = number_at(header, SIZE_AT, 8);
		/* One that names another file may name any of the host's. */
		if (number_at(header, BACKING_AT, 8) != 0)
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "%s has a backing file, so it is no "
					 "whole disk",
					 virtual_path);
		if ((version == 2 || version == 3) && bytes <= INT64_MAX)
			return (int64_t)bytes;
	}
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s is no image of the format " FORMAT
			 ", which the disk's parameters say it is",
			 virtual_path);
}

/* --- programs --- */

static char *name_for_program(const struct file_place *place)
{
	return xprintf("/proc/self/fd/3/%s", place->name);
}

static WAITS int run(const struct file_place *place, const char *const *argv,
		     struct error *err)
{
	const struct proc_spec spec = {
		.argv = argv,
		.fds = &place->folder_fd,
		.n_fds = 1,
		.timeout_ms = PROGRAM_MS,
	};
	auto_proc struct proc_result result = {0};
	char how[PROC_HOW_MAX];

	if (proc_run(&spec, &result, err) < 0)
		return error_wrap(err, "Disks of the format " FORMAT
				       " need Debian's package qemu-utils");
	if (proc_succeeded(&result))
		return 0;
	result.err[strcspn(result.err, "\n")] = '\0';
	return error_set(err, ERR_BLOCKDEV, NULL, "%s %s%s%s", argv[0],
			 proc_how(&result, how),
			 *result.err != '\0' ? ": " : "", result.err);
}

/* verb: "create" or "resize" */
static WAITS int give_size(const struct file_place *place, const char *verb,
			   int64_t bytes, struct error *err)
{
	auto_free char *file = name_for_program(place);
	auto_free char *size = xprintf("%" PRId64, bytes);
	const char *const argv[] = {"qemu-img", verb, "-q", "-f",
				    FORMAT,	file, size, NULL};

	return run(place, argv, err);
}

WAITS int qcow2_make(const struct file_place *place, int64_t bytes,
		     struct error *err)
{
	return give_size(place, "create", bytes, err);
}

WAITS int qcow2_resize(const struct file_place *place, int64_t bytes,
		       struct error *err)
{
	return give_size(place, "resize", bytes, err);
}

WAITS int qcow2_zero(const struct file_place *place, int64_t offset,
		     int64_t bytes, struct error *err)
{
	auto_free char *file = name_for_program(place);

	while (bytes > 0) {
		int64_t n = bytes < ZERO_AT_ONCE ? bytes : ZERO_AT_ONCE;
		auto_free char *command =
			xprintf("write -q -z %" PRId64 " %" PRId64, offset, n);
		const char *const argv[] = {"qemu-io", "-f", FORMAT, "-c",
					    command,   file, NULL};

		if (run(place, argv, err) < 0)
			return -1;
		offset += n;
		bytes -= n;
	}
	return 0;
}

/* --- snapshots, which are inside of the image --- */

bool qcow2_snapshot_is_valid(const char *name)
{
	return str_valid_filename(name);
}

static bool has_snapshot(const json_t *info, const char *name)
{
	const json_t *list = json_get(info, "snapshots"), *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (strcmp(json_str(one, "name", ""), name) == 0)
			return true;
	return false;
}

/* 1 if there is one of that name, 0, -1. */
static WAITS int look_for(const struct file_place *place, const char *name,
			  struct error *err)
{
	auto_free char *file = name_for_program(place);
	const char *const argv[] = {"qemu-img", "info",		 "-U", "-f",
				    FORMAT,	"--output=json", file, NULL};
	const struct proc_spec spec = {
		.argv = argv,
		.fds = &place->folder_fd,
		.n_fds = 1,
		.timeout_ms = PROGRAM_MS,
	};
	auto_proc struct proc_result result = {0};
	auto_json json_t *info = NULL;

	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (!proc_succeeded(&result))
		return error_set(err, ERR_BLOCKDEV, NULL, "qemu-img info: %s",
				 result.err);
	info = json_parse(result.out, result.out_len, err);
	return info == NULL ? -1 : has_snapshot(info, name);
}

WAITS int qcow2_snapshot(const struct file_place *place, const char *name,
			 bool keep, struct error *err)
{
	auto_free char *file = name_for_program(place);
	const char *const drop[] = {"qemu-img", "snapshot", "-q", "-d",
				    name,	file,	    NULL};
	const char *const make[] = {"qemu-img", "snapshot", "-q", "-c",
				    name,	file,	    NULL};
	int rc = look_for(place, name, err);

	if (rc == 1)
		rc = run(place, drop, err);
	return rc < 0 || !keep ? rc : run(place, make, err);
}
