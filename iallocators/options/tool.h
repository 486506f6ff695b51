/* SPDX-License-Identifier: BSD-2-Clause */
/* What the planning programs have in common: a run with its options, loading,
 * tables. */
#ifndef IALLOCATORS_OPTIONS_TOOL_H
#define IALLOCATORS_OPTIONS_TOOL_H

#include "iallocators/model/model.h"
#include "iallocators/model/score.h"
#include "iallocators/options/tool_programs.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* One run of a program.  It keeps what the options say of the cluster and of
 * how it is read; no program sees that, so none can rely on an option that it
 * does not take. */
struct tool;
struct luxi;

/* Read the command line of a program.  To be freed with tool_free(); NULL with
 * the exit code when that is all, and said. */
struct tool *tool_parse(const struct tool_program *p, int argc, char **argv,
			int *ret_code);
void tool_free(struct tool *t);

/* The own options of the program, whose run it has to be: its struct of
 * tool_programs.h. */
const void *tool_options(const struct tool *t, const struct tool_program *p);
/* The file that it was given besides options, or NULL. */
const char *tool_argument(const struct tool *t);

/* Whether the cluster comes from a file or a simulation; from a simulation. */
bool tool_has_data(const struct tool *t);
bool tool_is_simulated(const struct tool *t);
/* Whether monitoring daemons are asked for loads. */
bool tool_asks_mond(const struct tool *t);
/* --max-node-failures: whether it is given, and then the number. */
bool tool_max_node_failures(const struct tool *t, int *ret);
/* How loads are computed; as long as the run. */
const struct load_options *tool_loads(const struct tool *t);

/* A connection to the master that -L names, to be closed; NULL with err, which
 * names the program if there is no -L. */
struct luxi *tool_luxi(const struct tool *t, struct error *err);
/* The program's name. */
const char *tool_name(const struct tool *t);

/* Load the cluster that the options name and print warnings.  It points into
 * memory of the run. */
int tool_read(struct tool *t, struct cluster *c, struct error *err);

/* Then take the nodes that -O names as offline. */
int tool_set_offline(const struct tool *t, struct cluster *c,
		     struct error *err);

/* Both. */
int tool_load(struct tool *t, struct cluster *c, struct error *err);

/* Compute what follows from what is loaded, with the loads that the options
 * name. */
int tool_finish(const struct tool *t, struct cluster *c, struct error *err);

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
void tool_print_loaded(const struct tool *t, const struct cluster *c);
void tool_print_suffix(const struct tool *t, const struct cluster *c);

/* The whole of main(): options, an empty cluster, run, errors; 1 from run is
 * an exit code without an error. */
typedef int (*tool_fn)(struct tool *t, struct cluster *c, struct error *err);
int tool_main(const struct tool_program *p, int argc, char **argv, tool_fn run);

/* Say in *err why the file cannot be read, as errno tells. */
void tool_explain_file(const char *path, struct error *err);

/* An error for people, as the last words. */
void tool_error(const char *text);

#endif
