/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-debug: jobs for tests, and who holds which lock; allocators are in
 * gnt_debug_iallocator.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli_job.h"
#include "cli/cli_list.h"
#include "cli/cli_opts.h"
#include "cli/cli_text.h"
#include "cli/tools.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

#define OPS_FILE_MAX (16 * 1024 * 1024)
#define REPEAT_MAX 100000

static int delay(struct cli *cli, struct error *err)
{
	json_t *op;
	double duration;

	if (!str_to_double(cli->args[0], &duration))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Invalid duration '%s' (seconds, like 1.5)",
				 cli->args[0]);
	op = cli_op(cli, &op_class_test_delay);
	json_object_set_new(op, "duration", json_real(duration));
	cli_op_unless(cli, op, "on_master", &OPT_NO_MASTER);
	cli_op_set(cli, op, "on_nodes", &OPT_DELAY_NODES);
	cli_op_set(cli, op, "repeat", &OPT_REPEAT);
	cli_op_flag(cli, op, "interruptible", &OPT_INTERRUPTIBLE);
	cli_op_flag(cli, op, "no_locks", &OPT_NO_LOCKS);
	return cli_submit(cli, op, NULL, err);
}

static int test_os_params(struct cli *cli, struct error *err)
{
	json_t *op = cli_op(cli, &op_class_test_os_params);

	cli_op_object(cli, op, "osparams_secret", &OPT_OSPARAMS_SECRET);
	return cli_submit(cli, op, NULL, err);
}

/* --- locks --- */

static char *format_owner(const json_t *value)
{
	return json_array_size(value) == 0 ? xstrdup("-")
					   : cli_join(value, ",");
}

static char *format_mode(const json_t *value)
{
	return json_is_null(value) ? xstrdup("-") : cli_str(value);
}

/* [[mode, [owner, ...]], ...] */
static char *format_pending(const json_t *value)
{
	auto_strv struct strv parts = {0};
	const json_t *one;
	size_t i;

	if (json_array_size(value) == 0)
		return xstrdup("-");
	json_array_foreach (value, i, one) {
		auto_free char *mode = cli_str(json_array_get(one, 0));
		auto_free char *owners = cli_join(json_array_get(one, 1), ",");

		strv_addf(&parts, "%s:%s", mode, owners);
	}
	return strv_join(&parts, ", ");
}

static const struct cli_format lock_formats[] = {
	{"mode", format_mode},
	{"owner", format_owner},
	{"pending", format_pending},
	{NULL, NULL},
};

static const struct cli_list lock_list = {
	.what = "lock",
	.fields = "name,mode,owner,pending",
	.name_field = "name",
	.formats = lock_formats,
};

static int locks(struct cli *cli, struct error *err)
{
	int64_t interval = cli_count(cli, &OPT_INTERVAL);
	int code;

	if (cli_given(cli, &OPT_INTERVAL) && interval < 1)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--interval takes a number of seconds from 1");
	for (;;) {
		code = cli_list(cli, &lock_list, NULL, err);
		if (code != CLI_OK || interval == 0)
			return code;
		putchar('\n');
		fflush(stdout);
		sleep((unsigned)interval);
	}
}

/* --- submit-job --- */

static int repeat_count(const struct cli *cli, const struct cli_option *o,
			int64_t *ret, struct error *err)
{
	*ret = cli_given(cli, o) ? cli_count(cli, o) : 1;
	if (*ret >= 1 && *ret <= REPEAT_MAX)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "--%s takes a number from 1 to %d", o->name,
			 REPEAT_MAX);
}

/* An opcode of a file with what the options say; the master fills in what it
 * leaves out. */
static json_t *file_op(const struct cli *cli, const struct op_class *class,
		       const json_t *given)
{
	auto_json json_t *common = cli_op(cli, class);
	json_t *op = json_copy((json_t *)given), *trail = json_array();

	json_object_set(op, "dry_run", json_object_get(common, "dry_run"));
	json_object_set(op, "debug_level",
			json_object_get(common, "debug_level"));
	if (cli_given(cli, &OPT_PRIORITY))
		json_object_set(op, "priority",
				json_object_get(common, "priority"));
	json_array_extend(trail, (json_t *)json_get(given, "reason"));
	json_array_extend(trail, json_object_get(common, "reason"));
	json_object_set_new(op, "reason", trail);
	return op;
}

