/* SPDX-License-Identifier: BSD-2-Clause */
/* A program is a list of options, each with the member of the program's struct
 * that its value goes to.  An option that is only taken is kept by tool.c. */
#include "iallocators/options/tool_programs.h"

#include <limits.h>
#include <string.h>

#include "iallocators/balance/cost.h"
#include "iallocators/input/request.h"
#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "lib/base/array.h"

/* --- rows that several programs have --- */

#define SOURCES TAKE(TEXT_DATA), TAKE(MASTER), TAKE(LUXI), TAKE(IALLOC_SRC)
#define MOVES(type)                                                            \
	SET(NO_DISK_MOVES, type, moves.no_disk_moves),                         \
		SET(NO_INSTANCE_MOVES, type, moves.no_instance_moves),         \
		SET(IGNORE_SOFT_ERRORS, type, moves.ignore_soft_errors),       \
		TAKE(SELECT_INSTANCES), TAKE(EXCLUDE_INSTANCES),               \
		PUT(MAX_LENGTH, type, moves.max_length),                       \
		PUT(MIN_SCORE, type, moves.min_score),                         \
		PUT(MIN_GAIN, type, moves.min_gain),                           \
		PUT(MIN_GAIN_LIMIT, type, moves.min_gain_limit)
#define ABOUT TAKE(VERSION), TAKE(HELP), TAKE(HELP_COMPLETION)
#define SAY_MORE_OR_LESS TAKE(VERBOSE), TAKE(QUIET)

#define MOVES_DEFAULT                                                          \
	{                                                                      \
		.max_length = -1, .min_score = 1e-9, .min_gain = 0.01,         \
		.min_gain_limit = 0.1                                          \
	}

struct balance_options tool_balance_options(const struct moves_opts *o)
{
	return (struct balance_options){
		.evac_mode = o->evac_mode,
		.no_disk_moves = o->no_disk_moves,
		.no_instance_moves = o->no_instance_moves,
		.ignore_soft_errors = o->ignore_soft_errors,
		.max_steps = o->max_length,
		.min_score = o->min_score,
		.min_gain = o->min_gain,
		.min_gain_limit = o->min_gain_limit};
}

/* --- the programs --- */

