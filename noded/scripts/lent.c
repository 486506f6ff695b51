/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that is shown has the name of its image, which no other disk of the
 * node has. */
#include "noded/scripts/lent.h"

#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"

bool lent_needed(const json_t *disk)
{
	const char *format =
		json_str(json_get(disk, "params"), "format", "raw");

	return strcmp(format, "raw") != 0;
}

const char *lent_snapshot(const json_t *disk)
{
	const char *name = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 2));

	return name != NULL ? name : "";
}

char *lent_path(const struct paths *p, const json_t *disk)
{
	const char *image = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 1));
	const char *name = strrchr(image != NULL ? image : "/disk", '/');

	return xprintf("%s/%s%s.raw", path(p, PATH_LENT_DISKS_DIR),
		       name != NULL ? name + 1 : image,
		       *lent_snapshot(disk) != '\0' ? ".snap" : "");
}

int lent_begin(const struct paths *p, const char *impexp, struct strv *argv,
	       struct error *err)
{
	strv_add(argv, impexp);
	strv_add(argv, "--lend");
	return fs_mkdirs(path(p, PATH_LENT_DISKS_DIR), 0700, err);
}

void lent_add(const struct paths *p, const json_t *disk, const char *image,
	      struct strv *argv)
{
	auto_free char *at = lent_path(p, disk);

	strv_add(argv, image);
	strv_add(argv, lent_snapshot(disk));
	strv_add(argv, at);
}

void lent_end(struct strv *argv)
{
	strv_add(argv, "--");
}
