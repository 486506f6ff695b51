/* SPDX-License-Identifier: BSD-2-Clause */
/* One login and one command, in one task. */
#include "cli/remote/join.h"

#include <stdio.h>

#include "cli/remote/loop.h"
#include "cli/remote/person.h"
#include "lib/base/mem.h"
#include "lib/login/login.h"

#define NOT_FOUND 127 /* a shell's status, without such a program */

/* One run. */
struct run {
	const struct paths *p;
	const struct join *join;
	struct error *err;
	int rc;
};

static void pass_on(void *arg, bool is_stderr, const char *data, size_t len)
{
	FILE *to = is_stderr ? stderr : stdout;

	(void)arg;
	fwrite(data, 1, len, to);
	fflush(to);
}

/* What became of the command; 0 or -1. */
static int judge(const struct join *join, const char *user, const char *line,
		 const struct ssh_result *result, struct error *err)
{
	if (result->status == 0)
		return 0;
	if (result->status == NOT_FOUND && !str_eq(user, "root"))
		return error_set(err, ERR_EXEC, ECODE_ENVIRON,
				 "User %s finds no %s on %s: it has to be root "
				 "who logs in (\"User root\" in the SSH "
				 "configuration), and Gantry has to be "
				 "installed there",
				 user, join->command->items[0], join->host);
	if (result->status == NOT_FOUND)
		return error_set(err, ERR_EXEC, ECODE_ENVIRON,
				 "There is no %s on %s: Gantry has to be "
				 "installed there first",
				 join->command->items[0], join->host);
	if (result->status < 0)
		return error_set(err, ERR_EXEC, ECODE_ENVIRON,
				 "\"%s\" was ended on %s by signal %s", line,
				 join->host, result->signal);
	return error_set(err, ERR_EXEC, ECODE_ENVIRON,
			 "\"%s\" failed on %s (status %d), see above", line,
			 join->host, result->status);
}

static WAITS int run_at(const struct join *join,
			const struct ssh_target *target, struct error *err)
{
	auto_free char *line = ssh_quote(join->command);
	const struct ssh_command command = {
		.line = line,
		.input = join->input,
		.input_len = join->input_len,
		.on_output = pass_on,
	};
	struct ssh_result result;
	struct ssh *s = ssh_open(target, err);
	int rc;

	if (s == NULL)
		return -1;
	rc = ssh_run(s, &command, &result, err);
	ssh_close(s);
	return rc < 0 ? -1 : judge(join, target->user, line, &result, err);
}

static WAITS void run_task(void *arg)
{
	struct run *r = arg;
	const struct login_place place = {.name = r->join->host,
					  .port = r->join->port};
	struct login login;

	r->rc = login_to_host(&login, r->p, &place, &person_at_terminal,
			      r->err);
	if (!r->join->check_key)
		login.target.any_key = true;
	if (r->rc == 0)
		r->rc = run_at(r->join, &login.target, r->err);
	login_done(&login);
}

int join_run(const struct paths *p, const struct join *join, struct error *err)
{
	struct run r = {.p = p, .join = join, .err = err};

	loop_each(run_task, &r, sizeof(r), 1);
	return r.rc;
}
