/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about OS definitions and their scripts. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/instance/instance.h"
#include "noded/scripts/lent.h"
#include "noded/scripts/osdef.h"
#include "noded/scripts/script.h"
#include "noded/storage/bdev.h"

/* A little less than the calls' own time limits. */
#define OS_CREATE_TIMEOUT_MS (86000u * 1000)
#define OS_RENAME_TIMEOUT_MS (3500u * 1000)
#define OS_VERIFY_TIMEOUT_MS (280u * 1000)

WAITS json_t *call_os_diagnose(struct call *c, struct error *err)
{
	json_t *result;

	(void)err;
	task_leave(); /* the folders may be on another host */
	result = osdef_diagnose_all(c->paths);
	task_enter();
	return result;
}

/* The file for variables of a script that are too long; to be freed. */
static char *env_file(const struct paths *p)
{
	char uuid[37];

	uuid_new(uuid);
	return xprintf("%s/os-env-%s", path(p, PATH_RUN_DIR), uuid);
}

/* Run the script with all its variables, in a file if they are too long. */
static WAITS int run_with(const struct paths *p, struct proc_spec *spec,
			  struct strv *env, struct proc_result *ret,
			  struct error *err)
{
	auto_free char *file = env_file(p);
	struct error ignored;
	bool written;
	int rc;

	if (script_fit_env(env, file, &written, err) < 0)
		return -1;
	spec->env = (const char *const *)env->items;
	rc = proc_run(spec, ret, err);
	if (written)
		fs_remove(file, &ignored);
	return rc;
}

/* Run the script "verify" of the definition to check the parameters. */
static WAITS int run_verify(const struct paths *p, const struct osdef *def,
			    const char *os, const json_t *checks,
			    const json_t *params, struct error *err)
{
	auto_free char *script = xprintf("%s/verify", def->folder);
	auto_strv struct strv argv = {0}, env = {0};
	auto_proc struct proc_result result = {0};
	auto_free char *ending = NULL, *output = NULL;
	struct proc_spec spec;

	strv_add(&argv, script);
	json_to_strv(checks, &argv);
	osdef_core_env(def, os, params, 0, &env);
	spec = (struct proc_spec){
		.argv = (const char *const *)argv.items,
		.cwd = def->folder,
		.timeout_ms = OS_VERIFY_TIMEOUT_MS,
		.merge_stderr = true,
	};
	if (run_with(p, &spec, &env, &result, err) < 0)
		return -1;
	if (proc_succeeded(&result))
		return 0;
	ending = script_ending(&result);
	output = script_text(result.out, result.out_len, true);
	return error_set(err, ERR_EXEC, NULL,
			 "OS validation script failed (%s), output: %s", ending,
			 output);
}

WAITS json_t *call_os_validate(struct call *c,
			       const struct rpc_args_os_validate *args,
			       struct error *err)
{
	auto_osdef struct osdef def = {0};

	if (osdef_find(c->paths, args->name, &def, err) < 0)
		return args->required ? NULL : json_false();
	if (!args->force_variant &&
	    osdef_check_variant(&def, args->name, err) < 0)
		return NULL;
	if (def.api_version < 20) /* nothing to check */
		return json_true();
	if (json_array_has_str(args->checks, "parameters") &&
	    osdef_check_params(&def, args->osparams, err) < 0)
		return NULL;
	if (run_verify(c->paths, &def, args->name, args->checks, args->osparams,
		       err) < 0)
		return NULL;
	return json_true();
}

static int check_named_script(const struct osdef *def, const char *name,
			      struct error *err)
{
	static const char *const names[OSDEF_OPTIONAL] = {
		[OSDEF_IMPORT] = "import",
		[OSDEF_EXPORT] = "export",
		[OSDEF_RENAME] = "rename",
	};

	for (size_t i = 0; i < OSDEF_OPTIONAL; i++)
		if (strcmp(names[i], name) == 0)
			return osdef_check_script(def, i, err);
	return error_set(err, ERR_REQUEST, NULL,
			 "\"%s\" is no script that an OS may lack", name);
}

json_t *call_os_supports(struct call *c,
			 const struct rpc_args_os_supports *args,
			 struct error *err)
{
	auto_osdef struct osdef def = {0};

	if (osdef_find(c->paths, args->name, &def, err) < 0)
		return args->required ? NULL : json_false();
	if (args->hypervisor != NULL &&
	    osdef_check_hypervisor(&def, args->hypervisor, err) < 0)
		return NULL;
	if (args->script != NULL &&
	    check_named_script(&def, args->script, err) < 0)
		return NULL;
	return json_true();
}

/* "<folder>/<kind>-<os>-<instance>-<time>.log"; to be freed. */
static char *log_name(const struct paths *p, const char *kind, const char *os,
		      const char *instance)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);
	char stamp[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d_%H_%M_%S", &tm);
	return xprintf("%s/%s-%s-%s-%s.log", path(p, PATH_OS_LOG_DIR), kind, os,
		       instance, stamp);
}

