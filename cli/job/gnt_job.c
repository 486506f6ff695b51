/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-job: the queue.  What gnt-job info shows is in gnt_job_info.c. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_job.h"
#include "cli/frame/cli_list.h"
#include "cli/frame/cli_opts.h"
#include "cli/frame/cli_text.h"
#include "cli/frame/tools.h"
#include "cli/job/gnt_job.h"
#include "lib/base/array.h"
#include "lib/base/str.h"
#include "lib/json/json.h"

/* How long the master may look for jobs to archive, in seconds. */
#define ARCHIVE_S 89

static char *format_words(const json_t *value)
{
	return cli_join(value, ",");
}

/* A time of each opcode. */
static char *format_stamps(const json_t *value)
{
	auto_json json_t *texts = json_array();
	const json_t *stamp;
	size_t i;

	json_array_foreach (value, i, stamp) {
		auto_free char *text = json_array_size(stamp) == 2
					       ? cli_stamp(stamp)
					       : xstrdup("?");

		json_array_append_new(texts, json_string(text));
	}
	return cli_str(texts);
}

static const struct cli_format formats[] = {
	{"summary", format_words},
	{"opstart", format_stamps},
	{"opexec", format_stamps},
	{"opend", format_stamps},
	{NULL, NULL},
};

/* In the row of a job that does not exist only the id is available.  The same
 * may be true of a job that has not begun, if few fields are shown. */
static bool is_doubtful(const json_t *row)
{
	const json_t *cell;
	size_t i, available = 0;

	json_array_foreach (row, i, cell)
		available += json_integer_value(json_array_get(cell, 0)) == 0;
	return available <= 1;
}

static int check_listed(struct cli *cli, const json_t *rows, struct error *err)
{
	auto_json json_t *known = NULL;
	auto_strv struct strv ids = {0}; /* the answer has each once */
	const json_t *row;
	size_t i, doubtful = 0;

	json_array_foreach (rows, i, row)
		doubtful += is_doubtful(row);
	if (doubtful == 0)
		return 0;
	for (int a = 0; a < cli->n_args; a++)
		strv_add_unique(&ids, cli->args[a]);
	known = cli_call(cli, "QueryJobs",
			 json_make("[o, [s]]", json_from_strv(&ids), "status"),
			 err);
	if (known == NULL)
		return -1;
	json_array_foreach (known, i, row)
		if (!json_is_string(json_array_get(row, 0)))
			return tool_unknown("Job", ids.items[i], err);
	return 0;
}

static const struct cli_list job_list = {
	.what = "job",
	.fields = "id,status,summary",
	.name_field = "id",
	.numeric = true,
	.check_rows = check_listed,
	.formats = formats,
};

static const struct cli_list archived_list = {
	.what = "job",
	.fields = "id,status,summary",
	.name_field = "id",
	.numeric = true,
	.check_rows = check_listed,
	.always = "archived",
	.formats = formats,
};

/* ["|", ["==", "status", s], ...] */
static json_t *status_filter(const char *const *statuses)
{
	json_t *filter = json_make("[s]", "|");

	for (size_t i = 0; statuses[i] != NULL; i++)
		json_array_append_new(filter, json_make("[s, s, s]", "==",
							"status", statuses[i]));
	return filter;
}

/* The filter that the options ask for (the last of several wins), or NULL. */
static json_t *chosen_status(const struct cli *cli)
{
	static const char *const pending[] = {"queued", "waiting", "canceling",
					      NULL};
	static const char *const queued[] = {"queued", NULL};
	static const char *const waiting[] = {"waiting", NULL};
	static const char *const running[] = {"running", NULL};
	static const char *const error[] = {"error", NULL};
	static const char *const finished[] = {"success", "canceled", "error",
					       NULL};
	static const struct {
		const struct opt *option;
		const char *const *statuses;
	} choices[] = {
		{&OPT_PENDING, pending}, {&OPT_QUEUED, queued},
		{&OPT_WAITING, waiting}, {&OPT_RUNNING, running},
		{&OPT_ERROR, error},	 {&OPT_FINISHED, finished},
	};
	const char *const *chosen = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		if (cli_given(cli, choices[i].option))
			chosen = choices[i].statuses;
	return chosen == NULL ? NULL : status_filter(chosen);
}

