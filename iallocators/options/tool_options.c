/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads command lines by the table of options (tool_table.h). */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "iallocators/balance/cost.h"
#include "iallocators/input/request.h"
#include "iallocators/input/simulate.h"
#include "iallocators/input/text.h"
#include "iallocators/options/tool_table.h"
#include "iallocators/place/explain.h"
#include "lib/base/array.h"
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

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
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

/* One of several words, as its number. */
static bool read_word(const char *text, const char *const *words, int n,
		      int *ret)
{
	for (int i = 0; i < n; i++)
		if (strcmp(words[i], text) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static int wrong(struct error *err, const char *before, const char *text,
		 const char *after)
{
	return error_set(err, ERR_REQUEST, NULL, "%s '%s'%s", before, text,
			 after);
}

static int store_template(const char **place, const char *value,
			  struct error *err)
{
	if (cluster_find_template(value) == NO_INDEX)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid string value for type DiskTemplate: "
				 "\"%s\"",
				 value);
	*place = value;
	return 0;
}

/* A whole number between two others. */
static int store_int(const struct tool_option *o, const char *value,
		     int64_t min, int64_t max, int64_t *place,
		     struct error *err)
{
	const char *label = o->label != NULL ? o->label : o->name;

	if (text_int(label, value, place, err) < 0)
		return -1;
	if (*place >= min && *place <= max)
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid value of the %s (expected %s %jd)", o->name,
			 *place < min ? ">=" : "<=",
			 (intmax_t)(*place < min ? min : max));
}

static int store_double(const struct tool_option *o, const char *value,
			double *place, struct error *err)
{
	const char *label = o->label != NULL ? o->label : o->name;

	if (text_double(label, value, place, err) < 0)
		return -1;
	if (o->kind == KIND_NUMBER || !(*place <= 0))
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid value of the %s ratio, expected >0", o->name);
}

/* Words that stand for something. */
static int store_word(enum option_kind kind, void *place, const char *value,
		      struct error *err)
{
	static const char *const forms[] = {"text", "json"}, *const versions[] =
								     {"2", "1"};
	int n = 0;

	switch (kind) {
	case KIND_YES:
		if (read_yes(value, place))
			return 0;
		return wrong(err, "Invalid choice", value,
			     ", pass one of 'yes' or 'no'");
	case KIND_FORMAT:
	case KIND_EXPLAIN:
		if (value != NULL && !read_word(value, forms, 2, &n))
			return wrong(err, "Invalid form", value,
				     ", pass one of 'text' or 'json'");
		if (kind == KIND_FORMAT)
			*(bool *)place = n == 1;
		else
			*(enum explain_format *)place =
				n == 1 ? EXPLAIN_JSON : EXPLAIN_TEXT;
		return 0;
	case KIND_PROTOCOL:
		if (!read_word(value, versions, 2, &n))
			return wrong(err, "Unknown version", value,
				     ", pass one of '1' or '2'");
		*(bool *)place = n == 1;
		return 0;
	default:
		if (read_priority(value, place))
			return 0;
		return wrong(err, "Unknown priority", value, "");
	}
}

/* Put a value in its place. */
static int store(void *place, const struct tool_option *o, const char *value,
		 struct error *err)
{
	switch (o->kind) {
	case KIND_TEMPLATE:
		return store_template(place, value, err);
	case KIND_TEXT:
		*(const char **)place = value;
		return 0;
	case KIND_COUNT:
		return store_int(o, value, INT64_MIN, INT64_MAX, place, err);
	case KIND_NATURAL:
		return store_int(o, value, 0, INT_MAX, place, err);
	case KIND_SMALL:
		return store_int(o, value, 1, EXPLAIN_LIMIT_MAX, place, err);
	case KIND_NUMBER:
	case KIND_POSITIVE:
		return store_double(o, value, place, err);
	case KIND_SIZE:
		if (read_size(value, place))
			return 0;
		return wrong(err, "Invalid size", value,
			     ", pass one like 500g");
	case KIND_LIST:
		if (*value != '\0')
			str_split(place, value, ',');
		return 0;
	case KIND_ADD:
		strv_add(place, value);
		return 0;
	case KIND_MORE:
		++*(int *)place;
		return 0;
	case KIND_LESS:
		--*(int *)place;
		return 0;
	case KIND_NOTHING:
		return 0;
	default:
		return store_word(o->kind, place, value, err);
	}
}

/* 0, or 1 + the exit code. */
static int take(struct tool_options *o, const struct tool_option *option,
		const char *value)
{
	char *base = (char *)o;
	struct error err;

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
	if (store(base + option->value, option, value, &err) == 0)
		return 0;
	fprintf(stderr, "Error while parsing command line arguments:\n%s\n",
		err.text);
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

/* Files are read before the cluster is asked for. */
static int read_files(struct tool_options *o)
{
	struct error err;

	if (o->dynu_file == NULL ||
	    dynu_read(o->dynu_file, &o->dynu, &err) == 0)
		return 0;
	tool_error(err.text);
	return 2;
}

/* hail wants a file, the others nothing. */
static int take_arguments(struct tool_options *o, int n, char **list)
{
	bool hail = tool_program(o->program) == HAIL;

	if (n == hail) {
		o->argument = hail ? list[0] : NULL;
		return 0;
	}
	if (!hail)
		tool_error("This program doesn't take any arguments.");
	else
		tool_error(n == 0 ? "This program needs an input file."
				  : "Only one argument is accepted (the input "
				    "file)");
	return 2;
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
	if (rc == 0)
		rc = take_arguments(o, argc - optind, argv + optind);
	if (rc == 0)
		rc = read_files(o);
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
	strv_done(&o->restriction);
	dynu_done(&o->dynu);
	strv_done(&o->simulate);
}
