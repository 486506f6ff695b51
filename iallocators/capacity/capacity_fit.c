/* SPDX-License-Identifier: BSD-2-Clause */
/* On one node, only open candidates are looked at again when the size shrinks:
 * those that take the instance, and those that refuse it for the one reason in
 * question (why).  The counts of all reasons are kept up to date with them. */
#include "iallocators/capacity/capacity_fit.h"

#include <string.h>

#include "lib/base/mem.h"

static bool on_one_node(const struct fit *f)
{
	return f->run.k->required_nodes == 1;
}

static void count_all(struct fit *f)
{
	const struct series *s = &f->run.series;

	memset(f->counts, 0, sizeof(f->counts));
	f->n_open = 0;
	for (int i = 0; i < s->candidates->n; i++) {
		enum fail why = s->why_primary[i];

		f->counts[why]++;
		if (why == FAIL_NONE || why == f->why)
			f->open[f->n_open++] = i;
	}
}

void fit_init(struct fit *f, struct capacity *k, const struct instance *inst,
	      enum fail why)
{
	*f = (struct fit){.why = why};
	capacity_run_init(&f->run, k, inst);
	capacity_run_check(&f->run, k->place.capacity_checks);
	f->open = xcalloc((size_t)k->candidates.n + 1, sizeof(*f->open));
	count_all(f);
}

void fit_done(struct fit *f)
{
	capacity_run_done(&f->run);
	free(f->open);
}

bool fit_now(struct fit *f)
{
	struct capacity *k = f->run.k;

	if (!on_one_node(f))
		return capacity_run_count(&f->run);
	for (int i = 0; i < f->n_open; i++)
		if (f->run.series.why_primary[f->open[i]] == FAIL_NONE &&
		    capacity_run_passes(&f->run, f->open[i]))
			return true;
	k->n_fails = 0;
	for (int i = 1; i < FAIL_COUNT; i++)
		k->fails[k->n_fails++] = (struct fail_count){
			.why = (enum fail)i,
			.n = f->counts[i] +
			     (i == FAIL_N1 ? f->counts[FAIL_NONE] : 0)};
	return false;
}

void fit_shrink(struct fit *f, const struct instance *smaller)
{
	struct series *s = &f->run.series;

	capacity_run_resize(&f->run, smaller);
	for (int i = 0; i < f->n_open; i++)
		f->counts[s->why_primary[f->open[i]]]--;
	if (!on_one_node(f) || !series_shrunk(s, f->open, f->n_open)) {
		series_look_again(s);
		count_all(f);
		return;
	}
	for (int i = 0; i < f->n_open; i++)
		f->counts[s->why_primary[f->open[i]]]++;
}
