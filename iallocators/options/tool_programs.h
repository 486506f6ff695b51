/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs that plan: for each one the options that it takes, and a struct
 * with those that are its own.  What says where the cluster comes from and how
 * it is read is not in there: tool.c keeps that. */
#ifndef IALLOCATORS_OPTIONS_TOOL_PROGRAMS_H
#define IALLOCATORS_OPTIONS_TOOL_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "iallocators/balance/balance.h"
#include "iallocators/options/listing.h"
#include "iallocators/options/tool_opts.h"
#include "lib/base/str.h"

/* From which verbosity on a program prints tags, policy and suffix. */
struct tool_levels {
	int tags, policy, suffix;
};

struct tool_program {
	const char *name;
	const char *help;
	bool takes_file;		 /* it needs a file, besides options */
	const struct tool_place *places; /* in the order of the help */
	size_t n_places;
	const void *defaults; /* its struct, as it is without options */
	size_t size;	      /* of that */
	int verbose;	      /* offset of an int in it; NOWHERE */
	struct tool_levels levels;
};

extern const struct tool_program hail_program, hbal_program, hcheck_program,
	hinfo_program, hroller_program, hspace_program, hsqueeze_program;

/* All of them by name; NULL ends. */
extern const struct tool_program *const tool_programs[];

/* The program of that name, or NULL. */
const struct tool_program *tool_find_program(const char *name);

/* --- options that several programs have --- */

/* Which moves hbal and hcheck try. */
struct moves_opts {
	bool evac_mode;
	bool no_disk_moves, no_instance_moves;
	bool ignore_soft_errors;
	int64_t max_length; /* negative: no limit */
	double min_score, min_gain, min_gain_limit;
};

/* The same for balance_run(), with nothing else set. */
struct balance_options tool_balance_options(const struct moves_opts *o);

/* -C: print the commands, or write them to a file. */
struct commands_opts {
	bool wanted;
	const char *file; /* or NULL */
};

/* How jobs are submitted. */
struct jobs_opts {
	const char *reason; /* or NULL */
	int priority;
	bool first_set; /* only this */
};

/* --- the programs --- */

struct hail_opts {
	int64_t kvm_node_memory; /* 0: as reported */
	bool ignore_soft_errors;
	bool no_capacity_checks;
	bool has_restriction;
	struct strv restriction;
	bool dedicated_per_group;
	int protocol;
	int explain;	       /* enum explain_format */
	int64_t explain_limit; /* 0: as many as usual */
	struct nodes_opts nodes;
	const char *save; /* -S, or NULL */
};

struct hbal_opts {
	int verbose;
	struct moves_opts moves;
	bool restricted_migration;
	const char *group; /* -G, or NULL */
	bool use_move_cost;
	double move_cost; /* a TiB, see cost.h */
	bool limit_cost;
	int64_t max_cost; /* MiB */
	bool execute;
	struct jobs_opts jobs;
	struct commands_opts commands;
	struct listing_opts listing;
	const char *save; /* -S, or NULL */
};

struct hcheck_opts {
	int verbose;
	struct moves_opts moves;
	bool no_capacity_checks;
	bool no_simulation;
	int machine_readable; /* 0 or 1 */
};

struct hinfo_opts {
	int verbose;
	struct listing_opts listing;
};

struct hroller_opts {
	int verbose;
	const char *group; /* -G, or NULL */
	bool force;
	bool has_node_tags;
	struct strv node_tags;
	bool offline_maintenance, full_evacuation;
	bool skip_non_redundant, ignore_non_redundant;
	bool print_moves, one_step_only, no_headers;
	const char *save; /* -S, or NULL */
};

struct hspace_opts {
	int verbose;
	int64_t max_length; /* negative: no limit */
	bool independent_groups, accept_existing_errors, no_capacity_checks;
	int disk_template;   /* enum template; NO_INDEX: the policy's first */
	int64_t spindle_use; /* negative: as the policy says */
	const char *standard_alloc, *tiered_alloc; /* or NULL */
	struct nodes_opts nodes;
	int machine_readable, json; /* 0 or 1 */
	const char *save;	    /* -S, or NULL */
};

struct hsqueeze_opts {
	int verbose;
	double minimal_resources, target_resources;
	bool execute;
	struct commands_opts commands;
	bool no_headers;
	const char *save; /* -S, or NULL */
};

#endif
