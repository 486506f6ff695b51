/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads are kept by the names in the file, for the file is read without the
 * cluster.  dynu_apply() then looks up each instance; a name that no instance
 * has is no error. */
#include "iallocators/input/dynu.h"

#include <string.h>

#include "iallocators/input/text.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define DYNU_MAX ((size_t)64 << 20)

static int read_line(struct dynu *d, const char *line, struct error *err)
{
	auto_strv struct strv words = {0};
	auto_free double *values = xcalloc(UTIL_COUNT, sizeof(*values));

	str_split(&words, line, ' ');
	if (words.n != 1 + UTIL_COUNT)
		return error_set(err, ERR_REQUEST, NULL, "Cannot parse line %s",
				 line);
	for (int i = 0; i < UTIL_COUNT; i++)
		if (text_double(words.items[0], words.items[i + 1], &values[i],
				err) < 0)
			return -1;
	free(table_put(&d->loads, words.items[0], steal(&values)));
	return 0;
}

static int read_lines(struct dynu *d, char *text, struct error *err)
{
	char *next = text;

	while (next != NULL && *next != '\0') {
		char *line = next;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (read_line(d, line, err) < 0)
			return error_wrap(err, "can't parse utilisation data");
	}
	return 0;
}

int dynu_read(const char *path, struct dynu *ret, struct error *err)
{
	auto_free char *text = fs_read(path, DYNU_MAX, NULL, err);

	return text == NULL ? -1 : read_lines(ret, text, err);
}

void dynu_done(struct dynu *d)
{
	table_done(&d->loads, free);
}

void dynu_apply(const struct dynu *d, struct cluster *c)
{
	for (int i = 0; i < c->n_instances && d->loads.n > 0; i++) {
		struct instance *inst = &c->instances[i];
		const double *values = table_get(&d->loads, inst->name);

		if (values == NULL)
			continue;
		inst->has_util = true;
		memcpy(inst->util, values, sizeof(inst->util));
	}
}