static bool is_number(const char *word)
{
	int64_t id;

	return str_to_int64(word, &id);
}

static int list(struct cli *cli, struct error *err)
{
	const struct cli_list *l =
		cli_given(cli, &OPT_ARCHIVED) ? &archived_list : &job_list;

	return cli_list(cli, l, chosen_status(cli), err);
}

/* --- work on several jobs --- */

typedef int job_fn(struct cli *cli, json_int_t id, struct error *err);

/* Ids from the arguments, or of the jobs in the state that is asked for. */
static json_t *chosen_ids(struct cli *cli, struct error *err)
{
	auto_json json_t *filter = chosen_status(cli), *answer = NULL;
	auto_json json_t *ids = json_array();
	const json_t *row;
	size_t i;

	if ((filter == NULL) == (cli->n_args == 0)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "Either a status filter or job ID(s) must be "
			  "specified and never both");
		return NULL;
	}
	if (filter == NULL) {
		for (int a = 0; a < cli->n_args; a++) {
			if (!is_number(cli->args[a])) {
				error_set(err, ERR_PREREQ, ECODE_INVAL,
					  "Invalid job ID '%s' (a number is "
					  "wanted)",
					  cli->args[a]);
				return NULL;
			}
			json_array_append_new(
				ids, json_integer(atoll(cli->args[a])));
		}
		return steal(&ids);
	}
	answer = cli_call(cli, "Query",
			  json_make("[s, [s, s, s], O]", "job", "id", "status",
				    "summary", filter),
			  err);
	if (answer == NULL)
		return NULL;
	json_array_foreach (json_get(answer, "data"), i, row)
		json_array_append(ids,
				  json_array_get(json_array_get(row, 0), 1));
	if (json_array_size(ids) == 0) {
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "No jobs with the requested status have been found");
		return NULL;
	}
	if (!cli_given(cli, &OPT_FORCE)) {
		struct cli_table_style style = {
			.headers = true, .unit = 'h', .formats = formats};
		auto_buf struct buf text = {0};

		cli_table(&text, &style, json_get(answer, "fields"),
			  json_get(answer, "data"));
		fwrite(text.data, 1, text.len, stdout);
		if (!cli_ask(cli, NULL, "%s the jobs listed above?", cli->name))
			json_array_clear(ids);
	}
	return steal(&ids);
}

static int each_job(struct cli *cli, job_fn *fn, struct error *err)
{
	auto_json json_t *ids = chosen_ids(cli, err);
	int code = CLI_OK;
	const json_t *id;
	size_t i;

	if (ids == NULL)
		return -1;
	if (json_array_size(ids) == 0)
		return CLI_UNCONFIRMED;
	json_array_foreach (ids, i, id) {
		int rc = fn(cli, json_integer_value(id), err);

		if (rc < 0)
			return -1;
		code = rc != CLI_OK ? rc : code;
	}
	return code;
}

/* Print the text of [done, text]. */
static int tell(json_t *answer STEALS)
{
	auto_json json_t *own = answer;
	auto_free char *text = cli_str(json_array_get(own, 1));

	if (own == NULL)
		return -1;
	printf("%s\n", text);
	return json_is_true(json_array_get(own, 0)) ? CLI_OK : CLI_FAILURE;
}

static int cancel_one(struct cli *cli, json_int_t id, struct error *err)
{
	return tell(cli_call(cli, "CancelJob",
			     json_make("[I, b]", id, cli_given(cli, &OPT_KILL)),
			     err));
}

static int cancel(struct cli *cli, struct error *err)
{
	if (cli_given(cli, &OPT_KILL) && !cli_given(cli, &OPT_YES_DO_IT))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "--kill ends running jobs in the middle; if "
				 "you really want that, add --yes-do-it");
	return each_job(cli, cancel_one, err);
}

