/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of gnt-job. */
#ifndef CLI_JOB_GNT_JOB_H
#define CLI_JOB_GNT_JOB_H

#include "cli/frame/cli.h"

extern const struct cli_command gnt_job_info, gnt_job_reindex,
	gnt_job_verify_history, gnt_job_why;

#endif
