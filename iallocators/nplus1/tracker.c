/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes are only listed; settle() works them off at the next question.  It
 * updates slots before thresholds, which are computed from them.  Whether a
 * node can be emptied is told by its thresholds, else by its slots, else by
 * simulation. */
#include "iallocators/nplus1/tracker.h"

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "iallocators/nplus1/redundancy.h"
#include "lib/base/mem.h"

/* After so many close looks a node all thresholds are noted anew. */
#define LOOKS_MAX 4

/* The table may have so many rows more than twice those in use. */
#define ROWS_SPARE 256

/* A row must have more slots than this. */
struct threshold {
	int row;
	int64_t above;
};

struct tracked {
	bool watched; /* has to be emptied */
	bool is_changed;
	bool unclear;	/* thresholds do not tell */
	bool stuck;	/* some DRBD primary cannot fail over */
	bool too_small; /* for what fails over to it */
	int64_t most;	/* the most memory that one other node would move here;
			   -1: none would move any */
	bool is_tried;	/* the change was only an attempt */
	/* The most memory and disk space that thresholds of other nodes reckon
	 * with here.  An attempt takes some and gives it back, so it leaves
	 * this alone. */
	int64_t most_mem, most_disk;
	struct threshold *thresholds;
	int n_thresholds, cap_thresholds;
};

/* --- DRBD, which goes to the secondary --- */

static void set_broken(struct tracker *s, bool *flag, bool broken)
{
	s->n_broken += broken - *flag;
	*flag = broken;
}

static void check_primaries(struct tracker *s, int x)
{
	const struct ilist *l = &s->c->nodes[x].primaries;
	bool stuck = false;

	for (int i = 0; i < l->n && s->tracked[x].watched && !stuck; i++) {
		const struct instance *inst = &s->c->instances[l->items[i]];

		stuck = inst->template == TEMPLATE_DRBD &&
			!move_failover_possible(s->c, inst);
	}
	set_broken(s, &s->tracked[x].stuck, stuck);
}

/* Whether there is memory for the DRBD primaries of any other node. */
static void check_memory(struct tracker *s, int z)
{
	const struct node *n = &s->c->nodes[z];
	struct tracked *tracked = &s->tracked[z];

	tracked->most = -1;
	for (int i = 0; i < n->secondaries.n; i++) {
		int x = s->c->instances[n->secondaries.items[i]].primary;
		int64_t load;

		if (!s->tracked[x].watched)
			continue;
		load = slots_drbd_load(s->c, &s->c->nodes[x], z);
		if (load > tracked->most)
			tracked->most = load;
	}
	set_broken(s, &tracked->too_small,
		   tracked->most >= 0 && n->s.usable_mem <= tracked->most);
}

/* --- thresholds --- */

static void add_threshold(struct tracked *tracked, int row, int64_t above)
{
	if (tracked->n_thresholds == tracked->cap_thresholds) {
		tracked->cap_thresholds = tracked->cap_thresholds * 2 + 4;
		tracked->thresholds = xrealloc(
			tracked->thresholds, (size_t)tracked->cap_thresholds *
						     sizeof(struct threshold));
	}
	tracked->thresholds[tracked->n_thresholds++] =
		(struct threshold){row, above};
}

/* The slots of a node that DRBD instances fail over to, as they are without any
 * attempt. */
static int64_t slots_of_peer(const struct tracker *s, int row, int z)
{
	const struct node_state *now = &s->c->nodes[z].s;
	const struct tracked *tracked = &s->tracked[z];

	return now->usable_mem == tracked->most_mem &&
			       now->free_disk == tracked->most_disk
		       ? slots_of_node(&s->slots, row, z)
		       : slots_of_node_with(&s->slots, row, z,
					    tracked->most_mem,
					    tracked->most_disk);
}

/* The slots that do not count: its own, and those of nodes that its DRBD
 * primaries go to. */
