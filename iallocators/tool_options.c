/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of the planning programs; each takes all, and looks at its
 * own. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "iallocators/request.h"
#include "iallocators/tool.h"

enum long_option {
	OPT_RESTRICTED = 256,
	OPT_NO_DISK_MOVES,
	OPT_NO_INSTANCE_MOVES,
	OPT_IGNORE_SOFT,
	OPT_IGNORE_DYNU,
	OPT_NO_CAPACITY,
	OPT_NO_SIMULATION,
	OPT_FORCE,
	OPT_SKIP_NON_REDUNDANT,
	OPT_IGNORE_NON_REDUNDANT,
	OPT_OFFLINE_MAINTENANCE,
	OPT_ONE_STEP,
	OPT_PRINT_MOVES,
	OPT_NO_HEADERS,
	OPT_PRINT_INSTANCES,
	OPT_INDEPENDENT,
	OPT_ACCEPT_ERRORS,
	OPT_FLAGS_END, /* what follows is no flag */
	OPT_MACHINE,
	OPT_FIRST_JOBS,
	OPT_MAX_CPU,
	OPT_MIN_DISK,
	OPT_MIN_GAIN_LIMIT,
	OPT_SELECT,
	OPT_EXCLUDE,
	OPT_EXCLUSION_TAGS,
	OPT_NODE_TAGS,
	OPT_MINIMAL,
	OPT_TARGET,
	OPT_DISK_TEMPLATE,
	OPT_SPINDLE_USE,
	OPT_SIMULATE,
	OPT_STANDARD,
	OPT_TIERED,
	OPT_REASON,
	OPT_PRIORITY,
	OPT_KVM_MEMORY,
	OPT_IGNORED,
};

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{"verbose", no_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"text-data", required_argument, NULL, 't'},
	{"ialloc-src", required_argument, NULL, 'I'},
	{"group", required_argument, NULL, 'G'},
	{"offline", required_argument, NULL, 'O'},
	{"dynu-file", required_argument, NULL, 'U'},
	{"print-commands", optional_argument, NULL, 'C'},
	{"evac-mode", no_argument, NULL, 'E'},
	{"max-length", required_argument, NULL, 'l'},
	{"min-score", required_argument, NULL, 'e'},
	{"min-gain", required_argument, NULL, 'g'},
	{"min-gain-limit", required_argument, NULL, OPT_MIN_GAIN_LIMIT},
	{"restricted-migration", no_argument, NULL, OPT_RESTRICTED},
	{"no-disk-moves", no_argument, NULL, OPT_NO_DISK_MOVES},
	{"no-instance-moves", no_argument, NULL, OPT_NO_INSTANCE_MOVES},
	{"ignore-soft-errors", no_argument, NULL, OPT_IGNORE_SOFT},
	{"ignore-dynu", no_argument, NULL, OPT_IGNORE_DYNU},
	{"no-capacity-checks", no_argument, NULL, OPT_NO_CAPACITY},
	{"no-simulation", no_argument, NULL, OPT_NO_SIMULATION},
	{"machine-readable", optional_argument, NULL, OPT_MACHINE},
	{"first-job-group", no_argument, NULL, OPT_FIRST_JOBS},
	{"max-cpu", required_argument, NULL, OPT_MAX_CPU},
	{"min-disk", required_argument, NULL, OPT_MIN_DISK},
	{"select-instances", required_argument, NULL, OPT_SELECT},
	{"exclude-instances", required_argument, NULL, OPT_EXCLUDE},
	{"exclusion-tags", required_argument, NULL, OPT_EXCLUSION_TAGS},
	{"force", no_argument, NULL, OPT_FORCE},
	{"skip-non-redundant", no_argument, NULL, OPT_SKIP_NON_REDUNDANT},
	{"ignore-non-redundant", no_argument, NULL, OPT_IGNORE_NON_REDUNDANT},
	{"offline-maintenance", no_argument, NULL, OPT_OFFLINE_MAINTENANCE},
	{"one-step-only", no_argument, NULL, OPT_ONE_STEP},
	{"print-moves", no_argument, NULL, OPT_PRINT_MOVES},
	{"print-nodes", optional_argument, NULL, 'p'},
	{"print-instances", no_argument, NULL, OPT_PRINT_INSTANCES},
	{"no-headers", no_argument, NULL, OPT_NO_HEADERS},
	{"node-tags", required_argument, NULL, OPT_NODE_TAGS},
	{"minimal-resources", required_argument, NULL, OPT_MINIMAL},
	{"target-resources", required_argument, NULL, OPT_TARGET},
	{"independent-groups", no_argument, NULL, OPT_INDEPENDENT},
	{"accept-existing-errors", no_argument, NULL, OPT_ACCEPT_ERRORS},
	{"disk-template", required_argument, NULL, OPT_DISK_TEMPLATE},
	{"spindle-use", required_argument, NULL, OPT_SPINDLE_USE},
	{"simulate", required_argument, NULL, OPT_SIMULATE},
	{"standard-alloc", required_argument, NULL, OPT_STANDARD},
	{"tiered-alloc", required_argument, NULL, OPT_TIERED},
	{"save", required_argument, NULL, 'S'},
	{"luxi", optional_argument, NULL, 'L'},
	{"exec", no_argument, NULL, 'X'},
	{"reason", required_argument, NULL, OPT_REASON},
	{"priority", required_argument, NULL, OPT_PRIORITY},
	{"static-kvm-node-memory", required_argument, NULL, OPT_KVM_MEMORY},
	{"mond", optional_argument, NULL, OPT_IGNORED},
	{"mond-xen", no_argument, NULL, OPT_IGNORED},
	{0},
};

