/* SPDX-License-Identifier: BSD-2-Clause */
/* --help and --help-completion: a line for each option of the program. */
#include "iallocators/options/tool_help.h"

#include "gantry-config.h"
#include "lib/base/mem.h"

/* "-p[FIELDS]", "-t FILE", "-v" */
static void add_short(struct buf *b, const struct opt *o)
{
	if (o->letter == 0)
		return;
	buf_addf(b, "-%c", o->letter);
	if (opt_has_value(o))
		buf_addf(b, "%s%s", opt_may_lack_value(o) ? "" : " ", o->arg);
}

/* "--print-nodes[=FIELDS]" */
static void add_long(struct buf *b, const struct opt *o)
{
	buf_addf(b, "--%s", o->name);
	if (opt_may_lack_value(o))
		buf_addf(b, "[=%s", o->arg + 1);
	else if (opt_has_value(o))
		buf_addf(b, "=%s", o->arg);
}

void tool_usage(FILE *f, const struct tool_program *p)
{
	fprintf(f, "%s (gantry) " GANTRY_VERSION "\nUsage: %s [OPTION...]%s\n",
		p->name, p->name,
		p->takes_file ? " FILE   (\"-\": standard input)" : "");
	for (size_t i = 0; i < p->n_places; i++) {
		const struct opt *o = p->places[i].opt;
		auto_buf struct buf brief = {0}, full = {0};

		add_short(&brief, o);
		add_long(&full, o);
		fprintf(f, "  %-10s  %-26s  %s\n",
			brief.len > 0 ? brief.data : "", full.data, o->help);
	}
}

/* "choices=yes,no", "file", "none" */
static void print_kind(const struct opt *o)
{
	if (o->choices == NULL) {
		printf("%s\n", o->complete != NULL ? o->complete : "none");
		return;
	}
	for (size_t i = 0; o->choices[i] != NULL; i++)
		printf("%s%s", i == 0 ? "choices=" : ",", o->choices[i]);
	printf("\n");
}

void tool_completion(const struct tool_program *p)
{
	for (size_t i = 0; i < p->n_places; i++) {
		const struct opt *o = p->places[i].opt;

		if (o->letter != 0)
			printf("-%c,", o->letter);
		printf("--%s ", o->name);
		print_kind(o);
	}
	if (p->takes_file)
		printf("file 1 1\n");
}
