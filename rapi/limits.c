/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of limits, and numbers with a letter behind them. */
#include "rapi/limits.h"

#include <stddef.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

static const struct {
	const char *name;
	size_t offset;
	int64_t most;
} table[] = {
#define LIMIT(name, normal, most) {#name, offsetof(struct limits, name), most},
#include "rapi/limits.def"
#undef LIMIT
};

struct limits limits_default(void)
{
	return (struct limits){
#define LIMIT(name, normal, most) .name = normal,
#include "rapi/limits.def"
#undef LIMIT
	};
}

/* All names, for an error; to be freed. */
static char *all_names(void)
{
	auto_strv struct strv names = {0};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		strv_add(&names, table[i].name);
	return strv_join(&names, ", ");
}

static int unknown(const char *text, struct error *err)
{
	auto_free char *names = all_names();

	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "%.100s is not NAME=NUMBER; the names are %s", text,
			 names);
}

/* "64M"; false if it is no number from 1 to most. */
static bool read_number(const char *text, int64_t most, int64_t *ret)
{
	static const char letters[] = "KMG";
	const char *rest, *letter;
	uint64_t number;
	unsigned shift = 0;

	if (!str_to_number(text, (uint64_t)most, &number, &rest) || number < 1)
		return false;
	if (*rest != '\0') {
		letter = strchr(letters, *rest);
		if (letter == NULL || rest[1] != '\0')
			return false;
		shift = 10 * ((unsigned)(letter - letters) + 1);
	}
	if (number > (uint64_t)most >> shift)
		return false;
	*ret = (int64_t)(number << shift);
	return true;
}

int limits_set(struct limits *l, const char *text, struct error *err)
{
	size_t n = strcspn(text, "=");

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char *where = (char *)l + table[i].offset;

		if (strlen(table[i].name) != n ||
		    strncmp(table[i].name, text, n) != 0 || text[n] != '=')
			continue;
		if (read_number(text + n + 1, table[i].most, (void *)where))
			return 0;
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The limit %s is a number from 1 to %jd, not "
				 "%.40s",
				 table[i].name, (intmax_t)table[i].most,
				 text + n + 1);
	}
	return unknown(text, err);
}
