/* SPDX-License-Identifier: BSD-2-Clause */
#include "noded/extstorage.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define PARAMETERS_FILE "parameters.list"
#define FILE_BYTES_MAX (256 * 1024)

/* What a provider must have; some of the others are asked for by use. */
static const char *const scripts[] = {"create", "attach",  "detach", "remove",
				      "grow",	"setinfo", "verify"};

/* What is wrong with the folder, to be freed; empty: nothing. */
static char *find_fault(const char *folder)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		auto_free char *file = xprintf("%s/%s", folder, scripts[i]);

		if (!fs_exists(file))
			return xprintf("Script '%s' under path %s is missing",
				       scripts[i], folder);
		if (!fs_is_executable(file))
			return xprintf("Script '%s' under path %s is not an "
				       "executable file",
				       scripts[i], folder);
	}
	return xstrdup("");
}

/* "name  what it means", split at the first blanks. */
static json_t *parameter(char *line)
{
	char *text = line + strcspn(line, " \t");

	if (*text != '\0')
		*text++ = '\0';
	text += strspn(text, " \t");
	return json_make("[s, s]", line, text);
}

/* The list in its file; NULL when there is no file. */
static json_t *parameters(const char *folder)
{
	auto_free char *file = xprintf("%s/" PARAMETERS_FILE, folder);
	auto_strv struct strv lines = {0};
	struct error ignored;
	auto_free char *text = fs_read(file, FILE_BYTES_MAX, NULL, &ignored);
	json_t *list;

	if (text == NULL || !str_valid_utf8(text, strlen(text)))
		return NULL;
	list = json_array();
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *line = lines.items[i];
		size_t n = strlen(line);

		while (n > 0 && isspace((unsigned char)line[n - 1]))
			line[--n] = '\0';
		line += strspn(line, " \t");
		if (*line != '\0')
			json_array_append_new(list, parameter(line));
	}
	return list;
}

static json_t *look(const struct paths *p, const char *folder, const char *name)
{
	auto_free char *virtual_folder = paths_virtual(p, folder);
	auto_free char *fault = find_fault(folder);
	json_t *list = parameters(folder);

	if (list == NULL && *fault == '\0') {
		free(fault);
		fault = xprintf("File '" PARAMETERS_FILE
				"' under path %s is missing",
				folder);
	}
	return json_make("[s, s, b, s, o]", name, virtual_folder,
			 *fault == '\0', fault,
			 list != NULL ? list : json_array());
}

json_t *extstorage_diagnose_all(const struct paths *p)
{
	auto_strv struct strv folders = {0};
	json_t *all = json_array();
	struct error ignored;

	paths_extstorage_search(p, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		auto_strv struct strv names = {0};

		if (fs_list(folders.items[i], &names, &ignored) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++) {
			auto_free char *one = xprintf("%s/%s", folders.items[i],
						      names.items[k]);

			if (str_valid_filename(names.items[k]) &&
			    fs_is_dir(one))
				json_array_append_new(
					all, look(p, one, names.items[k]));
		}
	}
	return all;
}
