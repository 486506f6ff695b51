/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for the shell of a remote user.  A word of harmless characters stands
 * as it is; any other gets single quotes, between which a POSIX shell reads
 * every byte as itself.  A first word that the shell would take for its own (a
 * keyword, or an assignment) gets them, too. */
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/ssh/ssh.h"

#define HARMLESS                                                               \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"       \
	"@%_+=:,./-"

static bool is_keyword(const char *word)
{
	static const char *const keywords[] = {
		"case",	    "coproc", "do",    "done",	 "elif",
		"else",	    "esac",   "fi",    "for",	 "foreach",
		"function", "if",     "in",    "repeat", "select",
		"then",	    "time",   "until", "while",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcmp(word, keywords[i]) == 0)
			return true;
	return false;
}

static bool is_harmless(const char *word, bool first)
{
	if (*word == '\0' || *word == '=' ||
	    word[strspn(word, HARMLESS)] != '\0')
		return false;
	return !first || (strchr(word, '=') == NULL && !is_keyword(word));
}

static void add_quoted(struct buf *text, const char *word)
{
	buf_addc(text, '\'');
	for (; *word != '\0'; word++)
		if (*word == '\'')
			buf_adds(text, "'\\''");
		else
			buf_addc(text, *word);
	buf_addc(text, '\'');
}

char *ssh_quote(const struct strv *words)
{
	struct buf text = {0};

	for (size_t i = 0; i < words->n; i++) {
		if (i > 0)
			buf_addc(&text, ' ');
		if (is_harmless(words->items[i], i == 0))
			buf_adds(&text, words->items[i]);
		else
			add_quoted(&text, words->items[i]);
	}
	return buf_steal(&text);
}
