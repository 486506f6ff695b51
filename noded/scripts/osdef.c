/* SPDX-License-Identifier: BSD-2-Clause */
/* A definition is read step by step, and the first fault ends the reading and
 * is kept in `diagnose`.  What is read depends on the highest API version that
 * both sides know: variants from 15 on, parameters and the script verify from
 * 20 on. */
#include "noded/scripts/osdef.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"

#define OS_FILE_MAX (256 * 1024)
#define API_V10 10
#define API_V15 15
#define API_V20 20

static char *file_in(const struct osdef *os, const char *name)
{
	return xprintf("%s/%s", os->folder, name);
}

static void set_diagnose(struct osdef *os, char *text STEALS)
{
	free(os->diagnose);
	os->diagnose = text;
}

/* The lines of a file of the definition that are not empty; comments (#...) too
 * when asked.  False when it cannot be read. */
static bool read_lines(const struct osdef *os, const char *name, bool comments,
		       struct strv *ret)
{
	auto_free char *file = file_in(os, name);
	auto_strv struct strv lines = {0};
	auto_free char *text = NULL;
	struct error err;

	text = fs_read(file, OS_FILE_MAX, NULL, &err);
	if (text == NULL || !str_valid_utf8(text, strlen(text)))
		return false;
	str_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		const char *line = str_trim(lines.items[i]);

		if (*line != '\0' && !(comments && *line == '#'))
			strv_add(ret, line);
	}
	return true;
}

static bool read_versions(struct osdef *os)
{
	static const int64_t known[] = {API_V10, API_V15, API_V20};
	auto_strv struct strv lines = {0};

	if (!read_lines(os, "ganeti_api_version", false, &lines)) {
		set_diagnose(os, xprintf("Required file 'ganeti_api_version' "
					 "not found under path %s",
					 os->folder));
		return false;
	}
	for (size_t i = 0; i < lines.n; i++) {
		int64_t version;

		if (!str_to_int64(lines.items[i], &version)) {
			set_diagnose(os, xprintf("ganeti_api_version: '%s' is "
						 "not a number",
						 lines.items[i]));
			return false;
		}
		json_array_append_new(os->versions, json_integer(version));
		for (size_t k = 0; k < 3; k++)
			if (version == known[k] && version > os->api_version)
				os->api_version = (int)version;
	}
	if (os->api_version > 0)
		return true;
	set_diagnose(os, xstrdup("API version mismatch: it offers none of 10, "
				 "15 and 20"));
	return false;
}

static bool need_script(struct osdef *os, const char *name)
{
	auto_free char *file = file_in(os, name);

	if (fs_is_executable(file))
		return true;
	set_diagnose(os, xprintf(fs_exists(file)
					 ? "Script '%s' under path %s is not "
					   "an executable file"
					 : "Script '%s' under path %s is "
					   "missing",
				 name, os->folder));
	return false;
}

static const char *const optional[OSDEF_OPTIONAL] = {
	[OSDEF_IMPORT] = "import",
	[OSDEF_EXPORT] = "export",
	[OSDEF_RENAME] = "rename",
};

/* A script that exists must be executable. */
static bool check_optional(struct osdef *os)
{
	for (size_t i = 0; i < OSDEF_OPTIONAL; i++) {
		auto_free char *file = file_in(os, optional[i]);

		os->lacks[i] = !fs_exists(file);
		if (!os->lacks[i] && !need_script(os, optional[i]))
			return false;
	}
	return true;
}

static bool check_scripts(struct osdef *os)
{
	auto_free char *create = file_in(os, "create");
	auto_free char *untrusted = file_in(os, "create_untrusted");

	os->trusted = fs_exists(create);
	if (!os->trusted && !fs_exists(untrusted)) {
		set_diagnose(os, xprintf("Neither 'create' nor "
					 "'create_untrusted' found under path "
					 "%s",
					 os->folder));
		return false;
	}
	if (!need_script(os, os->trusted ? "create" : "create_untrusted"))
		return false;
	if (!check_optional(os))
		return false;
	return os->api_version < API_V20 || need_script(os, "verify");
}

/* Lines "<name> <description>". */
static bool read_parameters(struct osdef *os)
{
	auto_strv struct strv lines = {0};

	if (os->api_version < API_V20)
		return true;
	if (!read_lines(os, "parameters.list", false, &lines)) {
		set_diagnose(os, xprintf("Required file 'parameters.list' not "
					 "found under path %s",
					 os->folder));
		return false;
	}
	for (size_t i = 0; i < lines.n; i++) {
		char *line = lines.items[i];
		size_t n = strcspn(line, " \t");
		const char *description = line + n + strspn(line + n, " \t");
		auto_free char *name = xstrndup(line, n);

		json_array_append_new(os->parameters,
				      json_make("[s, s]", name, description));
	}
	return true;
}

void osdef_read(const char *folder, const char *name, struct osdef *ret)
{
	*ret = (struct osdef){
		.name = xstrdup(name),
		.folder = xstrdup(folder),
		.diagnose = xstrdup(""),
		.parameters = json_array(),
		.versions = json_array(),
	};
	if (!read_versions(ret) || !check_scripts(ret) || !read_parameters(ret))
		return;
	read_lines(ret, "hypervisors", true, &ret->hypervisors);
	if (ret->api_version >= API_V15)
		read_lines(ret, "variants.list", true, &ret->variants);
}

