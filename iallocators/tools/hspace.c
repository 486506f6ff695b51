/* SPDX-License-Identifier: BSD-2-Clause */
/* hspace: how many more instances fit onto a cluster, of the standard size and
 * of sizes from the biggest allowed one downwards. */
#include <stdio.h>
#include <string.h>

#include "iallocators/capacity/capacity.h"
#include "iallocators/capacity/hspace_show.h"
#include "iallocators/input/simulate.h"
#include "iallocators/input/text.h"
#include "iallocators/model/hformat.h"
#include "iallocators/options/listing.h"
#include "iallocators/options/save.h"
#include "iallocators/options/tool.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"

static struct instance new_instance(const struct report *r,
				    const struct ispec *spec)
{
	return capacity_instance(r->k, spec, r->template, r->o->spindle_use);
}

/* disk,memory,cpus[,spindles] */
static int read_size(const char *text, const char *what, struct ispec *ret,
		     struct error *err)
{
	static const struct {
		const char *name;
		int (*read)(const char *what, const char *text, int64_t *ret,
			    struct error *err);
	} parts[] = {{"disk", simulate_size},
		     {"memory", simulate_size},
		     {"cpus", text_int},
		     {"spindles", text_int}};
	int64_t *const values[] = {&ret->disk, &ret->memory, &ret->cpus,
				   &ret->spindle_use};
	auto_strv struct strv words = {0};

	str_split(&words, text, ',');
	if (words.n < 3 || words.n > 4)
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid %s specification: '%s', expected "
				 "disk,ram,cpu",
				 what, text);
	ret->spindle_use = 1;
	for (size_t i = 0; i < words.n; i++) {
		auto_free char *name =
			xprintf("%s specs %s", what, parts[i].name);

		if (parts[i].read(name, words.items[i], values[i], err) < 0)
			return -1;
	}
	return 0;
}

/* Sizes to start from, biggest first; one with --tiered-alloc. */
static void fill_tiers(struct report *r, const struct ispec *given)
{
	const struct policy *p = &r->k->c->policy;
	int64_t limit = r->o->max_length;

	if (given != NULL) {
		struct instance inst = new_instance(r, given);

		space_show_spec(r, true, &inst);
		capacity_fill_tiered(r->k, &inst, limit);
		return;
	}
	for (size_t i = 0; i < p->n_intervals; i++) {
		struct instance inst = new_instance(r, &p->intervals[i].max);

		if (i == 0)
			space_show_spec(r, true, &inst);
		capacity_fill_tiered(r->k, &inst, limit);
	}
}

static int after_filling(struct report *r, bool tiered, struct error *err)
{
	if (r->k->endless)
		return error_set(err, ERR_PREREQ, NULL,
				 "An instance without memory, CPUs and disks "
				 "of its nodes fits any number of times "
				 "(--max-length limits that)");
	capacity_sort_fails(r->k);
	capacity_resources_sum(r->k, &r->after);
	if (r->o->verbose > 1)
		space_show_map(r, tiered ? "Tiered allocation map"
					 : "Standard allocation map");
	listing_print_nodes(r->k->c, &r->k->all, &r->o->nodes,
			    tiered ? "Tiered allocation"
				   : "Standard allocation");
	return save_state(r->k->c, r->o->save, tiered ? "tiered" : "standard",
			  tiered ? "after tiered allocation"
				 : "after standard allocation",
			  err);
}

static int run_tiered(struct report *r, const struct ispec *given,
		      struct error *err)
{
	fill_tiers(r, given);
	if (after_filling(r, true, err) < 0)
		return -1;
	space_show_tiered(r);
	capacity_empty(r->k);
	return 0;
}

static int run_standard(struct report *r, const struct ispec *spec,
			struct error *err)
{
	struct instance inst = new_instance(r, spec);

	space_show_spec(r, false, &inst);
	capacity_fill(r->k, &inst, r->o->max_length);
	if (after_filling(r, false, err) < 0 || space_show_standard(r, err) < 0)
		return -1;
	return space_show_end(r, err);
}

static void print_start(struct report *r)
{
	const struct cluster *c = r->k->c;
	const char *name = c->n_nodes > 0 ? c->nodes[0].name : "";
	auto_buf struct buf b = {0};
	struct stats stats;

	if (r->o->verbose > 1 && c->suffix_len > 0)
		fprintf(stderr,
			"Note: Stripping common suffix of '%s' from names\n",
			name + strlen(name) - c->suffix_len);
	listing_print_nodes(r->k->c, &r->k->all, &r->o->nodes,
			    "Initial cluster");
	if (r->o->verbose < 3)
		return;
	score_stats(c, &r->k->all, &stats);
	buf_adds(&b, "Initial coefficients: overall ");
	hf_fixed(&b, score_total(&stats), 8);
	buf_addc(&b, '\n');
	tool_metrics(&b, &stats);
	if (r->o->verbose > 3)
		capacity_show(r->k, r->simulated ? 1 : 0, &b);
	fputs(b.data, stderr);
}

static bool any_exclusive(const struct cluster *c)
{
	for (int i = 0; i < c->n_nodes; i++)
		if (c->nodes[i].exclusive_storage)
			return true;
	return false;
}

static int find_template(const struct cluster *c, const struct hspace_opts *o)
{
	int t = c->policy.n_templates > 0 ? (int)c->policy.templates[0]
					  : TEMPLATE_PLAIN;

	return o->disk_template != NO_INDEX ? o->disk_template : t;
}

static int fill_cluster(struct report *r, const struct ispec *standard,
			const struct ispec *tiered, struct error *err)
{
	print_start(r);
	space_show_cluster(r);
	if (capacity_check(r->k, err) < 0)
		return error_wrap(err, "failure during allocation");
	if (run_tiered(r, tiered, err) < 0)
		return -1;
	return run_standard(r, standard, err);
}

static int load_cluster(struct tool *t, struct cluster *c,
			struct ispec *standard, struct ispec *tiered,
			struct error *err)
{
	const struct hspace_opts *o = tool_options(t, &hspace_program);

	if ((o->standard_alloc != NULL &&
	     read_size(o->standard_alloc, "standard", standard, err) < 0) ||
	    (o->tiered_alloc != NULL &&
	     read_size(o->tiered_alloc, "tiered", tiered, err) < 0)) {
		fprintf(stderr,
			"Error while parsing command line arguments:\n%s\n",
			err->text);
		return 1;
	}
	return tool_load(t, c, err);
}

static int run(struct tool *t, struct cluster *c, struct error *err)
{
	const struct hspace_opts *o = tool_options(t, &hspace_program);
	struct ispec standard = {0}, tiered = {0};
	struct capacity k;
	struct resources before;
	auto_json json_t *json = o->json ? json_object() : NULL;
	struct report r = {.k = &k, .o = o, .json = json, .before = &before};
	int rc = load_cluster(t, c, &standard, &tiered, err);

	if (rc != 0)
		return rc;
	r.template = (enum template)find_template(c, o);
	r.simulated = tool_is_simulated(t);
	r.machine = o->machine_readable;
	r.exclusive = any_exclusive(c);
	capacity_init(&k, c, tool_loads(t), o, r.template);
	capacity_resources_sum(&k, &before);
	rc = fill_cluster(&r, o->standard_alloc ? &standard : &c->policy.std,
			  o->tiered_alloc != NULL ? &tiered : NULL, err);
	capacity_done(&k);
	return rc;
}

int main(int argc, char **argv)
{
	return tool_main(&hspace_program, argc, argv, run);
}
