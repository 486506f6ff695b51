/* SPDX-License-Identifier: BSD-2-Clause */
/* Jobs: submit one or many, follow their logs, report how they ended. */
#ifndef CLI_FRAME_CLI_JOB_H
#define CLI_FRAME_CLI_JOB_H

#include "cli/frame/cli.h"

/* An opcode with defaults and the values of common options: dry run, debug
 * level, priority, reason.  To be freed. */
json_t *cli_op(const struct cli *cli, const struct op_class *class);

/* A reason trail with the text of --reason, or an empty one; to be freed. */
json_t *cli_user_reason(const struct cli *cli);

/* Set a parameter to the object of a KEY=VALUE option; an empty object without
 * the option. */
void cli_op_object(const struct cli *cli, json_t *op, const char *param,
		   const struct opt *option);
/* Set a parameter from an option, if that was given. */
void cli_op_set(const struct cli *cli, json_t *op, const char *param,
		const struct opt *option);
/* Set a flag: true when the option was given, else false. */
void cli_op_flag(const struct cli *cli, json_t *op, const char *param,
		 const struct opt *option);
/* The reverse, for the --no-... options. */
void cli_op_unless(const struct cli *cli, json_t *op, const char *param,
		   const struct opt *option);

/* Submit one opcode as a job, wait for its end and print its log on the way.
 * The opcode's result, to be freed; NULL with err when it failed. */
json_t *cli_run_op(struct cli *cli, json_t *op STEALS, struct error *err);

/* The same for a command that does nothing else: with --submit it only prints
 * the id.  The exit code or -1; *ret_result (may be NULL) is set unless
 * --submit was given. */
int cli_submit(struct cli *cli, json_t *op STEALS, json_t **ret_result,
	       struct error *err);

/* Submit a list of opcodes as one job; its id, to be freed, NULL with err. */
json_t *cli_submit_job(struct cli *cli, json_t *ops STEALS, struct error *err);

/* Wait for a job; each line of its log goes to stdout, or to stderr with a
 * --format for programs.  The result of its
 * opcodes (a list), or NULL with err.  Others may archive a job that has ended
 * before one looks at it: then the result comes without the log. */
json_t *cli_poll(struct cli *cli, const json_t *id, bool quiet,
		 struct error *err);
/* The same; for a job that is archived ERR_JOB_LOST. */
json_t *cli_watch(struct cli *cli, const json_t *id, bool quiet,
		  struct error *err);

/* Many jobs: mostly one opcode each.  names (may be NULL) are shown beside
 * them. */
struct cli_jobs {
	json_t *ops;  /* not yet submitted: [[op], ...] */
	json_t *jobs; /* [[id, name], ...] */
	struct strv *names;
	bool quiet;	/* do not list the ids before waiting */
	bool want_true; /* a job with the first result false has failed */
	bool keep_results;
	json_t *results; /* of each job, if kept: its list */
	int unwell;
	int failed; /* how many could not be submitted or failed */
	int succeeded;
};

void cli_jobs_add(struct cli_jobs *jobs, const char *name, json_t *op STEALS);
void cli_jobs_add_list(struct cli_jobs *jobs, const char *name,
		       json_t *ops STEALS);
/* Submit what was added and is not submitted yet. */
int cli_jobs_submit(struct cli *cli, struct cli_jobs *jobs, struct error *err);
/* Add jobs that were submitted already: [[true, id] or [false, text], ...]. */
int cli_jobs_adopt(struct cli_jobs *jobs, const json_t *submitted);
/* Submit the jobs that were added; with --submit print the ids, else wait for
 * all.  -1 only when talking to the master failed. */
int cli_jobs_run(struct cli *cli, struct cli_jobs *jobs, struct error *err);
/* Wait for all. */
int cli_jobs_wait(struct cli *cli, struct cli_jobs *jobs, struct error *err);
void cli_jobs_done(struct cli_jobs *jobs);

#define auto_jobs __attribute__((cleanup(cli_jobs_done), unused))

/* Wait for all jobs in the {"jobs": [...]} of a logical unit.  Returns how many
 * have failed, or -1. */
int cli_follow(struct cli *cli, const json_t *result, struct error *err);

/* cli_submit(), and follow the jobs that it submitted, if there are any.  The
 * exit code or -1. */
int cli_submit_and_follow(struct cli *cli, json_t *op STEALS,
			  struct error *err);

/* The same for an opcode that always submits others, and say how these went:
 * the sentence `good`, or how many failed, and behind that `bad` ("during the
 * evacuation"). */
int cli_submit_and_tell(struct cli *cli, json_t *op STEALS, const char *good,
			const char *bad, struct error *err);

#endif
