/* SPDX-License-Identifier: BSD-2-Clause */
/* Names are checked, since rbd takes "pool/image@snapshot" apart and words that
 * begin with '-' for options. */
#include "noded/storage/rbd.h"

#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

/* As Ceph has it for no snapshot. */
#define NO_SNAPSHOT "-"
#define DEVICES "/dev/rbd"
#define BYTES_MAX 9e15

static bool is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789+_.-";

	return !str_empty(text) && *text != '-' &&
	       text[strspn(text, letters)] == '\0';
}

int rbd_image_of(const json_t *disk, struct rbd_image *ret, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *text = json_string_value(json_array_get(id, 1));
	const char *pool = json_str(json_get(disk, "params"), "pool", "rbd");
	size_t len = text != NULL ? strcspn(text, "@") : 0;
	struct rbd_image image = {.pool = pool};

	if (json_array_size(id) == 2 && text != NULL) {
		image.name = xstrndup(text, len);
		if (text[len] == '@')
			image.snapshot = xstrdup(text + len + 1);
	}
	if (is_name(pool) && is_name(image.name) &&
	    (image.snapshot == NULL || is_name(image.snapshot))) {
		*ret = image;
		return 0;
	}
	rbd_image_done(&image);
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "The logical_id of a disk in Ceph must be [\"rbd\", "
			 "name], in a pool with a name, not %s in %s",
			 text != NULL ? text : "?", pool);
}

void rbd_image_done(struct rbd_image *image)
{
	free(steal(&image->name));
	free(steal(&image->snapshot));
}

static bool is_of(const json_t *row, const struct rbd_image *image)
{
	return strcmp(json_str(row, "pool", ""), image->pool) == 0 &&
	       strcmp(json_str(row, "name", ""), image->name) == 0 &&
	       *json_str(row, "namespace", "") == '\0' &&
	       strcmp(json_str(row, "snap", NO_SNAPSHOT),
		      image->snapshot != NULL ? image->snapshot
					      : NO_SNAPSHOT) == 0;
}

/* One row of them; -1 with err. */
static int take_row(const json_t *row, const struct rbd_image *image,
		    const char **ret, struct error *err)
{
	const char *device = json_str(row, "device", "");

	if (!is_of(row, image))
		return 0;
	if (!str_starts(device, DEVICES) || strstr(device, "..") != NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "rbd showmapped tells no device of %s/%s",
				 image->pool, image->name);
	if (*ret != NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s/%s is mapped more than once, as %s and "
				 "%s; unmap one (rbd unmap)",
				 image->pool, image->name, *ret, device);
	*ret = device;
	return 0;
}

int rbd_device(const json_t *mapped, const struct rbd_image *image,
	       const char **ret, struct error *err)
{
	const char *found = NULL, *key;
	json_t *row;
	size_t i;

	if (!json_is_array(mapped) && !json_is_object(mapped))
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "What rbd showmapped printed is no list");
	json_array_foreach (json_unconst(mapped), i, row)
		if (take_row(row, image, &found, err) < 0)
			return -1;
	json_object_foreach (json_unconst(mapped), key, row)
		if (take_row(row, image, &found, err) < 0)
			return -1;
	if (found != NULL)
		*ret = found;
	return found != NULL;
}

int64_t rbd_bytes(const json_t *info, struct error *err)
{
	const json_t *size = json_get(info, "size");
	double bytes = json_is_number(size) ? json_number_value(size) : -1;

	if (bytes >= 0 && bytes < BYTES_MAX)
		return (int64_t)bytes;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "rbd info tells no size of the image");
}