/* One job: the opcodes of a file, so many times. */
static json_t *job_from_file(struct cli *cli, const char *file, int64_t times,
			     struct error *err)
{
	auto_json json_t *list = json_read_file(file, OPS_FILE_MAX, err);
	auto_json json_t *job = json_array();
	const json_t *op;
	size_t i;

	if (list == NULL)
		return NULL;
	if (!json_is_array(list)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "%s must hold a list of opcodes", file);
		return NULL;
	}
	for (int64_t n = 0; n < times; n++)
		json_array_foreach (list, i, op) {
			const char *id = json_str(op, "OP_ID", "(no OP_ID)");
			const struct op_class *class = op_class_find(id);

			if (class == NULL) {
				error_set(err, ERR_PREREQ, ECODE_INVAL,
					  "%s: '%s' is no opcode", file, id);
				return NULL;
			}
			json_array_append_new(job, file_op(cli, class, op));
		}
	return steal(&job);
}

/* Queue the jobs of one file, and with --each submit each at once. */
static int add_file(struct cli *cli, struct cli_jobs *jobs, const char *file,
		    int64_t ops, int64_t repeat, struct error *err)
{
	auto_json json_t *job = job_from_file(cli, file, ops, err);

	if (job == NULL)
		return -1;
	for (int64_t k = 0; k < repeat; k++) {
		auto_free char *name =
			xprintf("file %s/%lld", file, (long long)k);

		cli_jobs_add_list(jobs, name, json_incref(job));
		if (cli_given(cli, &OPT_EACH) &&
		    cli_jobs_submit(cli, jobs, err) < 0)
			return -1;
	}
	return 0;
}

static void print_seconds(const struct cli *cli, const char *what,
			  int64_t begin)
{
	if (cli_given(cli, &OPT_TIMING))
		printf("%s took %.3f s\n", what,
		       (double)(clock_mono_us() - begin) / 1e6);
}

static int submit_job(struct cli *cli, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {
		.quiet = !cli_given(cli, &OPT_VERBOSE)};
	int64_t ops, repeat, begin = clock_mono_us();

	if (repeat_count(cli, &OPT_OP_REPEAT, &ops, err) < 0 ||
	    repeat_count(cli, &OPT_JOB_REPEAT, &repeat, err) < 0)
		return -1;
	for (int i = 0; i < cli->n_args; i++)
		if (add_file(cli, &jobs, cli->args[i], ops, repeat, err) < 0)
			return -1;
	if (cli_jobs_submit(cli, &jobs, err) < 0)
		return -1;
	print_seconds(cli, "Submitting", begin);
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	print_seconds(cli, "All", begin);
	return jobs.failed == 0 ? CLI_OK : CLI_FAILURE;
}

static const struct cli_command delay_command = {
	.name = "delay",
	.args = "[<opts>...] <duration>",
	.help = "Run a job that waits for some seconds",
	.min_args = 1,
	.max_args = 1,
	.options = {&OPT_NO_MASTER, &OPT_DELAY_NODES, &OPT_REPEAT,
		    &OPT_INTERRUPTIBLE, &OPT_NO_LOCKS, OPTS_JOB},
	.run = delay,
};

static const struct cli_command locks_command = {
	.name = "locks",
	.args = "[--interval=SECONDS]",
	.help = "Show the locks, who holds them and who waits for them",
	.options = {OPTS_LIST_ALL, &OPT_INTERVAL},
	.run = locks,
};

static const struct cli_command submit_job_command = {
	.name = "submit-job",
	.args = "<op-list-file>...",
	.help = "Submit jobs from files with lists of opcodes as JSON",
	.min_args = 1,
	.max_args = -1,
	.options = {&OPT_VERBOSE, &OPT_OP_REPEAT, &OPT_JOB_REPEAT, &OPT_TIMING,
		    &OPT_EACH, &OPT_DRY_RUN, &OPT_PRIORITY, OPTS_PLAN},
	.run = submit_job,
};

static const struct cli_command test_os_params_command = {
	.name = "test-osparams",
	.args = "--os-parameters-secret=<params>",
	.help = "See whether secret OS parameters reach a job",
	.options = {&OPT_OSPARAMS_SECRET, &OPT_SUBMIT, &OPT_PRINT_JOBID,
		    OPTS_PLAN},
	.run = test_os_params,
};

static const struct cli_command *const commands[] = {
	&delay_command,	     &debug_iallocator,	      &locks_command,
	&submit_job_command, &test_os_params_command, NULL};

const struct cli_tool tool_debug = {
	.name = "gnt-debug",
	.help = "Test jobs, locks and allocators",
	.commands = commands,
};
