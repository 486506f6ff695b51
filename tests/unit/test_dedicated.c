/* SPDX-License-Identifier: BSD-2-Clause */
/* Partitioned allocation: nodes of four quarters, which are given out as
 * quarters, halves or whole.  Node "eN" has N quarters in use; "o" nodes have
 * shared storage. */
#include <criterion/criterion.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "iallocators/place/groups.h"
#include "iallocators/place/place.h"
#include "lib/base/mem.h"

#define QUARTER 1000
#define SPEC "1,1,%d,1,1,1;65536,8,%d,8,8,8"

static struct cluster c;
static char *text;
static struct instance room[8]; /* with one to come */
static const struct place_options per_group = {.dedicated_per_group = true};
static const struct place_options as_before = {.dedicated_per_group = false};

static void add_node(struct buf *b, const char *name, int used,
		     const char *group, char exclusive)
{
	buf_addf(b, "%s|65536|0|65536|%d|%d|64|%c|%s|8||%c|%d|1|1.0\n", name,
		 4 * QUARTER + 1, (4 - used) * QUARTER + 1,
		 *name == 'e' && used == 0 ? 'M' : 'N', group, exclusive,
		 8 - used);
}

/* The instances that fill the nodes, and the policy. */
static void add_rest(struct buf *b, bool three_quarters)
{
	buf_addc(b, '\n');
	for (int i = 1; i < 4; i++)
		buf_addf(b, "i%d|0|%d|1|running|Y|e%d||plain||1|1|N\n", i,
			 i * QUARTER, i);
	buf_adds(b, "\n\n");
	for (int i = 0; i < 3; i++) {
		static const char *const owners[] = {"", "e", "o"};

		buf_addf(b, "%s|1,1,%d,1,1,1|" SPEC ";" SPEC ";" SPEC,
			 owners[i], QUARTER, QUARTER, QUARTER, 2 * QUARTER,
			 2 * QUARTER, 4 * QUARTER, 4 * QUARTER);
		if (three_quarters)
			buf_addf(b, ";" SPEC, 3 * QUARTER, 3 * QUARTER);
		buf_adds(b, "|plain|64.0|32.0\n");
	}
}

static void load(bool three_quarters, bool with_shared)
{
	const struct load_options o = {.max_cpu_ratio = -1};
	struct buf b = {0};
	struct error err;

	buf_adds(&b, "e|ue|preferred||\no|uo|last_resort||\n\n");
	for (int used = 0; used < 4; used++) {
		char name[] = {'e', (char)('0' + used), '\0'};

		add_node(&b, name, used, "ue", 'Y');
	}
	if (with_shared)
		add_node(&b, "o0", 0, "uo", 'N');
	add_rest(&b, three_quarters);
	text = buf_steal(&b);
	cr_assert_eq(text_read(&c, text, &err), 0, "%s", err.text);
	memcpy(room, c.instances, (size_t)c.n_instances * sizeof(*room));
	c.instances = room;
	cluster_finish(&c, &o);
}

static void done(void)
{
	cluster_done(&c);
	free(text);
}

TestSuite(dedicated, .fini = done);

/* An instance of so many quarters, to be placed. */
struct wish {
	struct disk_need disk;
	struct instance inst;
	struct nodeset all;
	struct place place;
};

static void wish(struct wish *w, int quarters, const struct place_options *o)
{
	w->disk = (struct disk_need){quarters * QUARTER, 1};
	w->inst = (struct instance){.name = "new",
				    .memory = 1,
				    .disk = quarters * QUARTER,
				    .spindles = 1,
				    .vcpus = 1,
				    .spindle_use = 1,
				    .disks = &w->disk,
				    .n_disks = 1,
				    .template = TEMPLATE_PLAIN,
				    .secondary = NO_INDEX};
	w->all = cluster_all_nodes(&c);
	w->place = (struct place){.c = &c,
				  .inst = &w->inst,
				  .index = c.n_instances,
				  .required_nodes = 1,
				  .scope = &w->all,
				  .options = o};
}

