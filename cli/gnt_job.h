/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of gnt-job. */
#ifndef CLI_GNT_JOB_H
#define CLI_GNT_JOB_H

#include "cli/cli.h"

/* The filter for the job ids among the arguments. */
json_t *gnt_job_filter(const struct cli *cli, struct error *err);

extern const struct cli_command gnt_job_info, gnt_job_reindex,
	gnt_job_verify_history, gnt_job_why;

#endif
