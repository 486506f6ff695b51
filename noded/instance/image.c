/* SPDX-License-Identifier: BSD-2-Clause */
/* The program gantry-impexp does the work; it gets its specification as JSON.
 * For an image that includes the size of the disk, and the folders with the
 * cluster's own data, which it must not read.  With --size the program only
 * reports the size of an image. */
#include "noded/instance/image.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "lib/model/opcode/os_image.h"
#include "noded/instance/transfer.h"
#include "noded/scripts/lent.h"

/* A little less than the time limit of the master's call. */
#define TIMEOUT_MS (86000u * 1000)
/* The time limit for asking a server for the size of an image. */
#define SIZE_TIMEOUT_MS 90000u
#define PROGRAM "gantry-impexp"

/* Folders with keys and data of the cluster. */
static const enum path_id closed[] = {PATH_DATA_DIR, PATH_RUN_DIR, PATH_LOG_DIR,
				      PATH_ETC_DIR};

static json_t *closed_folders(const struct paths *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		json_array_append_new(list, json_string(path(p, closed[i])));
	return list;
}

/* The name of the transfer, to be freed; NULL with err when the disk has no
 * UUID. */
static char *name_of(const json_t *disk, struct error *err)
{
	const char *uuid = json_str(disk, "uuid", "");

	if (*uuid != '\0')
		return os_image_transfer(uuid);
	error_set(err, ERR_REQUEST, NULL,
		  "A disk that gets an image must have a UUID");
	return NULL;
}

int image_put(const struct noded *n, const json_t *disk, const char *local,
	      const char *image, int64_t bytes, struct error *err)
{
	auto_free char *name = name_of(disk, err);

	auto_free char *at = NULL;

	if (name == NULL || os_image_check(image, err) < 0)
		return -1;
	if (lent_needed(disk)) {
		at = lent_path(n->paths, disk);
		if (fs_mkdirs(path(n->paths, PATH_LENT_DISKS_DIR), 0700, err) <
		    0)
			return -1;
	}
	return transfer_await(
		n, name,
		json_make("{s:s, s:s, s:s*, s:s, s:b, s:s, s:I, s:o, s:s}",
			  "kind", "raw", "path", local, "lent_at", at, "image",
			  image, "url", os_image_is_url(image), "schemes",
			  OS_IMAGE_SCHEMES, "limit", (json_int_t)bytes,
			  "closed", closed_folders(n->paths), "instance_disks",
			  path(n->paths, PATH_INSTANCE_DISKS_DIR)),
		TIMEOUT_MS, err);
}

int image_end(const struct paths *p, const json_t *disk, struct error *err)
{
	auto_free char *name = os_image_transfer(json_str(disk, "uuid", ""));

	return transfer_exists(p, name) ? transfer_cleanup(p, name, err) : 0;
}

/* The program's error message, on one line. */
static int size_failed(struct proc_result *result, struct error *err)
{
	char how[PROC_HOW_MAX];

	str_repair_utf8(result->err);
	result->err[strcspn(result->err, "\n")] = '\0';
	return error_set(err, ERR_EXEC, NULL, "%s",
			 *result->err != '\0' ? result->err
					      : proc_how(result, how));
}

int64_t image_size(const char *url, struct error *err)
{
	auto_free char *program = noded_find_program(PROGRAM, err);
	auto_json json_t *spec = json_make("{s:s, s:s}", "image", url,
					   "schemes", OS_IMAGE_SCHEMES);
	auto_free char *text = json_text(spec);
	const char *const argv[] = {program, "--size", NULL};
	const struct proc_spec proc = {
		.argv = argv,
		.input = text,
		.input_len = strlen(text),
		.timeout_ms = SIZE_TIMEOUT_MS,
	};
	auto_proc struct proc_result result = {0};
	int64_t bytes;

	if (program == NULL || proc_run(&proc, &result, err) < 0)
		return -1;
	if (result.status != 0)
		return size_failed(&result, err);
	result.out[strcspn(result.out, "\n")] = '\0';
	if (str_to_int64(result.out, &bytes))
		return bytes;
	return error_set(err, ERR_EXEC, NULL, PROGRAM " tells no size");
}
