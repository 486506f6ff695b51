/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to the master, errors in the words that scripts know, and the
 * log of commands. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame/cli.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/client/luxi.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"

/* How long a question is asked again when the master is not reached, and how
 * often: a master daemon that is started anew is back within seconds. */
#define AGAIN_MAX_US (60 * (int64_t)1000000)
#define AGAIN_EVERY_NS 200000000

const struct paths *cli_paths(struct cli *cli, struct error *err)
{
	if (cli->paths == NULL)
		cli->paths = paths_from_env(err);
	return cli->paths;
}

/* --- the connection --- */

/* Nothing listens on the socket: find out whether this is the wrong node, or
 * the daemon does not run. */
static int explain_no_master(struct cli *cli, struct error *err)
{
	const char *socket = path(cli->paths, PATH_QUERY_SOCKET);
	auto_free char *master = NULL;

	if (faccessat(AT_FDCWD, socket, W_OK, AT_EACCESS) < 0 &&
	    errno == EACCES)
		return error_set(err, ERR_LUXI, NULL,
				 "You may not talk to the master daemon: you "
				 "have no permission for its socket %s (run "
				 "the command as root)",
				 socket);
	master = ssconf_read(cli->paths, "master_node");
	if (master == NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cluster not initialized or this machine is "
				 "not part of a cluster");
	cli->not_master = !str_eq(master, cli->paths->hostname);
	if (cli->not_master)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "This is not the master node, please connect "
				 "to node '%s' and rerun the command",
				 master);
	return error_set(err, ERR_LUXI, LUXI_CUT,
			 "Cannot talk to the master daemon at %s.\nIs "
			 "gantry-masterd running?",
			 socket);
}

static int connect_master(struct cli *cli, struct error *err)
{
	if (cli->luxi != NULL)
		return 0;
	if (cli_paths(cli, err) == NULL)
		return -1;
	cli->luxi = luxi_connect(path(cli->paths, PATH_QUERY_SOCKET), err);
	return cli->luxi != NULL ? 0 : explain_no_master(cli, err);
}

json_t *cli_call(struct cli *cli, const char *method, json_t *args STEALS,
		 struct error *err)
{
	if (connect_master(cli, err) < 0) {
		json_decref(args);
		return NULL;
	}
	return luxi_call(cli->luxi, method, args, err);
}

bool cli_is_cut(const struct cli *cli, const struct error *err)
{
	return cli->not_master ||
	       (err->kind == ERR_LUXI && str_eq(err->ecode, LUXI_CUT));
}

/* Forget the connection, so that the next call looks anew where the master is.
 */
static void hang_up(struct cli *cli)
{
	luxi_close(cli->luxi);
	cli->luxi = NULL;
}

json_t *cli_call_again(struct cli *cli, const char *method, json_t *args STEALS,
		       struct error *err)
{
	auto_json json_t *own = args;
	int64_t deadline_us = 0;

	for (;;) {
		json_t *answer = cli_call(cli, method, json_incref(own), err);

		if (answer != NULL || !cli_is_cut(cli, err) || cli->not_master)
			return answer;
		if (deadline_us == 0) {
			deadline_us = clock_mono_us() + AGAIN_MAX_US;
			fflush(stdout);
			fprintf(stderr, "The connection to the master daemon "
					"is lost, trying again\n");
		}
		if (clock_mono_us() > deadline_us)
			return NULL;
		hang_up(cli);
		nanosleep(&(struct timespec){.tv_nsec = AGAIN_EVERY_NS}, NULL);
	}
}

/* --- errors --- */

/* [[node, script, output], ...] */
static char *hooks_text(const char *text)
{
	struct error ignored;
	auto_json json_t *list = json_parse(text, strlen(text), &ignored);
	auto_buf struct buf out = {0};
	const json_t *hook;
	size_t i;

	buf_adds(&out, "Failure: hooks execution failed:");
	if (!json_is_array(list))
		buf_addf(&out, "\n  %s", text);
	json_array_foreach (list, i, hook) {
		const char *output = json_string_value(json_array_get(hook, 2));
		const char *node = json_string_value(json_array_get(hook, 0));
		const char *script = json_string_value(json_array_get(hook, 1));

		buf_addf(&out, "\n  node: %s, script: %s", node ? node : "?",
			 script ? script : "?");
		if (output != NULL && *output != '\0')
			buf_addf(&out, ", output: %s", output);
		else
			buf_adds(&out, " (no output)");
	}
	return buf_steal(&out);
}