void osdef_done(struct osdef *os)
{
	free(os->name);
	free(os->folder);
	free(os->diagnose);
	strv_done(&os->variants);
	strv_done(&os->hypervisors);
	json_decref(os->parameters);
	json_decref(os->versions);
	*os = (struct osdef){0};
}

/* The name without "+variant"; to be freed. */
static char *base_name(const char *os)
{
	return xstrndup(os, strcspn(os, "+"));
}

const char *osdef_variant(const char *os)
{
	const char *mark = strchr(os, '+');

	return mark != NULL ? mark + 1 : NULL;
}

int osdef_find(const struct paths *p, const char *os, struct osdef *ret,
	       struct error *err)
{
	auto_free char *name = base_name(os);
	auto_strv struct strv folders = {0};

	if (!str_valid_filename(name) || !str_valid_filename(os))
		return error_set(err, ERR_REQUEST, NULL,
				 "\"%s\" is not a valid name of an OS", os);
	paths_os_search(p, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		auto_free char *folder =
			xprintf("%s/%s", folders.items[i], name);
		auto_osdef struct osdef found = {0};

		if (!fs_is_dir(folder))
			continue;
		osdef_read(folder, name, &found);
		if (!osdef_valid(&found))
			return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
					 "OS %s is not usable: %s", name,
					 found.diagnose);
		*ret = found;
		found = (struct osdef){0};
		return 0;
	}
	return error_set(err, ERR_SYSTEM, ECODE_NOENT,
			 "Directory for OS %s not found in search path", name);
}

static json_t *diagnose_one(const struct paths *p, const struct osdef *os)
{
	auto_free char *folder = paths_virtual(p, os->folder);

	if (!osdef_valid(os)) /* what it says of itself does not count */
		return json_make("[s, s, b, s, [], [], [], b]", os->name,
				 folder, 0, os->diagnose, 1);
	return json_make("[s, s, b, s, o, O, O, b]", os->name, folder, 1,
			 os->diagnose, json_from_strv(&os->variants),
			 os->parameters, os->versions, (int)os->trusted);
}

json_t *osdef_diagnose_all(const struct paths *p)
{
	auto_strv struct strv folders = {0};
	json_t *result = json_array();

	paths_os_search(p, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		auto_strv struct strv names = {0};
		struct error err;

		if (fs_list(folders.items[i], &names, &err) < 0)
			continue; /* most of the folders need not exist */
		for (size_t k = 0; k < names.n; k++) {
			auto_free char *folder = xprintf(
				"%s/%s", folders.items[i], names.items[k]);
			auto_osdef struct osdef os = {0};

			if (names.items[k][0] == '.' ||
			    !str_valid_utf8(names.items[k],
					    strlen(names.items[k])) ||
			    !fs_is_dir(folder))
				continue;
			osdef_read(folder, names.items[k], &os);
			json_array_append_new(result, diagnose_one(p, &os));
		}
	}
	return result;
}

int osdef_check_variant(const struct osdef *def, const char *os,
			struct error *err)
{
	const char *variant = osdef_variant(os);
	auto_free char *known = strv_join(&def->variants, ", ");

	if (def->variants.n == 0)
		return variant == NULL
			       ? 0
			       : error_set(err, ERR_PREREQ, ECODE_INVAL,
					   "OS '%s' does not support variants "
					   "('%s' passed)",
					   def->name, variant);
	if (variant == NULL || *variant == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "OS '%s' needs a variant, one of: %s",
				 def->name, known);
	if (strv_has(&def->variants, variant))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "OS '%s' has no variant '%s', only: %s", def->name,
			 variant, known);
}

bool osdef_copies_raw(const struct osdef *def)
{
	return def->lacks[OSDEF_IMPORT] && def->lacks[OSDEF_EXPORT];
}

int osdef_check_script(const struct osdef *def, enum osdef_script script,
		       struct error *err)
{
	static const char *const effects[OSDEF_OPTIONAL] = {
		[OSDEF_IMPORT] = "imported",
		[OSDEF_EXPORT] = "exported",
		[OSDEF_RENAME] = "renamed",
	};

	if (!def->lacks[script] ||
	    (script != OSDEF_RENAME && osdef_copies_raw(def)))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "OS '%s' has no %s script, so its instances cannot be "
			 "%s",
			 def->name, optional[script], effects[script]);
}

int osdef_check_hypervisor(const struct osdef *def, const char *hypervisor,
			   struct error *err)
{
	auto_free char *known = NULL;

	if (def->hypervisors.n == 0 || strv_has(&def->hypervisors, hypervisor))
		return 0;
	known = strv_join(&def->hypervisors, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "OS '%s' is not for the hypervisor %s, only for: %s",
			 def->name, hypervisor, known);
}

static bool has_parameter(const struct osdef *def, const char *name)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (def->parameters, i, pair)
		if (str_eq(json_string_value(json_array_get(pair, 0)), name))
			return true;
	return false;
}

int osdef_check_params(const struct osdef *def, const json_t *params,
		       struct error *err)
{
	auto_strv struct strv unknown = {0};
	auto_free char *text = NULL;
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(params), name, value)
		if (!has_parameter(def, name))
			strv_add(&unknown, name);
	if (unknown.n == 0)
		return 0;
	text = strv_join(&unknown, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The following parameters are not supported by the OS "
			 "%s: %s",
			 def->name, text);
}
