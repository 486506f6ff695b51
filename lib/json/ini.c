/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads line by line.  A reader remembers the section and the last key, to
 * which indented lines are appended.  Blank lines and those that begin with '#'
 * or ';' are skipped.  A section that comes twice is continued. */
#include "lib/json/ini.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

struct reader {
	json_t *all;
	json_t *section; /* borrowed from all */
	char *key;	 /* to which indented lines are appended */
};

static char *replaced(const char *s, const char *from, const char *to)
{
	struct buf b = {0};
	size_t n = strlen(from);

	while (*s != '\0') {
		if (strncmp(s, from, n) == 0) {
			buf_adds(&b, to);
			s += n;
		} else {
			buf_addc(&b, *s++);
		}
	}
	return buf_steal(&b);
}

static void put(struct reader *r, const char *value)
{
	auto_free char *plain = replaced(value, "%%", "%");

	json_object_set_new(r->section, r->key, json_string(plain));
}

static void put_more(struct reader *r, const char *line)
{
	const char *old =
		json_string_value(json_object_get(r->section, r->key));
	auto_free char *whole = xprintf("%s\n%s", old, line);

	put(r, whole);
}

static int begin_section(struct reader *r, char *line)
{
	size_t n = strlen(line);

	if (n < 3 || line[n - 1] != ']')
		return -1;
	line[n - 1] = '\0';
	free(steal(&r->key));
	r->section = json_object_get(r->all, line + 1);
	if (r->section != NULL)
		return 0;
	r->section = json_object();
	return json_object_set_new(r->all, line + 1, r->section);
}

static int read_line(struct reader *r, char *raw)
{
	bool indented = isspace((unsigned char)*raw);
	char *line = str_trim(raw);
	char *sign = line + strcspn(line, "=:");

	if (*line == '\0' || *line == '#' || *line == ';')
		return 0;
	if (indented && r->key != NULL) {
		put_more(r, line);
		return 0;
	}
	if (*line == '[')
		return begin_section(r, line);
	if (*sign == '\0' || sign == line || r->section == NULL)
		return -1;
	*sign = '\0';
	free(r->key);
	r->key = xstrdup(str_trim(line));
	for (char *p = r->key; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	put(r, str_trim(sign + 1));
	return 0;
}

json_t *ini_parse(const char *text, struct error *err)
{
	auto_json json_t *all = json_object();
	auto_strv struct strv lines = {0};
	struct reader r = {.all = all};
	size_t i = 0;

	if (!str_valid_utf8(text, strlen(text))) {
		error_set(err, ERR_CONFIG, NULL, "This is not UTF-8");
		return NULL;
	}
	str_split(&lines, text, '\n');
	while (i < lines.n && read_line(&r, lines.items[i]) == 0)
		i++;
	free(r.key);
	if (i == lines.n)
		return steal(&all);
	error_set(err, ERR_CONFIG, NULL,
		  "Line %zu is neither a section nor \"key = value\"", i + 1);
	return NULL;
}

char *ini_text(const json_t *sections)
{
	struct buf b = {0};
	const char *name, *key;
	json_t *section, *value;

	json_object_foreach (json_unconst(sections), name, section) {
		buf_addf(&b, "[%s]\n", name);
		json_object_foreach (section, key, value) {
			auto_free char *escaped =
				replaced(json_string_value(value), "%", "%%");
			auto_free char *text = replaced(escaped, "\n", "\n\t");

			buf_addf(&b, "%s = %s\n", key, text);
		}
		buf_addc(&b, '\n');
	}
	return buf_steal(&b);
}
