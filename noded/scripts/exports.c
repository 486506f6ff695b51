/* SPDX-License-Identifier: BSD-2-Clause */
/* An export is made in "<instance>+new"; the description is written there last,
 * and then the folder is renamed.  No host's name has a "+", so no finished
 * export is called so.  Masters say "<instance>.new", as Ganeti's node daemon
 * has it.  The former export stands aside, as "<instance>+old", until the new
 * one is in its place; whoever lists exports puts one back that was left there.
 *
 * The description is an INI file with values as Python's str() prints them.
 * Paths from callers are checked part by part, and symbolic links are
 * refused. */
#include "noded/scripts/exports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/ini.h"
#include "lib/json/json.h"
#include "lib/json/repr.h"
#include "lib/model/params/params.h"

#define CONFIG_FILE "config.ini"
#define CONFIG_MAX (1024 * 1024)
#define FOLDER_MODE 0750
#define NEW_MARK "+new"
#define OLD_MARK "+old"
#define NEW_SUFFIX ".new" /* as masters call NEW_MARK */

/* --- places --- */

static int bad_path(const struct paths *p, const char *virtual_path,
		    struct error *err)
{
	auto_free char *all = paths_virtual(p, path(p, PATH_EXPORT_DIR));

	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is not a path below the exports directory %s",
			 virtual_path, all);
}

/* Check a virtual path below the folder of exports: each part is a plain name,
 * and none is a link. */
static int split_path(const struct paths *p, const char *virtual_path,
		      struct strv *ret, struct error *err)
{
	auto_free char *all = paths_virtual(p, path(p, PATH_EXPORT_DIR));
	auto_buf struct buf at = {0};
	size_t n = strlen(all);
	struct stat st;

	if (strncmp(virtual_path, all, n) != 0 || virtual_path[n] != '/')
		return bad_path(p, virtual_path, err);
	str_split(ret, virtual_path + n + 1, '/');
	buf_adds(&at, path(p, PATH_EXPORT_DIR));
	for (size_t i = 0; i < ret->n; i++) {
		buf_addf(&at, "/%s", ret->items[i]);
		if (!str_valid_filename(ret->items[i]) ||
		    (lstat(at.data, &st) == 0 && S_ISLNK(st.st_mode)))
			return bad_path(p, virtual_path, err);
	}
	return 0;
}

/* Where a file is that masters write as "<instance>.new/file"; to be freed. */
static char *making_path(const struct paths *p, const char *virtual_path)
{
	auto_free char *all = paths_virtual(p, path(p, PATH_EXPORT_DIR));
	size_t n = strlen(all), suffix = strlen(NEW_SUFFIX), len;
	const char *name;

	if (strncmp(virtual_path, all, n) != 0 || virtual_path[n] != '/')
		return xstrdup(virtual_path); /* is refused later */
	name = virtual_path + n + 1;
	len = strcspn(name, "/");
	if (len <= suffix ||
	    strncmp(name + len - suffix, NEW_SUFFIX, suffix) != 0)
		return xstrdup(virtual_path);
	return xprintf("%s/%.*s" NEW_MARK "%s", all, (int)(len - suffix), name,
		       name + len);
}

char *exports_file(const struct paths *p, const char *virtual_path, bool make,
		   struct error *err)
{
	auto_strv struct strv parts = {0};
	auto_free char *place =
		make ? making_path(p, virtual_path) : xstrdup(virtual_path);
	auto_free char *local = NULL, *folder = NULL;

	if (split_path(p, place, &parts, err) < 0)
		return NULL;
	if (parts.n < 2) {
		bad_path(p, place, err);
		return NULL;
	}
	local = paths_local(p, place);
	folder = xstrndup(local, (size_t)(strrchr(local, '/') - local));
	if (make && (fs_mkdirs(folder, FOLDER_MODE, err) < 0 ||
		     fs_remove(local, err) < 0))
		return NULL;
	return steal(&local);
}

/* The folder of an export by its name, to be freed. */
static char *folder_of(const struct paths *p, const char *name,
		       const char *suffix, struct error *err)
{
	if (str_valid_hostname(name))
		return xprintf("%s/%s%s", path(p, PATH_EXPORT_DIR), name,
			       suffix);
	error_set(err, ERR_REQUEST, NULL, "\"%s\" is not a name of an export",
		  name);
	return NULL;
}

/* --- the description --- */

/* str() of Python. */
static void put(json_t *section, const char *key, const json_t *value)
{
	auto_free char *text = NULL;

	if (json_is_string(value)) {
		json_object_set(section, key, json_unconst(value));
		return;
	}
	text = value == NULL ? xstrdup("None") : json_repr(value);
	json_set_str(section, key, text);
}

static void put_numbered(json_t *section, const char *what, size_t i,
			 const char *key, const json_t *value)
{
	auto_free char *whole = xprintf("%s%zu_%s", what, i, key);

	put(section, whole, value);
}

