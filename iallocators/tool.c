/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/tool.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/hformat.h"
#include "iallocators/jtext.h"
#include "iallocators/live.h"
#include "iallocators/request.h"
#include "iallocators/simulate.h"
#include "iallocators/text.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"

#define KEPT_MEMORY (16 << 20)

#define TEXT_MAX ((size_t)256 << 20)

void tool_error(const char *text)
{
	fflush(stdout);
	fprintf(stderr, "Error: %s\n", text);
}

int tool_alias_len(const struct cluster *c, const char *name)
{
	return (int)(strlen(name) - c->suffix_len);
}

void tool_grid(struct buf *out, const char *prefix, const struct grid *grid,
	       const bool *left)
{
	int rows = (int)grid->cells.n / grid->columns;

	for (int r = 0; r < rows; r++) {
		buf_adds(out, prefix);
		for (int col = 0; col < grid->columns; col++) {
			int width = 0;

			for (int i = 0; i < rows; i++) {
				const char *cell =
					grid->cells
						.items[i * grid->columns + col];
				int len = (int)strlen(cell);

				width = len > width ? len : width;
			}
			buf_addf(out, "%s%*s", col > 0 ? " " : "",
				 left[col] ? -width : width,
				 grid->cells.items[r * grid->columns + col]);
		}
		buf_addc(out, '\n');
	}
}

void tool_metrics(struct buf *out, const struct stats *stats)
{
	static const bool left[] = {true, false, false};
	struct grid grid = {.columns = 3};
	double values[METRIC_COUNT];
	int n = stats->n > 0 ? METRIC_COUNT : 0;

	strv_add(&grid.cells, "Field");
	strv_add(&grid.cells, "Value");
	strv_add(&grid.cells, "Weight");
	score_metrics(stats, values);
	for (int m = 0; m < n; m++) {
		auto_buf struct buf value = {0};

		hf_fixed(&value, values[m], 8);
		strv_add(&grid.cells, metrics[m].name);
		strv_add(&grid.cells, value.data);
		strv_addf(&grid.cells, "x%.2f", metrics[m].weight);
	}
	tool_grid(out, "   ", &grid, left);
	strv_done(&grid.cells);
}

void tool_bad_items(const struct cluster *c, const struct nodeset *nodes,
		    int *ret_nodes, int *ret_instances)
{
	bool *bad = xcalloc((size_t)c->n_instances + 1, sizeof(*bad));

	*ret_nodes = *ret_instances = 0;
	for (int i = 0; i < nodes->n; i++) {
		const struct node *n = &c->nodes[nodes->items[i]];

		if (n->offline || !n->s.fails_n1)
			continue;
		++*ret_nodes;
		for (int j = 0; j < n->primaries.n; j++)
			bad[n->primaries.items[j]] = true;
		for (int j = 0; j < n->secondaries.n; j++)
			bad[n->secondaries.items[j]] = true;
	}
	for (int i = 0; i < c->n_instances; i++)
		*ret_instances += bad[i];
	free(bad);
}

/* Whether name is the whole of full, or its beginning up to a dot. */
static bool names_it(const char *full, const char *name)
{
	size_t len = strlen(name);

	return strncmp(full, name, len) == 0 &&
	       (full[len] == '\0' || full[len] == '.');
}

static int set_offline(struct cluster *c, const struct strv *names,
		       struct buf *ret_wrong)
{
	for (size_t i = 0; i < names->n; i++) {
		int found = NO_INDEX;

		for (int n = 0; n < c->n_nodes; n++)
			if (names_it(c->nodes[n].name, names->items[i]))
				found = n;
		if (found != NO_INDEX)
			c->nodes[found].offline = true;
		else
			buf_addf(ret_wrong, "%s%s",
				 ret_wrong->len > 0 ? ", " : "",
				 names->items[i]);
	}
	return ret_wrong->len > 0 ? -1 : 0;
}

/* Mark those that a list names; the names that are nobody's are added. */
static void mark_named(const struct cluster *c, const struct strv *names,
		       bool *marks, struct buf *ret_unknown)
{
	for (size_t i = 0; i < names->n; i++) {
		bool found = false;

		for (int j = 0; j < c->n_instances; j++)
			if (names_it(c->instances[j].name, names->items[i]))
				found = marks[j] = true;
		if (found)
			continue;
		if (ret_unknown->len > 0)
			buf_addc(ret_unknown, ',');
		hf_show_string(ret_unknown, names->items[i],
			       strlen(names->items[i]));
	}
}

/* Only those selected, and none of those excluded, may move. */
static int restrict_moves(struct cluster *c, const struct tool_options *o,
			  struct error *err)
{
	auto_free bool *selected =
		xcalloc((size_t)c->n_instances + 1, sizeof(bool));
	auto_free bool *excluded =
		xcalloc((size_t)c->n_instances + 1, sizeof(bool));
	auto_buf struct buf unknown = {0};

