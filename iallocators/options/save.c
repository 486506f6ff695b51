/* SPDX-License-Identifier: BSD-2-Clause */
/* One function for each kind of line writes its columns in the order of text.h.
 * A struct extent limits nodes and instances to one group; groups, tags and
 * policies are always written in full. */
#include "iallocators/options/save.h"

#include <stdio.h>

#include "iallocators/model/hformat.h"
#include "lib/base/fs.h"
#include "lib/base/mem.h"

static void add_list(struct buf *b, const char **items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "%s%s", i > 0 ? "," : "", items[i]);
}

static void add_group(struct buf *b, const struct group *g)
{
	buf_addf(b, "%s|%s|%s|", g->name, g->uuid,
		 alloc_policy_names[g->alloc_policy]);
	add_list(b, g->tags, g->n_tags);
	buf_addc(b, '|');
	add_list(b, g->networks, g->n_networks);
	buf_addc(b, '\n');
}

/* What is saved: of one group, or of all (NO_INDEX); with the nodes that -O
 * names still online, or not. */
struct extent {
	int group;
	bool before_options;
};

static void add_node(struct buf *b, const struct cluster *c,
		     const struct node *n, bool before_options)
{
	bool offline = n->offline && !(before_options && n->told_offline);
	char status = offline ? 'Y' : n->master ? 'M' : 'N';

	buf_addf(b, "%s|%.0f|%jd|%jd|%.0f|%jd|%.0f|%c|%s|%jd|", n->name,
		 n->total_mem, (intmax_t)n->own_mem, (intmax_t)n->free_mem,
		 n->total_disk, (intmax_t)n->s.free_disk, n->total_cpus, status,
		 c->groups[n->group].uuid, (intmax_t)n->total_spindles);
	add_list(b, n->tags, n->n_tags);
	buf_addf(b, "|%c|%jd|%jd|", n->exclusive_storage ? 'Y' : 'N',
		 (intmax_t)n->s.free_spindles, (intmax_t)n->own_cpus);
	hf_double(b, n->cpu_speed);
	buf_addc(b, '\n');
}

static void add_instance(struct buf *b, const struct cluster *c,
			 const struct instance *i)
{
	buf_addf(b, "%s|%jd|%jd|%jd|%s|%c|%s|%s|%s|", i->name,
		 (intmax_t)i->memory, (intmax_t)i->disk, (intmax_t)i->vcpus,
		 run_status_names[i->status], i->auto_balance ? 'Y' : 'N',
		 c->nodes[i->primary].name,
		 i->secondary == NO_INDEX ? "" : c->nodes[i->secondary].name,
		 template_table[i->template].name);
	add_list(b, i->tags, i->n_tags);
	buf_addf(b, "|%jd|", (intmax_t)i->spindle_use);
	if (i->spindles == SPINDLES_UNKNOWN)
		buf_addc(b, '-');
	else
		buf_addf(b, "%jd", (intmax_t)i->spindles);
	buf_addf(b, "|%c\n", i->forthcoming ? 'Y' : 'N');
}

static void add_spec(struct buf *b, const struct ispec *s)
{
	buf_addf(b, "%jd,%jd,%jd,%jd,%jd,%jd", (intmax_t)s->memory,
		 (intmax_t)s->cpus, (intmax_t)s->disk, (intmax_t)s->disk_count,
		 (intmax_t)s->nics, (intmax_t)s->spindle_use);
}

static void add_policy(struct buf *b, const char *owner, const struct policy *p)
{
	buf_addf(b, "%s|", owner);
	add_spec(b, &p->std);
	buf_addc(b, '|');
	for (size_t i = 0; i < p->n_intervals; i++) {
		buf_adds(b, i > 0 ? ";" : "");
		add_spec(b, &p->intervals[i].min);
		buf_addc(b, ';');
		add_spec(b, &p->intervals[i].max);
	}
	buf_addc(b, '|');
	for (size_t i = 0; i < p->n_templates; i++)
		buf_addf(b, "%s%s", i > 0 ? "," : "",
			 template_table[p->templates[i]].name);
	buf_addc(b, '|');
	hf_double(b, p->vcpu_ratio);
	buf_addc(b, '|');
	hf_double(b, p->spindle_ratio);
	buf_addc(b, '\n');
}

static bool is_within(const struct cluster *c, int node, const struct extent *e)
{
	return e->group == NO_INDEX || c->nodes[node].group == e->group;
}

static void add_all(const struct cluster *c, const struct extent *e,
		    struct buf *out)
{
	for (int i = 0; i < c->n_groups; i++)
		add_group(out, &c->groups[i]);
	buf_addc(out, '\n');
	for (int i = 0; i < c->n_nodes; i++)
		if (is_within(c, i, e))
			add_node(out, c, &c->nodes[i], e->before_options);
	buf_addc(out, '\n');
	for (int i = 0; i < c->n_instances; i++)
		if (is_within(c, c->instances[i].primary, e))
			add_instance(out, c, &c->instances[i]);
	buf_addc(out, '\n');
	for (size_t i = 0; i < c->n_tags; i++)
		buf_addf(out, "%s\n", c->tags[i]);
	buf_addc(out, '\n');
	add_policy(out, "", &c->policy);
	for (int i = 0; i < c->n_groups; i++)
		add_policy(out, c->groups[i].name, &c->groups[i].policy);
}

void save_text(const struct cluster *c, struct buf *out)
{
	const struct extent all = {.group = NO_INDEX};

	add_all(c, &all, out);
}

static int save(const struct cluster *c, const struct extent *e,
		const char *prefix, const char *suffix, const char *when,
		struct error *err)
{
	auto_buf struct buf text = {0};
	auto_free char *path = NULL;

	if (prefix == NULL)
		return 0;
	path = xprintf("%s.%s", prefix, suffix);
	add_all(c, e, &text);
	if (fs_write_atomic(path, text.data, text.len, 0644, err) < 0)
		return -1;
	fflush(stdout);
	fprintf(stderr, "The cluster state %s has been written to file '%s'\n",
		when, path);
	return 0;
}

int save_original(const struct cluster *c, const char *prefix, const char *when,
		  struct error *err)
{
	const struct extent e = {.group = NO_INDEX, .before_options = true};

	return save(c, &e, prefix, "original", when, err);
}

int save_state(const struct cluster *c, const char *prefix, const char *suffix,
	       const char *when, struct error *err)
{
	return save_group(c, NO_INDEX, prefix, suffix, when, err);
}

int save_group(const struct cluster *c, int group, const char *prefix,
	       const char *suffix, const char *when, struct error *err)
{
	const struct extent e = {.group = group};

	return save(c, &e, prefix, suffix, when, err);
}
