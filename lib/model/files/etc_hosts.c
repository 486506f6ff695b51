/* SPDX-License-Identifier: BSD-2-Clause */
/* A line is an address and its names, and may end with a comment.  Lines that
 * do not change are copied as they are. */
#include "lib/model/files/etc_hosts.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"

/* The words of a line before its comment, the address first. */
static void split_line(const char *line, struct strv *ret)
{
	auto_free char *copy = xstrndup(line, strcspn(line, "#"));
	char *rest = NULL;

	for (char *word = strtok_r(copy, " \t\r", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\r", &rest))
		strv_add(ret, word);
}

/* Without what stands behind the last newline, if that is nothing. */
static void split_text(const char *text, struct strv *ret)
{
	size_t len = strlen(text);
	auto_free char *whole = xstrndup(
		text, len > 0 && text[len - 1] == '\n' ? len - 1 : len);

	if (len > 0)
		str_split(ret, whole, '\n');
}

static char *short_name(const char *host)
{
	return xstrndup(host, strcspn(host, "."));
}

static void add_entry(struct buf *b, const char *ip, const char *host)
{
	auto_free char *alias = short_name(host);

	if (str_eq(alias, host))
		buf_addf(b, "%s\t%s\n", ip, host);
	else
		buf_addf(b, "%s\t%s %s\n", ip, host, alias);
}

char *etc_hosts_add(const char *text, const char *ip, const char *host)
{
	auto_strv struct strv lines = {0};
	struct buf out = {0};
	bool written = false;

	split_text(text, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv words = {0};

		split_line(lines.items[i], &words);
		if (words.n == 0 || strcmp(words.items[0], ip) != 0) {
			buf_addf(&out, "%s\n", lines.items[i]);
		} else if (!written) {
			add_entry(&out, ip, host);
			written = true;
		}
	}
	if (!written)
		add_entry(&out, ip, host);
	return buf_steal(&out);
}

/* The line without these names. */
static void add_rest(struct buf *b, const char *line, const struct strv *words,
		     const struct strv *names)
{
	const char *comment = line + strcspn(line, "#");
	size_t left = 0;

	for (size_t i = 1; i < words->n; i++)
		left += !strv_has(names, words->items[i]);
	if (left == words->n - 1) {
		buf_addf(b, "%s\n", line);
		return;
	}
	if (left == 0)
		return;
	buf_adds(b, words->items[0]);
	for (size_t i = 1; i < words->n; i++)
		if (!strv_has(names, words->items[i]))
			buf_addf(b, " %s", words->items[i]);
	buf_addf(b, "%s%s\n", *comment != '\0' ? " " : "", comment);
}

char *etc_hosts_remove(const char *text, const char *host)
{
	auto_free char *alias = short_name(host);
	auto_strv struct strv lines = {0}, names = {0};
	struct buf out = {0};

	strv_add(&names, host);
	strv_add(&names, alias);
	split_text(text, &lines);
	buf_adds(&out, "");
	for (size_t i = 0; i < lines.n; i++) {
		auto_strv struct strv words = {0};

		split_line(lines.items[i], &words);
		if (words.n < 2)
			buf_addf(&out, "%s\n", lines.items[i]);
		else
			add_rest(&out, lines.items[i], &words, &names);
	}
	return buf_steal(&out);
}