	mark_named(c, &o->selected, selected, &unknown);
	mark_named(c, &o->excluded, excluded, &unknown);
	if (unknown.len > 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown instance(s): [%s]", unknown.data);
	for (int i = 0; i < c->n_instances; i++)
		if (excluded[i] || (o->has_selection && !selected[i]))
			c->instances[i].movable = false;
	return 0;
}

/* name cpu mem disk net */
static int read_dynu_line(struct cluster *c, char *line, struct error *err)
{
	auto_strv struct strv words = {0};
	double values[UTIL_COUNT];

	str_split(&words, line, ' ');
	for (int i = 0; words.n == 1 + UTIL_COUNT && i < UTIL_COUNT; i++)
		if (!str_to_double(words.items[i + 1], &values[i]))
			return error_set(err, ERR_REQUEST, NULL,
					 "cannot parse string '%s'",
					 words.items[i + 1]);
	if (words.n != 1 + UTIL_COUNT)
		return error_set(err, ERR_REQUEST, NULL, "Cannot parse line %s",
				 line);
	for (int i = 0; i < c->n_instances; i++)
		if (strcmp(c->instances[i].name, words.items[0]) == 0) {
			c->instances[i].has_util = true;
			memcpy(c->instances[i].util, values, sizeof(values));
		}
	return 0;
}

static int read_dynu(struct cluster *c, const char *path, struct error *err)
{
	auto_free char *text = fs_read(path, TEXT_MAX, NULL, err);
	char *next = text;

	if (text == NULL)
		return -1;
	while (next != NULL && *next != '\0') {
		char *line = next;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (*line != '\0' && read_dynu_line(c, line, err) < 0)
			return -1;
	}
	return 0;
}

/* What loads instances have, and all that follows. */
static int finish(struct cluster *c, const struct tool_options *o,
		  struct error *err)
{
	bool loads = !o->load.ignore_dynamic;
	struct mond_loads mond = {0};

	if (loads && o->dynu_file != NULL &&
	    read_dynu(c, o->dynu_file, err) < 0)
		return -1;
	if (loads && o->mond && mond_read(c, &o->mond_options, &mond, err) < 0)
		return -1;
	cluster_finish(c, &o->load);
	mond_set_nodes(c, &mond);
	return 0;
}

static int load_text(struct cluster *c, const struct tool_options *o,
		     struct buf *ret_text, struct error *err)
{
	ret_text->data = fs_read(o->text_file, TEXT_MAX, &ret_text->len, err);
	if (ret_text->data == NULL || text_read(c, ret_text->data, err) < 0)
		return -1;
	return finish(c, o, err);
}

/* The cluster of a request; what it asks does not matter. */
static int load_request(struct cluster *c, const struct tool_options *o,
			struct buf *ret_text, struct error *err)
{
	struct request_options options = {
		.load = o->load, .static_kvm_node_memory = o->kvm_node_memory};
	struct request request = {0};
	const struct jval *top;

	ret_text->data =
		fs_read(o->request_file, TEXT_MAX, &ret_text->len, err);
	if (ret_text->data == NULL)
		return -1;
	top = jtext_parse(&c->arena, ret_text->data, ret_text->len, err);
	return top == NULL ? -1 : request_read(c, top, &options, &request, err);
}

static int ask_luxi(struct cluster *c, const struct tool_options *o,
		    struct buf *ret_text, struct error *err)
{
	auto_free char *path = live_socket(o->luxi_socket, err);
	struct luxi *luxi = path != NULL ? luxi_connect(path, err) : NULL;
	int rc = -1;

	if (luxi != NULL)
		rc = live_read(c, luxi, o->kvm_node_memory, ret_text, err);
	luxi_close(luxi);
	return rc;
}

static int ask_rapi(struct cluster *c, const struct tool_options *o,
		    struct buf *ret_text, struct error *err)
{
	struct rapi *rapi = rapi_new(o->rapi_address);
	int rc = live_read_rapi(c, rapi, o->kvm_node_memory, ret_text, err);

	rapi_free(rapi);
	return rc;
}

static int load_live(struct cluster *c, const struct tool_options *o,
		     struct buf *ret_text, struct error *err)
{
	int rc = o->use_luxi ? ask_luxi(c, o, ret_text, err)
			     : ask_rapi(c, o, ret_text, err);

	if (rc < 0)
		return -1;
	return finish(c, o, err);
}

static bool use_rapi(const struct tool_options *o)
{
	return o->rapi_address != NULL && o->rapi_address[0] != '\0';
}

static int load(struct cluster *c, const struct tool_options *o,
		struct buf *ret_text, struct error *err)
{
	int rc;

