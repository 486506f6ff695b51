/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept about redundancy while instances come and go gives the answers
 * of emptying each node. */
#include "iallocators/nplus1/tracker.h"

#include "iallocators/nplus1/redundancy.h"
#include "lib/base/array.h"
#include "tests/lib/placed.h"

#define ROUNDS 60
#define STEPS 30

/* These notice when thresholds are kept that more slots on a peer make void,
 * and when an attempt does not count as one. */
static const unsigned telling[] = {421, 4754};

static const char *const mixed[] = {"drbd", "plain", "ext", "drbd"};
static const char *const local[] = {"plain", "file"};

/* One more, anywhere; the node, or NO_INDEX. */
static int put_one(struct cluster *c)
{
	struct instance *inst = &c->instances[c->n_instances];
	int node = rand() % (PLACED_NODES - 2);

	*inst = (struct instance){.memory = 512 << rand() % 4,
				  .disk = 2048 << rand() % 4,
				  .vcpus = 1,
				  .spindle_use = 1,
				  .spindles = SPINDLES_UNKNOWN,
				  .template = rand() % 2 ? TEMPLATE_PLAIN
							 : TEMPLATE_EXT,
				  .n_disks = 1,
				  .primary = node,
				  .secondary = NO_INDEX};
	inst->disks = arena_calloc(&c->arena, 1, sizeof(*inst->disks));
	inst->disks[0] = (struct disk_need){inst->disk, SPINDLES_UNKNOWN};
	return change_add_primary(c, node, inst, c->n_instances,
				  CHANGE_STRICT) == FAIL_NONE
		       ? node
		       : NO_INDEX;
}

/* One more, and off again; sometimes nobody asks meanwhile. */
static void try_one(struct tracker *s, struct cluster *c,
		    const struct nodeset *all, const struct place_options *o,
		    unsigned seed)
{
	size_t mark = change_mark(c);
	int node = put_one(c);

	if (node == NO_INDEX)
		return;
	c->n_instances++;
	tracker_tried(s, node);
	if (rand() % 4)
		cr_assert_eq(tracker_holds(s), redundancy_holds(c, all, o),
			     "seed %u, an attempt on %d", seed, node);
	change_undo(c, mark);
	c->n_instances--;
	tracker_tried(s, node);
}

static void live(unsigned seed, const char *const *kinds, int n)
{
	struct cluster c;
	struct nodeset all;
	struct tracker s;
	struct place_options o = {.accept_existing_errors = seed % 2};
	size_t marks[STEPS];
	int nodes[STEPS], depth = 0;
	struct instance *bigger;

	placed_load(&c, seed, 18, kinds, n);
	all = cluster_all_nodes(&c);
	bigger = arena_calloc(&c.arena, 18 + STEPS, sizeof(*bigger));
	memcpy(bigger, c.instances, 18 * sizeof(*bigger));
	c.instances = bigger;
	tracker_init(&s, &c, &all, &o);
	for (int step = 0; step < STEPS; step++) {
		for (int i = rand() % 4; i > 0; i--)
			try_one(&s, &c, &all, &o, seed);
		if (depth > 0 && rand() % 3 == 0) {
			change_undo(&c, marks[--depth]);
			c.n_instances--;
			tracker_changed(&s, nodes[depth]);
		} else {
			marks[depth] = change_mark(&c);
			nodes[depth] = put_one(&c);
			if (nodes[depth] == NO_INDEX)
				continue;
			tracker_changed(&s, nodes[depth++]);
			c.n_instances++;
		}
		if (rand() % 2)
			cr_assert_eq(tracker_holds(&s),
				     redundancy_holds(&c, &all, &o),
				     "seed %u, step %d", seed, step);
		if (!o.accept_existing_errors)
			cr_assert_eq(tracker_holds(&s),
				     placed_redundant(&c, &all),
				     "seed %u, step %d", seed, step);
	}
	tracker_done(&s);
	cluster_done(&c);
}

Test(tracker, is_as_good_as_emptying_each_node)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++)
		live(seed, mixed, 4);
	for (size_t i = 0; i < ARRAY_SIZE(telling); i++)
		live(telling[i], mixed, 4);
}

Test(tracker, local_disks_alone)
{
	for (unsigned seed = 0; seed < ROUNDS; seed++)
		live(seed, local, 2);
}
