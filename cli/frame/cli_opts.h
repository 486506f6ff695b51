/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that several commands share: OPT_<symbol> of options.def. */
#ifndef CLI_FRAME_CLI_OPTS_H
#define CLI_FRAME_CLI_OPTS_H

#include "cli/frame/cli.h"

#define OPTION(symbol, name, letter, kind, repeat, arg, help)                  \
	extern const struct opt OPT_##symbol;
#include "cli/frame/options.def"
#undef OPTION

extern const struct opt OPT_DEBUG, OPT_REASON, OPT_PRIORITY, OPT_HELP,
	OPT_DISK_TEMPLATE, OPT_REBOOT_TYPE, OPT_SSH_KEY_TYPE,
	OPT_MASTER_FAILOVER, OPT_MIGRATION_MODE, OPT_STORAGE_TYPE, OPT_UNITS,
	OPT_FORMAT, OPT_ALLOC_MODE, OPT_ALLOC_DIRECTION, OPT_EVAC_MODE,
	OPT_FILE_DRIVER, OPT_IGNORE_ERRORS, OPT_YES_DO_IT;

/* Those that every command has. */
extern const struct opt *const cli_common_options[];

/* For the tables: what comes together. */
/* A command that submits a job; --format is for the plan. */
#define OPTS_PLAN &OPT_PLAN, &OPT_FORMAT
#define OPTS_SUBMIT                                                            \
	&OPT_SUBMIT, &OPT_PRINT_JOBID, &OPT_PRIORITY, &OPT_LOCK_TIMEOUT,       \
		OPTS_PLAN
#define OPTS_JOB OPTS_SUBMIT, &OPT_DRY_RUN
#define OPTS_IPOLICY                                                           \
	&OPT_IPOLICY_BOUNDS, &OPT_IPOLICY_DT, &OPT_VCPU_RATIO,                 \
		&OPT_SPINDLE_RATIO, &OPT_OVERSUBSCRIPTION, &OPT_NODE_FAILURES
#define OPTS_TABLE &OPT_NO_HEADERS, &OPT_SEPARATOR
/* An info: --no-headers is for CSV. */
#define OPTS_INFO &OPT_FORMAT, &OPT_NO_HEADERS
#define OPTS_LIST_ALL OPTS_TABLE, &OPT_OUTPUT, &OPT_VERBOSE, &OPT_FORMAT
#define OPTS_LIST OPTS_LIST_ALL, &OPT_FILTER

#endif