static int64_t slots_closed(const struct tracker *s, int x, int row)
{
	const struct ilist *l = &s->c->nodes[x].primaries;
	int64_t sum = slots_of_node(&s->slots, row, x);

	for (int i = 0; i < l->n; i++) {
		const struct instance *inst = &s->c->instances[l->items[i]];

		if (inst->template == TEMPLATE_DRBD &&
		    inst->secondary != NO_INDEX)
			sum += slots_of_peer(s, row, inst->secondary);
	}
	return sum;
}

static void note_thresholds(struct tracker *s, int x)
{
	const struct node *n = &s->c->nodes[x];
	struct tracked *tracked = &s->tracked[x];
	auto_free struct slot_need *needs =
		xcalloc((size_t)n->primaries.n + 1, sizeof(*needs));
	struct evacuees evacuees;
	int n_needs;

	tracked->n_thresholds = 0;
	tracked->unclear = false;
	if (!tracked->watched || n->primaries.n == 0)
		return;
	evacuees = slots_evacuees(s->c, n);
	n_needs = slots_needs(&s->slots, n, &evacuees, needs);
	slots_evacuees_done(&evacuees);
	tracked->unclear = n_needs < 0;
	for (int i = 0; i < n_needs; i++)
		add_threshold(tracked, needs[i].row,
			      needs[i].lost + slots_closed(s, x, needs[i].row));
}

static void note_all_thresholds(struct tracker *s)
{
	for (int i = 0; i < s->nodes->n; i++)
		note_thresholds(s, s->nodes->items[i]);
	s->n_looks = 0;
}

/* Note the thresholds anew of all nodes with an evacuee of a size of which some
 * node has more slots than any had before. */
static void note_risen_thresholds(struct tracker *s)
{
	for (int i = 0; i < s->nodes->n; i++) {
		int x = s->nodes->items[i];
		const struct tracked *tracked = &s->tracked[x];
		bool rose = false;

		for (int k = 0; k < tracked->n_thresholds && !rose; k++)
			rose = slots_peak_rose(&s->slots,
					       tracked->thresholds[k].row);
		if (rose)
			note_thresholds(s, x);
	}
	slots_peaks_noted(&s->slots);
}

/* --- changes --- */

/* Note the most that the node has; whether it is more than before. */
static bool note_most(struct tracker *s, int z)
{
	const struct node_state *now = &s->c->nodes[z].s;
	struct tracked *tracked = &s->tracked[z];
	bool grown = now->usable_mem > tracked->most_mem ||
		     now->free_disk > tracked->most_disk;

	if (grown || !tracked->is_tried) {
		tracked->most_mem = now->usable_mem;
		tracked->most_disk = now->free_disk;
	}
	return grown;
}

static void update_node(struct tracker *s, int z, bool has_more)
{
	const struct ilist *l = &s->c->nodes[z].secondaries;

	check_memory(s, z);
	check_primaries(s, z);
	note_thresholds(s, z);
	for (int i = 0; i < l->n; i++) {
		int x = s->c->instances[l->items[i]].primary;

		check_primaries(s, x);
		if (has_more && s->tracked[x].watched)
			note_thresholds(s, x);
	}
}

/* Forget the sizes of what has not been placed after all. */
static void clear_rows(struct tracker *s)
{
	slots_done(&s->slots);
	slots_init(&s->slots, s->c, s->nodes);
	note_all_thresholds(s);
	s->rows_limit = 2 * s->slots.n + ROWS_SPARE;
}

/* Take all changes in: first the slots, of which thresholds are made. */
static void settle(struct tracker *s)
{
	if (s->slots.n > s->rows_limit)
		clear_rows(s);
	for (int i = 0; i < s->n_changed; i++) {
		int z = s->changed[i];
		bool has_more = note_most(s, z);

		slots_changed(&s->slots, z);
		s->tracked[z].is_changed = s->tracked[z].is_tried = false;
		s->changed[i] = has_more ? -1 - z : z;
	}
	for (int i = 0; i < s->n_changed; i++) {
		int z = s->changed[i];

		update_node(s, z < 0 ? -1 - z : z, z < 0);
	}
	s->n_changed = 0;
	if (slots_peaks_rose(&s->slots))
		note_risen_thresholds(s);
}

