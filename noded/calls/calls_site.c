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
json_t *call_restricted_command(struct call *c, struct error *err)
{
	const char *name = call_str(c, 0, err);
	auto_free char *program = NULL, *output = NULL, *ending = NULL;
	auto_proc struct proc_result result = {0};
	const char *const env[] = {"PATH=" SCRIPT_PATH, NULL};
	const char *argv[] = {NULL, NULL};
	struct proc_spec spec = {.argv = argv,
				 .env = env,
				 .cwd = "/",
				 .timeout_ms = COMMAND_TIMEOUT_MS,
				 .merge_stderr = true};

	if (name == NULL)
		return NULL;
	program = find_command(c->paths, name);
	if (program == NULL) {
		error_set(err, ERR_EXEC, NULL, "Executing command '%s' failed",
			  name);
		return NULL;
	}
	argv[0] = program;
	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	output = script_text(result.out, result.out_len, false);
	if (proc_succeeded(&result))
		return json_string(output);
	ending = script_ending(&result);
	c->failure = xprintf("Restricted command '%s' failed: %s; output: %s",
			     name, ending, output);
	return NULL;
}

/* --- power of other nodes --- */

static int check_oob(const char *program, const char *node, int64_t timeout_s,
		     struct error *err)
{
	if (!paths_is_normal(program))
		return error_set(err, ERR_REQUEST, NULL,
				 "Out-of-band helper \"%s\" is not an absolute "
				 "path",
				 program);
	if (!str_valid_hostname(node) || timeout_s < 1 ||
	    timeout_s > OOB_TIMEOUT_MAX_S)
		return error_set(err, ERR_REQUEST, NULL,
				 "The name of the node or the time limit for "
				 "an out-of-band helper is not valid");
	return 0;
}

/* Arguments: program, command, name of the node, seconds. */
json_t *call_run_oob(struct call *c, struct error *err)
{
	const char *helper = call_str(c, 0, err);
	const char *command = helper != NULL ? call_str(c, 1, err) : NULL;
	const char *node = command != NULL ? call_str(c, 2, err) : NULL;
	auto_free char *program = NULL, *output = NULL, *ending = NULL;
	auto_proc struct proc_result result = {0};
	struct proc_spec spec = {.merge_stderr = false};
	int64_t timeout_s;

	if (node == NULL || call_int(c, 3, &timeout_s, err) < 0 ||
	    check_oob(helper, node, timeout_s, err) < 0)
		return NULL;
	program = paths_local(c->paths, helper);
	spec.argv = (const char *const[]){program, command, node, NULL};
	spec.timeout_ms = (unsigned)timeout_s * 1000;
	if (proc_run(&spec, &result, err) < 0)
		return NULL;
	output = script_text(result.out, result.out_len, true);
	if (proc_succeeded(&result))
		return json_string(output);
	ending = script_ending(&result);
	c->failure = xprintf("'%s %s %s' failed: %s; output: %s%s", helper,
			     command, node, ending, output, result.err);
	return NULL;
}

json_t *call_extstorage_diagnose(struct call *c, struct error *err)
{
	(void)err;
	return extstorage_diagnose_all(c->paths);
}
