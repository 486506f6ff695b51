/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-debug: jobs for tests, and who holds which lock; allocators are in
 * gnt_debug_iallocator.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
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

static int repeat_count(const struct cli *cli, const struct opt *o,
			int64_t *ret, struct error *err)
{
	*ret = cli_given(cli, o) ? cli_count(cli, o) : 1;
	if (*ret >= 1 && *ret <= REPEAT_MAX)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "--%s takes a number from 1 to %d", o->name,
			 REPEAT_MAX);
}

/* An opcode from a file, with the common options; the master fills in what is
 * left out. */
static json_t *file_op(const struct cli *cli, const struct op_class *class,
		       const json_t *given)
{
	auto_json json_t *common = cli_op(cli, class);
	json_t *op = json_copy(json_unconst(given)), *trail = json_array();

	json_object_set(op, "dry_run", json_object_get(common, "dry_run"));
	json_object_set(op, "debug_level",
			json_object_get(common, "debug_level"));
	if (cli_given(cli, &OPT_PRIORITY))
		json_object_set(op, "priority",
				json_object_get(common, "priority"));
	json_array_extend(trail, json_unconst(json_get(given, "reason")));
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

/* Print numbers and times (--timing-stats). */
struct timing {
	bool shown;
	size_t n_ops, n_jobs;
	int64_t submit_us, exec_us, end_us;
};

static int64_t phase(const struct timing *t, const char *what)
{
	if (t->shown) {
		printf("%s...\n", what);
		fflush(stdout);
	}
	return clock_mono_us();
}

static void print_timing(const struct timing *t)
{
	if (t->shown)
		printf("C:op     %4zu\nC:job    %4zu\nT:submit %4.4f\n"
		       "T:exec   %4.4f\nT:total  %4.4f\n",
		       t->n_ops, t->n_jobs,
		       (double)(t->exec_us - t->submit_us) / 1e6,
		       (double)(t->end_us - t->exec_us) / 1e6,
		       (double)(t->end_us - t->submit_us) / 1e6);
}

/* All files as jobs. */
static json_t *load_files(struct cli *cli, int64_t ops, struct error *err)
{
	auto_json json_t *files = json_array();

	for (int i = 0; i < cli->n_args; i++) {
		json_t *job = job_from_file(cli, cli->args[i], ops, err);

		if (job == NULL)
			return NULL;
		json_array_append_new(files, job);
	}
	return steal(&files);
}

/* Submit each job so often; with --each one call for each. */
static int submit_files(struct cli *cli, struct cli_jobs *jobs, json_t *files,
			int64_t repeat, struct timing *t, struct error *err)
{
	for (int64_t k = 0; k < repeat; k++)
		for (int i = 0; i < cli->n_args; i++) {
			json_t *job = json_array_get(files, (size_t)i);
			auto_free char *name = xprintf(
				"file %s/%lld", cli->args[i], (long long)k);

			t->n_ops += json_array_size(job);
			t->n_jobs++;
			cli_jobs_add_list(jobs, name, json_incref(job));
			if (cli_given(cli, &OPT_EACH) &&
			    cli_jobs_submit(cli, jobs, err) < 0)
				return -1;
		}
	return cli_jobs_submit(cli, jobs, err);
}

static int submit_job(struct cli *cli, struct error *err)
{
	auto_jobs struct cli_jobs jobs = {
		.quiet = !cli_given(cli, &OPT_VERBOSE)};
	struct timing t = {.shown = cli_given(cli, &OPT_TIMING)};
	auto_json json_t *files = NULL;
	int64_t ops, repeat;

	if (repeat_count(cli, &OPT_OP_REPEAT, &ops, err) < 0 ||
	    repeat_count(cli, &OPT_JOB_REPEAT, &repeat, err) < 0)
		return -1;
	phase(&t, "Loading");
	files = load_files(cli, ops, err);
	if (files == NULL)
		return -1;
	t.submit_us = phase(&t, "Submitting");
	if (submit_files(cli, &jobs, files, repeat, &t, err) < 0)
		return -1;
	t.exec_us = phase(&t, "Executing");
	if (cli_jobs_wait(cli, &jobs, err) < 0)
		return -1;
	t.end_us = clock_mono_us();
	print_timing(&t);
	return jobs.failed == 0 ? CLI_OK : CLI_FAILURE;
}

/* --- daemons that there are none of --- */

static int no_daemon(struct cli *cli, struct error *err)
{
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "There is no %s to talk to: the master daemon and the "
			 "node daemons do its work (gnt-debug locks shows the "
			 "locks)",
			 cli->command->name);
}

static const struct cli_command wconfd_command = {
	.name = "wconfd",
	.args = "<cmd> <args...>",
	.help = "Refused: the configuration is the master daemon's",
	.min_args = 1,
	.max_args = -1,
	.run = no_daemon,
};

static const struct cli_command metad_command = {
	.name = "metad",
	.args = "<cmd> <args...>",
	.help = "Refused: the node daemon answers instances, there is no "
		"other",
	.min_args = 1,
	.max_args = -1,
	.run = no_daemon,
};

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
	&delay_command,		 &debug_iallocator,   &locks_command,
	&metad_command,		 &submit_job_command, &debug_test_jobqueue,
	&test_os_params_command, &wconfd_command,     NULL};

const struct cli_tool tool_debug = {
	.name = "gnt-debug",
	.help = "Test jobs, locks and allocators",
	.commands = commands,
};
