/* SPDX-License-Identifier: BSD-2-Clause */
/* The text is cut into sections and lines, each line into columns, and each
 * section has its reader.  The order matters: nodes name groups, and instances
 * name nodes.  The last columns of a line may be missing and have defaults
 * (column()). */
#include "iallocators/input/text.h"

#include <stdlib.h>
#include <string.h>

#include "iallocators/model/hformat.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

#define SECTIONS_MIN 4
#define SECTIONS_MAX 5
#define COLUMNS_MAX 16

struct section {
	char **lines;
	int n;
};

struct row {
	const char *columns[COLUMNS_MAX];
	int n;
};

static struct row split_row(struct arena *a, const char *line)
{
	char *copy = arena_strndup(a, line, strlen(line));
	struct row row = {.n = 0};
	char *next = copy;

	while (next != NULL && row.n < COLUMNS_MAX) {
		row.columns[row.n++] = next;
		next = strchr(next, '|');
		if (next != NULL)
			*next++ = '\0';
	}
	return row;
}

/* A column, or what stands for one that is left out. */
static const char *column(const struct row *row, int i, const char *otherwise)
{
	return i < row->n ? row->columns[i] : otherwise;
}

static int wrong_row(const struct row *row, const char *what, struct error *err)
{
	auto_buf struct buf shown = {0};

	for (int i = 0; i < row->n; i++) {
		if (i > 0)
			buf_addc(&shown, ',');
		hf_show_string(&shown, row->columns[i],
			       strlen(row->columns[i]));
	}
	return error_set(err, ERR_REQUEST, NULL, "Invalid%s data: '[%s]'", what,
			 shown.data);
}

/* The parts of a list; the empty text has none. */
static const char **split_list(struct arena *a, const char *text, char sep,
			       size_t *ret_n)
{
	char *copy = arena_strndup(a, text, strlen(text));
	const char **list;
	size_t n = 1;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == sep;
	list = arena_calloc(a, n, sizeof(*list));
	*ret_n = 0;
	while (copy != NULL && *text != '\0') {
		list[(*ret_n)++] = copy;
		copy = strchr(copy, sep);
		if (copy != NULL)
			*copy++ = '\0';
	}
	return list;
}

static int wrong_enum(const char *type, const char *text, struct error *err)
{
	auto_buf struct buf shown = {0};

	hf_show_string(&shown, text, strlen(text));
	return error_set(err, ERR_REQUEST, NULL,
			 "Invalid string value for type %s: %s", type,
			 shown.data);
}

static int find_name(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return NO_INDEX;
}

static const struct policy default_policy = {
	.std = {128, 1, 1024, 1, 1, 1},
	.n_templates = TEMPLATE_COUNT,
	.vcpu_ratio = 4,
	.spindle_ratio = 32,
};

struct policy text_default_policy(struct cluster *c)
{
	struct policy p = default_policy;

	p.intervals = arena_calloc(&c->arena, 1, sizeof(*p.intervals));
	p.intervals[0].min = p.std;
	p.intervals[0].max = (struct ispec){32768, 8, 1048576, 16, 8, 12};
	p.n_intervals = 1;
	for (int i = 0; i < TEMPLATE_COUNT; i++)
		p.templates[i] = (enum template)i;
	return p;
}

static int read_group(struct cluster *c, const char *line, struct group *g,
		      struct error *err)
{
	struct row row = split_row(&c->arena, line);
	int policy;

	if (row.n < 4)
		return wrong_row(&row, "/incomplete group", err);
	g->name = row.columns[0];
	g->uuid = row.columns[1];
	policy = find_name(alloc_policy_names, ALLOC_POLICY_COUNT,
			   row.columns[2]);
	if (policy == NO_INDEX)
		return wrong_enum("AllocPolicy", row.columns[2], err);
	g->alloc_policy = (enum alloc_policy)policy;
	g->tags = split_list(&c->arena, column(&row, 3, ""), ',', &g->n_tags);
	g->networks =
		split_list(&c->arena, column(&row, 4, ""), ',', &g->n_networks);
	g->policy = text_default_policy(c);
	return 0;
}

static int find_group(const struct cluster *c, const char *uuid)
{
	for (int g = 0; g < c->n_groups; g++)
		if (strcmp(c->groups[g].uuid, uuid) == 0)
			return g;
	return NO_INDEX;
}

