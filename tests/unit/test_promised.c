/* SPDX-License-Identifier: BSD-2-Clause */
/* max-node-failures holds while a cluster is filled, and after each move that
 * balances it, on random groups. */
#include <criterion/criterion.h>

#include "iallocators/balance/balance.h"
#include "iallocators/capacity/capacity.h"
#include "iallocators/input/text.h"
#include "lib/base/mem.h"

#define NODES 6
#define SEEDS 40

static struct cluster c;
static char *text;
static uint64_t state;

static int pick(int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)(state >> 33) % n;
}

static void add_instance(struct buf *b, int i, int *room)
{
	static const char *const names[] = {"drbd", "rbd", "plain", "rbd"};
	int p = pick(NODES - 2), kind = pick(4), size = 1 + pick(3);
	auto_free char *secondary =
		xprintf("n%d", (p + 1 + pick(NODES - 3)) % (NODES - 2));

	if (room[p] <= size)
		return;
	room[p] -= size;
	buf_addf(b, "i%d|%d|1|1|running|Y|n%d|%s|%s||1|-|N\n", i, size, p,
		 kind == 0 ? secondary : "", names[kind]);
}

/* Nodes with 12 units of memory, of which so many are left. */
static void load(struct buf *instances, const int *room, int failures)
{
	static const char policy[] = "|1,1,1,1,1,1|1,1,1,1,1,1;9,9,9,9,9,9|"
				     "drbd,rbd,plain|9.0|99.0\n";
	const struct load_options o = {.max_cpu_ratio = -1};
	struct buf b = {0};
	struct error err;

	buf_adds(&b, "g|ug|preferred||\n\n");
	for (int i = 0; i < NODES; i++)
		buf_addf(&b, "n%d|13|1|%d|1000|1000|30|N|ug|1||N|0|0|1.0\n", i,
			 room[i]);
	buf_addf(&b, "\n%s\n\n%sg%s", instances->data, policy, policy);
	buf_done(instances);
	text = buf_steal(&b);
	cr_assert_eq(text_read(&c, text, &err), 0, "%s", err.text);
	c.groups[0].policy.max_node_failures = failures;
	cluster_finish(&c, &o);
}

/* Any instances; the last two nodes are empty. */
static void make(uint64_t seed, int n, int failures)
{
	struct buf instances = {0};
	int room[NODES] = {12, 12, 12, 12, 12, 12};

	state = seed;
	for (int i = 0; i < n; i++)
		add_instance(&instances, i, room);
	load(&instances, room, failures);
}

/* Four nodes with a large and a small one, on storage that all share; two are
 * empty, and have room for a large one each. */
static void make_packed(int failures)
{
	static const int room[NODES] = {1, 1, 1, 1, 12, 12};
	struct buf b = {0};

	for (int i = 0; i < 8; i++)
		buf_addf(&b, "i%d|%d|1|1|running|Y|n%d||rbd||1|-|N\n", i,
			 i < 4 ? 8 : 3, i % 4);
	load(&b, room, failures);
}

static void done(void)
{
	cluster_done(&c);
	free(text);
	text = NULL;
}

static struct instance new_one(enum template template)
{
	static struct disk_need disk = {1, 1};

	return (struct instance){.name = "new",
				 .memory = 2,
				 .disk = 1,
				 .vcpus = 1,
				 .spindle_use = 1,
				 .n_disks = 1,
				 .disks = &disk,
				 .template = template,
				 .auto_balance = true,
				 .primary = NO_INDEX,
				 .secondary = NO_INDEX};
}

/* How many fit. */
static int fill(enum template template)
{
	const struct hspace_opts o = {.no_capacity_checks = true};
	const struct load_options load = {.max_cpu_ratio = -1};
	struct instance inst = new_one(template);
	struct capacity k;
	int n;

	capacity_init(&k, &c, &load, &o, template);
	cluster_finish_instance(&c, &inst, &load);
	capacity_fill(&k, &inst, -1);
	n = c.n_instances - k.first;
	cr_assert(survival_holds(&c, 0), "%d %s more", n,
		  template_table[template].name);
	capacity_done(&k);
	return n;
}

/* If one more is placed wherever there is room, the promise is broken. */
static void assert_full(enum template template)
{
	struct instance inst = new_one(template);
	struct survival s;

	survival_init(&s, &c, 0, -1);
	for (int p = 0; p < NODES; p++) {
		struct refusal why;

		if (c.nodes[p].s.free_mem_f <= inst.memory)
			continue;
		cr_assert_not(survival_with(&s, &inst, p, NO_INDEX, &why),
			      "one more fits on node %d", p);
	}
	survival_done(&s);
}

Test(promised, as_many_fit_as_keep_max_node_failures)
{
	static const enum template kinds[] = {TEMPLATE_DRBD, TEMPLATE_RBD,
					      TEMPLATE_PLAIN};
	int fewer = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		enum template kind = kinds[seed % 3];
		int promised, free;

		make(seed, 6, 0);
		free = fill(kind);
		done();
		make(seed, 6, 2);
		if (survival_holds(&c, 0)) {
			promised = fill(kind);
			if (kind == TEMPLATE_RBD)
				assert_full(kind);
			cr_assert_leq(promised, free);
			fewer += promised < free;
		}
		done();
	}
	cr_assert_gt(fewer, SEEDS / 2, "the promise costs room");
}

Test(promised, nothing_fits_where_it_is_broken_already)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct hspace_opts o = {.no_capacity_checks = true};
		const struct load_options load = {.max_cpu_ratio = -1};
		struct instance inst = new_one(TEMPLATE_RBD);
		struct capacity k;

		make(seed, 20, 4);
		if (!survival_holds(&c, 0)) {
			capacity_init(&k, &c, &load, &o, TEMPLATE_RBD);
			cluster_finish_instance(&c, &inst, &load);
			capacity_fill(&k, &inst, -1);
			cr_assert_eq(c.n_instances, k.first);
			capacity_done(&k);
		}
		done();
	}
}

/* How many moves balance it. */
static int balanced(int failures)
{
	const struct balance_options o = {.max_steps = -1};
	struct balance_step *steps = NULL;
	struct nodeset nodes;
	int n;

	make_packed(failures);
	nodes = cluster_group_nodes(&c, 0);
	n = balance_run(&c, &nodes, &o, &steps);
	free(steps);
	return n;
}

Test(promised, no_move_breaks_max_node_failures)
{
	cr_assert_gt(balanced(0), 1);
	c.groups[0].policy.max_node_failures = 1;
	cr_assert_not(survival_holds(&c, 0), "small ones are everywhere");
	done();
	cr_assert_gt(balanced(1), 0, "what keeps it is done");
	cr_assert(survival_holds(&c, 0));
	done();
}
