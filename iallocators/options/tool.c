/* SPDX-License-Identifier: BSD-2-Clause */
/* tool_main() is the frame of a program: parse the options, run it, print its
 * error.  tool_load() reads the cluster from one source, adds loads, completes
 * and checks it, and takes the nodes of -O as offline.  tool_options.c reads
 * the command line. */
#include "iallocators/options/tool.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/input/jtext.h"
#include "iallocators/input/request.h"
#include "iallocators/input/simulate.h"
#include "iallocators/input/text.h"
#include "iallocators/live/live.h"
#include "iallocators/model/hformat.h"
#include "iallocators/options/tool_private.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"
#include "lib/client/luxi.h"

#define KEPT_MEMORY (16 << 20)

#define TEXT_MAX ((size_t)256 << 20)

void tool_explain_file(const char *path, struct error *err)
{
	const char *kind = errno == ENOENT   ? "does not exist"
			   : errno == EACCES ? "permission denied"
			   : errno == EISDIR ? "inappropriate type"
					     : NULL;

	if (kind != NULL)
		error_set(err, ERR_SYSTEM, NULL, "%s: openFile: %s (%s)", path,
			  kind,
			  errno == EISDIR ? "is a directory" : strerror(errno));
}

void tool_error(const char *text)
{
	fflush(stdout);
	fprintf(stderr, "Error: %s\n", text);
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

void tool_quote(struct buf *out, const char *value)
{
	bool plain = true;

	for (const char *p = value; *p != '\0'; p++)
		plain = plain && (isalnum((unsigned char)*p) || *p == '.');
	buf_addf(out, "%s%s%s", plain ? "" : "'", value, plain ? "" : "'");
	if (out->data == NULL)
		buf_add(out, "", 0);
}

typedef const char *(*name_fn)(const struct cluster *c, int i);

static const char *node_name(const struct cluster *c, int i)
{
	return c->nodes[i].name;
}

static const char *instance_name(const struct cluster *c, int i)
{
	return c->instances[i].name;
}

/* The full name that a word stands for: itself, or the only one of n that it
 * begins, up to a dot; NULL for none. */
static const char *full_name(const struct cluster *c, int n, name_fn name_of,
			     const char *word)
{
	size_t len = strlen(word);
	const char *found = NULL;
	int matches = 0;

	for (int i = 0; i < n; i++) {
		const char *name = name_of(c, i);

		if (strcmp(name, word) == 0)
			return name;
		if (strncmp(name, word, len) != 0 || name[len] != '.')
			continue;
		found = name;
		matches++;
	}
	return matches == 1 ? found : NULL;
}

/* Mark all that have the name a word stands for; false if it is nobody's. */
static bool mark_name(const struct cluster *c, int n, name_fn name_of,
		      const char *word, bool *marks)
{
	const char *name = full_name(c, n, name_of, word);

	for (int i = 0; i < n && name != NULL; i++)
		if (strcmp(name_of(c, i), name) == 0)
			marks[i] = true;
	return name != NULL;
}

/* Mark the nodes that -O names; the last one that is none is told first. */
static int find_offline(const struct cluster *c, const struct strv *names,
			bool *marks, struct error *err)
{
	auto_buf struct buf wrong = {0};
	int n_wrong = 0;

	for (size_t i = names->n; i-- > 0;)
		if (!mark_name(c, c->n_nodes, node_name, names->items[i],
			       marks))
			buf_addf(&wrong, "%s%s", n_wrong++ > 0 ? "," : "",
				 names->items[i]);
	if (n_wrong == 0)
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "wrong node name(s) set as offline: %s\n",
			 wrong.len > 0 ? wrong.data : "");
}

/* Mark those that a list names; the names that are nobody's are added. */
static void mark_named(const struct cluster *c, const struct strv *names,
		       bool *marks, struct buf *ret_unknown)
{
	for (size_t i = 0; i < names->n; i++) {
		const char *word = names->items[i];

		if (mark_name(c, c->n_instances, instance_name, word, marks))
			continue;
		if (ret_unknown->len > 0)
			buf_addc(ret_unknown, ',');
		hf_show_string(ret_unknown, word, strlen(word));
	}
}

/* Only those selected, and none of those excluded, may move. */
static int restrict_moves(const struct tool *t, struct cluster *c,
			  struct error *err)
{
	auto_free bool *selected =
		xcalloc((size_t)c->n_instances + 1, sizeof(bool));
	auto_free bool *excluded =
		xcalloc((size_t)c->n_instances + 1, sizeof(bool));
	auto_buf struct buf unknown = {0};

