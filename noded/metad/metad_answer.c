/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers the requests of instances.  Each gets only its own data; anything
 * else does not exist for it.  A package is a file that an OS parameter names;
 * it is sent only if everybody on the node may read it, since otherwise whoever
 * sets the parameter could read any file of root's. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "noded/metad/metad_private.h"
#include "noded/scripts/osdef.h"

#define TREE "/ganeti/latest/"

enum { OK = 200, NOT_FOUND = 404, NOT_ALLOWED = 405 };

static void say(struct metad_answer *ret, int status, const char *type,
		char *text STEALS)
{
	*ret = (struct metad_answer){
		.status = status, .type = type, .text = text, .fd = -1};
}

static void say_nothing(struct metad_answer *ret)
{
	say(ret, NOT_FOUND, "text/plain", xstrdup("Resource not found"));
}

/* --- files --- */

/* Open the folder of a normal path, below our root.  -1 if one of the folders
 * is not accessible to everybody; links are not followed. */
static int open_folder(const char *root, const char *file)
{
	auto_strv struct strv names = {0};
	int fd = open(*root == '\0' ? "/" : root,
		      O_PATH | O_DIRECTORY | O_CLOEXEC);

	str_split(&names, file + 1, '/');
	for (size_t i = 0; fd >= 0 && i + 1 < names.n; i++) {
		int next =
			openat(fd, names.items[i],
			       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		close(fd);
		fd = next;
		if (fd >= 0 &&
		    (fstat(fd, &st) < 0 || (st.st_mode & S_IXOTH) == 0)) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

/* Open a file that everybody may read; -1. */
static int open_public(const struct paths *p, const char *file)
{
	auto_close int folder = -1;
	struct stat st;
	int fd;

	if (file == NULL || !paths_is_normal(file))
		return -1;
	folder = open_folder(p->root, file);
	if (folder < 0)
		return -1;
	fd = openat(folder, strrchr(file, '/') + 1,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || (fstat(fd, &st) == 0 && (st.st_mode & S_IROTH) != 0))
		return fd;
	close(fd);
	return -1;
}

static void say_file(int fd STEALS, struct metad_answer *ret)
{
	struct stat st;

	say_nothing(ret);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return;
	}
	free(ret->text);
	*ret = (struct metad_answer){
		.status = OK, .fd = fd, .size = (uint64_t)st.st_size};
}

/* --- what there is --- */

static void say_identity(struct metad *m, const struct metad_instance *i,
			 const char *name, struct metad_answer *ret)
{
	auto_json json_t *all =
		json_make("{s:s, s:s, s:s}", "name", i->name, "uuid",
			  json_str(i->object, "uuid", ""), "os",
			  json_str(i->object, "os", ""));

	(void)m, (void)name;
	say(ret, OK, "application/json", json_text(all));
}

static void add(json_t *all, const json_t *params, const char *visibility)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(params), name, value)
		json_object_set_new(all, name,
				    json_make("[O, s]", value, visibility));
}

static void say_parameters(struct metad *m, const struct metad_instance *i,
			   const char *name, struct metad_answer *ret)
{
	auto_json json_t *all = json_object();

	(void)m, (void)name;
	add(all, json_get(i->object, "osparams"), "public");
	add(all, json_get(i->object, "osparams_private"), "private");
	add(all, i->secret, "secret");
	say(ret, OK, "application/json", json_text(all));
}

static void say_parameter_file(struct metad *m, const struct metad_instance *i,
			       const char *parameter, struct metad_answer *ret)
{
	const json_t *params = json_get(i->object, "osparams");

	say_file(open_public(m->paths, json_str(params, parameter, NULL)), ret);
}

static void say_script(struct metad *m, const struct metad_instance *i,
		       const char *script, struct metad_answer *ret)
{
	auto_osdef struct osdef def = {0};
	auto_free char *file = NULL;
	struct error ignored;

	if (osdef_find(m->paths, json_str(i->object, "os", ""), &def,
		       &ignored) < 0)
		return say_nothing(ret);
	file = xprintf("%s/%s", def.folder, script);
	say_file(open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret);
}

/* The other two exist because Ganeti has them; they have no effect. */
static void say_empty(struct metad *m, const struct metad_instance *i,
		      const char *name, struct metad_answer *ret)
{
	(void)m, (void)i, (void)name;
	say(ret, OK, "text/plain", NULL);
}

static const struct {
	const char *path, *method;
	void (*say)(struct metad *m, const struct metad_instance *i,
		    const char *name, struct metad_answer *ret);
	const char *name;
} things[] = {
	{"meta_data.json", "GET", say_identity, NULL},
	{"os/parameters.json", "GET", say_parameters, NULL},
	{"os/os-install-package", "GET", say_parameter_file,
	 "os-install-package"},
	{"os/package", "GET", say_parameter_file, "os-package"},
	{"os/scripts/create", "GET", say_script, "create"},
	{"os/scripts/create_untrusted", "GET", say_script, "create_untrusted"},
	{"os/scripts/export", "GET", say_script, "export"},
	{"os/scripts/import", "GET", say_script, "import"},
	{"os/scripts/rename", "GET", say_script, "rename"},
	{"os/scripts/verify", "GET", say_script, "verify"},
	{"read", "GET", say_empty, NULL},
	{"write", "POST", say_empty, NULL},
};

void metad_answer(struct metad *m, const char *peer_ip, const char *method,
		  const char *path, struct metad_answer *ret)
{
	const struct metad_instance *i = metad_at(m, peer_ip);

	say_nothing(ret);
	if (i == NULL || !str_starts(path, TREE))
		return;
	for (size_t k = 0; k < ARRAY_SIZE(things); k++) {
		if (strcmp(things[k].path, path + strlen(TREE)) != 0)
			continue;
		free(steal(&ret->text));
		if (strcmp(things[k].method, method) == 0) {
			things[k].say(m, i, things[k].name, ret);
			return;
		}
		say(ret, NOT_ALLOWED, "text/plain", NULL);
		ret->allow = things[k].method;
		return;
	}
}
