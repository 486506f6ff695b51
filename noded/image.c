/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/image.h"

#include "lib/json/json.h"
#include "lib/model/os_image.h"
#include "noded/transfer.h"

/* A little less than the master waits. */
#define TIMEOUT_MS (86000u * 1000)

/* Where the cluster's keys and data are. */
static const enum path_id closed[] = {PATH_DATA_DIR, PATH_RUN_DIR, PATH_LOG_DIR,
				      PATH_ETC_DIR};

static json_t *closed_folders(const struct paths *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
		json_array_append_new(list, json_string(path(p, closed[i])));
	return list;
}

/* NULL and err when the disk has no UUID; to be freed. */
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

	if (name == NULL || os_image_check(image, err) < 0)
		return -1;
	return transfer_await(
		n, name,
		json_make("{s:s, s:s, s:s, s:b, s:s, s:I, s:o, s:s}", "kind",
			  "raw", "path", local, "image", image, "url",
			  os_image_is_url(image), "schemes", OS_IMAGE_SCHEMES,
			  "limit", (json_int_t)bytes, "closed",
			  closed_folders(n->paths), "instance_disks",
			  path(n->paths, PATH_INSTANCE_DISKS_DIR)),
		TIMEOUT_MS, err);
}

int image_end(const struct paths *p, const json_t *disk, struct error *err)
{
	auto_free char *name = os_image_transfer(json_str(disk, "uuid", ""));

	return transfer_exists(p, name) ? transfer_cleanup(p, name, err) : 0;
}