	mark_named(c, &t->selected, selected, &unknown);
	mark_named(c, &t->excluded, excluded, &unknown);
	if (unknown.len > 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown instance(s): [%s]", unknown.data);
	for (int i = 0; i < c->n_instances; i++)
		if (excluded[i] || (t->selected.n > 0 && !selected[i]))
			c->instances[i].movable = false;
	return 0;
}

int tool_finish(const struct tool *t, struct cluster *c, struct error *err)
{
	bool loads = !t->load.ignore_dynamic;
	struct mond_loads mond = {0};

	if (loads)
		dynu_apply(&t->dynu, c);
	if (loads && t->mond && mond_read(c, &t->mond_options, &mond, err) < 0)
		return -1;
	cluster_finish(c, &t->load);
	mond_set_nodes(c, &mond);
	return 0;
}

/* A file as a whole; what cannot be read is told as the reference does. */
static char *read_file(const char *path, size_t *ret_len, struct error *err)
{
	char *text = fs_read(path, TEXT_MAX, ret_len, err);

	if (text == NULL)
		tool_explain_file(path, err);
	return text;
}

static int load_text(struct tool *t, struct cluster *c, struct error *err)
{
	t->text.data = read_file(t->text_file, &t->text.len, err);
	if (t->text.data == NULL)
		return -1;
	/* A string would end there. */
	for (size_t i = 0; i < t->text.len; i++)
		if (t->text.data[i] == '\0')
			t->text.data[i] = ' ';
	return text_read(c, t->text.data, err);
}

/* The cluster of a request. */
static int load_request(struct tool *t, struct cluster *c,
			const struct jval **ret_top, struct error *err)
{
	t->text.data = read_file(t->request_file, &t->text.len, err);
	if (t->text.data == NULL)
		return -1;
	*ret_top = jtext_parse(&c->arena, t->text.data, t->text.len, err);
	if (*ret_top == NULL)
		return -1;
	return request_load(c, *ret_top, t->kvm_node_memory, err);
}

static struct luxi *connect_luxi(const struct tool *t, struct error *err)
{
	auto_free char *path = live_socket(t->luxi_socket, err);

