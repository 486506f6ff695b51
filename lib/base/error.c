/* SPDX-License-Identifier: BSD-2-Clause */
/* The text is formatted into a buffer of its own and then copied into the
 * error, since the arguments may point into the old text.  A text that is too
 * long is cut; a character that was cut in the middle is repaired. */
#include "lib/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/str.h"

static const char *const kind_names[] = {
#define X(kind, name) [ERR_##kind] = name,
	ERROR_KINDS(X)
#undef X
};

static const char *const ecodes[] = {
	ECODE_RESOLVER, ECODE_NORES,   ECODE_TEMP_NORES, ECODE_INVAL,
	ECODE_STATE,	ECODE_NOENT,   ECODE_EXISTS,	 ECODE_NOTUNIQUE,
	ECODE_FAULT,	ECODE_ENVIRON, ECODE_UNDERWAY,	 ECODE_REUSED,
	ECODE_MOVED,
};

int error_set(struct error *err, enum error_kind kind, const char *ecode,
	      const char *fmt, ...)
{
	/* The arguments may point into err->text. */
	char text[ERROR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_repair_utf8(text); /* it may be cut inside a character */
	err->kind = kind;
	err->ecode = ecode;
	memcpy(err->text, text, strlen(text) + 1);
	return -1;
}

int error_as(struct error *err, enum error_kind kind, const char *ecode)
{
	err->kind = kind;
	err->ecode = ecode;
	return -1;
}

static void put_in_front(struct error *err, const char *fmt, va_list ap)
{
	char text[ERROR_TEXT_MAX];
	size_t n, left;

	vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	left = sizeof(text) - n;
	if (left > 2) {
		memcpy(text + n, ": ", 3);
		n += 2;
		left -= 2;
		memccpy(text + n, err->text, '\0', left);
		text[sizeof(text) - 1] = '\0';
	}
	str_repair_utf8(text);
	memcpy(err->text, text, strlen(text) + 1);
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_in_front(err, fmt, ap);
	va_end(ap);
	return -1;
}

int error_wrap_as(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_in_front(err, fmt, ap);
	va_end(ap);
	err->kind = kind;
	return -1;
}

bool error_is(const struct error *err, const char *ecode)
{
	return err->ecode != NULL && strcmp(err->ecode, ecode) == 0;
}

const char *error_kind_name(enum error_kind kind)
{
	return kind_names[kind];
}

enum error_kind error_kind_by_name(const char *name, enum error_kind fallback)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (strcmp(kind_names[i], name) == 0)
			return (enum error_kind)i;
	return fallback;
}

const char *error_ecode(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(ecodes); i++)
		if (strcmp(ecodes[i], text) == 0)
			return ecodes[i];
	return NULL;
}