static int priority_one(struct cli *cli, json_int_t id, struct error *err)
{
	const char *name = cli_text(cli, &OPT_PRIORITY);
	int value = str_eq(name, "low") ? 10 : str_eq(name, "high") ? -10 : 0;

	return tell(cli_call(cli, "ChangeJobPriority",
			     json_make("[I, i]", id, value), err));
}

static int change_priority(struct cli *cli, struct error *err)
{
	if (!cli_given(cli, &OPT_PRIORITY)) {
		fprintf(stderr, "--priority option must be given.\n");
		return CLI_FAILURE;
	}
	return each_job(cli, priority_one, err);
}

/* The master only says that it has not done it. */
static int tell_unarchived(struct cli *cli, json_int_t id, struct error *err)
{
	auto_json json_t *rows = cli_call(
		cli, "QueryJobs", json_make("[[I], [s]]", id, "status"), err);
	const char *status =
		json_string_value(json_array_get(json_array_get(rows, 0), 0));

	if (rows == NULL)
		return -1;
	fprintf(stderr,
		"Failed to archive job with ID '%lld': ", (long long)id);
	if (status == NULL)
		fprintf(stderr, "Job '%lld' not known\n", (long long)id);
	else
		fprintf(stderr, "its status is '%s'\n", status);
	return CLI_FAILURE;
}

static int archive_one(struct cli *cli, json_int_t id, struct error *err)
{
	auto_json json_t *done =
		cli_call(cli, "ArchiveJob", json_make("[I]", id), err);

	if (done == NULL)
		return -1;
	if (json_is_true(done))
		return CLI_OK;
	return tell_unarchived(cli, id, err);
}

static int archive(struct cli *cli, struct error *err)
{
	return each_job(cli, archive_one, err);
}

static int autoarchive(struct cli *cli, struct error *err)
{
	auto_json json_t *answer = NULL;
	int64_t age = -1;

	if (strcmp(cli->args[0], "all") != 0) {
		age = cli_parse_seconds(cli->args[0], err);
		if (age < 0)
			return -1;
	}
	answer = cli_call(cli, "AutoArchiveJobs",
			  json_make("[I, i]", (json_int_t)age, ARCHIVE_S), err);
	if (answer == NULL)
		return -1;
	printf("Archived %lld jobs, %lld unchecked left\n",
	       (long long)json_integer_value(json_array_get(answer, 0)),
	       (long long)json_integer_value(json_array_get(answer, 1)));
	return CLI_OK;
}

/* --- wait, watch --- */

static int check_id(const struct cli *cli, struct error *err)
{
	if (is_number(cli->args[0]))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Invalid job ID '%s' (a number is wanted)",
			 cli->args[0]);
}

/* Of a job that is no longer live. */
static int tell_archived(struct cli *cli, const struct error *failure)
{
	struct error err;
	auto_json json_t *answer =
		cli_call(cli, "Query",
			 json_make("[s, [s], [s, [s, s, s]]]", "job", "status",
				   "|", "=", "id", cli->args[0]),
			 &err);
	const json_t *row = json_array_get(json_get(answer, "data"), 0);
	const char *status =
		json_string_value(json_array_get(json_array_get(row, 0), 1));

	fflush(stdout);
	if (status == NULL) {
		auto_free char *text = cli_error_text(failure);

		fprintf(stderr, "Job %s failed: %s\n", cli->args[0], text);
		return CLI_FAILURE;
	}
	fprintf(stderr,
		"Job %s is archived; it ended with status '%s' (gnt-job info "
		"%s shows more)\n",
		cli->args[0], status, cli->args[0]);
	return str_eq(status, "success") ? CLI_OK : CLI_FAILURE;
}