static json_t *export_section(const json_t *instance)
{
	auto_free char *stamp =
		xprintf("%jd", (intmax_t)(clock_wall_us() / 1000000));

	return json_make("{s:s, s:s, s:s, s:s, s:s}", "version", "0",
			 "timestamp", stamp, "source",
			 json_str(instance, "primary_node", ""), "os",
			 json_str(instance, "os", ""), "compression",
			 json_str(instance, "dump_compression", "none"));
}

static void put_nics(json_t *section, const json_t *instance)
{
	static const char *const own[] = {"mac", "ip", "network", "name"};
	static const char *const params[] = {"link", "mode", "vlan"};
	const json_t *nics = json_get(instance, "nics");
	size_t n = json_array_size(nics);
	auto_free char *count = xprintf("%zu", n);

	for (size_t i = 0; i < n; i++) {
		const json_t *nic = json_array_get(nics, i);
		const json_t *given = json_get(nic, "nicparams");

		for (size_t k = 0; k < ARRAY_SIZE(own); k++)
			put_numbered(section, "nic", i, own[k],
				     json_get(nic, own[k]));
		for (size_t k = 0; k < ARRAY_SIZE(params); k++)
			put_numbered(section, "nic", i, params[k],
				     json_get(given, params[k]));
	}
	json_set_str(section, "nic_count", count);
}

/* A disk that was not exported is not an object. */
static void put_disks(json_t *section, const json_t *disks)
{
	size_t n = 0;
	auto_free char *count = NULL;

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		if (!json_is_object(disk))
			continue;
		n++;
		put_numbered(section, "disk", i, "ivname",
			     json_get(disk, "iv_name"));
		put_numbered(section, "disk", i, "dump",
			     json_get(disk, "uuid"));
		put_numbered(section, "disk", i, "size",
			     json_get(disk, "size"));
		put_numbered(section, "disk", i, "name",
			     json_get(disk, "name"));
	}
	count = xprintf("%zu", n);
	json_set_str(section, "disk_count", count);
}

static json_t *instance_section(const json_t *instance, const json_t *disks)
{
	const json_t *be = json_get(instance, "beparams");
	json_t *section = json_object();
	auto_strv struct strv tags = {0};
	auto_free char *tag_text = NULL;

	json_to_strv(json_get(instance, "tags"), &tags);
	tag_text = strv_join(&tags, " ");
	put(section, "name", json_get(instance, "name"));
	put(section, "maxmem", json_get(be, "maxmem"));
	put(section, "minmem", json_get(be, "minmem"));
	put(section, "memory", json_get(be, "maxmem"));
	put(section, "vcpus", json_get(be, "vcpus"));
	json_set_str(
		section, "disk_template",
		json_array_size(disks) == 0
			? "diskless"
			: json_str(json_array_get(disks, 0), "dev_type", ""));
	put(section, "hypervisor", json_get(instance, "hypervisor"));
	json_set_str(section, "tags", tag_text);
	put_nics(section, instance);
	put_disks(section, disks);
	return section;
}

/* Parameters, without those for migrations, which are the whole cluster's. */
static json_t *params_section(const json_t *params)
{
	json_t *section = json_object(), *value;
	const char *name;

	json_object_foreach (json_unconst(params), name, value)
		if (!params_hv_is_global(name))
			put(section, name, value);
	return section;
}

static json_t *describe(const json_t *instance, const json_t *disks)
{
	json_t *be = json_object(), *value;
	const char *name;

	json_object_foreach (json_unconst(json_get(instance, "beparams")), name,
			     value)
		put(be, name, value);
	return json_make(
		"{s:o, s:o, s:o, s:o, s:o, s:o}", "export",
		export_section(instance), "instance",
		instance_section(instance, disks), "hypervisor",
		params_section(json_get(instance, "hvparams")), "backend", be,
		"os", params_section(json_get(instance, "osparams")),
		"os_private",
		params_section(json_get(instance, "osparams_private")));
}

/* --- what the calls do --- */

/* Each exported disk has its file. */
static int check_dumps(const char *folder, const json_t *disks,
		       struct error *err)
{
	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);
		auto_free char *file =
			xprintf("%s/%s", folder, json_str(disk, "uuid", ""));

		if (json_is_object(disk) && !fs_exists(file))
			return error_set(err, ERR_EXEC, NULL,
					 "The export has no data of disk %zu, "
					 "there is no file %s",
					 i, file);
	}
	return 0;
}

static int move(const char *from, const char *to, struct error *err)
{
	if (rename(from, to) == 0)
		return 0;
	return error_set(err, ERR_EXEC, ECODE_ENVIRON,
			 "Cannot rename %s to %s: %s", from, to,
			 strerror(errno));
}

/* Put the new folder in place of the former one, which stands aside until then.
 * If that is cut off, what stands aside may be the only export. */
static int replace(const char *fresh, const char *final, const char *aside,
		   struct error *err)
{
	struct error ignored;