static json_t *log_failure(struct call *c, const char *script,
			   const char *ending, const char *log_file)
{
	auto_free char *tail = script_log_tail(log_file);
	auto_free char *file = paths_virtual(c->paths, log_file);

	c->failure = xprintf("OS %s script failed (%s), last lines in the log "
			     "file %s:\n%s",
			     script, ending, file, tail);
	return NULL;
}

/* Whether one of its disks is an image. */
static bool has_images(const json_t *instance)
{
	const json_t *disks = json_get(instance, "disks_info"), *disk;
	size_t i;

	json_array_foreach (disks, i, disk)
		if (lent_needed(disk))
			return true;
	return false;
}

/* The words in front of a script of an instance with images: scripts work on
 * raw files and devices alone. */
static WAITS int lend_disks(struct call *c, const json_t *instance,
			    struct strv *argv, struct error *err)
{
	const json_t *disks = json_get(instance, "disks_info"), *disk;
	auto_free char *impexp = noded_find_program("gantry-impexp", err);
	size_t i;

	if (impexp == NULL || lent_begin(c->paths, impexp, argv, err) < 0)
		return -1;
	json_array_foreach (disks, i, disk) {
		const struct bdev_class *class = bdev_of(disk, err);
		auto_free char *image = NULL;

		if (!lent_needed(disk))
			continue;
		image = class != NULL ? class->assemble(c->paths, disk, err)
				      : NULL;
		if (image == NULL)
			return -1;
		lent_add(c->paths, disk, image, argv);
	}
	lent_end(argv);
	return calls_in_force(c, err);
}

/* Run a script of the instance's OS; env is consumed. */
static WAITS json_t *run_script(struct call *c, const struct osdef *def,
				const json_t *instance, const char *script,
				const char *kind, struct strv *env,
				unsigned timeout_ms, struct error *err)
{
	auto_free char *program = xprintf("%s/%s", def->folder, script);
	auto_free char *log_file =
		log_name(c->paths, kind, json_str(instance, "os", ""),
			 json_str(instance, "name", ""));
	auto_strv struct strv argv = {0};
	auto_proc struct proc_result result = {0};
	auto_free char *ending = NULL;
	struct proc_spec spec = {
		.cwd = def->folder,
		.timeout_ms = timeout_ms,
		.output_file = log_file,
	};

	if (has_images(instance) && lend_disks(c, instance, &argv, err) < 0)
		return NULL;
	strv_add(&argv, program);
	spec.argv = (const char *const *)argv.items;
	if (fs_mkdirs(path(c->paths, PATH_OS_LOG_DIR), 0750, err) < 0 ||
	    run_with(c->paths, &spec, env, &result, err) < 0)
		return NULL;
	if (proc_succeeded(&result))
		return json_null();
	ending = script_ending(&result);
	return log_failure(c, script, ending, log_file);
}

WAITS json_t *call_instance_os_add(struct call *c,
				   const struct rpc_args_instance_os_add *args,
				   struct error *err)
{
	const json_t *instance = args->instance;
	auto_osdef struct osdef def = {0};
	auto_strv struct strv env = {0};

	if (osdef_find(c->paths, json_str(instance, "os", ""), &def, err) < 0 ||
	    osdef_check_hypervisor(&def, json_str(instance, "hypervisor", ""),
				   err) < 0)
		return NULL;
	if (!def.trusted) {
		error_set(err, ERR_EXEC, NULL,
			  "OS %s has only a create_untrusted script, which is "
			  "not run on a node",
			  def.name);
		return NULL;
	}
	osdef_instance_env(c->paths, &def, instance, args->debug_level, &env);
	if (instance_disk_env(c->paths, instance, &env, err) < 0)
		return NULL;
	if (args->reinstall)
		strv_add(&env, "INSTANCE_REINSTALL=1");
	return run_script(c, &def, instance, "create", "add", &env,
			  OS_CREATE_TIMEOUT_MS, err);
}

/* The instance has its new name. */
WAITS json_t *
call_instance_run_rename(struct call *c,
			 const struct rpc_args_instance_run_rename *args,
			 struct error *err)
{
	const json_t *instance = args->instance;
	auto_osdef struct osdef def = {0};
	auto_strv struct strv env = {0};

	if (osdef_find(c->paths, json_str(instance, "os", ""), &def, err) < 0 ||
	    osdef_check_script(&def, OSDEF_RENAME, err) < 0)
		return NULL;
	osdef_instance_env(c->paths, &def, instance, args->debug_level, &env);
	if (instance_disk_env(c->paths, instance, &env, err) < 0)
		return NULL;
	script_env(&env, "OLD_INSTANCE_NAME", args->old_name);
	return run_script(c, &def, instance, "rename", "rename", &env,
			  OS_RENAME_TIMEOUT_MS, err);
}
