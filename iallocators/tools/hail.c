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
static struct hail_options options_of(const struct tool *t)
{
	const struct hail_opts *o = tool_options(t, &hail_program);
	struct hail_options ret = {
		.ignore_soft_errors = o->ignore_soft_errors,
		.no_capacity_checks = o->no_capacity_checks,
		.dedicated_per_group = o->dedicated_per_group,
		.has_restriction = o->has_restriction,
		.restriction = (const char *const *)o->restriction.items,
		.n_restriction = o->restriction.n,
		.protocol1 = o->protocol == 1,
		.explain = (enum explain_format)o->explain,
		.explain_limit = (int)o->explain_limit,
		.has_kvm_memory = true,
		.kvm_memory = o->kvm_node_memory};

	ret.has_max_node_failures =
		tool_max_node_failures(t, &ret.max_node_failures);
	return ret;
}

/* What the options ask for beside the answer; arg is the run. */
static int load_other(void *arg, struct cluster *ret, struct error *err)
{
	return tool_load(arg, ret, err);
}

static int finish_with_loads(void *arg, struct cluster *c, struct error *err)
{
	return tool_finish(arg, c, err);
}

static int show(void *arg, struct cluster *c, bool after, struct error *err)
{
	const struct hail_opts *o = tool_options(arg, &hail_program);
	struct nodeset all = cluster_all_nodes(c);

	listing_print_nodes(c, &all, &o->nodes,
			    after ? "Final cluster" : "Initial cluster");
	return save_state(
		c, o->save, after ? "post-ialloc" : "pre-ialloc",
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

static int run(struct tool *t, struct buf *text, struct error *err)
{
	struct hail_options options = options_of(t);
	const struct hail_caller caller = {
		.load = tool_has_data(t) ? load_other : NULL,
		.finish = tool_asks_mond(t) ? finish_with_loads : NULL,
		.show = show,
		.arg = t,
	};
	__attribute__((cleanup(hail_output_done))) struct hail_output out = {
		.answer = {0}};
	int rc;

	options.caller = &caller;
	rc = hail_answer(text->data, text->len, &options, &out, err);
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
	auto_buf struct buf text = {0};
	struct error err;
	int rc;
	struct tool *t = tool_parse(&hail_program, argc, argv, &rc);

	if (t == NULL)
		return rc;
	if (read_input(tool_argument(t), &text, &err) < 0) {
		fprintf(stderr, "hail: %s\n", err.text);
		rc = 1;
	} else {
		rc = run(t, &text, &err) < 0;
		if (rc == 1)
			tool_error(err.text);
	}
	tool_free(t);
	return rc;
}
