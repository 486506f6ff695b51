/* SPDX-License-Identifier: BSD-2-Clause */
/* The cluster's ssh_config, where it exists, replaces ssh's own configuration
 * and the login as root.  Status 255 is a failure of ssh itself; any other one
 * but 0 is a failure of the command on the host. */
#include "cli/remote/ssh_join.h"

#include "cli/remote/run.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define SSH_FAILED 255 /* ssh's own failure, not the command's */

bool ssh_join_is_used(const struct paths *p)
{
	return *p->root == '\0' || fs_exists(path(p, PATH_SSH_CONFIG));
}

static void add_option(struct strv *argv, const char *option)
{
	strv_add(argv, "-o");
	strv_add(argv, option);
}

static void make_argv(const struct paths *p, const struct ssh_join *target,
		      const char *command, struct strv *argv)
{
	strv_add(argv, "ssh");
	if (fs_exists(path(p, PATH_SSH_CONFIG))) {
		strv_add(argv, "-F");
		strv_add(argv, path(p, PATH_SSH_CONFIG));
	} else {
		strv_add(argv, "-l");
		strv_add(argv, "root");
	}
	strv_add(argv, "-T");
	strv_add(argv, "-p");
	strv_addf(argv, "%d", target->port);
	add_option(argv, "ConnectTimeout=15");
	add_option(argv, "ServerAliveInterval=10");
	add_option(argv, "EscapeChar=none");
	if (!target->check_key) {
		add_option(argv, "StrictHostKeyChecking=no");
		add_option(argv, "UserKnownHostsFile=/dev/null");
	}
	strv_add(argv, "--");
	strv_add(argv, target->host);
	strv_add(argv, command);
}

int ssh_join_run(const struct paths *p, const struct ssh_join *target,
		 const char *command, const char *input, size_t len,
		 struct error *err)
{
	auto_strv struct strv argv = {0};
	pid_t pid;
	int status;

	make_argv(p, target, command, &argv);
	pid = run_start_with_input((const char *const *)argv.items, input, len,
				   err);
	if (pid < 0)
		return -1;
	status = run_wait(pid);
	if (status == 0)
		return 0;
	if (status == SSH_FAILED)
		return error_set(err, ERR_EXEC, ECODE_ENVIRON,
				 "Cannot reach %s over SSH (port %d), see "
				 "above",
				 target->host, target->port);
	return error_set(err, ERR_EXEC, ECODE_ENVIRON,
			 "\"%s\" failed on %s (status %d), see above", command,
			 target->host, status);
}
