/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of options.def, and those with a choice of values. */
#include "cli/frame/cli_opts.h"

#include "lib/model/kinds/template.h"
#include "lib/model/opcode/opcode_checks.h"

#define OPTION(symbol, name_, letter_, kind_, repeat_, arg_, help_)            \
	const struct opt OPT_##symbol = {                                      \
		.name = name_,                                                 \
		.letter = letter_,                                             \
		.kind = KIND_##kind_,                                          \
		.repeat = repeat_,                                             \
		.arg = arg_,                                                   \
		.help = help_,                                                 \
	};
#include "cli/frame/options.def"
#undef OPTION

static const char *const priorities[] = {"low", "normal", "high", NULL};
static const char *const reboot_types[] = {"hard", "soft", "full", NULL};
static const char *const migration_modes[] = {"live", "non-live", NULL};
static const char *const formats[] = {"table", "json", "yaml", "csv", NULL};
static const char *const units[] = {"h", "m", "g", "t", NULL};
static const char *const allocator_modes[] = {"allocate",
					      "allocate-secondary",
					      "multi-allocate",
					      "change-group",
					      "node-evacuate",
					      "relocate",
					      NULL};
static const char *const allocator_directions[] = {"in", "out", NULL};
static const char *const evac_modes[] = {"primary-only", "secondary-only",
					 "all", NULL};

/* clang-format off */
static const char template_help[] = "Where disks are kept, one of:"
#define STORAGE(...)
#define DISK_TEMPLATE(id, class, driver, number, name, ...) " " name
#include "lib/model/kinds/templates.def"
#undef STORAGE
#undef DISK_TEMPLATE
	;
static const char storage_help[] = "The kind of storage, one of:"
#define LISTED(name) " " name
#define UNLISTED(name)
#define STORAGE(id, name, listed, ...) listed(name)
#define DISK_TEMPLATE(...)
#include "lib/model/kinds/templates.def"
#undef LISTED
#undef UNLISTED
#undef STORAGE
#undef DISK_TEMPLATE
	;
/* clang-format on */

const struct opt OPT_YES_DO_IT = {
	.name = "yes-do-it",
	.alias = "ya-rly",
	.kind = KIND_FLAG,
	.help = "Say that this is really meant",
};

const struct opt OPT_DISK_TEMPLATE = {
	.name = "disk-template",
	.letter = 't',
	.kind = KIND_CHOICE,
	.choices = template_names,
	.arg = "TEMPLATE",
	.help = template_help,
};

const struct opt OPT_ALLOC_MODE = {
	.name = "mode",
	.letter = 'm',
	.kind = KIND_CHOICE,
	.choices = allocator_modes,
	.arg = "MODE",
	.help = "What is asked: allocate, multi-allocate, allocate-secondary, "
		"relocate (if not given), change-group or node-evacuate",
};

const struct opt OPT_ALLOC_DIRECTION = {
	.name = "dir",
	.kind = KIND_CHOICE,
	.choices = allocator_directions,
	.arg = "in|out",
	.help = "Show what the allocator is told (in) or what it answers (out)",
};

const struct opt OPT_EVAC_MODE = {
	.name = "evac-mode",
	.kind = KIND_CHOICE,
	.choices = evac_modes,
	.arg = "primary-only|secondary-only|all",
	.help = "Which instances leave, with node-evacuate",
};

const struct opt OPT_PRIORITY = {
	.name = "priority",
	.kind = KIND_CHOICE,
	.choices = priorities,
	.arg = "low|normal|high",
	.help = "The priority of the job",
};

static const char *const key_types[] = {"rsa", "ecdsa", "dsa", NULL};

const struct opt OPT_SSH_KEY_TYPE = {
	.name = "ssh-key-type",
	.kind = KIND_CHOICE,
	.choices = key_types,
	.arg = "rsa|ecdsa|dsa",
	.help = "The kind of SSH keys",
};

static const char *const failover_modes[] = {"manual", "automatic", NULL};

const struct opt OPT_MASTER_FAILOVER = {
	.name = "master-failover",
	.kind = KIND_CHOICE,
	.choices = failover_modes,
	.arg = "manual|automatic",
	.help = "Whether a master candidate makes itself the master when the "
		"master is gone",
};

const struct opt OPT_REBOOT_TYPE = {
	.name = "type",
	.letter = 't',
	.kind = KIND_CHOICE,
	.choices = reboot_types,
	.arg = "hard|soft|full",
	.help = "How to reboot",
};

static const char *const file_drivers[] = {"blktap", "blktap2", "loop", NULL};

const struct opt OPT_FILE_DRIVER = {
	.name = "file-driver",
	.kind = KIND_CHOICE,
	.choices = file_drivers,
	.arg = "blktap|blktap2|loop",
	.help = "The driver of file based disks",
};

const struct opt OPT_IGNORE_ERRORS = {
	.name = "ignore-errors",
	.letter = 'I',
	.kind = KIND_CHOICE,
	.repeat = true,
	.choices = op_verify_errors,
	.arg = "CODE",
	.help = "Take this problem as a warning",
};

const struct opt OPT_MIGRATION_MODE = {
	.name = "migration-mode",
	.kind = KIND_CHOICE,
	.choices = migration_modes,
	.arg = "live|non-live",
	.help = "How to migrate",
};

const struct opt OPT_STORAGE_TYPE = {
	.name = "storage-type",
	.letter = 't',
	.kind = KIND_CHOICE,
	.choices = storage_listed_names,
	.arg = "TYPE",
	.help = storage_help,
};

const struct opt OPT_FORMAT = {
	.name = "format",
	.kind = KIND_CHOICE,
	.choices = formats,
	.arg = "table|json|yaml|csv",
	.help = "How to show the result; for people or for programs",
};

const struct opt OPT_UNITS = {
	.name = "units",
	.kind = KIND_CHOICE,
	.choices = units,
	.arg = "h|m|g|t",
	.help = "Unit of sizes: human readable, MiB, GiB or TiB",
};

const struct opt OPT_DEBUG = {
	.name = "debug",
	.letter = 'd',
	.kind = KIND_FLAG,
	.help = "Let the job log more",
};

const struct opt OPT_REASON = {
	.name = "reason",
	.kind = KIND_TEXT,
	.arg = "TEXT",
	.help = "Why, for the job's records",
};

const struct opt OPT_HELP = {
	.name = "help",
	.letter = 'h',
	.kind = KIND_FLAG,
	.help = "Show this text",
};

const struct opt *const cli_common_options[] = {&OPT_DEBUG, &OPT_REASON,
						&OPT_HELP, NULL};
