/* SPDX-License-Identifier: BSD-2-Clause */
/* What clusters say reaches the terminal only through here. */
#include "cli/move/move_tell.h"

#include <stdarg.h>

#include "lib/base/mem.h"
#include "lib/base/str.h"

/* Control characters, also those that UTF-8 has as C2 80 to C2 9F; the text is
 * one line. */
static void defuse(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		if (*c == '\n')
			*c = ' ';
		else if (*c < ' ' || *c == 0x7f)
			*c = '?';
		else if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			c[0] = c[1] = '?';
	}
}

void move_tell(FILE *out, const char *name, const char *fmt, ...)
{
	auto_free char *text = NULL, *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	line = xprintf("%s: %s", name, text);
	str_repair_utf8(line);
	defuse(line);
	fprintf(out, "%s\n", line);
	fflush(out);
}
