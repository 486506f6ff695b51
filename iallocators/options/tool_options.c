/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the command line of a program: lib/options parses it, and each value
 * goes where a row of a table says.  The rows of the program are about its own
 * struct, those of this file about struct tool. */
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "iallocators/input/request.h"
#include "iallocators/input/simulate.h"
#include "iallocators/input/text.h"
#include "iallocators/options/tool_help.h"
#include "iallocators/options/tool_private.h"
#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"

/* What tool.c keeps of the options, whichever program takes them. */
static const struct tool_place kept[] = {
	PUT(TEXT_DATA, struct tool, text_file),
	PUT(MASTER, struct tool, rapi_address),
	PUT_GIVEN(LUXI, struct tool, luxi_socket, use_luxi),
	PUT(IALLOC_SRC, struct tool, request_file),
	PUT(SIMULATE, struct tool, simulate),
	PUT(OFFLINE, struct tool, offline),
	PUT(STATIC_KVM_NODE_MEMORY, struct tool, kvm_node_memory),
	PUT(DYNU_FILE, struct tool, dynu_file),
	SET(IGNORE_DYNU, struct tool, load.ignore_dynamic),
	PUT(MOND, struct tool, mond),
	PUT(MOND_DATA, struct tool, mond_options.file),
	SET(EXIT_ON_MISSING_MOND_DATA, struct tool, mond_options.all_or_fail),
	SET(MOND_XEN, struct tool, mond_options.per_instance),
	PUT(EXCLUSION_TAGS, struct tool, exclusion_tags),
	PUT(MAX_CPU, struct tool, load.max_cpu_ratio),
	PUT(MIN_DISK, struct tool, load.min_disk_ratio),
	PUT(SELECT_INSTANCES, struct tool, selected),
	PUT(EXCLUDE_INSTANCES, struct tool, excluded),
	PUT_GIVEN(MAX_NODE_FAILURES, struct tool, max_node_failures,
		  has_max_node_failures),
	PUT(VERBOSE, struct tool, more),
	PUT(QUIET, struct tool, less),
};

/* --- numbers as the reference reads them --- */

static const char *label_of(const struct opt *o)
{
	return o->label != NULL ? o->label : o->name;
}

static int read_int(const struct opt *o, const char *text, int64_t *ret,
		    struct error *err)
{
	return text_int(label_of(o), text, ret, err);
}

static int read_double(const struct opt *o, const char *text, double *ret,
		       struct error *err)
{
	return text_double(label_of(o), text, ret, err);
}

static int read_size(const struct opt *o, const char *text, int64_t *ret,
		     struct error *err)
{
	struct error why; /* the option has words for it */

	if (simulate_size("", text, ret, &why) == 0)
		return 0;
	return error_set(err, ERR_REQUEST, NULL, "%s%s%s", o->before, text,
			 o->after);
}

/* Without a misfit(): each option whose value may be none has words of its
 * own. */
static const struct opt_style style = {
	.integer = read_int,
	.real = read_double,
	.size = read_size,
	.tells_words = true,
};

/* --- where values go --- */

static const struct tool_place *find_place(const struct tool_place *places,
					   size_t n, const struct opt *o)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].opt == o &&
		    (places[i].value != NOWHERE || places[i].given != NOWHERE))
			return &places[i];
	return NULL;
}

static void add_words(struct strv *to, const struct strv *words)
{
	for (size_t i = 0; i < words->n; i++)
		strv_add(to, words->items[i]);
}

/* A value that was left out changes nothing, unless it is a text or has a
 * number that is meant then. */
static void put(void *place, const struct opt *o, const struct opt_value *v)
{
	switch (o->kind) {
	case KIND_FLAG:
		++*(int *)place;
		break;
	case KIND_TEXT:
		if (o->repeat)
			strv_add(place, v->text);
		else
			*(const char **)place = v->text;
		break;
	case KIND_INT:
	case KIND_SIZE:
		*(int64_t *)place = v->integer;
		break;
	case KIND_FLOAT:
		if (v->text != NULL)
			*(double *)place = v->real;
		break;
	case KIND_WORDS:
		add_words(place, &v->words);
		break;
	default:
		*(int *)place = (int)v->integer;
		break;
	}
}

/* Read and keep one value. */
static int store(struct tool *t, const struct opt *o, const char *text,
		 struct error *err)
{
	const struct tool_program *p = t->program;
	const struct tool_place *place = find_place(p->places, p->n_places, o);
	char *base = place != NULL ? t->options : (void *)t;
	struct opt_value value;