	if (fs_exists(final) &&
	    ((fs_exists(aside) && fs_remove_tree(aside, err) < 0) ||
	     move(final, aside, err) < 0))
		return -1;
	if (move(fresh, final, err) < 0) {
		move(aside, final, &ignored);
		return -1;
	}
	if (fs_exists(aside) && fs_remove_tree(aside, &ignored) < 0)
		log_warning("%s, ignoring", ignored.text);
	return 0;
}

int exports_finalize(const struct paths *p, const json_t *instance,
		     const json_t *disks, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *fresh = folder_of(p, name, NEW_MARK, err);
	auto_free char *aside = folder_of(p, name, OLD_MARK, err);
	auto_free char *final = folder_of(p, name, "", err);
	auto_free char *file = NULL, *text = NULL;
	auto_json json_t *sections = NULL;

	if (fresh == NULL || aside == NULL || final == NULL)
		return -1;
	sections = describe(instance, disks);
	file = xprintf("%s/" CONFIG_FILE, fresh);
	text = ini_text(sections);
	if (fs_mkdirs(fresh, FOLDER_MODE, err) < 0 ||
	    check_dumps(fresh, disks, err) < 0 ||
	    fs_write_atomic(file, text, strlen(text), 0600, err) < 0)
		return -1;
	return replace(fresh, final, aside, err);
}

char *exports_info(const struct paths *p, const char *folder, struct error *err)
{
	auto_free char *virtual_file = xprintf("%s/" CONFIG_FILE, folder);
	auto_free char *file = exports_file(p, virtual_file, false, err);
	auto_free char *text =
		file != NULL ? fs_read(file, CONFIG_MAX, NULL, err) : NULL;
	auto_json json_t *sections = text != NULL ? ini_parse(text, err) : NULL;

	if (text == NULL)
		return NULL;
	if (sections == NULL) {
		error_wrap(err, "%s", virtual_file);
		return NULL;
	}
	if (json_get(sections, "export") != NULL &&
	    json_get(sections, "instance") != NULL)
		return ini_text(sections);
	error_set(err, ERR_EXEC, NULL,
		  "%s is no description of an export: a section is missing",
		  virtual_file);
	return NULL;
}

/* Whether it was left incomplete by a daemon that made exports under such
 * names. */
static bool is_unfinished(const struct paths *p, const char *name)
{
	auto_free char *config =
		xprintf("%s/%s/" CONFIG_FILE, path(p, PATH_EXPORT_DIR), name);

	return str_ends(name, NEW_SUFFIX) && !fs_exists(config);
}

/* An end between the two renames of replace() has left the former export aside
 * and none in its place. */
static void put_back(const struct paths *p, struct strv *names)
{
	size_t n = names->n;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names->items[i]) - strlen(OLD_MARK);
		auto_free char *name = NULL, *aside = NULL, *final = NULL;
		struct error err;

		if (!str_ends(names->items[i], OLD_MARK))
			continue;
		name = xstrndup(names->items[i], len);
		aside = folder_of(p, name, OLD_MARK, &err);
		final = folder_of(p, name, "", &err);
		if (aside == NULL || final == NULL || fs_exists(final))
			continue;
		if (move(aside, final, &err) < 0)
			log_warning("%s, ignoring", err.text);
		else
			strv_add(names, name);
	}
	strv_sort(names);
}

json_t *exports_list(const struct paths *p, struct error *err)
{
	auto_strv struct strv names = {0};
	const char *all = path(p, PATH_EXPORT_DIR);
	json_t *list;

	if (!fs_is_dir(all)) {
		error_set(err, ERR_EXEC, NULL, "No exports directory");
		return NULL;
	}
	if (fs_list(all, &names, err) < 0)
		return NULL;
	put_back(p, &names);
	list = json_array();
	for (size_t i = 0; i < names.n; i++)
		if (str_valid_hostname(names.items[i]) &&
		    !is_unfinished(p, names.items[i]))
			json_array_append_new(list,
					      json_string(names.items[i]));
	return list;
}

static int remove_folder(const struct paths *p, const char *name,
			 const char *mark, struct error *err)
{
	auto_free char *folder = folder_of(p, name, mark, err);

	if (folder == NULL)
		return -1;
	return fs_exists(folder) ? fs_remove_tree(folder, err) : 0;
}

int exports_remove(const struct paths *p, const char *name, struct error *err)
{
	auto_free char *made_before = xprintf("%s" NEW_SUFFIX, name);

	if (str_ends(name, NEW_MARK)) {
		auto_free char *instance =
			xstrndup(name, strlen(name) - strlen(NEW_MARK));

		return remove_folder(p, instance, NEW_MARK, err);
	}
	if (remove_folder(p, name, "", err) < 0 ||
	    remove_folder(p, name, NEW_MARK, err) < 0 ||
	    remove_folder(p, name, OLD_MARK, err) < 0)
		return -1;
	return is_unfinished(p, made_before)
		       ? remove_folder(p, made_before, "", err)
		       : 0;
}
