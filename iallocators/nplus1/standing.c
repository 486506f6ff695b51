/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes are only listed; settle() works them off at the next question.  It
 * updates slots before claims, which are computed from them.  Whether a node
 * can be emptied is told by its claims, else by its slots, else by
 * simulation. */
#include "iallocators/nplus1/standing.h"

#include "iallocators/model/change.h"
#include "iallocators/model/move.h"
#include "iallocators/nplus1/redundancy.h"
#include "lib/base/mem.h"

/* So many close looks a node, for nothing, are worth to note all claims anew.
 */
#define LOOKS_MAX 4

/* So many rooms more than twice those in use are kept. */
#define ROOMS_SPARE 256

/* There have to be more slots than this for a size. */
struct claim {
	int room;
	int64_t above;
};

struct stand {
	bool watched; /* has to be emptied */
	bool is_changed;
	bool unclear;	/* claims do not tell */
	bool stuck;	/* some DRBD primary cannot fail over */
	bool too_small; /* for what fails over to it */
	int64_t most;	/* the most memory that one other node would move here;
			   -1: none would move any */
	bool is_tried;	/* what has changed is only an attempt */
	/* Claims that count slots of this node as closed rely on it not having
	 * more.  Attempts take from what it has and give it back: they leave
	 * this alone. */
	int64_t most_mem, most_disk;
	struct claim *claims;
	int n_claims, cap_claims;
	struct leavers leavers;
	bool knows_leavers;
};

/* The most memory that is left, and the second. */
struct most {
	int64_t memory[2];
	int node; /* with the first */
};

/* --- DRBD, which goes to the secondary --- */

static void set_broken(struct standing *s, bool *flag, bool broken)
{
	s->n_broken += broken - *flag;
	*flag = broken;
}

static void check_primaries(struct standing *s, int x)
{
	const struct ilist *l = &s->c->nodes[x].primaries;
	bool stuck = false;

	for (int i = 0; i < l->n && s->stands[x].watched && !stuck; i++) {
		const struct instance *inst = &s->c->instances[l->items[i]];

		stuck = inst->template == TEMPLATE_DRBD &&
			!move_failover_possible(s->c, inst);
	}
	set_broken(s, &s->stands[x].stuck, stuck);
}

/* Whether there is memory for the DRBD primaries of any other node. */
static void check_memory(struct standing *s, int z)
{
	const struct node *n = &s->c->nodes[z];
	struct stand *stand = &s->stands[z];

	stand->most = -1;
	for (int i = 0; i < n->secondaries.n; i++) {
		int x = s->c->instances[n->secondaries.items[i]].primary;
		int64_t load;

		if (!s->stands[x].watched)
			continue;
		load = rooms_drbd_load(s->c, &s->c->nodes[x], z);
		if (load > stand->most)
			stand->most = load;
	}
	set_broken(s, &stand->too_small,
		   stand->most >= 0 && n->s.usable_mem <= stand->most);
}

/* --- claims --- */

static void add_claim(struct stand *stand, int room, int64_t above)
{
	if (stand->n_claims == stand->cap_claims) {
		stand->cap_claims = stand->cap_claims * 2 + 4;
		stand->claims =
			xrealloc(stand->claims, (size_t)stand->cap_claims *
							sizeof(struct claim));
	}
	stand->claims[stand->n_claims++] = (struct claim){room, above};
}

/* The slots of a node's DRBD peer, also when attempts are over. */
static int64_t slots_of_peer(const struct standing *s, int room, int z)
{
	const struct node_state *now = &s->c->nodes[z].s;
	const struct stand *stand = &s->stands[z];

	return now->usable_mem == stand->most_mem &&
			       now->free_disk == stand->most_disk
		       ? rooms_slots(&s->rooms, room, z)
		       : rooms_slots_with(&s->rooms, room, z, stand->most_mem,
					  stand->most_disk);
}

/* The slots that do not count: its own, and those of nodes that its DRBD
 * primaries go to. */
static int64_t slots_closed(const struct standing *s, int x, int room)
{
	const struct ilist *l = &s->c->nodes[x].primaries;
	int64_t sum = rooms_slots(&s->rooms, room, x);

	for (int i = 0; i < l->n; i++) {
		const struct instance *inst = &s->c->instances[l->items[i]];

		if (inst->template == TEMPLATE_DRBD &&
		    inst->secondary != NO_INDEX)
			sum += slots_of_peer(s, room, inst->secondary);
	}
	return sum;
}

