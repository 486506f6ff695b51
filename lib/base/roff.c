/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes roff with stdio.  A backslash and a hyphen become escapes.  A dot or
 * apostrophe at the beginning of a text gets \& in front, so that roff does not
 * take the line for a request.  Only the beginning of the text is checked, so a
 * text must be one line. */
#include "lib/base/roff.h"

#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

void roff_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		printf("\\&");
	for (; *text != '\0'; text++)
		if (*text == '\\')
			printf("\\e");
		else if (*text == '-')
			printf("\\-");
		else
			putchar(*text);
}

void roff_bold(const char *text)
{
	printf("\\fB");
	roff_text(text);
	printf("\\fR");
}

void roff_sentence(const char *text)
{
	roff_text(text);
	printf("%s\n", str_ends(text, ".") ? "" : ".");
}

void roff_lines(const char *text)
{
	printf(".PP\n.nf\n");
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		auto_free char *line = xstrndup(text, len);

		roff_text(line);
		putchar('\n');
		text += len + (text[len] != '\0');
	}
	printf(".fi\n");
}

void roff_head(const char *name, int section, const char *help)
{
	printf(".TH ");
	roff_text(name);
	printf(" %d \"\" \"Gantry %s\" \"Gantry\"\n.SH NAME\n", section,
	       GANTRY_VERSION);
	roff_text(name);
	printf(" \\- ");
	roff_text(help);
	printf("\n.SH SYNOPSIS\n");
}