#define PROGRAM(name_)                                                         \
	.name = #name_, .places = name_##_places,                              \
	.n_places = ARRAY_SIZE(name_##_places), .defaults = &name_##_defaults, \
	.size = sizeof(struct name_##_opts)
#define LOUD(name_) .verbose = (int)offsetof(struct name_##_opts, verbose)
#define LEVELS .levels = {.tags = 2, .policy = 3, .suffix = 3}

static const struct tool_place hail_places[] = {
	TAKE(TEXT_DATA),
	TAKE(SIMULATE),
	PUT(STATIC_KVM_NODE_MEMORY, struct hail_opts, kvm_node_memory),
	TAKE(IGNORE_DYNU),
	TAKE(MOND),
	TAKE(MOND_XEN),
	SET(IGNORE_SOFT_ERRORS, struct hail_opts, ignore_soft_errors),
	SET(NO_CAPACITY_CHECKS, struct hail_opts, no_capacity_checks),
	PUT_GIVEN(RESTRICT_ALLOCATION_TO, struct hail_opts, restriction,
		  has_restriction),
	SET(DEDICATED_PER_GROUP, struct hail_opts, dedicated_per_group),
	TAKE(MAX_NODE_FAILURES),
	PUT(PROTOCOL, struct hail_opts, protocol),
	PUT_GIVEN(PRINT_NODES, struct hail_opts, nodes.fields, nodes.wanted),
	PUT(EXPLAIN, struct hail_opts, explain),
	PUT(EXPLAIN_LIMIT, struct hail_opts, explain_limit),
	PUT(SAVE, struct hail_opts, save),
	TAKE(VERBOSE),
	ABOUT,
};

static const struct hail_opts hail_defaults = {.kvm_node_memory =
						       KVM_NODE_MEMORY,
					       .protocol = 2,
					       .explain = EXPLAIN_NOT};

const struct tool_program hail_program = {
	PROGRAM(hail), .help = "place instances: the default allocator",
	.verbose = NOWHERE, LEVELS, .takes_file = true};

static const struct tool_place hbal_places[] = {
	SOURCES,
	TAKE(OFFLINE),
	TAKE(STATIC_KVM_NODE_MEMORY),
	TAKE(DYNU_FILE),
	TAKE(IGNORE_DYNU),
	TAKE(MOND),
	TAKE(MOND_DATA),
	TAKE(EXIT_ON_MISSING_MOND_DATA),
	TAKE(MOND_XEN),
	TAKE(EXCLUSION_TAGS),
	TAKE(MAX_CPU),
	TAKE(MIN_DISK),
	PUT(GROUP, struct hbal_opts, group),
	SET(EVAC_MODE, struct hbal_opts, moves.evac_mode),
	SET(RESTRICTED_MIGRATION, struct hbal_opts, restricted_migration),
	MOVES(struct hbal_opts),
	PUT_GIVEN(MOVE_COST, struct hbal_opts, move_cost, use_move_cost),
	PUT_GIVEN(MAX_COST, struct hbal_opts, max_cost, limit_cost),
	TAKE(MAX_NODE_FAILURES),
	SET(EXEC, struct hbal_opts, execute),
	SET(FIRST_JOB_GROUP, struct hbal_opts, jobs.first_set),
	PUT(REASON, struct hbal_opts, jobs.reason),
	PUT(PRIORITY, struct hbal_opts, jobs.priority),
	PUT_GIVEN(PRINT_COMMANDS, struct hbal_opts, commands.file,
		  commands.wanted),
	PUT_GIVEN(PRINT_NODES, struct hbal_opts, listing.nodes.fields,
		  listing.nodes.wanted),
	SET(PRINT_INSTANCES, struct hbal_opts, listing.instances),
	PUT(SAVE, struct hbal_opts, save),
	SAY_MORE_OR_LESS,
	ABOUT,
};

static const struct hbal_opts hbal_defaults = {.moves = MOVES_DEFAULT,
					       .move_cost = COST_PRICE};

const struct tool_program hbal_program = {
	PROGRAM(hbal), .help = "balance a cluster: which instances to move",
	LOUD(hbal), .levels = {.tags = 2, .policy = 2, .suffix = 2}};

static const struct tool_place hcheck_places[] = {
	SOURCES,
	TAKE(OFFLINE),
	TAKE(DYNU_FILE),
	TAKE(IGNORE_DYNU),
	TAKE(EXCLUSION_TAGS),
	TAKE(MAX_CPU),
	TAKE(MIN_DISK),
	SET(EVAC_MODE, struct hcheck_opts, moves.evac_mode),
	MOVES(struct hcheck_opts),
	SET(NO_CAPACITY_CHECKS, struct hcheck_opts, no_capacity_checks),
	TAKE(MAX_NODE_FAILURES),
	SET(NO_SIMULATION, struct hcheck_opts, no_simulation),
	PUT(MACHINE_READABLE, struct hcheck_opts, machine_readable),
	SAY_MORE_OR_LESS,
	ABOUT,
};

static const struct hcheck_opts hcheck_defaults = {.moves = MOVES_DEFAULT};

const struct tool_program hcheck_program = {
	PROGRAM(hcheck),
	.help = "check a cluster, and whether balancing it would help",
	LOUD(hcheck), LEVELS};

static const struct tool_place hinfo_places[] = {
	SOURCES,
	TAKE(OFFLINE),
	TAKE(STATIC_KVM_NODE_MEMORY),
	TAKE(IGNORE_DYNU),
	TAKE(MOND),
	TAKE(MOND_DATA),
	PUT_GIVEN(PRINT_NODES, struct hinfo_opts, listing.nodes.fields,
		  listing.nodes.wanted),
	SET(PRINT_INSTANCES, struct hinfo_opts, listing.instances),
	SAY_MORE_OR_LESS,
	ABOUT,
};

static const struct hinfo_opts hinfo_defaults = {0};

const struct tool_program hinfo_program = {
	PROGRAM(hinfo), .help = "show a cluster's nodes, instances and scores",
	LOUD(hinfo), .levels = {.tags = INT_MIN, .policy = 3, .suffix = 3}};

static const struct tool_place hroller_places[] = {
	SOURCES,
	TAKE(OFFLINE),
	TAKE(STATIC_KVM_NODE_MEMORY),
	PUT(GROUP, struct hroller_opts, group),
	SET(FORCE, struct hroller_opts, force),
	PUT_GIVEN(NODE_TAGS, struct hroller_opts, node_tags, has_node_tags),
	SET(OFFLINE_MAINTENANCE, struct hroller_opts, offline_maintenance),
	SET(FULL_EVACUATION, struct hroller_opts, full_evacuation),
	SET(SKIP_NON_REDUNDANT, struct hroller_opts, skip_non_redundant),
	SET(IGNORE_NON_REDUNDANT, struct hroller_opts, ignore_non_redundant),
	SET(PRINT_MOVES, struct hroller_opts, print_moves),
	SET(ONE_STEP_ONLY, struct hroller_opts, one_step_only),
	SET(NO_HEADERS, struct hroller_opts, no_headers),
	PUT(SAVE, struct hroller_opts, save),
	SAY_MORE_OR_LESS,
	ABOUT,
};

static const struct hroller_opts hroller_defaults = {0};

const struct tool_program hroller_program = {
	PROGRAM(hroller),
	.help = "which nodes can be rebooted at the same time", LOUD(hroller),
	LEVELS};

static const struct tool_place hspace_places[] = {
	SOURCES,
	TAKE(SIMULATE),
	TAKE(OFFLINE),
	TAKE(STATIC_KVM_NODE_MEMORY),
	TAKE(MAX_CPU),
	TAKE(MIN_DISK),
	PUT(MAX_LENGTH, struct hspace_opts, max_length),
	SET(INDEPENDENT_GROUPS, struct hspace_opts, independent_groups),
	SET(ACCEPT_EXISTING_ERRORS, struct hspace_opts, accept_existing_errors),
	SET(NO_CAPACITY_CHECKS, struct hspace_opts, no_capacity_checks),
	PUT(DISK_TEMPLATE, struct hspace_opts, disk_template),
	PUT(SPINDLE_USE, struct hspace_opts, spindle_use),
	PUT(STANDARD_ALLOC, struct hspace_opts, standard_alloc),
	PUT(TIERED_ALLOC, struct hspace_opts, tiered_alloc),
	TAKE(MAX_NODE_FAILURES),
	PUT_GIVEN(PRINT_NODES, struct hspace_opts, nodes.fields, nodes.wanted),
	PUT(MACHINE_READABLE, struct hspace_opts, machine_readable),
	PUT(FORMAT, struct hspace_opts, json),
	PUT(SAVE, struct hspace_opts, save),
	SAY_MORE_OR_LESS,
	ABOUT,
};

static const struct hspace_opts hspace_defaults = {
	.max_length = -1, .disk_template = NO_INDEX, .spindle_use = -1};

const struct tool_program hspace_program = {
	PROGRAM(hspace), .help = "how many more instances fit on a cluster",
	LOUD(hspace), LEVELS};

static const struct tool_place hsqueeze_places[] = {
	TAKE(TEXT_DATA),
	TAKE(LUXI),
	TAKE(STATIC_KVM_NODE_MEMORY),
	PUT(MINIMAL_RESOURCES, struct hsqueeze_opts, minimal_resources),
	PUT(TARGET_RESOURCES, struct hsqueeze_opts, target_resources),
	SET(EXEC, struct hsqueeze_opts, execute),
	PUT_GIVEN(PRINT_COMMANDS, struct hsqueeze_opts, commands.file,
		  commands.wanted),
	SET(NO_HEADERS, struct hsqueeze_opts, no_headers),
	PUT(SAVE, struct hsqueeze_opts, save),
	TAKE(VERBOSE),
	ABOUT,
};

static const struct hsqueeze_opts hsqueeze_defaults = {.minimal_resources = 2,
						       .target_resources = 2};

const struct tool_program hsqueeze_program = {
	PROGRAM(hsqueeze),
	.help = "which nodes can be switched off, or have to be switched on",
	LOUD(hsqueeze), LEVELS};

const struct tool_program *const tool_programs[] = {
	&hail_program,	  &hbal_program,   &hcheck_program,   &hinfo_program,
	&hroller_program, &hspace_program, &hsqueeze_program, NULL};

const struct tool_program *tool_find_program(const char *name)
{
	for (size_t i = 0; tool_programs[i] != NULL; i++)
		if (strcmp(tool_programs[i]->name, name) == 0)
			return tool_programs[i];
	return NULL;
}
