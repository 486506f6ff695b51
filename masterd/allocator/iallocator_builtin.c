/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs our own hail in this process: the same code as the program, without
 * starting it and without passing texts through files.  Only where the search
 * path leads to the file that was installed with this daemon, directly or by
 * links; any other hail is run like any other allocator. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gantry-config.h"
#include "iallocators/allocate/hail_answer.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/allocator/iallocator_private.h"

/* The first executable with this name in the search path, to be freed. */
static char *find_program(const struct master *m, const char *name)
{
	auto_strv struct strv folders = {0};

	paths_iallocator_search(m->paths, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		char *file = xprintf("%s/%s", folders.items[i], name);

		if (fs_is_executable(file))
			return file;
		free(file);
	}
	return NULL;
}

/* The folder of this program; NULL if that is not known. */
static char *own_folder(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return NULL;
	exe[n] = '\0';
	return xstrndup(exe, (size_t)(strrchr(exe, '/') - exe));
}

/* Where our hail lies beside this program: in a build, in an installation that
 * was moved, where `make install` puts it. */
static void own_places(struct strv *ret)
{
	auto_free char *own = own_folder();

	if (own == NULL)
		return;
	strv_addf(ret, "%s/../bin/hail", own);
	strv_addf(ret, "%s/../lib/ganeti/iallocators/hail", own);
	if (str_eq(own, GANTRY_BINDIR))
		strv_add(ret, GANTRY_IALLOCATOR_DIR "/hail");
}

static bool is_ours(const char *file)
{
	auto_strv struct strv places = {0};
	struct stat theirs, own;

	if (stat(file, &theirs) < 0)
		return false;
	own_places(&places);
	for (size_t i = 0; i < places.n; i++)
		if (stat(places.items[i], &own) == 0 &&
		    own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino)
			return true;
	return false;
}

/* Read the options; false when there are some that only the program knows. */
static bool read_options(const json_t *params, struct hail_options *o)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(params), key, value) {
		if (strcmp(key, "ignore-soft-errors") == 0)
			o->ignore_soft_errors = true;
		else if (strcmp(key, "no-capacity-checks") == 0)
			o->no_capacity_checks = true;
		else if (strcmp(key, "explain") == 0 &&
			 str_eq(json_string_value(value), "json"))
			o->explain = EXPLAIN_JSON;
		else
			return false;
	}
	return true;
}

int iallocator_expect(struct master *m, const char *name, struct error *err)
{
	auto_free char *file = find_program(m, name), *where = NULL;
	auto_strv struct strv folders = {0};
	bool any = false;

	paths_iallocator_search(m->paths, &folders);
	for (size_t i = 0; i < folders.n; i++)
		any |= fs_exists(folders.items[i]);
	if (file != NULL || !any)
		return 0;
	where = strv_join(&folders, ", ");
	return error_set(err, ERR_PREREQ, ECODE_NOENT,
			 "Allocator '%.200s' not known: no executable file of "
			 "this name in %s",
			 name, where);
}

bool iallocator_is_builtin(struct master *m, const char *name,
			   const json_t *params)
{
	struct hail_options o = {0};
	auto_free char *file = NULL;

	if (strcmp(name, "hail") != 0 || !read_options(params, &o))
		return false;
	file = find_program(m, name);
	return file != NULL && is_ours(file);
}

char *iallocator_run_builtin(char *message, const json_t *params,
			     struct error *err)
{
	struct hail_options o = {.dedicated_per_group = true};
	__attribute__((cleanup(hail_output_done))) struct hail_output out = {
		.answer = {0}};
	int rc;

	read_options(params, &o);
	task_leave(); /* nobody else uses the message */
	rc = hail_answer(message, strlen(message), &o, &out, err);
	task_enter();
	if (out.warnings.len > 0)
		log_warning("hail: %s", out.warnings.data);
	if (rc == 0)
		return buf_steal(&out.answer);
	error_wrap_as(err, ERR_EXEC, "Failure while running iallocator 'hail'");
	return NULL;
}
