/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances of one size one after the other: each goes where trying all places
 * would put it. */
#include "iallocators/place/series.h"

#include "iallocators/place/promises.h"
#include "tests/lib/placed.h"

#define ROUNDS 40
#define STEPS 12

static const char *const mixed[] = {"drbd", "plain", "ext", "drbd"};

struct world {
	struct cluster c;
	struct nodeset all, candidates;
	struct instance inst;
	struct place_options options;
	struct place p;
	struct promises promises;
	struct series series;
};

static void world_init(struct world *w, unsigned seed, enum template template)
{
	struct instance *bigger;

	memset(w, 0, sizeof(*w));
	placed_load(&w->c, seed, seed % 3 == 0 ? 0 : 12, mixed, 4);
	w->all = cluster_all_nodes(&w->c);
	w->candidates = cluster_group_nodes(&w->c, 0);
	if (w->c.nodes[1].offline) {
		memmove(&w->candidates.items[1], &w->candidates.items[2],
			(size_t)(w->candidates.n - 2) * sizeof(int));
		w->candidates.n--;
	}
	bigger = arena_calloc(&w->c.arena, 12 + STEPS, sizeof(*bigger));
	if (w->c.n_instances > 0)
		memcpy(bigger, w->c.instances,
		       (size_t)w->c.n_instances * sizeof(*bigger));
	w->c.instances = bigger;
	w->inst = (struct instance){
		.memory = 700,
		.disk = 3000,
		.vcpus = 1,
		.spindle_use = 1,
		.spindles = SPINDLES_UNKNOWN,
		.template = template,
		.auto_balance = true,
		.util = {1, 1, 1, 1},
		.n_disks = 1,
		.disks = arena_calloc(&w->c.arena, 1, sizeof(*w->inst.disks))};
	w->inst.disks[0] = (struct disk_need){3000, SPINDLES_UNKNOWN};
	w->p = (struct place){.c = &w->c,
			      .inst = &w->inst,
			      .required_nodes =
				      template == TEMPLATE_DRBD ? 2 : 1,
			      .scope = &w->all,
			      .options = &w->options};
	series_init(&w->series, &w->p, &w->candidates);
}

static void world_done(struct world *w)
{
	series_done(&w->series);
	cluster_done(&w->c);
}

/* There is a record for the next one. */
static void prepare(struct world *w)
{
	w->p.index = w->c.n_instances;
	w->c.instances[w->p.index] = w->inst;
}

static void put(struct world *w, const struct solution *s)
{
	place_put(&w->p, s->primary, s->secondary);
	w->c.n_instances++;
	series_changed(&w->series, s->primary);
	if (s->secondary != NO_INDEX)
		series_changed(&w->series, s->secondary);
}

static void check_counts(const struct solution *want,
			 const struct solution *have)
{
	cr_expect_eq(have->successes, want->successes);
	for (int i = 0; i < FAIL_COUNT; i++)
		cr_expect_eq(have->fails[i], want->fails[i], "%s",
			     fail_names[i]);
}

static bool step_single(struct world *w)
{
	struct solution want = {0}, have = {.secondary = NO_INDEX};

	prepare(w);
	place_singles(&w->p, &w->promises, &w->candidates, &want);
	series_count_singles(&w->series, &have);
	check_counts(&want, &have);
	if (!want.found)
		return false;
	have.secondary = NO_INDEX;
	cr_assert(series_best_single(&w->series, &have.primary));
	cr_assert_eq(have.primary, want.primary);
	put(w, &have);
	return true;
}

Test(series, on_one_node)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		struct world w;

		world_init(&w, seed, TEMPLATE_PLAIN);
		for (int i = 0; i < STEPS && step_single(&w); i++)
			;
		world_done(&w);
	}
}

static bool step_pair(struct world *w)
{
	struct solution want = {0}, have;

	prepare(w);
	place_pairs(&w->p, &w->promises, &w->candidates, &want);
	series_count(&w->series, &have);
	check_counts(&want, &have);
	if (!want.found)
		return false;
	cr_assert(series_best(&w->series, &have));
	cr_assert_eq(have.primary, want.primary);
	cr_assert_eq(have.secondary, want.secondary);
	put(w, &have);
	return true;
}

Test(series, on_two_nodes)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++) {
		struct world w;

		world_init(&w, seed, TEMPLATE_DRBD);
		for (int i = 0; i < STEPS && step_pair(&w); i++)
			;
		world_done(&w);
	}
}

Test(series, what_is_refused_is_not_chosen)
{
	struct world w;
	int first, second;

	world_init(&w, 0, TEMPLATE_EXT);
	cr_assert(series_best_single(&w.series, &first));
	w.series.refused[w.series.position[first]] = true;
	cr_assert(series_best_single(&w.series, &second));
	cr_expect_neq(second, first);
	world_done(&w);
}

Test(series, a_smaller_one_is_looked_at_where_it_may_help)
{
	struct world w;
	int positions[PLACED_NODES], n = 0;
	struct solution want, have;

	world_init(&w, 1, TEMPLATE_PLAIN);
	w.inst.memory = 32768;
	series_look_again(&w.series);
	for (int i = 0; i < w.candidates.n; i++)
		if (w.series.why_primary[i] == FAIL_MEM)
			positions[n++] = i;
	cr_expect_eq(n, w.candidates.n);
	w.inst.memory = 1024;
	cr_expect(series_shrunk(&w.series, positions, n));
	series_count_singles(&w.series, &have);
	series_look_again(&w.series);
	series_count_singles(&w.series, &want);
	check_counts(&want, &have);
	cr_expect_gt(have.successes, 0);
	w.inst.memory = 65536;
	cr_expect_not(series_shrunk(&w.series, positions, n),
		      "the policy has something to say");
	world_done(&w);
}