static void forget_leavers(struct stand *stand)
{
	rooms_leavers_done(&stand->leavers);
	stand->knows_leavers = false;
}

static const struct leavers *leavers_of(struct standing *s, int x)
{
	struct stand *stand = &s->stands[x];

	if (!stand->knows_leavers)
		stand->leavers = rooms_leavers(s->c, &s->c->nodes[x]);
	stand->knows_leavers = true;
	return &stand->leavers;
}

static void note_claims(struct standing *s, int x)
{
	const struct node *n = &s->c->nodes[x];
	struct stand *stand = &s->stands[x];
	auto_free struct rooms_need *needs =
		xcalloc((size_t)n->primaries.n + 1, sizeof(*needs));
	int n_needs;

	stand->n_claims = 0;
	stand->unclear = false;
	if (!stand->watched || n->primaries.n == 0)
		return;
	n_needs = rooms_needs(&s->rooms, n, leavers_of(s, x), needs);
	stand->unclear = n_needs < 0;
	for (int i = 0; i < n_needs; i++)
		add_claim(stand, needs[i].room,
			  needs[i].lost + slots_closed(s, x, needs[i].room));
}

static void note_all_claims(struct standing *s)
{
	for (int i = 0; i < s->nodes->n; i++)
		note_claims(s, s->nodes->items[i]);
	s->n_looks = 0;
}

/* Those with something as big as what one node has more slots for than any had
 * when they were noted. */
static void note_risen_claims(struct standing *s)
{
	for (int i = 0; i < s->nodes->n; i++) {
		int x = s->nodes->items[i];
		const struct stand *stand = &s->stands[x];
		bool rose = false;

		for (int k = 0; k < stand->n_claims && !rose; k++)
			rose = rooms_peak_rose(&s->rooms,
					       stand->claims[k].room);
		if (rose)
			note_claims(s, x);
	}
	rooms_peaks_noted(&s->rooms);
}

/* --- changes --- */

/* Note the most that the node has; whether that is more than was relied on. */
static bool note_most(struct standing *s, int z)
{
	const struct node_state *now = &s->c->nodes[z].s;
	struct stand *stand = &s->stands[z];
	bool grown = now->usable_mem > stand->most_mem ||
		     now->free_disk > stand->most_disk;

	if (grown || !stand->is_tried) {
		stand->most_mem = now->usable_mem;
		stand->most_disk = now->free_disk;
	}
	return grown;
}

static void update_node(struct standing *s, int z, bool has_more)
{
	const struct ilist *l = &s->c->nodes[z].secondaries;

	check_memory(s, z);
	check_primaries(s, z);
	note_claims(s, z);
	for (int i = 0; i < l->n; i++) {
		int x = s->c->instances[l->items[i]].primary;

		check_primaries(s, x);
		if (has_more && s->stands[x].watched)
			note_claims(s, x);
	}
}

/* Forget the sizes of what has not been placed after all. */
static void clear_rooms(struct standing *s)
{
	rooms_done(&s->rooms);
	rooms_init(&s->rooms, s->c, s->nodes);
	note_all_claims(s);
	s->rooms_limit = 2 * s->rooms.n + ROOMS_SPARE;
}

/* All slots first: claims are made of them. */
static void settle(struct standing *s)
{
	if (s->rooms.n > s->rooms_limit)
		clear_rooms(s);
	for (int i = 0; i < s->n_changed; i++) {
		int z = s->changed[i];
		bool has_more = note_most(s, z);

		rooms_changed(&s->rooms, z);
		s->stands[z].is_changed = s->stands[z].is_tried = false;
		s->changed[i] = has_more ? -1 - z : z;
	}
	for (int i = 0; i < s->n_changed; i++) {
		int z = s->changed[i];

		update_node(s, z < 0 ? -1 - z : z, z < 0);
	}
	s->n_changed = 0;
	if (rooms_peaks_rose(&s->rooms))
		note_risen_claims(s);
}

void standing_changed(struct standing *s, int node)
{
	s->knows_most = false;
	s->stands[node].is_tried = false;
	if (s->stands[node].is_changed)
		return;
	s->stands[node].is_changed = true;
	forget_leavers(&s->stands[node]);
	s->changed[s->n_changed++] = node;
}