/* The six sizes; false when one of them is unknown. */
static bool sizes_known(const struct row *row)
{
	for (int i = 1; i <= 6; i++)
		if (strcmp(row->columns[i], "?") == 0)
			return false;
	return true;
}

static int read_exclusive(const struct row *row, struct node *n,
			  struct error *err)
{
	const char *exclusive = column(row, 11, "N");

	if (strcmp(exclusive, "Y") != 0 && strcmp(exclusive, "N") != 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid exclusive_storage value for node "
				 "'%s': %s",
				 n->name, exclusive);
	n->exclusive_storage = *exclusive == 'Y';
	return 0;
}

/* In the order in which the reference looks at them, which decides what is
 * told of several faults. */
static int read_sizes(const struct row *row, struct node *n, struct error *err)
{
	const char *name = n->name;

	if (text_double(name, row->columns[1], &n->total_mem, err) < 0 ||
	    text_int(name, row->columns[2], &n->own_mem, err) < 0 ||
	    text_int(name, row->columns[3], &n->free_mem, err) < 0 ||
	    text_double(name, row->columns[4], &n->total_disk, err) < 0 ||
	    text_int(name, row->columns[5], &n->s.free_disk, err) < 0 ||
	    text_double(name, row->columns[6], &n->total_cpus, err) < 0 ||
	    text_int(name, column(row, 13, "1"), &n->own_cpus, err) < 0)
		return -1;
	n->host_mem = n->own_mem;
	if (text_double(name, column(row, 14, "1.0"), &n->cpu_speed, err) < 0 ||
	    text_int(name, column(row, 9, "1"), &n->total_spindles, err) < 0 ||
	    text_int(name, column(row, 12, "0"), &n->s.free_spindles, err) < 0)
		return -1;
	return read_exclusive(row, n, err);
}

static int read_node(struct cluster *c, const char *line, struct node *n,
		     struct error *err)
{
	struct row row = split_row(&c->arena, line);

	if (row.n < 9)
		return wrong_row(&row, "/incomplete node", err);
	n->name = row.columns[0];
	n->cpu_speed = 1;
	n->group = find_group(c, row.columns[8]);
	if (n->group == NO_INDEX)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown group '%s' for node %s",
				 row.columns[8], n->name);
	n->offline = strcmp(row.columns[7], "Y") == 0;
	n->master = strcmp(row.columns[7], "M") == 0;
	if (!sizes_known(&row)) {
		n->offline = true;
		return 0;
	}
	n->tags = split_list(&c->arena, column(&row, 10, ""), ',', &n->n_tags);
	return read_sizes(&row, n, err);
}

static int find_node(const struct table *names, const char *name,
		     const char *instance, int *ret, struct error *err)
{
	const int *found = table_get(names, name);

	if (found == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown node '%s' for instance %s", name,
				 instance);
	*ret = *found;
	return 0;
}

static int read_flag(const char *text, const char *what, const char *name,
		     bool *ret, struct error *err)
{
	if (strcmp(text, "Y") != 0 && strcmp(text, "N") != 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid %s value '%s' for instance %s", what,
				 text, name);
	*ret = *text == 'Y';
	return 0;
}

static int read_nodes_of(const struct table *names, const struct row *row,
			 struct instance *inst, struct error *err)
{
	if (find_node(names, row->columns[6], inst->name, &inst->primary, err) <
	    0)
		return -1;
	inst->secondary = NO_INDEX;
	if (*row->columns[7] == '\0')
		return 0;
	return find_node(names, row->columns[7], inst->name, &inst->secondary,
			 err);
}

static int read_status(const struct row *row, struct instance *inst,
		       struct error *err)
{
	int status =
		find_name(run_status_names, RUN_STATUS_COUNT, row->columns[4]);

	if (status == NO_INDEX)
		return wrong_enum("InstanceStatus", row->columns[4], err);
	inst->status = (enum run_status)status;
	return read_flag(row->columns[5], "auto_balance", inst->name,
			 &inst->auto_balance, err);
}

static int read_template(const struct row *row, struct instance *inst,
			 struct error *err)
{
	int t = cluster_find_template(row->columns[8]);

	if (t == NO_INDEX) {
		wrong_enum("DiskTemplate", row->columns[8], err);
		return error_wrap(err, "Instance %s", inst->name);
	}
	inst->template = (enum template)t;
	return 0;
}

