/* SPDX-License-Identifier: BSD-2-Clause */
/* What survival.c says of a new instance is what survive() says of the group
 * with it, on random groups. */
#include <criterion/criterion.h>

#include "iallocators/input/text.h"
#include "iallocators/model/survival.h"
#include "lib/base/mem.h"
#include "lib/model/config/survive.h"

#define NODES 6
#define MOST 20

static struct cluster c;
static char *text;
static uint64_t state;

static int pick(int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)(state >> 33) % n;
}

static const char *template_of(int kind)
{
	static const char *const names[] = {"drbd", "drbd", "rbd", "plain"};

	return names[kind];
}

/* A group of nodes with 8 units of memory and 8 CPUs, some of them full, one
 * now and then offline. */
static void make(uint64_t seed, int n)
{
	const struct load_options o = {.max_cpu_ratio = -1};
	struct buf b = {0};
	struct error err;

	state = seed;
	buf_adds(&b, "g|ug|preferred||\n\n");
	for (int i = 0; i < NODES; i++)
		buf_addf(&b, "n%d|9|1|8|1000|1000|8|%c|ug|1||N|0|0|1.0\n", i,
			 i == 5 && pick(3) == 0 ? 'Y' : 'N');
	buf_adds(&b, "\n");
	for (int i = 0; i < n; i++) {
		int p = pick(NODES), kind = pick(4);
		auto_free char *secondary =
			xprintf("n%d", (p + 1 + pick(NODES - 1)) % NODES);

		buf_addf(&b, "i%d|%d|1|%d|running|Y|n%d|%s|%s||1|-|N\n", i,
			 1 + pick(3), 1 + pick(2), p, kind < 2 ? secondary : "",
			 template_of(kind));
	}
	buf_adds(&b, "\n\n|1,1,1,1,1,1|1,1,1,1,1,1;9,9,9,9,9,9|drbd,rbd,plain|"
		     "1.0|99.0\n"
		     "g|1,1,1,1,1,1|1,1,1,1,1,1;9,9,9,9,9,9|drbd,rbd,plain|"
		     "1.0|99.0\n");
	text = buf_steal(&b);
	cr_assert_eq(text_read(&c, text, &err), 0, "%s", err.text);
	cluster_finish(&c, &o);
}

static void done(void)
{
	cluster_done(&c);
	free(text);
	text = NULL;
	c = (struct cluster){.n_nodes = 0};
}

static size_t refuge(const struct instance *inst)
{
	if (inst->secondary != NO_INDEX)
		return (size_t)inst->secondary;
	return inst->template == TEMPLATE_RBD ? SURVIVE_ANYWHERE
					      : SURVIVE_NOWHERE;
}

static struct survive_instance flat(const struct instance *inst)
{
	return (struct survive_instance){inst->memory, inst->vcpus,
					 (size_t)inst->primary, refuge(inst)};
}

/* The group with inst, or as it is. */
static bool whole(const struct instance *inst, int failures)
{
	struct survive_node nodes[NODES];
	struct survive_instance all[MOST + 1];
	bool homeless[MOST + 1] = {false};
	struct survive_loss loss = {.homeless = homeless};
	struct survive_group g = {.nodes = nodes,
				  .n_nodes = NODES,
				  .instances = all,
				  .n_instances = (size_t)c.n_instances};

	for (int i = 0; i < NODES; i++)
		nodes[i] = (struct survive_node){
			.memory = 8, .vcpus = 8, .lost = c.nodes[i].offline};
	for (int i = 0; i < c.n_instances; i++)
		all[i] = flat(&c.instances[i]);
	if (inst != NULL)
		all[g.n_instances++] = flat(inst);
	return survive(&g, (size_t)failures, &loss);
}

static int compare(const struct survival *s, struct instance inst, int failures)
{
	bool before = whole(NULL, failures), have;
	int held = 0;

	for (int p = 0; p < NODES; p++)
		for (int q = 0; q < NODES; q++) {
			struct refusal why;

			if (p == q || c.nodes[p].offline)
				continue;
			inst.primary = p;
			inst.secondary =
				inst.template == TEMPLATE_DRBD ? q : NO_INDEX;
			have = survival_with(s, &inst, p, inst.secondary, &why);
			cr_expect_eq(have, before && whole(&inst, failures),
				     "%s on %d, %d: %d", text, p, q, have);
			held += have;
		}
	return held;
}

Test(survival, says_what_the_whole_question_would)
{
	static const enum template kinds[] = {TEMPLATE_DRBD, TEMPLATE_RBD,
					      TEMPLATE_PLAIN};
	int held = 0, asked = 0;

	for (uint64_t seed = 1; seed < 150; seed++)
		for (int failures = 1; failures <= 2; failures++) {
			struct survival s;
			struct instance inst = {.memory = 2, .vcpus = 1};

			make(seed, 3 + (int)seed % (MOST - 3));
			survival_init(&s, &c, 0, failures);
			inst.template = kinds[seed % 3];
			held += compare(&s, inst, failures);
			asked += NODES * (NODES - 1);
			survival_done(&s);
			done();
		}
	/* both answers were there */
	cr_expect(held > asked / 10 && held < asked * 9 / 10, "%d of %d", held,
		  asked);
}

Test(survival, without_a_promise_anything_goes)
{
	struct survival s;
	struct refusal why;
	struct instance inst = {.memory = 100, .template = TEMPLATE_RBD};

	make(1, 5);
	survival_init(&s, &c, 0, -1);
	cr_expect(survival_with(&s, &inst, 0, NO_INDEX, &why));
	survival_done(&s);
	done();
}
