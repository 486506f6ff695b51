/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs our own hail in this process: the same code as the program, without
 * starting it and without passing texts through files.  Only where the search
 * path leads to our program; a site's own hail is run like any other
 * allocator. */
#include <string.h>
#include <sys/stat.h>

#include "iallocators/allocate/hail_answer.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"
#include "masterd/allocator/iallocator_private.h"

#define PROGRAM_MAX (64 * 1024 * 1024)

/* A text that only our own program contains. */
static const char mark[] = "hail (gantry) ";

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

static bool has_mark(const char *file)
{
	auto_free char *data = NULL;
	struct error ignored;
	size_t len;

	data = fs_read(file, PROGRAM_MAX, &len, &ignored);
	return data != NULL && memmem(data, len, mark, strlen(mark)) != NULL;
}

/* Whether this file is our program; it is read only when it has changed. */
static bool is_ours(struct iallocator_builtin *b, const char *file)
{
	struct stat st;

	if (stat(file, &st) < 0)
		return false;
	if (b->known && st.st_ino == b->inode && st.st_dev == b->device &&
	    st.st_mtime == b->mtime)
		return b->ours;
	*b = (struct iallocator_builtin){.known = true,
					 .inode = st.st_ino,
					 .device = st.st_dev,
					 .mtime = st.st_mtime,
					 .ours = has_mark(file)};
	return b->ours;
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
	return file != NULL && is_ours(&m->hail, file);
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
