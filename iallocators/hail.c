/* SPDX-License-Identifier: BSD-2-Clause */
/* hail: the allocator.  Reads a request from the file
 * named, answers on standard output.  Exit codes: 0 answered, also when the
 * answer is that there is no place; 1 unusable request; 2 wrong options. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "gantry-config.h"
#include "iallocators/explain.h"
#include "iallocators/hail_answer.h"
#include "iallocators/tool.h"
#include "lib/base/mem.h"

#define READ_SIZE (1 << 20)
/* Ten times what a cluster of 5,000 nodes needs. */
#define REQUEST_MAX (256 << 20)

enum long_option {
	OPT_IGNORE_DYNU = 256,
	OPT_IGNORE_SOFT,
	OPT_NO_CAPACITY,
	OPT_RESTRICT,
	OPT_MOND,
	OPT_MOND_XEN,
	OPT_KVM_MEMORY,
	OPT_SIMULATE,
	OPT_DEDICATED,
	OPT_FAILURES,
	OPT_EXPLAIN,
	OPT_EXPLAIN_LIMIT,
	OPT_PROTOCOL,
};

static const struct option options[] = {
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{"print-nodes", optional_argument, NULL, 'p'},
	{"save", required_argument, NULL, 'S'},
	{"text-data", required_argument, NULL, 't'},
	{"dedicated-per-group", no_argument, NULL, OPT_DEDICATED},
	{"simulate", required_argument, NULL, OPT_SIMULATE},
	{"verbose", no_argument, NULL, 'v'},
	{"ignore-dynu", no_argument, NULL, OPT_IGNORE_DYNU},
	{"ignore-soft-errors", no_argument, NULL, OPT_IGNORE_SOFT},
	{"no-capacity-checks", no_argument, NULL, OPT_NO_CAPACITY},
	{"restrict-allocation-to", required_argument, NULL, OPT_RESTRICT},
	{"mond", optional_argument, NULL, OPT_MOND},
	{"mond-xen", no_argument, NULL, OPT_MOND_XEN},
	{"max-node-failures", required_argument, NULL, OPT_FAILURES},
	{"explain", optional_argument, NULL, OPT_EXPLAIN},
	{"explain-limit", required_argument, NULL, OPT_EXPLAIN_LIMIT},
	{"protocol", required_argument, NULL, OPT_PROTOCOL},
	{"static-kvm-node-memory", required_argument, NULL, OPT_KVM_MEMORY},
	{0},
};

static const char usage_text[] =
	"hail (gantry) " GANTRY_VERSION "\n"
	"Usage: hail [OPTION...] FILE   (\"-\": standard input)\n"
	"  -p[FIELDS], --print-nodes     the nodes before and after, on "
	"standard error\n"
	"  -S, --save=FILE               the cluster before and after into "
	"FILE.pre-ialloc, FILE.post-ialloc\n"
	"  -t, --text-data=FILE          the cluster of this file, not the "
	"request's\n"
	"  --simulate=SPEC               an empty cluster, not the request's: "
	"policy,nodes,disk,memory,cpus\n"
	"  --dedicated-per-group         groups with exclusive storage by lost "
	"allocations, whatever the other groups have\n"
	"  --ignore-dynu                 accepted, without effect\n"
	"  --ignore-soft-errors          only what is impossible is refused\n"
	"  --no-capacity-checks          do not keep any node evacuable\n"
	"  --restrict-allocation-to=NODE,...  only these nodes for new "
	"instances\n"
	"  --max-node-failures=N         each group must be able to lose N "
	"nodes, whatever its policy says\n"
	"  --explain[=text|json]         why nodes were taken or refused: as "
	"text on standard error,\n"
	"                                or as \"explanation\" in the answer: "
	"for each instance and group\n"
	"                                the best places with score and rank, "
	"and for each reason how\n"
	"                                many nodes or pairs it refused, and "
	"the first of them in full\n"
	"  --explain-limit=N             how many of each are shown, 20\n"
	"  --protocol=1|2                version of requests and answers, 2; "
	"those of version 1 (Ganeti\n"
	"                                1.2) have no groups and \"nodes\" in "
	"place of \"result\"\n"
	"  --static-kvm-node-memory=MIB  what a KVM node needs itself (0: as "
	"reported)\n"
	"  --mond[=yes|no], --mond-xen   accepted, without effect\n"
	"  -v, --verbose                 accepted, without effect\n"
	"  -V, --version                 print the version\n"
	"  -h, --help                    print this\n";

struct settings {
	struct hail_options hail;
	struct strv restriction;
	struct tool_options tool;
	const char *file;
};

static int wrong(const char *option, const char *value, const char *wanted)
{
	fprintf(stderr, "--%s: '%s' is no %s\n", option, value, wanted);
	return 3;
}

static int take_number(const char *option, const char *value, int64_t min,
		       int64_t max, int *ret)
{
	int64_t n;

	if (!str_to_int64(value, &n) || n < min || n > max)
		return wrong(option, value, "number that can be used");
	*ret = (int)n;
	return 0;
}

