/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/model/config/survive.h"

#define NODES_MAX 120
#define INSTANCES_MAX 1200

static struct survive_node nodes[NODES_MAX];
static struct survive_instance instances[INSTANCES_MAX];
static bool homeless[INSTANCES_MAX];
static struct survive_group group;
static struct survive_loss loss;

/* n nodes with 1000 MiB and 8 virtual CPUs, no instance. */
static void begin(size_t n)
{
	memset(nodes, 0, sizeof(nodes));
	memset(homeless, 0, sizeof(homeless));
	for (size_t i = 0; i < n; i++)
		nodes[i] = (struct survive_node){.memory = 1000, .vcpus = 8};
	group = (struct survive_group){
		.nodes = nodes, .n_nodes = n, .instances = instances};
	loss = (struct survive_loss){.homeless = homeless};
}

static void add(size_t node, int64_t memory, size_t secondary)
{
	instances[group.n_instances++] =
		(struct survive_instance){.memory = memory,
					  .vcpus = 1,
					  .node = node,
					  .secondary = secondary};
}

Test(survive, an_empty_group_loses_what_it_likes)
{
	begin(3);
	cr_assert(survive(&group, 3, &loss));
	begin(0);
	cr_assert(survive(&group, 2, &loss));
}

Test(survive, nothing_lost_needs_no_place)
{
	begin(1);
	add(0, 900, SURVIVE_ANYWHERE);
	cr_assert(survive(&group, 0, &loss));
}

Test(survive, spare_capacity_must_be_there_for_each_loss)
{
	begin(3);
	for (size_t i = 0; i < 3; i++)
		add(i, 500, SURVIVE_ANYWHERE);
	cr_assert(survive(&group, 1, &loss));
	cr_assert_not(survive(&group, 2, &loss));
	cr_assert_eq(loss.n_nodes, 2);
	cr_assert_eq(loss.n_homeless, 1);
}

Test(survive, one_instance_more_breaks_it)
{
	begin(3);
	for (size_t i = 0; i < 3; i++)
		add(i, 500, SURVIVE_ANYWHERE);
	add(0, 400, SURVIVE_ANYWHERE);
	cr_assert(survive(&group, 1, &loss));
	add(1, 400, SURVIVE_ANYWHERE);
	cr_assert_not(survive(&group, 1, &loss));
	cr_assert_gt(loss.n_homeless, 0);
	cr_assert_eq(loss.n_nodes, 1);
}

Test(survive, cpus_count_as_memory_does)
{
	begin(2);
	for (size_t i = 0; i < 8; i++)
		add(i % 2, 10, SURVIVE_ANYWHERE);
	cr_assert(survive(&group, 1, &loss));
	add(0, 10, SURVIVE_ANYWHERE);
	cr_assert_not(survive(&group, 1, &loss));
	cr_assert_eq(loss.n_homeless, 1);
}

Test(survive, mirrored_instances_go_to_their_secondary_only)
{
	begin(3);
	add(0, 600, 1);
	add(1, 600, SURVIVE_NOWHERE);
	cr_assert_not(survive(&group, 1, &loss));
	cr_assert_eq(loss.nodes[0], 0);
	cr_assert(homeless[0]);
	cr_assert_not(homeless[1]);
}

Test(survive, what_no_capacity_could_bring_back_is_not_counted)
{
	begin(2);
	add(0, 900, SURVIVE_NOWHERE);
	add(0, 50, 1);
	cr_assert(survive(&group, 2, &loss));
}

Test(survive, places_that_only_one_can_use_are_taken_first)
{
	begin(3);
	add(0, 700, SURVIVE_ANYWHERE);
	add(0, 300, 1);
	add(1, 200, SURVIVE_NOWHERE);
	/* best fit alone would put the large one on node 1 */
	cr_assert(survive(&group, 1, &loss));
}

Test(survive, closed_nodes_take_none_and_lost_ones_are_lost)
{
	begin(3);
	add(0, 600, SURVIVE_ANYWHERE);
	add(1, 600, SURVIVE_ANYWHERE);
	cr_assert(survive(&group, 1, &loss));
	nodes[2].closed = true;
	cr_assert_not(survive(&group, 1, &loss));
	nodes[2].closed = false;
	nodes[2].lost = true;
	cr_assert_not(survive(&group, 1, &loss));
	nodes[2].lost = false;
	nodes[1].lost = true;
	cr_assert(survive(&group, 0, &loss));
}

/* Sets are bounded; the nodes that matter are among those tried. */
Test(survive, large_groups_are_searched_where_it_hurts)
{
	begin(NODES_MAX);
	for (size_t i = 0; i < INSTANCES_MAX; i++)
		add(i % NODES_MAX, 90, SURVIVE_ANYWHERE);
	for (size_t i = 0; i < NODES_MAX; i++)
		nodes[i].vcpus = 1000;
	cr_assert(survive(&group, 3, &loss));
	nodes[NODES_MAX - 1].memory = 13000;
	instances[0] = (struct survive_instance){
		.memory = 9000,
		.node = NODES_MAX - 1,
		.secondary = SURVIVE_ANYWHERE,
	};
	cr_assert_not(survive(&group, 3, &loss));
	cr_assert(homeless[0]);
}
