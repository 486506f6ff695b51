/* SPDX-License-Identifier: BSD-2-Clause */
/* The first folder of the name in the search path is the provider.  If one of
 * its scripts is missing the call fails, and the search does not go on.  A
 * script is told all in its environment: VOL_* for the volume, EXTP_* for the
 * parameters of the disk. */
#include "noded/scripts/extstorage.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/scripts/script.h"

#define PARAMETERS_FILE "parameters.list"
#define FILE_BYTES_MAX (256 * 1024)
/* A little less than the longest of the master's time limits. */
#define SCRIPT_TIMEOUT_MS (3500u * 1000)
#define SCRIPT_OUTPUT_MAX (64 * 1024)

/* The scripts that a provider must have; some of the others only when they are
 * used. */
static const char *const scripts[] = {"create", "attach",  "detach", "remove",
				      "grow",	"setinfo", "verify"};

/* What is wrong with the folder, to be freed; "": nothing. */
static char *find_fault(const char *folder)
{
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
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
		char *line = str_trim(lines.items[i]);

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

/* --- running its scripts --- */

/* The folder of a valid provider, to be freed; NULL with err. */
static char *find_provider(const struct paths *p, const char *name,
			   struct error *err)
{
	auto_strv struct strv folders = {0};

	paths_extstorage_search(p, &folders);
	for (size_t i = 0; str_valid_filename(name) && i < folders.n; i++) {
		char *folder = xprintf("%s/%s", folders.items[i], name);
		auto_free char *fault = NULL;

		if (!fs_is_dir(folder)) {
			free(folder);
			continue;
		}
		fault = find_fault(folder);
		if (*fault == '\0')
			return folder;
		error_set(err, ERR_BLOCKDEV, NULL,
			  "External storage provider '%s' is not usable: %s",
			  name, fault);
		free(folder);
		return NULL;
	}
	error_set(err, ERR_BLOCKDEV, NULL,
		  "No external storage provider '%.100s' in the search path",
		  name);
	return NULL;
}

static void add_text(struct strv *env, const char *name, const char *value)
{
	if (value != NULL)
		script_env(env, name, value);
}

static void add_mib(struct strv *env, const char *name, int64_t mib)
{
	if (mib > 0)
		strv_addf(env, "%s=%" PRId64, name, mib);
}

/* The provider's own parameters: EXTP_<NAME>. */
static void add_parameters(struct strv *env, const json_t *disk)
{
	const json_t *params = json_get(disk, "params");
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(params), name, value) {
		auto_free char *key = xprintf("EXTP_%s", name);

		for (char *c = key; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		script_env_json(env, key, value);
	}
}

static void environment(const json_t *disk, const char *volume,
			const struct ext_values *values, struct strv *env)
{
	script_env(env, "PATH", SCRIPT_PATH);
	script_env(env, "VOL_NAME", volume);
	add_text(env, "VOL_CNAME", json_str(disk, "name", NULL));
	add_text(env, "VOL_UUID", json_str(disk, "uuid", NULL));
	add_parameters(env, disk);
	if (values == NULL)
		return;
	add_mib(env, "VOL_SIZE", values->size_mib);
	add_mib(env, "VOL_NEW_SIZE", values->new_size_mib);
	add_text(env, "VOL_METADATA", values->metadata);
	add_text(env, "VOL_OPEN_EXCLUSIVE", values->exclusive);
}

static WAITS int run_script(const char *folder, const char *script,
			    const struct strv *env, char **ret_output,
			    struct error *err)
{
	auto_free char *program = xprintf("%s/%s", folder, script);
	const char *const argv[] = {program, NULL};
	auto_proc struct proc_result result = {0};
	auto_free char *ending = NULL, *said = NULL;
	struct proc_spec spec = {
		.argv = argv,
		.env = (const char *const *)env->items,
		.cwd = folder,
		.timeout_ms = SCRIPT_TIMEOUT_MS,
		.output_max = SCRIPT_OUTPUT_MAX,
		/* attach's standard error is not part of the path. */
		.merge_stderr = ret_output == NULL,
	};

	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result)) {
		if (ret_output != NULL)
			*ret_output =
				script_text(result.out, result.out_len, true);
		return 0;
	}
	ending = script_ending(&result);
	said = ret_output == NULL
		       ? script_text(result.out, result.out_len, true)
		       : script_text(result.err, result.err_len, true);
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "External storage's %s script failed (%s), output: %s",
			 script, ending, said);
}

static bool is_optional(const char *script)
{
	return strcmp(script, "open") == 0 || strcmp(script, "close") == 0;
}

int extstorage_run(const struct paths *p, const json_t *disk,
		   const char *script, const struct ext_values *values,
		   char **ret_output, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const char *provider = json_string_value(json_array_get(id, 0));
	const char *volume = json_string_value(json_array_get(id, 1));
	auto_free char *folder = NULL, *program = NULL;
	auto_strv struct strv env = {0};

	if (provider == NULL || volume == NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "The logical_id of a disk on external storage "
				 "must be [provider, volume]");
	folder = find_provider(p, provider, err);
	if (folder == NULL)
		return -1;
	program = xprintf("%s/%s", folder, script);
	if (is_optional(script) && !fs_exists(program))
		return 0;
	environment(disk, volume, values, &env);
	return run_script(folder, script, &env, ret_output, err);
}