static void print_usage(FILE *f, const char *program)
{
	fprintf(f, "%s (gantry) " GANTRY_VERSION "\nUsage: %s [OPTION...]\n",
		program, program);
	for (const struct option *o = options; o->name != NULL; o++)
		fprintf(f, "  %c%c  --%s%s\n", o->val < 256 ? '-' : ' ',
			o->val < 256 ? o->val : ' ', o->name,
			o->has_arg == required_argument	  ? "=VALUE"
			: o->has_arg == optional_argument ? "[=VALUE]"
							  : "");
}

static int wrong_number(const char *text)
{
	fprintf(stderr, "Command line error: '%s' is no number\n", text);
	return 3;
}

/* "low", "normal" or "high". */
static int take_priority(const char *text, int *ret)
{
	static const struct {
		const char *name;
		int value;
	} names[] = {{"low", 10}, {"normal", 0}, {"high", -10}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, text) == 0) {
			*ret = names[i].value;
			return 0;
		}
	fprintf(stderr,
		"Command line error: '%s' is no priority (low, normal, "
		"high)\n",
		text);
	return 3;
}

static int take_double(const char *text, double *ret)
{
	return str_to_double(text, ret) ? 0 : wrong_number(text);
}

/* The options that have a value. */
static int take_value(struct tool_options *o, int option, const char *value)
{
	switch (option) {
	case 't':
		o->text_file = value;
		return 0;
	case 'I':
		o->request_file = value;
		return 0;
	case 'G':
		o->group = value;
		return 0;
	case 'O':
		strv_add(&o->offline, value);
		return 0;
	case 'L':
		o->use_luxi = true;
		o->luxi_socket = value;
		return 0;
	case OPT_REASON:
		o->reason = value;
		return 0;
	case OPT_PRIORITY:
		return take_priority(value, &o->priority);
	case OPT_KVM_MEMORY:
		return str_to_int64(value, &o->kvm_node_memory)
			       ? 0
			       : wrong_number(value);
	case 'U':
		o->dynu_file = value;
		return 0;
	case 'C':
		o->print_commands = true;
		o->commands = value;
		return 0;
	case 'p':
		o->print_nodes = true;
		o->node_fields = value;
		return 0;
	case 'l':
		return str_to_int64(value, &o->max_length)
			       ? 0
			       : wrong_number(value);
	case 'e':
		return take_double(value, &o->min_score);
	case 'g':
		return take_double(value, &o->min_gain);
	case OPT_MIN_GAIN_LIMIT:
		return take_double(value, &o->min_gain_limit);
	case OPT_DISK_TEMPLATE:
		o->disk_template = value;
		return 0;
	case OPT_STANDARD:
		o->standard_alloc = value;
		return 0;
	case OPT_TIERED:
		o->tiered_alloc = value;
		return 0;
	case 'S':
		o->save = value;
		return 0;
	case OPT_SIMULATE:
		strv_add(&o->simulate, value);
		return 0;
	case OPT_SPINDLE_USE:
		return str_to_int64(value, &o->spindle_use)
			       ? 0
			       : wrong_number(value);
	case OPT_MAX_CPU:
		return take_double(value, &o->load.max_cpu_ratio);
	case OPT_MIN_DISK:
		return take_double(value, &o->load.min_disk_ratio);
	case OPT_MINIMAL:
		return take_double(value, &o->minimal_resources);
	case OPT_TARGET:
		return take_double(value, &o->target_resources);
	case OPT_SELECT:
		o->has_selection = true;
		str_split(&o->selected, value, ',');
		return 0;
	case OPT_EXCLUDE:
		str_split(&o->excluded, value, ',');
		return 0;
	case OPT_EXCLUSION_TAGS:
		str_split(&o->exclusion_tags, value, ',');
		return 0;
	case OPT_NODE_TAGS:
		o->has_node_tags = true;
		str_split(&o->node_tags, value, ',');
		return 0;
	case OPT_MACHINE:
		o->machine_readable = value == NULL || strcmp(value, "no") != 0;
		return 0;
	default:
		return 0;
	}
}

