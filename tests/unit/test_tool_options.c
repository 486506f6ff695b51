/* SPDX-License-Identifier: BSD-2-Clause */
/* The command lines of the programs that plan: what a program takes, and where
 * it goes. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

#include "iallocators/model/model.h"
#include "iallocators/model/place_options.h"
#include "iallocators/options/tool.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

#define WORDS_MAX 16

static int code;

/* The run of a program with these words, up to a NULL. */
static struct tool *parse(const struct tool_program *p,
			  const char *const *words)
{
	char *argv[WORDS_MAX + 2] = {mem_unconst(p->name)};
	int n = 1;

	for (; words[n - 1] != NULL; n++) {
		cr_assert_leq(n, WORDS_MAX);
		argv[n] = mem_unconst(words[n - 1]);
	}
	code = -1;
	return tool_parse(p, n, argv, &code);
}

#define PARSE(program, ...)                                                    \
	parse(&program##_program, (const char *const[]){__VA_ARGS__, NULL})

/* The command line is refused, or all is said, with an exit code. */
#define ENDS(wanted, program, ...)                                             \
	do {                                                                   \
		cr_assert_null(PARSE(program, __VA_ARGS__));                   \
		cr_assert_eq(code, wanted, "exit code %d", code);              \
	} while (0)

Test(tool_options, values_go_to_the_struct_of_the_program)
{
	struct tool *t = PARSE(hbal, "-l7", "--min-gain=2.5", "-E",
			       "--priority", "high", "-C", "-C/x", "--max-cost",
			       "2g", "--move-cost", "-pname", "-S", "state");
	const struct hbal_opts *o = tool_options(t, &hbal_program);

	cr_assert_eq(o->moves.max_length, 7);
	cr_assert_float_eq(o->moves.min_gain, 2.5, 1e-9);
	cr_assert(o->moves.evac_mode);
	cr_assert_not(o->moves.no_disk_moves);
	cr_assert_eq(o->jobs.priority, -10);
	cr_assert(o->commands.wanted);
	cr_assert_str_eq(o->commands.file, "/x");
	cr_assert(o->limit_cost);
	cr_assert_eq(o->max_cost, 2048);
	cr_assert(o->use_move_cost);
	cr_assert_float_eq(o->move_cost, 0.1, 1e-9);
	cr_assert(o->listing.nodes.wanted);
	cr_assert_str_eq(o->listing.nodes.fields, "name");
	cr_assert_not(o->listing.instances);
	cr_assert_str_eq(o->save, "state");
	cr_assert_eq(o->verbose, 1);
	tool_free(t);
}

Test(tool_options, lists_grow)
{
	struct tool *t = PARSE(hroller, "--node-tags=a,b", "--node-tags=c");
	const struct hroller_opts *o = tool_options(t, &hroller_program);

	cr_assert(o->has_node_tags);
	cr_assert_eq(o->node_tags.n, 3);
	cr_assert_str_eq(o->node_tags.items[2], "c");
	tool_free(t);
}

Test(tool_options, without_options_a_program_has_its_defaults)
{
	struct tool *t = PARSE(hspace, NULL);
	const struct hspace_opts *o = tool_options(t, &hspace_program);

	cr_assert_eq(o->max_length, -1);
	cr_assert_eq(o->spindle_use, -1);
	cr_assert_eq(o->disk_template, NO_INDEX);
	cr_assert_not(tool_has_data(t));
	tool_free(t);
	t = PARSE(hspace, "--disk-template=drbd", "--simulate=p,1,1,1,1");
	o = tool_options(t, &hspace_program);
	cr_assert_eq(o->disk_template, TEMPLATE_DRBD);
	cr_assert(tool_is_simulated(t));
	tool_free(t);
}

Test(tool_options, verbosity_counts_up_and_down)
{
	struct tool *t = PARSE(hinfo, "-qvvq", "-v", "--verbose");

	cr_assert_eq(
		((const struct hinfo_opts *)tool_options(t, &hinfo_program))
			->verbose,
		3);
	tool_free(t);
}

Test(tool_options, what_is_about_the_cluster_is_kept_by_the_run)
{
	struct tool *t = PARSE(hail, "--max-node-failures=2", "--mond",
			       "--explain=json", "-t", "data", "request");
	const struct hail_opts *o = tool_options(t, &hail_program);
	int n;

	cr_assert(tool_max_node_failures(t, &n));
	cr_assert_eq(n, 2);
	cr_assert(tool_asks_mond(t));
	cr_assert(tool_has_data(t));
	cr_assert_not(tool_is_simulated(t));
	cr_assert_eq(o->explain, EXPLAIN_JSON);
	cr_assert_eq(o->protocol, 2);
	cr_assert_str_eq(tool_argument(t), "request");
	tool_free(t);
	t = PARSE(hbal, "--exclusion-tags=a,b", "--max-cpu=3");
	cr_assert_eq(tool_loads(t)->n_exclusion_tags, 2);
	cr_assert_float_eq(tool_loads(t)->max_cpu_ratio, 3, 1e-9);
	tool_free(t);
}

Test(tool_options, no_program_takes_an_option_of_another,
     .init = cr_redirect_stderr)
{
	ENDS(2, hcheck, "--exec");
	ENDS(2, hsqueeze, "--quiet");
	ENDS(2, hinfo, "--machine-readable");
	ENDS(2, hail, "-m", "host", "request");
	ENDS(2, hspace, "--node-tags=a");
}

Test(tool_options, what_is_wrong_is_said, .init = cr_redirect_stderr)
{
	ENDS(1, hspace, "--spindle-use=-1");
	ENDS(1, hspace, "--format=yaml");
	ENDS(1, hbal, "--max-cost=5x");
	ENDS(1, hbal, "argument");
	ENDS(1, hail, NULL);
	ENDS(1, hail, "one", "two");
	fflush(stderr);
	cr_assert_stderr_eq_str(
		"Error while parsing command line arguments:\n"
		"Invalid value of the spindle-use (expected >= 0)\n"
		"Error while parsing command line arguments:\n"
		"Invalid form 'yaml', pass one of 'text' or 'json'\n"
		"Error while parsing command line arguments:\n"
		"Invalid size '5x', pass one like 500g\n"
		"Error: This program doesn't take any arguments.\n"
		"Error: This program needs an input file.\n"
		"Error: Only one argument is accepted (the input file)\n");
}

Test(tool_options, help_lists_what_a_program_takes, .init = cr_redirect_stdout)
{
	ENDS(0, hsqueeze, "--help", "--wrong");
	ENDS(0, hsqueeze, "--help-completion");
	ENDS(0, hsqueeze, "-V");
}

/* Every option belongs to a program, and to none twice. */
Test(tool_options, each_option_has_a_program)
{
	static const struct opt *const all[] = {
#define OPTION(symbol, ...) &TOOL_##symbol,
#include "iallocators/options/tool_opts.def"
#undef OPTION
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int programs = 0;

		for (size_t p = 0; tool_programs[p] != NULL; p++) {
			int rows = 0;

			for (size_t k = 0; k < tool_programs[p]->n_places; k++)
				rows += tool_programs[p]->places[k].opt ==
					all[i];
			cr_assert_leq(rows, 1, "%s", all[i]->name);
			programs += rows;
		}
		cr_assert_gt(programs, 0, "%s", all[i]->name);
	}
}
