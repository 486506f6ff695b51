/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls about programs that the site has put on its nodes: restricted commands,
 * programs that switch other nodes on and off, providers of external
 * storage. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/calls/calls.h"
#include "noded/core/noded.h"
#include "noded/scripts/extstorage.h"
#include "noded/scripts/script.h"

/* A little less than the call's own time limit. */
#define COMMAND_TIMEOUT_MS (3500u * 1000)
#define OOB_TIMEOUT_MAX_S 890
/* Only root may be able to write to programs that we run. */
#define MODE_MAX 0755

/* --- restricted commands --- */

/* Whether it belongs to root, and nobody else can change it. */
static bool is_ours(const char *file, bool folder)
{
	struct stat st;

	return lstat(file, &st) == 0 &&
	       (folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)) &&
	       (st.st_mode & 07777 & ~MODE_MAX) == 0 &&
	       st.st_uid == geteuid() && st.st_gid == getegid();
}

static bool plain_name(const char *name)
{
	return str_valid_filename(name) &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] ==
		       '\0';
}

/* The program of a command, to be freed; NULL, and the reason in the log
 * only. */
static char *find_command(const struct paths *p, const char *name)
{
	const char *folder = path(p, PATH_RESTRICTED_COMMANDS_DIR);
	auto_free char *file = NULL;

	if (!plain_name(name)) {
		log_error("a restricted command has no such name");
		return NULL;
	}
	file = xprintf("%s/%s", folder, name);
	if (is_ours(folder, true) && is_ours(file, false) &&
	    fs_is_executable(file))
		return steal(&file);
	log_error("restricted command %s: %s and what is in it must belong to "
		  "root and be writable by nobody else, and the command be a "
		  "program",
		  name, folder);
	return NULL;
}

/* The error gives no reason, so that nobody can find out which commands
 * exist. */
WAITS json_t *
call_restricted_command(struct call *c,
			const struct rpc_args_restricted_command *args,
			struct error *err)
{
	auto_free char *program = find_command(c->paths, args->name);
	auto_free char *output = NULL, *ending = NULL;
	auto_proc struct proc_result result = {0};
	const char *const env[] = {"PATH=" SCRIPT_PATH, NULL};
	const char *const argv[] = {program, NULL};
	struct proc_spec spec = {.argv = argv,
				 .env = env,
				 .cwd = "/",
				 .timeout_ms = COMMAND_TIMEOUT_MS,
				 .merge_stderr = true};

	if (program == NULL) {
		error_set(err, ERR_EXEC, NULL, "Executing command '%s' failed",
			  args->name);
		return NULL;
	}
	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	output = script_text(result.out, result.out_len, false);
	if (proc_succeeded(&result))
		return json_string(output);
	ending = script_ending(&result);
	c->failure = xprintf("Restricted command '%s' failed: %s; output: %s",
			     args->name, ending, output);
	return NULL;
}

/* --- power of other nodes --- */

static int check_oob(const struct rpc_args_run_oob *args, struct error *err)
{
	if (!paths_is_normal(args->program))
		return error_set(err, ERR_REQUEST, NULL,
				 "Out-of-band helper \"%s\" is not an absolute "
				 "path",
				 args->program);
	if (!str_valid_hostname(args->node_name) || args->timeout_s < 1 ||
	    args->timeout_s > OOB_TIMEOUT_MAX_S)
		return error_set(err, ERR_REQUEST, NULL,
				 "The name of the node or the time limit for "
				 "an out-of-band helper is not valid");
	return 0;
}

WAITS json_t *call_run_oob(struct call *c, const struct rpc_args_run_oob *args,
			   struct error *err)
{
	auto_free char *program = NULL, *output = NULL, *ending = NULL;
	auto_proc struct proc_result result = {0};
	struct proc_spec spec = {.merge_stderr = false};

	if (check_oob(args, err) < 0)
		return NULL;
	program = paths_local(c->paths, args->program);
	spec.argv = (const char *const[]){program, args->command,
					  args->node_name, NULL};
	spec.timeout_ms = (unsigned)args->timeout_s * 1000;
	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	output = script_text(result.out, result.out_len, true);
	if (proc_succeeded(&result))
		return json_string(output);
	ending = script_ending(&result);
	c->failure = xprintf("'%s %s %s' failed: %s; output: %s%s",
			     args->program, args->command, args->node_name,
			     ending, output, result.err);
	return NULL;
}

json_t *call_extstorage_diagnose(struct call *c, struct error *err)
{
	(void)err;
	return extstorage_diagnose_all(c->paths);
}