static int take_option(struct tool_options *o, const char *program, int option,
		       const char *value)
{
	bool *const flags[] = {
		[OPT_RESTRICTED - 256] = &o->restricted_migration,
		[OPT_NO_DISK_MOVES - 256] = &o->no_disk_moves,
		[OPT_NO_INSTANCE_MOVES - 256] = &o->no_instance_moves,
		[OPT_IGNORE_SOFT - 256] = &o->ignore_soft_errors,
		[OPT_IGNORE_DYNU - 256] = &o->load.ignore_dynamic,
		[OPT_NO_CAPACITY - 256] = &o->no_capacity_checks,
		[OPT_NO_SIMULATION - 256] = &o->no_simulation,
		[OPT_FORCE - 256] = &o->force,
		[OPT_SKIP_NON_REDUNDANT - 256] = &o->skip_non_redundant,
		[OPT_IGNORE_NON_REDUNDANT - 256] = &o->ignore_non_redundant,
		[OPT_OFFLINE_MAINTENANCE - 256] = &o->offline_maintenance,
		[OPT_ONE_STEP - 256] = &o->one_step_only,
		[OPT_PRINT_MOVES - 256] = &o->print_moves,
		[OPT_NO_HEADERS - 256] = &o->no_headers,
		[OPT_PRINT_INSTANCES - 256] = &o->print_instances,
		[OPT_INDEPENDENT - 256] = &o->independent_groups,
		[OPT_ACCEPT_ERRORS - 256] = &o->accept_existing_errors,
	};

	if (option >= 256 && option < OPT_FLAGS_END) {
		*flags[option - 256] = true;
		return 0;
	}
	switch (option) {
	case 'h':
		print_usage(stdout, program);
		return 1;
	case 'V':
		printf("%s (gantry) " GANTRY_VERSION "\n", program);
		return 1;
	case '?':
		print_usage(stderr, program);
		return 3;
	case 'v':
		o->verbose++;
		return 0;
	case 'q':
		o->verbose--;
		return 0;
	case 'X':
		o->execute = true;
		return 0;
	case 'E':
		o->evac_mode = true;
		return 0;
	case OPT_FIRST_JOBS:
		o->first_job_group = true;
		return 0;
	default:
		return take_value(o, option, value);
	}
}

int tool_parse(struct tool_options *o, const char *program, int argc,
	       char **argv)
{
	int option, rc = 0;

	*o = (struct tool_options){.program = program,
				   .verbose = 1,
				   .max_length = -1,
				   .spindle_use = -1,
				   .kvm_node_memory = KVM_NODE_MEMORY,
				   .min_score = 1e-9,
				   .minimal_resources = 2,
				   .target_resources = 2,
				   .min_gain = 0.01,
				   .min_gain_limit = 0.1,
				   .load = {.max_cpu_ratio = -1}};
	while (rc == 0 && (option = getopt_long(argc, argv,
						"hVvqt:I:L::XG:O:U:C::"
						"El:e:g:S:p::",
						options, NULL)) != -1)
		rc = take_option(o, program, option, optarg);
	if (rc == 0 && optind < argc) {
		tool_error("This program doesn't take any arguments.");
		rc = 2;
	}
	o->load.exclusion_tags = (const char **)o->exclusion_tags.items;
	o->load.n_exclusion_tags = o->exclusion_tags.n;
	return rc;
}

void tool_done(struct tool_options *o)
{
	strv_done(&o->offline);
	strv_done(&o->selected);
	strv_done(&o->excluded);
	strv_done(&o->exclusion_tags);
	strv_done(&o->node_tags);
	strv_done(&o->simulate);
}