static int take_explain(const char *value, enum hail_explain *ret)
{
	if (value == NULL || strcmp(value, "text") == 0)
		*ret = HAIL_EXPLAIN_TEXT;
	else if (strcmp(value, "json") == 0)
		*ret = HAIL_EXPLAIN_JSON;
	else
		return wrong("explain", value, "form (text, json)");
	return 0;
}

/* As parse(), for one option; 0, or 1 + the exit code. */
static int take_option(struct settings *s, int option, const char *value)
{
	switch (option) {
	case 'h':
		fputs(usage_text, stdout);
		return 1;
	case 'V':
		puts("hail (gantry) " GANTRY_VERSION);
		return 1;
	case 'p':
		s->tool.print_nodes = true;
		s->tool.node_fields = value;
		return 0;
	case 'S':
		s->tool.save = value;
		return 0;
	case 't':
		s->tool.text_file = value;
		return 0;
	case OPT_SIMULATE:
		strv_add(&s->tool.simulate, value);
		return 0;
	case OPT_IGNORE_DYNU:
		return 0; /* a request tells no utilisation */
	case OPT_IGNORE_SOFT:
		s->hail.ignore_soft_errors = true;
		return 0;
	case OPT_NO_CAPACITY:
		s->hail.no_capacity_checks = true;
		return 0;
	case OPT_DEDICATED:
		s->hail.dedicated_per_group = true;
		return 0;
	case OPT_RESTRICT:
		s->hail.has_restriction = true;
		str_split(&s->restriction, value, ',');
		return 0;
	case OPT_KVM_MEMORY:
		s->hail.has_kvm_memory = true;
		if (str_to_int64(value, &s->hail.kvm_memory))
			return 0;
		return wrong("static-kvm-node-memory", value, "number");
	case OPT_FAILURES:
		s->hail.has_max_node_failures = true;
		return take_number("max-node-failures", value, 0, INT_MAX,
				   &s->hail.max_node_failures);
	case OPT_EXPLAIN:
		return take_explain(value, &s->hail.explain);
	case OPT_PROTOCOL:
		s->hail.protocol1 = strcmp(value, "1") == 0;
		if (s->hail.protocol1 || strcmp(value, "2") == 0)
			return 0;
		return wrong("protocol", value, "version (1, 2)");
	case OPT_EXPLAIN_LIMIT:
		return take_number("explain-limit", value, 1, EXPLAIN_LIMIT_MAX,
				   &s->hail.explain_limit);
	case '?':
		fputs(usage_text, stderr);
		return 3;
	default:
		return 0;
	}
}

/* Read the command line; 0, or 1 + the exit code when that is all. */
static int parse(struct settings *s, int argc, char **argv)
{
	int option, rc = 0;

	while (rc == 0 && (option = getopt_long(argc, argv, "hVvp::S:t:",
						options, NULL)) != -1)
		rc = take_option(s, option, optarg);
	if (rc != 0)
		return rc;
	if (optind + 1 != argc) {
		fputs(optind == argc
			      ? "Error: This program needs an input file.\n"
			      : "Error: Only one argument is accepted (the "
				"input file)\n",
		      stderr);
		return 2;
	}
	s->file = argv[optind];
	return 0;
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
	if (ferror(f))
		return error_set(err, ERR_SYSTEM, NULL, "%s: %s", name,
				 strerror(errno));
	return 0;
}

static int read_input(const char *name, struct buf *ret, struct error *err)
{
	FILE *f;
	int rc;

	if (strcmp(name, "-") == 0)
		return read_stream(stdin, name, ret, err);
	f = fopen(name, "re");
	if (f == NULL)
		return error_set(err, ERR_SYSTEM, NULL, "%s: %s", name,
				 strerror(errno));
	rc = read_stream(f, name, ret, err);
	fclose(f);
	return rc;
}

static int run(const struct settings *s, struct error *err)
{
	auto_buf struct buf text = {0};
	__attribute__((cleanup(hail_output_done))) struct hail_output out = {
		.answer = {0}};
	int rc = read_input(s->file, &text, err);

	if (rc == 0)
		rc = hail_answer(text.data, text.len, &s->hail, &out, err);
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
	struct settings s = {.tool = {.program = "hail",
				      .verbose = 1,
				      .load = {.max_cpu_ratio = -1}}};
	struct error err;
	int rc = parse(&s, argc, argv);

	if (rc == 0) {
		s.hail.tool = &s.tool;
		s.hail.restriction = (const char **)s.restriction.items;
		s.hail.n_restriction = s.restriction.n;
		rc = run(&s, &err) < 0 ? 2 : 1;
		if (rc == 2)
			fprintf(stderr, "Error: %s\n", err.text);
	}
	strv_done(&s.restriction);
	strv_done(&s.tool.simulate);
	return rc - 1;
}
