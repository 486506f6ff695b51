/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that run programs of the site: hooks and allocators. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/scripts/hooks.h"
#include "noded/scripts/script.h"

/* An allocator that takes longer than this is ended. */
#define IALLOCATOR_TIMEOUT_S 300
/* What the environment may make of it: less than the call's 900 s, as the
 * master does not wait longer, and the program would go on alone. */
#define IALLOCATOR_TIMEOUT_MAX_S 840
#define IALLOCATOR_TIMEOUT_ENV "GANTRY_IALLOCATOR_TIMEOUT_S"
/* The longest output: an evacuation of 10,000 instances has an answer of 10 MB.
 * It has to fit into our answer, where each quote takes two bytes. */
#define IALLOCATOR_OUTPUT_MAX (24 * 1024 * 1024)
/* The longest output of a failed one, which goes into the job's log. */
#define IALLOCATOR_SHOWN_MAX ((size_t)64 * 1024)

WAITS json_t *call_hooks_runner(struct call *c,
				const struct rpc_args_hooks_runner *args,
				struct error *err)
{
	return hooks_run_scripts(c->paths, args->path, args->phase,
				 args->environment, err);
}

/* The program's file in the search path, to be freed; NULL and err. */
static char *find_iallocator(const struct paths *p, const char *name,
			     struct error *err)
{
	auto_strv struct strv folders = {0};
	auto_free char *where = NULL;

	if (!str_valid_filename(name)) {
		error_set(err, ERR_REQUEST, NULL,
			  "\"%s\" is not a valid name of an allocator", name);
		return NULL;
	}
	paths_iallocator_search(p, &folders);
	for (size_t i = 0; i < folders.n; i++) {
		char *file = xprintf("%s/%s", folders.items[i], name);

		if (fs_is_executable(file))
			return file;
		free(file);
	}
	where = strv_join(&folders, ", ");
	error_set(err, ERR_EXEC, ECODE_NOENT,
		  "iallocator module '%s' not found in the search path: no "
		  "executable file of this name in %s",
		  name, where);
	return NULL;
}

/* Write the request into a new file that only we may read; its name, to be
 * freed. NULL with err. */
static char *write_request(const struct paths *p, const char *text,
			   struct error *err)
{
	auto_free char *file =
		xprintf("%s/iallocator.XXXXXX", path(p, PATH_RUN_DIR));
	size_t len = strlen(text);
	auto_close int fd = -1;

	if (fs_mkdirs(path(p, PATH_RUN_DIR), 0755, err) < 0)
		return NULL;
	fd = mkostemp(file, O_CLOEXEC);
	if (fd >= 0 && write(fd, text, len) == (ssize_t)len)
		return steal(&file);
	error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
		  "Cannot write the allocator's input %s: %s", file,
		  strerror(errno));
	if (fd >= 0)
		unlink(file);
	return NULL;
}

/* Add "--key=value" for each parameter. */
static void add_options(const json_t *params, struct strv *argv)
{
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(params), key, value) {
		const char *text = json_string_value(value);
		auto_free char *other = NULL;

		if (text == NULL && !json_is_null(value))
			text = other = json_text(value);
		if (text == NULL || *text == '\0')
			strv_addf(argv, "--%s", key);
		else
			strv_addf(argv, "--%s=%s", key, text);
	}
}

static unsigned iallocator_timeout_ms(void)
{
	const char *text = getenv(IALLOCATOR_TIMEOUT_ENV);
	int64_t s;

	if (text == NULL || !str_to_int64(text, &s) || s < 1)
		s = IALLOCATOR_TIMEOUT_S;
	if (s > IALLOCATOR_TIMEOUT_MAX_S)
		s = IALLOCATOR_TIMEOUT_MAX_S;
	return (unsigned)s * 1000;
}

/* Its output, shortened for the job's log. */
static char *shown_output(const struct proc_result *r)
{
	size_t n = r->out_len < IALLOCATOR_SHOWN_MAX ? r->out_len
						     : IALLOCATOR_SHOWN_MAX;
	size_t n_err = r->err_len < IALLOCATOR_SHOWN_MAX ? r->err_len
							 : IALLOCATOR_SHOWN_MAX;
	auto_free char *output = script_text(r->out, n, false);
	auto_free char *errors = script_text(r->err, n_err, false);

	return xprintf("%s%s", output, errors);
}

static char *iallocator_failure(const char *name, const struct proc_result *r)
{
	auto_free char *output = NULL, *ending = NULL;

	if (r->status == 0 && r->truncated)
		return xprintf("iallocator module '%s' gave more than %d MiB "
			       "of output",
			       name, IALLOCATOR_OUTPUT_MAX >> 20);
	ending = script_ending(r);
	output = shown_output(r);
	return xprintf("iallocator module '%s' failed: %s, output '%s'", name,
		       ending, output);
}

WAITS json_t *
call_iallocator_runner(struct call *c,
		       const struct rpc_args_iallocator_runner *args,
		       struct error *err)
{
	auto_free char *program = find_iallocator(c->paths, args->name, err);
	auto_free char *file = NULL, *output = NULL;
	auto_strv struct strv argv = {0};
	auto_proc struct proc_result result = {0};
	struct proc_spec spec;
	int rc;

	if (program == NULL)
		return NULL;
	file = write_request(c->paths, args->request, err);
	if (file == NULL)
		return NULL;
	strv_add(&argv, program);
	strv_add(&argv, file);
	add_options(args->parameters, &argv);
	spec = (struct proc_spec){
		.argv = (const char *const *)argv.items,
		.timeout_ms = iallocator_timeout_ms(),
		.output_max = IALLOCATOR_OUTPUT_MAX,
	};
	rc = proc_run(&spec, &result, err);
	unlink(file);
	if (rc < 0)
		return NULL;
	if (!proc_succeeded(&result) || result.truncated) {
		c->failure = iallocator_failure(args->name, &result);
		return NULL;
	}
	output = script_text(result.out, result.out_len, false);
	return json_string(output);
}