/* "0,0,1 left 1": what is lost on the node, and the disk left. */
static void loses(int quarters, int node, const char *want)
{
	struct wish w;
	struct nodeset one = {.items = &node, .n = 1};
	struct solution s;
	struct error err;
	auto_buf struct buf have = {0};

	wish(&w, quarters, &as_before);
	cr_assert_eq(place_dedicated(&w.place, &one, &s, &err), 0);
	cr_assert(s.found);
	for (int i = 0; i < s.lost.n; i++)
		buf_addf(&have, "%s%d", i > 0 ? "," : "",
			 (int)s.lost.counts[i]);
	buf_addf(&have, " left %d", (int)s.lost.free_disk);
	cr_expect_str_eq(have.data, want, "node %d: %s", node, have.data);
}

/* The best of the nodes, and then of those without it, ... */
static void prefers(int quarters, const char *order)
{
	int nodes[] = {0, 1, 2, 3};
	struct nodeset set = {.items = nodes, .n = 4};
	struct wish w;

	wish(&w, quarters, &as_before);
	for (; *order != '\0'; order++) {
		struct solution s;
		struct error err;
		int at = 0;

		cr_assert_eq(place_dedicated(&w.place, &set, &s, &err), 0);
		cr_assert(s.found);
		cr_expect_eq(s.primary, *order - '0', "%d, not %s", s.primary,
			     order);
		while (nodes[at] != s.primary)
			at++;
		memmove(&nodes[at], &nodes[at + 1],
			(size_t)(--set.n - at) * sizeof(*nodes));
	}
}

Test(dedicated, a_quarter_goes_where_it_destroys_least)
{
	load(false, false);
	loses(1, 3, "0,0,1 left 1");
	loses(1, 1, "0,0,1 left 2001");
	loses(1, 2, "0,1,1 left 1001");
	loses(1, 0, "1,1,1 left 3001");
	prefers(1, "3120");
}

Test(dedicated, a_half_goes_to_the_half_filled_node)
{
	load(false, false);
	loses(2, 2, "0,1,2 left 1");
	loses(2, 1, "0,1,2 left 1001");
	loses(2, 0, "1,1,2 left 2001");
	prefers(2, "210");
}

Test(dedicated, a_three_quarter_size_makes_three_quarters_worth_keeping)
{
	load(true, false);
	loses(1, 2, "0,0,1,1 left 1001");
	loses(1, 1, "0,1,0,1 left 2001");
	prefers(1, "3210");
}

/* Which node hail takes, over all groups. */
static int taken(int quarters, const struct place_options *o, bool *ret_lost)
{
	static const struct group_choice any = {.any = true};
	struct wish w;
	struct solution s;
	auto_buf struct buf info = {0};

	wish(&w, quarters, o);
	cr_assert_eq(groups_place_any(&w.place, &any, &s, &info), PLACED, "%s",
		     info.data);
	*ret_lost = strstr(info.data, "Group e (preferred): score: ([") != NULL;
	return s.primary;
}

Test(dedicated, shared_storage_elsewhere_turns_it_off_without_the_option)
{
	bool lost;

	load(false, true);
	taken(1, &as_before, &lost);
	cr_expect_not(lost);
}

/* The group with shared storage is for later, so that none of its nodes is
 * taken. */
static void takes_beside_shared(int quarters, int wanted)
{
	bool lost;

	cr_expect_eq(taken(quarters, &per_group, &lost), wanted, "%d quarters",
		     quarters);
	cr_expect(lost);
}

Test(dedicated, each_group_counts_for_itself_with_the_option)
{
	load(false, true);
	takes_beside_shared(1, 3);
	takes_beside_shared(2, 2);
	takes_beside_shared(4, 0);
}

Test(dedicated, so_it_does_with_a_three_quarter_size)
{
	load(true, true);
	takes_beside_shared(1, 3);
	takes_beside_shared(3, 1);
}

Test(dedicated, the_option_changes_nothing_where_all_is_exclusive)
{
	bool lost;

	load(false, false);
	cr_expect_eq(taken(1, &per_group, &lost), 3);
	cr_expect(lost);
	cr_expect_eq(taken(1, &as_before, &lost), 3);
}
