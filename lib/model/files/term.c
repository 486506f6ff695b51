/* SPDX-License-Identifier: BSD-2-Clause */
/* The promise is a JSON object; the term of the configuration is a line with
 * two numbers.  Damage is treated differently: a promise that cannot be read is
 * an error, since it guards against two masters; a term of the configuration
 * that cannot be read counts as unknown. */
#include "lib/model/files/term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/json/json.h"

#define FILE_MAX 4096
#define FILE_MODE 0640

void term_done(struct term *t)
{
	free(t->master);
	*t = (struct term){0};
}

static int bad_file(const char *file, struct error *err)
{
	return error_set(err, ERR_CONFIG, ECODE_ENVIRON,
			 "%s is damaged: it must say which master this node "
			 "obeys; remove it only when no former master can come "
			 "back",
			 file);
}

int term_load(struct disk *disk, const struct paths *paths, struct term *ret,
	      struct error *err)
{
	const char *file = path(paths, PATH_MASTER_TERM);
	auto_free char *text = NULL;
	auto_json json_t *value = NULL;
	int64_t number;
	size_t len;

	*ret = (struct term){.master = xstrdup("")};
	if (!disk->exists(disk, file))
		return 0;
	text = disk->read(disk, file, FILE_MAX, &len, err);
	if (text == NULL)
		return -1;
	value = json_parse(text, len, err);
	number = json_int(value, "term", -1);
	if (value == NULL || number < 0 || (uint64_t)number > TERM_MAX)
		return bad_file(file, err);
	ret->number = (uint64_t)number;
	free(ret->master);
	ret->master = xstrdup(json_str(value, "master", ""));
	return 0;
}

int term_save(struct disk *disk, const struct paths *paths,
	      const struct term *t, struct error *err)
{
	auto_json json_t *value =
		json_make("{s:I, s:s}", "term", (json_int_t)t->number, "master",
			  t->master);
	auto_free char *text = json_text(value);

	return disk->write_atomic(disk, path(paths, PATH_MASTER_TERM), text,
				  strlen(text), FILE_MODE, err);
}
