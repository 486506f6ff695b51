/* SPDX-License-Identifier: BSD-2-Clause */
/* What the planning programs have in common: options, loading, tables. */
#ifndef IALLOCATORS_OPTIONS_TOOL_H
#define IALLOCATORS_OPTIONS_TOOL_H

#include "iallocators/input/dynu.h"
#include "iallocators/live/mond.h"
#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "iallocators/model/score.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

struct tool_options {
	const char *text_file;	  /* -t */
	const char *request_file; /* -I: an allocator request */
	bool use_luxi;		  /* -L */
	const char *luxi_socket;  /* or NULL: where the master listens */
	const char *rapi_address; /* -m */
	bool execute;		  /* -X */
	const char *reason;	  /* of its jobs, or NULL */
	int priority;
	int64_t kvm_node_memory; /* 0: as reported */
	const char *group;	 /* -G */
	const char *dynu_file;	 /* -U */
	struct dynu dynu;	 /* what it says */
	bool mond;		 /* --mond */
	struct mond_options mond_options;
	const char *commands; /* -C: NULL, "" or a file */
	bool print_commands;
	bool print_instances, print_nodes;
	const char *node_fields; /* -p: NULL, or which columns */
	bool evac_mode;
	bool restricted_migration;
	bool no_disk_moves, no_instance_moves;
	bool ignore_soft_errors;
	bool no_capacity_checks;
	bool no_simulation;
	bool machine_readable;
	bool json; /* --format */
	bool first_job_group;
	bool force, skip_non_redundant, ignore_non_redundant;
	bool offline_maintenance, full_evacuation, one_step_only, print_moves,
		no_headers;
	bool independent_groups, accept_existing_errors;
	const char *disk_template, *standard_alloc, *tiered_alloc, *save;
	int64_t spindle_use; /* negative: as the policy says */
	struct strv simulate;
	bool has_max_node_failures;
	int64_t max_node_failures;
	/* hail's */
	bool has_restriction;
	struct strv restriction;
	bool dedicated_per_group, protocol1;
	enum explain_format explain;
	int64_t explain_limit; /* 0: as many as usual */
	const char *argument;  /* the file with the request */
	bool has_node_tags;
	struct strv node_tags;
	const char *program;
	int verbose;
	int64_t max_length; /* negative: no limit */
	double min_score, min_gain, min_gain_limit;
	bool use_move_cost;
	double move_cost; /* a TiB, see cost.h */
	bool limit_cost;
	double max_cost; /* MiB */
	double minimal_resources, target_resources;
	struct load_options load;
	struct strv offline, selected, excluded, exclusion_tags;
};

/* Read the command line of the program (hail's names a file, too); 0, or 1 +
 * the exit code when that is all. */
int tool_parse(struct tool_options *o, const char *program, int argc,
	       char **argv);
void tool_done(struct tool_options *o);

/* Load the cluster that the options name and print warnings.  *ret_text keeps
 * the memory it points into. */
int tool_read(struct cluster *c, const struct tool_options *o,
	      struct buf *ret_text, struct error *err);

/* Then take the nodes that -O names as offline. */
int tool_set_offline(struct cluster *c, const struct tool_options *o,
		     struct error *err);

/* Both. */
int tool_load(struct cluster *c, const struct tool_options *o,
	      struct buf *ret_text, struct error *err);

/* Compute what follows from what is loaded, with the loads that the options
 * name. */
int tool_finish(struct cluster *c, const struct tool_options *o,
		struct error *err);

/* Add a table of all metrics of the statistics. */
void tool_metrics(struct buf *out, const struct stats *stats);

/* Lines of cells, each column as wide as needed; left[i] says that column i
 * is aligned to the left. */
struct grid {
	struct strv cells;
	int columns;
};
void tool_grid(struct buf *out, const char *prefix, const struct grid *grid,
	       const bool *left);

/* Add a value for shells: in single quotes if it needs them. */
void tool_quote(struct buf *out, const char *value);

/* Nodes that have not enough memory for their peers, and what is on them. */
void tool_bad_items(const struct cluster *c, const struct nodeset *nodes,
		    int *ret_nodes, int *ret_instances);

/* Load messages, as the verbosity asks. */
void tool_print_loaded(const struct cluster *c, const struct tool_options *o);
void tool_print_suffix(const struct cluster *c, const struct tool_options *o);

/* The whole of main(): options, an empty cluster, run, errors; 1 from run is
 * an exit code without an error. */
typedef int (*tool_fn)(struct cluster *c, const struct tool_options *o,
		       struct buf *text, struct error *err);
int tool_main(const char *program, int argc, char **argv, tool_fn run);

/* Say in *err why the file cannot be read, as errno tells. */
void tool_explain_file(const char *path, struct error *err);

/* An error for people, as the last words. */
void tool_error(const char *text);

#endif
