/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of sections with "key = value", as Python's configparser reads and
 * writes them: an export's config.ini.  In memory they are objects of objects
 * of strings. */
#ifndef JSON_INI_H
#define JSON_INI_H

#include <jansson.h>

#include "lib/base/error.h"

/* Keys become lower case; "%%" stands for '%'; a line that begins with white
 * space continues the value before it.  To be freed.  NULL with ERR_CONFIG and
 * the number of the line that cannot be read. */
json_t *ini_parse(const char *text, struct error *err);

/* The other way round; to be freed. */
char *ini_text(const json_t *sections);

#endif
