/* SPDX-License-Identifier: BSD-2-Clause */
/* All hooks of a call share one time limit.  A failed hook is a row of the
 * result and does not stop the next ones.  A file that is not executable, or
 * whose name run-parts would refuse, is a row with the status "skipped". */
#include "noded/scripts/hooks.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "noded/scripts/script.h"

/* The time limit of all hooks: a little less than the call's. */
#define HOOKS_TIMEOUT_US INT64_C(840000000)
/* So much output of each hook is returned; all of them fit into an answer. */
#define HOOK_OUTPUT_MAX (64 * 1024)

/* Names as run-parts takes them: no backups of editors, no packages' leftovers.
 */
static bool valid_hook_name(const char *name)
{
	return *name != '\0' &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
		       '\0';
}

static json_t *hook_result(const char *script, enum hook_status status,
			   const char *output)
{
	return json_make("[s, i, s]", script, (int)status, output);
}

static WAITS json_t *run_hook(const char *file, const char *script,
			      const struct strv *env, int64_t deadline_us)
{
	const char *const argv[] = {file, NULL};
	int64_t left_us = deadline_us - clock_mono_us();
	auto_proc struct proc_result result = {0};
	struct proc_spec spec = {
		.argv = argv,
		.env = (const char *const *)env->items,
		.cwd = "/",
		.timeout_ms = left_us > 1000 ? (unsigned)(left_us / 1000) : 1,
		.output_max = HOOK_OUTPUT_MAX,
		.merge_stderr = true,
	};
	auto_free char *output = NULL, *ending = NULL;
	struct error err;

	if (proc_run(&spec, &result, &err) < 0)
		return hook_result(script, HOOK_FAILED, err.text);
	output = script_text(result.out, result.out_len, true);
	if (proc_succeeded(&result))
		return hook_result(script, HOOK_SUCCEEDED, output);
	if (*output != '\0')
		return hook_result(script, HOOK_FAILED, output);
	ending = script_ending(&result); /* there should be some text */
	return hook_result(script, HOOK_FAILED, ending);
}

static void hook_env(const json_t *values, struct strv *env)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_unconst(values), name, value)
		script_env_json(env, name, value);
	if (json_object_get(values, "PATH") == NULL)
		script_env(env, "PATH", SCRIPT_PATH);
}

/* Run what is in a folder, in the order of the names. */
static WAITS json_t *run_all(const char *folder, const char *subdir,
			     const struct strv *names, const struct strv *env)
{
	int64_t deadline_us = clock_mono_us() + HOOKS_TIMEOUT_US;
	json_t *results = json_array();

	for (size_t i = 0; i < names->n; i++) {
		const char *entry = names->items[i];
		auto_free char *file = xprintf("%s/%s", folder, entry);
		auto_free char *name = script_text(entry, strlen(entry), false);
		auto_free char *script = xprintf("%s/%s", subdir, name);

		if (valid_hook_name(name) && fs_is_executable(file))
			json_array_append_new(
				results,
				run_hook(file, script, env, deadline_us));
		else
			json_array_append_new(
				results, hook_result(script, HOOK_SKIPPED, ""));
	}
	return results;
}

/* The same with these variables, in a file if they are too long. */
static WAITS json_t *run_with(const struct paths *p, const char *folder,
			      const char *subdir, const struct strv *names,
			      const json_t *values, struct error *err)
{
	auto_strv struct strv env = {0};
	auto_free char *file = NULL;
	struct error ignored;
	json_t *results;
	bool written;
	char uuid[37];

	uuid_new(uuid);
	file = xprintf("%s/hook-env-%s", path(p, PATH_RUN_DIR), uuid);
	hook_env(values, &env);
	if (script_fit_env(&env, file, &written, err) < 0)
		return NULL;
	results = run_all(folder, subdir, names, &env);
	if (written)
		fs_remove(file, &ignored);
	return results;
}

json_t *hooks_run_scripts(const struct paths *p, const char *hpath,
			  const char *phase, const json_t *values,
			  struct error *err)
{
	auto_free char *subdir = NULL, *folder = NULL;
	auto_strv struct strv names = {0};

	if (!valid_hook_name(hpath) ||
	    (strcmp(phase, "pre") != 0 && strcmp(phase, "post") != 0)) {
		error_set(err, ERR_REQUEST, NULL,
			  "Unknown hooks path or phase: \"%s\", \"%s\"", hpath,
			  phase);
		return NULL;
	}
	subdir = xprintf("%s-%s.d", hpath, phase);
	folder = xprintf("%s/%s", path(p, PATH_HOOKS_DIR), subdir);
	if (!fs_is_dir(folder) || fs_list(folder, &names, err) < 0)
		return json_array();
	return run_with(p, folder, subdir, &names, values, err);
}
