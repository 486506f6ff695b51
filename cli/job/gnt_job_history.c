/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-job verify-history and reindex: long work of the master, which is begun
 * and then asked for until it ends. */
#include <stdio.h>
#include <unistd.h>

#include "cli/frame/cli_job.h"
#include "cli/job/gnt_job.h"
#include "lib/json/json.h"

/* How long the master lets one call wait. */
#define WAIT_S 10

static void show_progress(const json_t *answer)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%lld jobs so far ...",
			(long long)json_int(answer, "done", 0));
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

static int follow(struct cli *cli, const char *method, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, method, json_make("[b, i]", 1, WAIT_S), err);
	bool ok;

	while (answer != NULL && json_bool(answer, "running", false)) {
		show_progress(answer);
		json_decref(answer);
		answer = cli_call(cli, method, json_make("[b, i]", 0, WAIT_S),
				  err);
	}
	end_progress();
	if (answer == NULL)
		return -1;
	ok = json_bool(answer, "ok", false);
	fprintf(ok ? stdout : stderr, "%s\n",
		json_str(answer, "text",
			 "The master was restarted meanwhile; "
			 "try again"));
	return ok ? CLI_OK : CLI_FAILURE;
}

static int verify_history(struct cli *cli, struct error *err)
{
	return follow(cli, "VerifyJobHistory", err);
}

static int reindex(struct cli *cli, struct error *err)
{
	return follow(cli, "ReindexJobs", err);
}

const struct cli_command gnt_job_reindex = {
	.name = "reindex",
	.help = "Make the index of archived jobs anew from their files",
	.run = reindex,
};

const struct cli_command gnt_job_verify_history = {
	.name = "verify-history",
	.help = "Check that no archived job was altered, removed or added",
	.run = verify_history,
};
