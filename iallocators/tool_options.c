/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads command lines by the table of options (tool_table.h). */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "iallocators/cost.h"
#include "iallocators/request.h"
#include "iallocators/simulate.h"
#include "iallocators/tool_table.h"
#include "lib/base/mem.h"

/* What getopt_long() gives for entry i of the table. */
#define OPTION_BASE 256

/* "low", "normal" or "high". */
static bool read_priority(const char *text, int *ret)
{
	static const struct {
		const char *name;
		int value;
	} names[] = {{"low", 10}, {"normal", 0}, {"high", -10}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, text) == 0) {
			*ret = names[i].value;
			return true;
		}
	return false;
}

static bool read_size(const char *text, double *ret)
{
	struct error why; /* take() has words for it */
	int64_t mib;

	if (simulate_size("", text, &mib, &why) < 0)
		return false;
	*ret = (double)mib;
	return true;
}

static bool read_yes(const char *text, bool *ret)
{
	*ret = text == NULL || strcmp(text, "yes") == 0;
	return *ret || strcmp(text, "no") == 0;
}

/* Put a value in its place; false if it makes no sense. */
static bool store(void *place, enum option_kind kind, const char *value)
{
	switch (kind) {
	case KIND_TEMPLATE:
		if (cluster_find_template(value) == NO_INDEX)
			return false;
		*(const char **)place = value;
		return true;
	case KIND_TEXT:
		*(const char **)place = value;
		return true;
	case KIND_COUNT:
		return str_to_int64(value, place);
	case KIND_NATURAL:
		return str_to_int64(value, place) && *(int64_t *)place >= 0;
	case KIND_NUMBER:
		return str_to_double(value, place);
	case KIND_POSITIVE:
		return str_to_double(value, place) && *(double *)place > 0;
	case KIND_SIZE:
		return read_size(value, place);
	case KIND_LIST:
		str_split(place, value, ',');
		return true;
	case KIND_ADD:
		strv_add(place, value);
		return true;
	case KIND_YES:
		return read_yes(value, place);
	case KIND_PRIORITY:
		return read_priority(value, place);
	case KIND_FORMAT:
		*(bool *)place = strcmp(value, "json") == 0;
		return *(bool *)place || strcmp(value, "text") == 0;
	case KIND_MORE:
		++*(int *)place;
		return true;
	case KIND_LESS:
		--*(int *)place;
		return true;
	default:
		return true;
	}
}

static const char *expected(enum option_kind kind)
{
	switch (kind) {
	case KIND_TEMPLATE:
		return "a disk template";
	case KIND_COUNT:
		return "a whole number";
	case KIND_NATURAL:
		return "a whole number, 0 or more";
	case KIND_NUMBER:
		return "a number";
	case KIND_POSITIVE:
		return "a number above 0";
	case KIND_SIZE:
		return "a size like 500g";
	case KIND_YES:
		return "'yes' or 'no'";
	case KIND_FORMAT:
		return "'text' or 'json'";
	default:
		return "'low', 'normal' or 'high'";
	}
}

/* 0, or 1 + the exit code. */
static int take(struct tool_options *o, const struct tool_option *option,
		const char *value)
{
	char *base = (char *)o;

	if (option->given != 0)
		*(bool *)(base + option->given) = true;
	switch (option->kind) {
	case KIND_HELP:
		tool_usage(stdout, o->program);
		return 1;
	case KIND_VERSION:
		printf("%s (gantry) " GANTRY_VERSION "\n", o->program);
		return 1;
	case KIND_COMPLETION:
		tool_completion(o->program);
		return 1;
	default:
		break;
	}
	/* The number stays as it is when only the option is given. */
	if (value == NULL && option->kind == KIND_POSITIVE)
		return 0;
	if (store(base + option->value, option->kind, value))
		return 0;
	fprintf(stderr,
		"Error while parsing command line arguments:\n"
		"--%s: cannot parse string '%s', expected %s\n",
		option->name, value, expected(option->kind));
	return 2;
}

static int has_arg(const struct tool_option *o)
{
	if (o->arg == NULL)
		return no_argument;
	return o->arg[0] == '[' ? optional_argument : required_argument;
}

/* The program's part of the table, as getopt_long() wants it. */
static struct option *long_options(unsigned program)
{
	struct option *list = xcalloc(tool_table_n + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < tool_table_n; i++)
		if ((tool_table[i].programs & program) != 0)
			list[n++] = (struct option){tool_table[i].name,
						    has_arg(&tool_table[i]),
						    NULL, OPTION_BASE + (int)i};
	return list;
}

static void add_letters(struct buf *b, unsigned program)
{
	for (size_t i = 0; i < tool_table_n; i++)
		if (tool_table[i].letter != 0 &&
		    (tool_table[i].programs & program) != 0)
			buf_addf(b, "%c%.*s", tool_table[i].letter,
				 has_arg(&tool_table[i]), "::");
}

static const struct tool_option *find(int found)
{
	if (found >= OPTION_BASE)
		return &tool_table[found - OPTION_BASE];
	for (size_t i = 0; i < tool_table_n; i++)
		if (found == tool_table[i].letter)
			return &tool_table[i];
	return NULL;
}

int tool_parse(struct tool_options *o, const char *program, int argc,
	       char **argv)
{
	auto_free struct option *options = long_options(tool_program(program));
	auto_buf struct buf letters = {0};
	int found, rc = 0;

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
				   .move_cost = COST_PRICE,
				   .load = {.max_cpu_ratio = -1}};
	add_letters(&letters, tool_program(program));
	while (rc == 0 && (found = getopt_long(argc, argv, letters.data,
					       options, NULL)) != -1) {
		const struct tool_option *option = find(found);

		if (option != NULL) {
			rc = take(o, option, optarg);
		} else {
			tool_usage(stderr, program);
			rc = 3;
		}
	}
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