	if (place == NULL)
		place = find_place(kept, ARRAY_SIZE(kept), o);
	if (place == NULL)
		return 0;
	if (place->given != NOWHERE)
		*(bool *)(base + place->given) = true;
	if (place->value == NOWHERE)
		return 0;
	if (opt_read(&style, o, text, &value, err) < 0)
		return -1;
	put(base + place->value, o, &value);
	opt_value_done(&value);
	return 0;
}

/* Print what some options ask for; whether it is one of these. */
static bool show(const struct tool_program *p, const struct opt *o)
{
	if (o == &TOOL_HELP)
		tool_usage(stdout, p);
	else if (o == &TOOL_VERSION)
		printf("%s (gantry) " GANTRY_VERSION "\n", p->name);
	else if (o == &TOOL_HELP_COMPLETION)
		tool_completion(p);
	else
		return false;
	return true;
}

/* --- the command line --- */

/* 0, or 1 + the exit code. */
static int take_options(struct tool *t, struct opt_line *line)
{
	const struct opt *o;
	const char *text;
	struct error err;
	int rc;

	while ((rc = opt_next(line, &o, &text, &err)) > 0) {
		if (show(t->program, o))
			return 1;
		if (store(t, o, text, &err) == 0)
			continue;
		fprintf(stderr,
			"Error while parsing command line arguments:\n%s\n",
			err.text);
		return 2;
	}
	if (rc == 0)
		return 0;
	tool_usage(stderr, t->program);
	return 3;
}

/* Files are read before the cluster is asked for. */
static int read_files(struct tool *t)
{
	struct error err;

	if (t->dynu_file == NULL ||
	    dynu_read(t->dynu_file, &t->dynu, &err) == 0)
		return 0;
	tool_error(err.text);
	return 2;
}

/* hail wants a file, the others nothing. */
static int take_arguments(struct tool *t, int n, char **list)
{
	bool file = t->program->takes_file;

	if (n == file) {
		t->argument = file ? list[0] : NULL;
		return 0;
	}
	if (!file)
		tool_error("This program doesn't take any arguments.");
	else
		tool_error(n == 0 ? "This program needs an input file."
				  : "Only one argument is accepted (the input "
				    "file)");
	return 2;
}

static int parse(struct tool *t, int argc, char **argv)
{
	const struct tool_program *p = t->program;
	struct opt_line line;
	int rc;

	opt_line_init(&line, &style, false, argc, argv);
	for (size_t i = 0; i < p->n_places; i++)
		opt_line_add(&line, p->places[i].opt);
	rc = take_options(t, &line);
	if (rc == 0)
		rc = take_arguments(t, line.n_args, line.args);
	opt_line_done(&line);
	return rc != 0 ? rc : read_files(t);
}

/* What follows from all options together. */
static void complete(struct tool *t)
{
	int verbose = 1 + t->more - t->less;

	t->verbose = verbose;
	if (t->program->verbose != NOWHERE)
		*(int *)((char *)t->options + t->program->verbose) = verbose;
	t->load.exclusion_tags = (const char *const *)t->exclusion_tags.items;
	t->load.n_exclusion_tags = t->exclusion_tags.n;
}

struct tool *tool_parse(const struct tool_program *p, int argc, char **argv,
			int *ret_code)
{
	struct tool *t = xcalloc(1, sizeof(*t));
	int rc;

	fs_hold_standard();
	*t = (struct tool){.program = p,
			   .options = xalloc(p->size),
			   .kvm_node_memory = KVM_NODE_MEMORY,
			   .load = {.max_cpu_ratio = -1}};
	memcpy(t->options, p->defaults, p->size);
	rc = parse(t, argc, argv);
	complete(t);
	if (rc == 0)
		return t;
	*ret_code = rc - 1;
	tool_free(t);
	return NULL;
}

/* Free the lists that the rows name. */
static void free_lists(char *base, const struct tool_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct opt *o = places[i].opt;

		if (places[i].value != NOWHERE &&
		    (o->kind == KIND_WORDS || o->repeat))
			strv_done((struct strv *)(base + places[i].value));
	}
}

void tool_free(struct tool *t)
{
	free_lists(t->options, t->program->places, t->program->n_places);
	free_lists((char *)t, kept, ARRAY_SIZE(kept));
	dynu_done(&t->dynu);
	buf_done(&t->text);
	free(t->options);
	free(t);
}
