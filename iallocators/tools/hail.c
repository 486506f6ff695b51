/* SPDX-License-Identifier: BSD-2-Clause */
/* hail: the allocator.  Reads a request from the file
 * named, answers on standard output.  Exit codes: 0 answered, also when the
 * answer is that there is no place; 1 unusable request; 2 wrong options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/allocate/hail_answer.h"
#include "iallocators/options/listing.h"
#include "iallocators/options/save.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"

#define READ_SIZE (1 << 20)
/* Ten times what a cluster of 5,000 nodes needs. */
#define REQUEST_MAX (256 << 20)

/* What the options mean for placement. */
static struct hail_options options_of(const struct tool_options *o)
{
	return (struct hail_options){
		.ignore_soft_errors = o->ignore_soft_errors,
		.no_capacity_checks = o->no_capacity_checks,
		.dedicated_per_group = o->dedicated_per_group,
		.has_restriction = o->has_restriction,
		.restriction = (const char **)o->restriction.items,
		.n_restriction = o->restriction.n,
		.has_max_node_failures = o->has_max_node_failures,
		.max_node_failures = (int)o->max_node_failures,
		.protocol1 = o->protocol1,
		.explain = o->explain,
		.explain_limit = (int)o->explain_limit,
		.has_kvm_memory = true,
		.kvm_memory = o->kvm_node_memory};
}

/* What the options ask for beside the answer. */
struct beside {
	const struct tool_options *o;
	struct buf text; /* of the cluster that is read; it points there */
};

static int load_other(void *arg, struct cluster *ret, struct error *err)
{
	struct beside *b = arg;

	return tool_load(ret, b->o, &b->text, err);
}

static int finish_with_loads(void *arg, struct cluster *c, struct error *err)
{
	const struct beside *b = arg;

	return tool_finish(c, b->o, err);
}

static int show(void *arg, struct cluster *c, bool after, struct error *err)
{
	const struct tool_options *o = ((struct beside *)arg)->o;
	struct nodeset all = cluster_all_nodes(c);

	if (o->print_nodes)
		listing_print_nodes(c, &all, o->node_fields,
				    after ? "Final cluster"
					  : "Initial cluster");
	return save_state(
		c, o, after ? "post-ialloc" : "pre-ialloc",
		after ? "after iallocator run" : "before iallocator run", err);
}

static int unreadable(const char *name, struct error *err)
{
	error_set(err, ERR_SYSTEM, NULL, "%s: %s", name, strerror(errno));
	tool_explain_file(name, err);
	return -1;
}

static int read_stream(FILE *f, const char *name, struct buf *ret,
		       struct error *err)
{
	auto_free char *piece = xalloc(READ_SIZE);
	size_t n;

	while ((n = fread(piece, 1, READ_SIZE, f)) > 0) {
		buf_add(ret, piece, n);
		if (ret->len > REQUEST_MAX)
			return error_set(err, ERR_REQUEST, NULL,
					 "%s: longer than %d MiB", name,
					 REQUEST_MAX >> 20);
	}
	return ferror(f) ? unreadable(name, err) : 0;
}

static int read_input(const char *name, struct buf *ret, struct error *err)
{
	FILE *f;
	int rc;

	if (strcmp(name, "-") == 0)
		return read_stream(stdin, name, ret, err);
	f = fopen(name, "re");
	if (f == NULL)
		return unreadable(name, err);
	rc = read_stream(f, name, ret, err);
	fclose(f);
	return rc;
}

static int run(const struct tool_options *o, struct buf *text,
	       struct error *err)
{
	struct hail_options options = options_of(o);
	struct beside beside = {.o = o};
	bool elsewhere = o->text_file != NULL || o->simulate.n > 0;
	const struct hail_caller caller = {
		.load = elsewhere ? load_other : NULL,
		.finish = o->mond ? finish_with_loads : NULL,
		.show = show,
		.arg = &beside,
	};
	__attribute__((cleanup(hail_output_done))) struct hail_output out = {
		.answer = {0}};
	int rc;

	options.caller = &caller;
	rc = hail_answer(text->data, text->len, &options, &out, err);
	buf_done(&beside.text);
	if (out.warnings.len > 0)
		fputs(out.warnings.data, stderr);
	if (out.explanation.len > 0)
		fputs(out.explanation.data, stderr);
	if (rc == 0 &&
	    (fputs(out.answer.data, stdout) < 0 || fflush(stdout) != 0))
		return error_set(err, ERR_SYSTEM, NULL, "standard output: %s",
				 strerror(errno));
	return rc;
}

int main(int argc, char **argv)
{
	struct tool_options o;
	auto_buf struct buf text = {0};
	struct error err;
	int rc = tool_parse(&o, "hail", argc, argv) - 1;

	if (rc < 0 && read_input(o.argument, &text, &err) < 0) {
		fprintf(stderr, "hail: %s\n", err.text);
		rc = 1;
	}
	if (rc < 0) {
		rc = run(&o, &text, &err) < 0;
		if (rc == 1)
			tool_error(err.text);
	}
	tool_done(&o);
	return rc;
}