void tracker_changed(struct tracker *s, int node)
{
	s->tracked[node].is_tried = false;
	if (s->tracked[node].is_changed)
		return;
	s->tracked[node].is_changed = true;
	s->changed[s->n_changed++] = node;
}

void tracker_tried(struct tracker *s, int node)
{
	tracker_changed(s, node);
	s->tracked[node].is_tried = true;
}

void tracker_init(struct tracker *s, struct cluster *c,
		  const struct nodeset *nodes, const struct place_options *o)
{
	size_t n = (size_t)c->n_nodes + 1;

	*s = (struct tracker){.c = c, .nodes = nodes, .rows_limit = ROWS_SPARE};
	s->tracked = xcalloc(n, sizeof(*s->tracked));
	s->order = xcalloc(n, sizeof(*s->order));
	s->changed = xcalloc(n, sizeof(*s->changed));
	slots_init(&s->slots, c, nodes);
	for (int i = 0; i < nodes->n; i++) {
		int x = nodes->items[i];

		if (o->accept_existing_errors && c->nodes[x].offline)
			continue;
		s->tracked[x].watched = true;
		s->order[s->n_order++] = x;
	}
	for (int i = 0; i < c->n_nodes; i++)
		tracker_changed(s, i);
}

void tracker_done(struct tracker *s)
{
	for (int i = 0; s->tracked != NULL && i < s->c->n_nodes; i++)
		free(s->tracked[i].thresholds);
	free(s->tracked);
	free(s->order);
	free(s->changed);
	slots_done(&s->slots);
	*s = (struct tracker){0};
}

/* --- questions --- */

static bool thresholds_hold(const struct tracker *s, int x)
{
	const struct tracked *tracked = &s->tracked[x];

	for (int i = 0; i < tracked->n_thresholds; i++)
		if (slots_total(&s->slots, tracked->thresholds[i].row) <=
		    tracked->thresholds[i].above)
			return false;
	return !tracked->unclear;
}

/* Count the slots; simulate if that does not tell. */
static bool empties(struct tracker *s, int x)
{
	const struct node *n = &s->c->nodes[x];
	struct evacuees evacuees = slots_evacuees(s->c, n);
	enum slots_verdict v = slots_judge_kept(&s->slots, n, &evacuees);

	slots_evacuees_done(&evacuees);
	s->for_good = v == SLOTS_TOO_FEW;
	if (v != SLOTS_UNCLEAR)
		return v == SLOTS_ENOUGH;
	return redundancy_of_node(s->c, s->nodes, x);
}

/* What has failed once will most likely do so again: to be asked first. */
static void to_front(struct tracker *s, int i)
{
	int x = s->order[i];

	s->order[i] = s->order[0];
	s->order[0] = x;
}

/* Whether node i of the order can be emptied. */
static bool is_fine(struct tracker *s, int i)
{
	int x = s->order[i];

	if (thresholds_hold(s, x))
		return true;
	if (s->n_looks >= LOOKS_MAX * s->n_order) {
		slots_lower_peaks(&s->slots);
		note_all_thresholds(s);
	}
	s->n_looks++;
	return empties(s, x);
}

bool tracker_holds(struct tracker *s)
{
	settle(s);
	s->for_good = s->n_broken > 0;
	for (int i = 0; i < s->n_order && s->n_broken == 0; i++)
		if (!is_fine(s, i)) {
			to_front(s, i);
			return false;
		}
	return s->n_broken == 0;
}

bool tracker_hopeless(struct tracker *s)
{
	return !tracker_holds(s) && s->for_good;
}
