/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours: green works, blue is under way, yellow waits or stands aside, red
 * is wrong. */
#include "cli/frame/cli_colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/str.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define BLUE "\033[34m"

static const struct {
	const char *field, *text, *colour;
} colours[] = {
	/* instances and jobs */
	{"status", "success", GREEN},
	{"status", "running", GREEN},
	{"status", "error", RED},
	{"status", "ERROR_up", RED},
	{"status", "ERROR_down", RED},
	{"status", "ERROR_nodedown", RED},
	{"status", "ERROR_nodeoffline", RED},
	{"status", "ERROR_wrongnode", RED},
	{"status", "ADMIN_down", YELLOW},
	{"status", "ADMIN_offline", YELLOW},
	{"status", "USER_down", YELLOW},
	{"status", "queued", YELLOW},
	{"status", "waiting", BLUE},
	{"status", "canceling", YELLOW},
	{"status", "canceled", YELLOW},
	{"admin_state", "up", GREEN},
	{"admin_state", "down", YELLOW},
	{"admin_state", "offline", YELLOW},
	{"oper_state", "running", GREEN},
	{"oper_state", "stopped", YELLOW},
	/* nodes */
	{"role", "M", GREEN},
	{"role", "C", GREEN},
	{"role", "D", YELLOW},
	{"role", "O", RED},
	{"drained", "Y", YELLOW},
	{"offline", "Y", RED},
};

bool cli_colours_wanted(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0') &&
	       !str_eq(term, "dumb");
}

const char *cli_colour(const char *field, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(colours); i++)
		if (strcmp(colours[i].field, field) == 0 &&
		    strcmp(colours[i].text, text) == 0)
			return colours[i].colour;
	return NULL;
}