static int await(struct cli *cli, bool quiet, struct error *err)
{
	auto_json json_t *id = json_string(cli->args[0]);
	struct error failure;
	auto_json json_t *result = cli_watch(cli, id, quiet, &failure);

	if (result != NULL)
		return CLI_OK;
	if (failure.kind == ERR_JOB_LOST)
		return tell_archived(cli, &failure);
	if (cli_is_cut(cli, &failure)) {
		*err = failure;
		return -1;
	}
	auto_free char *text = cli_error_text(&failure);

	fflush(stdout);
	fprintf(stderr, "Job %s failed: %s\n", cli->args[0], text);
	return CLI_FAILURE;
}

static int wait_job(struct cli *cli, struct error *err)
{
	return check_id(cli, err) < 0 ? -1 : await(cli, true, err);
}

static int watch(struct cli *cli, struct error *err)
{
	auto_free char *title =
		xprintf("Output from job %s follows", cli->args[0]);

	if (check_id(cli, err) < 0)
		return -1;
	printf("%s\n", title);
	for (size_t i = 0; i < strlen(title); i++)
		putchar('-');
	putchar('\n');
	return await(cli, false, err);
}

/* --- the table --- */

static const struct cli_command list_command = {
	.name = "list",
	.args = "[<job-id>...]",
	.help = "List the jobs and their status. Fields: id, status, summary; "
		"list-fields shows all there are.",
	.max_args = -1,
	.options = {OPTS_LIST, &OPT_PENDING, &OPT_RUNNING, &OPT_ERROR,
		    &OPT_FINISHED, &OPT_ARCHIVED},
	.run = list,
};

static const struct cli_command list_fields_command = {
	.name = "list-fields",
	.args = "[<fields>...]",
	.help = "List all fields of jobs",
	.max_args = -1,
	.options = {OPTS_TABLE, &OPT_FORMAT},
	.run = cli_run_list_fields,
	.list = &job_list,
};

static const struct cli_command cancel_command = {
	.name = "cancel",
	.args = "{[--force] [--kill --yes-do-it] {--pending | --queued | "
		"--waiting} | <job-id>...}",
	.help = "Cancel jobs",
	.max_args = -1,
	.options = {&OPT_FORCE, &OPT_KILL, &OPT_PENDING, &OPT_QUEUED,
		    &OPT_WAITING, &OPT_YES_DO_IT},
	.run = cancel,
};

static const struct cli_command change_priority_command = {
	.name = "change-priority",
	.args = "--priority <priority> {[--force] {--pending | --queued | "
		"--waiting} | <job-id>...}",
	.help = "Change the priority of jobs",
	.max_args = -1,
	.options = {&OPT_PRIORITY, &OPT_FORCE, &OPT_PENDING, &OPT_QUEUED,
		    &OPT_WAITING},
	.run = change_priority,
};

static const struct cli_command archive_command = {
	.name = "archive",
	.args = "<job-id>...",
	.help = "Archive jobs that have ended",
	.min_args = 1,
	.max_args = -1,
	.run = archive,
};

static const struct cli_command autoarchive_command = {
	.name = "autoarchive",
	.args = "<age>",
	.help = "Archive jobs that ended longer ago than this (like 30m or "
		"2d; \"all\")",
	.min_args = 1,
	.max_args = 1,
	.run = autoarchive,
};

static const struct cli_command wait_command = {
	.name = "wait",
	.args = "<job-id>",
	.help = "Wait for the end of a job",
	.min_args = 1,
	.max_args = 1,
	.run = wait_job,
};

static const struct cli_command watch_command = {
	.name = "watch",
	.args = "<job-id>",
	.help = "Print the log of a job as it grows",
	.min_args = 1,
	.max_args = 1,
	.run = watch,
};

static const struct cli_command *const commands[] = {&archive_command,
						     &autoarchive_command,
						     &cancel_command,
						     &change_priority_command,
						     &gnt_job_info,
						     &list_command,
						     &list_fields_command,
						     &gnt_job_reindex,
						     &gnt_job_verify_history,
						     &wait_command,
						     &watch_command,
						     &gnt_job_why,
						     NULL};

const struct cli_tool tool_job = {
	.name = "gnt-job",
	.help = "Jobs: list, follow, cancel, archive",
	.commands = commands,
};
