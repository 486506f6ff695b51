/* SPDX-License-Identifier: BSD-2-Clause */
/* Each job is a task.  It logs in to its node, or does the same on this
 * machine.  A session is not run here: its caller gets the argument list. */
#include "cli/remote/remote.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/remote/loop.h"
#include "cli/remote/run.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/str.h"
#include "lib/login/login.h"

#define CONNECT_TIMEOUT_S 10
#define COPY_MAX (64 * 1024 * 1024)

static bool is_virtual(const struct remote *r)
{
	return *r->paths->root != '\0';
}

/* Our root folder with the node's name in place of ours; to be freed. */
static char *root_of(const struct remote *r, const char *node)
{
	const char *own = r->paths->root;

	return xprintf("%.*s/%s", (int)(strrchr(own, '/') - own), own, node);
}

/* Where the file goes on the node; to be freed. */
static char *place_of(const struct remote_job *job)
{
	auto_free char *root = NULL, *inside = NULL;

	if (!is_virtual(job->remote))
		return xstrdup(job->file);
	root = root_of(job->remote, job->node.name);
	inside = paths_virtual(job->remote->paths, job->file);
	return xprintf("%s%s", root, inside);
}

/* --- on this machine --- */

/* Over SSH a shell on the node gets a line.  So a local shell gets it here, in
 * the node's environment.  The shell belongs to our terminal, so what ends us
 * there ends it as well. */
static WAITS int run_here(struct remote_job *job)
{
	const char *argv[] = {"/bin/sh", "-c", job->command, NULL};
	auto_free char *root = root_of(job->remote, job->node.name);
	auto_free char *output = NULL;
	auto_strv struct strv env = {0};

	strv_addf(&env, "GANETI_ROOTDIR=%s", root);
	strv_addf(&env, "GANETI_HOSTNAME=%s", job->node.name);
	task_leave();
	job->status = run_output(argv, (const char *const *)env.items, &output,
				 &job->err);
	task_enter();
	if (job->status < 0)
		return -1;
	if (*output != '\0' && job->on_output != NULL)
		job->on_output(job, output, strlen(output));
	return 0;
}

static int copy_here(const char *file, const char *target, struct error *err)
{
	auto_free char *folder =
		xstrndup(target, (size_t)(strrchr(target, '/') - target));
	auto_free char *data = NULL;
	struct stat info;
	size_t len;

	data = fs_read(file, COPY_MAX, &len, err);
	if (data == NULL)
		return -1;
	if (stat(file, &info) < 0 || !fs_exists(folder))
		return error_set(err, ERR_SYSTEM, ECODE_ENVIRON,
				 "There is no folder %s", folder);
	return fs_write_atomic(target, data, len, info.st_mode & 07777, err);
}

static WAITS int do_here(struct remote_job *job)
{
	auto_free char *target = NULL;
	int rc;

	if (job->file == NULL)
		return run_here(job);
	target = place_of(job);
	task_leave();
	rc = copy_here(job->from, target, &job->err);
	task_enter();
	return rc;
}

/* --- over SSH --- */

static void pass_output(void *arg, bool is_stderr, const char *data, size_t len)
{
	struct remote_job *job = arg;

	(void)is_stderr;
	if (job->on_output != NULL)
		job->on_output(job, data, len);
}

static void pass_progress(void *arg, uint64_t done, uint64_t total)
{
	struct remote_job *job = arg;

	if (job->on_progress != NULL)
		job->on_progress(job, done, total);
}

static WAITS int run_there(struct remote_job *job, struct ssh *s)
{
	const struct ssh_command command = {
		.line = job->command, .on_output = pass_output, .arg = job};
	struct ssh_result result;

	if (ssh_run(s, &command, &result, &job->err) < 0)
		return -1;
	job->status = result.status;
	if (result.status < 0)
		return error_set(&job->err, ERR_EXEC, NULL,
				 "ended by signal %s", result.signal);
	return 0;
}

static WAITS int copy_there(struct remote_job *job, struct ssh *s)
{
	auto_free char *target = place_of(job);
	const struct ssh_file file = {
		.from = job->from,
		.to = target,
		.uid = SSH_KEEP_OWNER,
		.on_progress = pass_progress,
		.arg = job,
	};

	return ssh_copy(s, &file, &job->err);
}

static WAITS int do_there(struct remote_job *job)
{
	const struct login_place place = {.name = job->node.name,
					  .address = job->node.address,
					  .port = job->node.port,
					  .ipv6 = job->remote->ipv6};
	struct ssh *s = NULL;
	struct login login;
	int rc = -1;

	if (login_to_node(&login, job->remote->paths, job->remote->cluster,
			  &place, &job->err) == 0)
		s = ssh_open(&login.target, &job->err);
	login_done(&login);
	if (s == NULL)
		return -1;
	rc = job->file == NULL ? run_there(job, s) : copy_there(job, s);
	ssh_close(s);
	return rc;
}

/* --- all of them --- */

static WAITS void do_job(void *arg)
{
	struct remote_job *job = arg;
	int rc = login_is_used(job->remote->paths) ? do_there(job)
						   : do_here(job);

	job->failed = rc < 0;
	if (job->failed)
		job->status = REMOTE_FAILED;
	if (job->on_end != NULL)
		job->on_end(job);
}

void remote_do(const struct remote *r, struct remote_job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		jobs[i].remote = r;
	loop_each(do_job, jobs, sizeof(*jobs), n);
}

/* --- sessions --- */

static void add_options(const struct remote *r, const struct remote_node *node,
			struct strv *argv)
{
	static const char *const fixed[] = {"-oEscapeChar=none",
					    "-oHashKnownHosts=no",
					    "-oUserKnownHostsFile=/dev/null",
					    "-oCheckHostIp=no",
					    "-oBatchMode=yes",
					    "-oStrictHostKeyChecking=yes"};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		strv_add(argv, fixed[i]);
	strv_addf(argv, "-oGlobalKnownHostsFile=%s",
		  path(r->paths, PATH_KNOWN_HOSTS));
	strv_addf(argv, "-oConnectTimeout=%d", CONNECT_TIMEOUT_S);
	strv_addf(argv, "-oHostKeyAlias=%s", r->cluster);
	strv_addf(argv, "-oPort=%d", node->port);
	if (r->ipv6)
		strv_add(argv, "-6");
}

void remote_session(const struct remote *r, const struct remote_node *node,
		    const char *user, const struct strv *command,
		    struct strv *ret_argv)
{
	auto_free char *line = ssh_quote(command);

	if (is_virtual(r)) {
		for (size_t i = 0; i < command->n; i++)
			strv_add(ret_argv, command->items[i]);
		return;
	}
	strv_add(ret_argv, "ssh");
	add_options(r, node, ret_argv);
	strv_add(ret_argv, "-t");
	strv_add(ret_argv, "-t"); /* also where we have no terminal */
	strv_addf(ret_argv, "%s@%s", user, node->address);
	strv_add(ret_argv, line);
}