	if (o->simulate.n > 0) {
		if (simulate_clusters(c, &o->simulate, err) < 0)
			return -1;
		cluster_finish(c, &o->load);
		return 0;
	}
	if (o->text_file == NULL && o->request_file == NULL && !o->use_luxi &&
	    !use_rapi(o))
		return error_set(err, ERR_REQUEST, NULL,
				 "No backend selected! Exiting.");
	if (o->use_luxi || use_rapi(o))
		rc = load_live(c, o, ret_text, err);
	else if (o->text_file != NULL)
		rc = load_text(c, o, ret_text, err);
	else
		rc = load_request(c, o, ret_text, err);
	return rc < 0 ? -1 : restrict_moves(c, o, err);
}

int tool_load(struct cluster *c, const struct tool_options *o,
	      struct buf *ret_text, struct error *err)
{
	auto_buf struct buf warning = {0}, wrong = {0};

	if (o->use_luxi + use_rapi(o) + (o->text_file != NULL) > 1)
		return error_set(err, ERR_REQUEST, NULL,
				 "Only one of the rapi, luxi, and data files "
				 "options should be given.");
	if (load(c, o, ret_text, err) < 0)
		return error_wrap(err, "failed to load data, aborting");
	cluster_check(c, &warning);
	if (o->verbose > 0 && warning.len > 0)
		fputs(warning.data, stderr);
	if (set_offline(c, &o->offline, &wrong) < 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "wrong node name(s) set as offline: %s\n",
				 wrong.data);
	return 0;
}

/* A policy as Haskell shows records. */
static void show_ispec(struct buf *b, const struct ispec *s)
{
	buf_addf(b,
		 "ISpec {iSpecMemorySize = %jd, iSpecCpuCount = %jd, "
		 "iSpecDiskSize = %jd, iSpecDiskCount = %jd, "
		 "iSpecNicCount = %jd, iSpecSpindleUse = %jd}",
		 (intmax_t)s->memory, (intmax_t)s->cpus, (intmax_t)s->disk,
		 (intmax_t)s->disk_count, (intmax_t)s->nics,
		 (intmax_t)s->spindle_use);
}

static void show_policy(struct buf *b, const struct policy *p)
{
	static const char *const names[TEMPLATE_COUNT] = {
		"DTDiskless", "DTFile", "DTSharedFile", "DTPlain",  "DTBlock",
		"DTDrbd8",    "DTRbd",	"DTExt",	"DTGluster"};

	buf_adds(b, "IPolicy {iPolicyMinMaxISpecs = [");
	for (size_t i = 0; i < p->n_intervals; i++) {
		buf_addf(b, "%sMinMaxISpecs {minMaxISpecsMinSpec = ",
			 i > 0 ? "," : "");
		show_ispec(b, &p->intervals[i].min);
		buf_adds(b, ", minMaxISpecsMaxSpec = ");
		show_ispec(b, &p->intervals[i].max);
		buf_addc(b, '}');
	}
	buf_adds(b, "], iPolicyStdSpec = ");
	show_ispec(b, &p->std);
	buf_adds(b, ", iPolicyDiskTemplates = [");
	for (size_t i = 0; i < p->n_templates; i++)
		buf_addf(b, "%s%s", i > 0 ? "," : "", names[p->templates[i]]);
	buf_adds(b, "], iPolicyVcpuRatio = ");
	hf_double(b, p->vcpu_ratio);
	buf_adds(b, ", iPolicySpindleRatio = ");
	hf_double(b, p->spindle_ratio);
	buf_addc(b, '}');
}

void tool_print_loaded(const struct cluster *c, const struct tool_options *o)
{
	bool hinfo = strcmp(o->program, "hinfo") == 0;
	auto_buf struct buf b = {0};

	if (o->verbose > (hinfo ? 0 : 1)) {
		buf_adds(&b, "Loaded cluster tags: ");
		for (size_t i = 0; i < c->n_tags; i++)
			buf_addf(&b, "%s%s", i > 0 ? "," : "", c->tags[i]);
		buf_addc(&b, '\n');
	}
	if (o->verbose > 2) {
		buf_adds(&b, "Loaded cluster ipolicy: ");
		show_policy(&b, &c->policy);
		buf_addc(&b, '\n');
	}
	if (b.len > 0)
		fputs(b.data, stdout);
}

void tool_print_suffix(const struct cluster *c, const struct tool_options *o)
{
	const char *name = c->n_nodes > 0 ? c->nodes[0].name : "";

	if (o->verbose > 2 && c->suffix_len > 0)
		printf("Note: Stripping common suffix of '%s' from names\n",
		       name + strlen(name) - c->suffix_len);
}

int tool_main(const char *program, int argc, char **argv, tool_fn run)
{
	struct tool_options o;
	struct cluster c = {0};
	auto_buf struct buf text = {0};
	struct error err;
	int rc;

	/* Tables of all nodes come and go at each step. */
	mallopt(M_MMAP_THRESHOLD, KEPT_MEMORY);
	mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
	rc = tool_parse(&o, program, argc, argv) - 1;

	if (rc < 0) {
		rc = run(&c, &o, &text, &err);
		if (rc < 0) {
			tool_error(err.text);
			rc = 1;
		}
	}
	cluster_done(&c);
	tool_done(&o);
	return rc;
}