char *cli_error_text(const struct error *err)
{
	switch (err->kind) {
	case ERR_PREREQ:
		if (err->ecode == NULL)
			return xprintf("Failure: prerequisites not met for "
				       "this operation:\n%s",
				       err->text);
		return xprintf("Failure: prerequisites not met for this "
			       "operation:\nerror type: %s, error details:\n%s",
			       err->ecode, err->text);
	case ERR_EXEC:
		return xprintf("Failure: command execution error:\n%s",
			       err->text);
	case ERR_HOOKS_ABORT:
		return hooks_text(err->text);
	case ERR_HOOKS:
		return xprintf("Failure: hooks general failure: %s", err->text);
	case ERR_TAG:
		return xprintf("Failure: invalid tag(s) given:\n%s", err->text);
	case ERR_QUEUE_DRAINED:
		return xstrdup("Failure: the job queue is drained and takes no "
			       "new jobs (gnt-cluster queue undrain)");
	case ERR_QUEUE_FULL:
		return xstrdup("Failure: the job queue is full; archive old "
			       "jobs first (gnt-job autoarchive)");
	case ERR_TYPE:
		return xprintf("Parameter Error: %s", err->text);
	case ERR_PARAMETER:
		return xprintf("Failure: unknown/wrong parameter name '%s'",
			       err->text);
	case ERR_JOB_LOST:
		return xprintf("Error checking job status: %s", err->text);
	case ERR_FILTER:
		return xprintf("Error while parsing query filter: %s",
			       err->text);
	case ERR_CONFIG:
		return xprintf("Corrupt configuration file: %s\nAborting.",
			       err->text);
	case ERR_LUXI:
	case ERR_REQUEST:
		return xstrdup(err->text);
	default:
		return xprintf("Unhandled Ganeti error: %s", err->text);
	}
}

int cli_error(const struct cli *cli, const struct error *err)
{
	auto_free char *text =
		cli->tool->local ? xprintf("%s: %s", cli->tool->name, err->text)
				 : cli_error_text(err);
	size_t len = strlen(text);

	/* Exactly one line end, even if the text is empty or has one. */
	while (len > 0 && text[len - 1] == '\n')
		len--;
	fflush(stdout);
	fprintf(stderr, "%.*s\n", (int)len, text);
	if (cli->not_master)
		return CLI_NOT_MASTER;
	return err->kind == ERR_CONFIG ? CLI_USAGE : CLI_FAILURE;
}

/* --- the log of commands --- */

/* Options whose values must not get into a log. */
static bool is_secret(const char *word)
{
	return str_starts(word, "--os-parameters-p") ||
	       str_starts(word, "--os-parameters-s");
}

void cli_log_command(struct cli *cli, int argc, char **argv)
{
	struct error ignored;
	const struct paths *p = cli_paths(cli, &ignored);
	auto_buf struct buf line = {0};
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	if (p == NULL || localtime_r(&now, &tm) == NULL)
		return;
	auto_close int fd = open(
		path(p, PATH_COMMANDS_LOG),
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
	buf_addf(&line, "%s %s pid=%d INFO run with arguments '", stamp,
		 cli->tool->name, (int)getpid());
	for (int i = 1; i < argc; i++) {
		bool secret = is_secret(argv[i]);
		const char *equals = strchr(argv[i], '=');

		buf_addf(&line, "%s%.*s", i > 1 ? " " : "",
			 secret && equals ? (int)(equals - argv[i] + 1)
					  : (int)strlen(argv[i]),
			 argv[i]);
		if (secret && equals == NULL)
			i++; /* the value is the next word */
	}
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.data[i] < ' ')
			line.data[i] = ' ';
	buf_adds(&line, "'\n");
	if (write(fd, line.data, line.len) < 0)
		return; /* the command goes on without a log */
}