void standing_tried(struct standing *s, int node)
{
	standing_changed(s, node);
	s->stands[node].is_tried = true;
}

void standing_init(struct standing *s, struct cluster *c,
		   const struct nodeset *nodes, const struct place_options *o)
{
	size_t n = (size_t)c->n_nodes + 1;

	*s = (struct standing){
		.c = c, .nodes = nodes, .rooms_limit = ROOMS_SPARE};
	s->stands = xcalloc(n, sizeof(*s->stands));
	s->order = xcalloc(n, sizeof(*s->order));
	s->most = xcalloc((size_t)c->n_groups + 1, sizeof(*s->most));
	s->changed = xcalloc(n, sizeof(*s->changed));
	rooms_init(&s->rooms, c, nodes);
	for (int i = 0; i < nodes->n; i++) {
		int x = nodes->items[i];

		if (o->accept_existing_errors && c->nodes[x].offline)
			continue;
		s->stands[x].watched = true;
		s->order[s->n_order++] = x;
	}
	for (int i = 0; i < c->n_nodes; i++)
		standing_changed(s, i);
}

void standing_done(struct standing *s)
{
	for (int i = 0; s->stands != NULL && i < s->c->n_nodes; i++) {
		free(s->stands[i].claims);
		forget_leavers(&s->stands[i]);
	}
	free(s->stands);
	free(s->order);
	free(s->most);
	free(s->changed);
	rooms_done(&s->rooms);
	*s = (struct standing){0};
}

/* --- questions --- */

static bool claims_hold(const struct standing *s, int x)
{
	const struct stand *stand = &s->stands[x];

	for (int i = 0; i < stand->n_claims; i++)
		if (rooms_total(&s->rooms, stand->claims[i].room) <=
		    stand->claims[i].above)
			return false;
	return !stand->unclear;
}

/* By what slots tell now; and by simulation if that is not enough. */
static bool empties(struct standing *s, int x)
{
	enum rooms_verdict v =
		rooms_judge_kept(&s->rooms, &s->c->nodes[x], leavers_of(s, x));

	s->for_good = v == ROOMS_TOO_FEW;
	if (v != ROOMS_UNCLEAR)
		return v == ROOMS_ENOUGH;
	return redundancy_of_node(s->c, s->nodes, x);
}

/* What has failed once will most likely do so again: to be asked first. */
static void to_front(struct standing *s, int i)
{
	int x = s->order[i];

	s->order[i] = s->order[0];
	s->order[0] = x;
}

/* Whether node i of the order can be emptied. */
static bool stands(struct standing *s, int i)
{
	int x = s->order[i];

	if (claims_hold(s, x))
		return true;
	if (s->n_looks >= LOOKS_MAX * s->n_order) {
		rooms_lower_peaks(&s->rooms);
		note_all_claims(s);
	}
	s->n_looks++;
	return empties(s, x);
}

bool standing_holds(struct standing *s)
{
	settle(s);
	s->for_good = s->n_broken > 0;
	for (int i = 0; i < s->n_order && s->n_broken == 0; i++)
		if (!stands(s, i)) {
			to_front(s, i);
			return false;
		}
	return s->n_broken == 0;
}

bool standing_hopeless(struct standing *s)
{
	return !standing_holds(s) && s->for_good;
}

static void find_most(struct standing *s)
{
	for (int g = 0; g < s->c->n_groups; g++)
		s->most[g] = (struct most){.node = NO_INDEX};
	for (int i = 0; i < s->nodes->n; i++) {
		int node = s->nodes->items[i];
		struct most *most = &s->most[s->c->nodes[node].group];
		int64_t memory = s->c->nodes[node].s.usable_mem;

		if (memory > most->memory[0]) {
			most->memory[1] = most->memory[0];
			most->memory[0] = memory;
			most->node = node;
		} else if (memory > most->memory[1]) {
			most->memory[1] = memory;
		}
	}
	s->knows_most = true;
}

bool standing_has_refuge(struct standing *s, int node, int64_t memory)
{
	const struct most *most = &s->most[s->c->nodes[node].group];

	if (!s->knows_most)
		find_most(s);
	return most->memory[most->node == node] > memory;
}