static int read_spindles(struct cluster *c, const struct row *row,
			 struct instance *inst, struct error *err)
{
	const char *spindles = column(row, 11, "-");

	if (text_int(inst->name, column(row, 10, "1"), &inst->spindle_use,
		     err) < 0)
		return -1;
	inst->disks = arena_calloc(&c->arena, 1, sizeof(*inst->disks));
	inst->n_disks = 1;
	inst->disks[0].size = inst->disk;
	inst->disks[0].spindles = SPINDLES_UNKNOWN;
	if (strcmp(spindles, "-") == 0)
		return 0;
	return text_int(inst->name, spindles, &inst->disks[0].spindles, err);
}

/* In the reference's order, too. */
static int read_instance(struct cluster *c, const struct table *names,
			 const char *line, struct instance *inst,
			 struct error *err)
{
	struct row row = split_row(&c->arena, line);
	const char *name = row.columns[0];

	if (row.n < 10)
		return wrong_row(&row, "/incomplete instance", err);
	inst->name = name;
	if (read_nodes_of(names, &row, inst, err) < 0 ||
	    text_int(name, row.columns[1], &inst->memory, err) < 0 ||
	    text_int(name, row.columns[2], &inst->disk, err) < 0 ||
	    text_int(name, row.columns[3], &inst->vcpus, err) < 0 ||
	    read_status(&row, inst, err) < 0 ||
	    read_template(&row, inst, err) < 0 ||
	    read_spindles(c, &row, inst, err) < 0 ||
	    read_flag(column(&row, 12, "N"), "forthcoming", name,
		      &inst->forthcoming, err) < 0)
		return -1;
	if (inst->template == TEMPLATE_DRBD && inst->primary == inst->secondary)
		return error_set(err, ERR_REQUEST, NULL,
				 "Instance %s has same primary and secondary "
				 "node - %s",
				 name, row.columns[6]);
	inst->tags = split_list(&c->arena, row.columns[9], ',', &inst->n_tags);
	return 0;
}

static int read_ispec(struct cluster *c, const char *owner, const char *what,
		      const char *text, struct ispec *ret, struct error *err)
{
	int64_t *const values[] = {&ret->memory, &ret->cpus,
				   &ret->disk,	 &ret->disk_count,
				   &ret->nics,	 &ret->spindle_use};
	static const char *const labels[] = {"memsize",	 "cpucount",
					     "disksize", "diskcount",
					     "niccount", "spindleuse"};
	auto_free char *path = xprintf("%s/%s", owner, what);
	auto_buf struct buf shown = {0};
	const char **list;
	size_t n;

	list = split_list(&c->arena, text, ',', &n);
	if (n < ARRAY_SIZE(values)) {
		for (size_t i = 0; i < n; i++) {
			if (i > 0)
				buf_addc(&shown, ',');
			hf_show_string(&shown, list[i], strlen(list[i]));
		}
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid ispec data for %s: [%s]", path,
				 n > 0 ? shown.data : "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		auto_free char *label = xprintf("%s/%s", path, labels[i]);

		if (text_int(label, list[i], values[i], err) < 0)
			return -1;
	}
	return 0;
}

static int read_intervals(struct cluster *c, const char *owner,
			  const char *text, struct policy *p, struct error *err)
{
	const char **list;
	size_t n;

	list = split_list(&c->arena, text, ';', &n);
	if (n % 2 != 0)
		return error_set(err, ERR_REQUEST, NULL,
				 "Odd number of min/max specs for %s", owner);
	p->intervals = arena_calloc(&c->arena, n / 2, sizeof(*p->intervals));
	p->n_intervals = n / 2;
	for (size_t i = 0; i < n; i++) {
		struct interval *at = &p->intervals[i / 2];

		if (read_ispec(c, owner, i % 2 == 0 ? "minspec" : "maxspec",
			       list[i], i % 2 == 0 ? &at->min : &at->max,
			       err) < 0)
			return -1;
	}
	return 0;
}

static int read_templates(struct cluster *c, const char *text, struct policy *p,
			  struct error *err)
{
	const char **list;
	size_t n;