	return path != NULL ? luxi_connect(path, err) : NULL;
}

static int ask_luxi(struct tool *t, struct cluster *c, struct error *err)
{
	struct luxi *luxi = connect_luxi(t, err);
	int rc = -1;

	if (luxi != NULL)
		rc = live_read(c, luxi, t->kvm_node_memory, &t->text, err);
	luxi_close(luxi);
	return rc;
}

static int ask_rapi(struct tool *t, struct cluster *c, struct error *err)
{
	struct rapi *rapi = rapi_new(t->rapi_address);
	int rc = live_read_rapi(c, rapi, t->kvm_node_memory, &t->text, err);

	rapi_free(rapi);
	return rc;
}

static bool use_rapi(const struct tool *t)
{
	return t->rapi_address != NULL && t->rapi_address[0] != '\0';
}

/* *ret_top: a request, when the cluster comes from one. */
static int load(struct tool *t, struct cluster *c, const struct jval **ret_top,
		struct error *err)
{
	if (t->simulate.n > 0)
		return simulate_clusters(c, &t->simulate, err);
	if (t->use_luxi)
		return ask_luxi(t, c, err);
	if (use_rapi(t))
		return ask_rapi(t, c, err);
	if (t->text_file != NULL)
		return load_text(t, c, err);
	if (t->request_file != NULL)
		return load_request(t, c, ret_top, err);
	return error_set(err, ERR_REQUEST, NULL,
			 "No backend selected! Exiting.");
}

/* What else is said about the cluster has to be right, too: the question of a
 * request, though it does not matter, and the instances that options name. */
static int check_rest(const struct tool *t, struct cluster *c,
		      const struct jval *top, struct error *err)
{
	struct request request = {0};

	if (top != NULL && request_ask(c, jtext_get(top, "request"), &t->load,
				       &request, err) < 0)
		return -1;
	return restrict_moves(t, c, err);
}

/* In place of what the policies say. */
static void set_failures(const struct tool *t, struct cluster *c)
{
	for (int g = 0; g < c->n_groups && t->has_max_node_failures; g++)
		c->groups[g].policy.max_node_failures =
			(int)t->max_node_failures;
}

int tool_read(struct tool *t, struct cluster *c, struct error *err)
{
	auto_buf struct buf warning = {0};
	const struct jval *top = NULL;

	if (t->use_luxi + use_rapi(t) + (t->text_file != NULL) > 1)
		return error_set(err, ERR_REQUEST, NULL,
				 "Only one of the rapi, luxi, and data files "
				 "options should be given.");
	if (load(t, c, &top, err) < 0)
		return error_wrap(err, "failed to load data, aborting");
	set_failures(t, c);
	if (tool_finish(t, c, err) < 0)
		return -1;
	if (check_rest(t, c, top, err) < 0)
		return error_wrap(err, "failed to load data, aborting");
	cluster_check(c, &warning);
	if (t->verbose != 0 && warning.len > 0)
		fputs(warning.data, stderr);
	return 0;
}

int tool_set_offline(const struct tool *t, struct cluster *c, struct error *err)
{
	auto_free bool *marks = xcalloc((size_t)c->n_nodes + 1, sizeof(*marks));

	if (find_offline(c, &t->offline, marks, err) < 0)
		return -1;
	for (int i = 0; i < c->n_nodes; i++) {
		c->nodes[i].told_offline = marks[i] && !c->nodes[i].offline;
		c->nodes[i].offline = c->nodes[i].offline || marks[i];
	}
	return 0;
}

int tool_load(struct tool *t, struct cluster *c, struct error *err)
{
	if (tool_read(t, c, err) < 0)
		return -1;
	return tool_set_offline(t, c, err);
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
		buf_addf(b, "%s%s", i > 0 ? "," : "",
			 template_table[p->templates[i]].planners_name);
	buf_adds(b, "], iPolicyVcpuRatio = ");
	hf_double(b, p->vcpu_ratio);
	buf_adds(b, ", iPolicySpindleRatio = ");
	hf_double(b, p->spindle_ratio);
	buf_addc(b, '}');
}

void tool_print_loaded(const struct tool *t, const struct cluster *c)
{
	const struct tool_levels *levels = &t->program->levels;
	auto_buf struct buf b = {0};

	if (t->verbose >= levels->tags) {
		buf_adds(&b, "Loaded cluster tags: ");
		for (size_t i = 0; i < c->n_tags; i++)
			buf_addf(&b, "%s%s", i > 0 ? "," : "", c->tags[i]);
		buf_addc(&b, '\n');
	}
	if (t->verbose >= levels->policy) {
		buf_adds(&b, "Loaded cluster ipolicy: ");
		show_policy(&b, &c->policy);
		buf_addc(&b, '\n');
	}
	if (b.len > 0)
		fputs(b.data, stdout);
}

void tool_print_suffix(const struct tool *t, const struct cluster *c)
{
	const char *name = c->n_nodes > 0 ? c->nodes[0].name : "";

	if (t->verbose >= t->program->levels.suffix && c->suffix_len > 0)
		printf("Note: Stripping common suffix of '%s' from names\n",
		       name + strlen(name) - c->suffix_len);
}

int tool_main(const struct tool_program *p, int argc, char **argv, tool_fn run)
{
	struct cluster c = {0};
	struct error err;
	struct tool *t;
	int rc;

	/* Tables of all nodes come and go at each step. */
	mallopt(M_MMAP_THRESHOLD, KEPT_MEMORY);
	mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
	t = tool_parse(p, argc, argv, &rc);
	if (t == NULL)
		return rc;
	rc = run(t, &c, &err);
	if (rc < 0) {
		tool_error(err.text);
		rc = 1;
	}
	cluster_done(&c);
	tool_free(t);
	return rc;
}

/* --- what a program may know of it --- */

const void *tool_options(const struct tool *t, const struct tool_program *p)
{
	assert(t->program == p);
	return t->options;
}

const char *tool_argument(const struct tool *t)
{
	return t->argument;
}

bool tool_has_data(const struct tool *t)
{
	return t->text_file != NULL || tool_is_simulated(t);
}

bool tool_is_simulated(const struct tool *t)
{
	return t->simulate.n > 0;
}

bool tool_asks_mond(const struct tool *t)
{
	return t->mond;
}

bool tool_max_node_failures(const struct tool *t, int *ret)
{
	*ret = (int)t->max_node_failures;
	return t->has_max_node_failures;
}

const struct load_options *tool_loads(const struct tool *t)
{
	return &t->load;
}

const char *tool_name(const struct tool *t)
{
	return t->program->name;
}

struct luxi *tool_luxi(const struct tool *t, struct error *err)
{
	if (t->use_luxi)
		return connect_luxi(t, err);
	error_set(err, ERR_PREREQ, NULL,
		  "%s: Execution of commands possible only on LUXI",
		  tool_name(t));
	return NULL;
}