	list = split_list(&c->arena, text, ',', &n);
	p->n_templates = 0;
	for (size_t i = 0; i < n; i++) {
		int t = cluster_find_template(list[i]);

		if (t == NO_INDEX)
			return wrong_enum("DiskTemplate", list[i], err);
		if (p->n_templates < TEMPLATE_COUNT)
			p->templates[p->n_templates++] = (enum template)t;
	}
	return 0;
}

static int read_policy_line(struct cluster *c, const char *line,
			    struct error *err)
{
	struct row row = split_row(&c->arena, line);
	struct policy *target = &c->policy, p = {0};
	const char *owner = row.columns[0];
	auto_free char *vcpu = xprintf("%s/vcpu_ratio", owner);
	auto_free char *spindle = xprintf("%s/spindle_ratio", owner);

	if (row.n < 6)
		return wrong_row(&row, " ipolicy", err);
	if (read_ispec(c, owner, "stdspec", row.columns[1], &p.std, err) < 0 ||
	    read_intervals(c, owner, row.columns[2], &p, err) < 0 ||
	    read_templates(c, row.columns[3], &p, err) < 0 ||
	    text_double(vcpu, row.columns[4], &p.vcpu_ratio, err) < 0 ||
	    text_double(spindle, row.columns[5], &p.spindle_ratio, err) < 0)
		return -1;
	if (*owner != '\0') {
		int g = cluster_find_group(c, owner);

		target = g != NO_INDEX ? &c->groups[g].policy : NULL;
	}
	if (target == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Wrong number of elems found with name %s",
				 owner);
	*target = p;
	return 0;
}

/* Split at empty lines; more sections than known are counted, not kept. */
static int split_sections(struct cluster *c, char *text,
			  struct section ret[SECTIONS_MAX])
{
	size_t lines = 1;
	char **all, *next = text;
	int n = 0, total = 0;

	for (const char *p = text; *p != '\0'; p++)
		lines += *p == '\n';
	all = arena_calloc(&c->arena, lines, sizeof(*all));
	ret[0].lines = all;
	while (next != NULL && *next != '\0') {
		char *line = next;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (*line == '\0') {
			n++;
			if (n < SECTIONS_MAX)
				ret[n].lines = all + total;
		} else {
			all[total++] = line;
			if (n < SECTIONS_MAX)
				ret[n].n++;
		}
	}
	return n + 1;
}

static int read_nodes(struct cluster *c, const struct section *s,
		      struct error *err)
{
	c->nodes = arena_calloc(&c->arena, (size_t)s->n, sizeof(*c->nodes));
	for (int i = 0; i < s->n; i++)
		if (read_node(c, s->lines[i], &c->nodes[c->n_nodes++], err) < 0)
			return -1;
	return 0;
}

static int read_instances(struct cluster *c, const struct section *s,
			  struct error *err)
{
	struct table names = {0};
	int *indices =
		arena_calloc(&c->arena, (size_t)c->n_nodes, sizeof(*indices));
	int rc = 0;

	for (int i = 0; i < c->n_nodes; i++) {
		indices[i] = i;
		table_put(&names, c->nodes[i].name, &indices[i]);
	}
	c->instances =
		arena_calloc(&c->arena, (size_t)s->n, sizeof(*c->instances));
	for (int i = 0; i < s->n && rc == 0; i++)
		rc = read_instance(c, &names, s->lines[i],
				   &c->instances[c->n_instances++], err);
	table_done(&names, NULL);
	return rc;
}

int text_read(struct cluster *c, char *text, struct error *err)
{
	struct section s[SECTIONS_MAX] = {0};
	int n = *text == '\0' ? 0 : split_sections(c, text, s);

	if (n < SECTIONS_MIN)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid format of the input file: %d "
				 "sections instead of 4 or more",
				 n);
	c->policy = text_default_policy(c);
	c->groups = arena_calloc(&c->arena, (size_t)s[0].n, sizeof(*c->groups));
	for (int i = 0; i < s[0].n; i++)
		if (read_group(c, s[0].lines[i], &c->groups[c->n_groups++],
			       err) < 0)
			return -1;
	if (read_nodes(c, &s[1], err) < 0 || read_instances(c, &s[2], err) < 0)
		return -1;
	c->tags = (const char *const *)s[3].lines;
	c->n_tags = (size_t)s[3].n;
	for (int i = 0; i < s[4].n; i++)
		if (read_policy_line(c, s[4].lines[i], err) < 0)
			return -1;
	return 0;
}
