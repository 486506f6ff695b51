/* SPDX-License-Identifier: BSD-2-Clause */
/* Each change first computes the whole new state of the node on a copy, checks
 * it, and then stores copy and list entries, leaving the old values in the
 * journal.  The order of the checks decides which failure is counted. */
#include "iallocators/model/change.h"

#include <assert.h>
#include <string.h>

#include "lib/base/mem.h"

enum undo_kind { UNDO_STATE, UNDO_PUSH, UNDO_TAKE, UNDO_COUNT, UNDO_PLACE };

struct undo {
	enum undo_kind kind;
	int node; /* or instance */
	union {
		struct node_state state;
		struct {
			struct ilist *list;
			int position, item;
		} take;
		struct {
			struct counts *counts;
			int64_t key, value;
		} count;
		struct {
			int primary, secondary;
			int64_t location;
		} place;
	};
};

static struct undo *journal_add(struct cluster *c, enum undo_kind kind,
				int node)
{
	struct undo *u;

	if (c->n_journal == c->cap_journal) {
		c->cap_journal = c->cap_journal == 0 ? 256 : c->cap_journal * 2;
		c->journal = xrealloc(c->journal,
				      c->cap_journal * sizeof(*c->journal));
	}
	u = &c->journal[c->n_journal++];
	u->kind = kind;
	u->node = node;
	return u;
}

static void set_state(struct cluster *c, int node, const struct node_state *s)
{
	journal_add(c, UNDO_STATE, node)->state = c->nodes[node].s;
	c->nodes[node].s = *s;
}

static void list_push(struct ilist *l, int item)
{
	if (l->n == l->cap) {
		l->cap = l->cap == 0 ? 16 : l->cap * 2;
		l->items =
			xrealloc(l->items, (size_t)l->cap * sizeof(*l->items));
	}
	l->items[l->n++] = item;
}

static void list_insert(struct ilist *l, int position, int item)
{
	list_push(l, item);
	memmove(&l->items[position + 1], &l->items[position],
		(size_t)(l->n - 1 - position) * sizeof(*l->items));
	l->items[position] = item;
}

static void list_delete(struct ilist *l, int position)
{
	l->n--;
	memmove(&l->items[position], &l->items[position + 1],
		(size_t)(l->n - position) * sizeof(*l->items));
}

static void push(struct cluster *c, struct ilist *l, int item)
{
	journal_add(c, UNDO_PUSH, 0)->take.list = l;
	list_push(l, item);
}

/* Remove the newest entry of item, if there is one. */
static bool take(struct cluster *c, struct ilist *l, int item)
{
	struct undo *u;
	int i = l->n - 1;

	while (i >= 0 && l->items[i] != item)
		i--;
	if (i < 0)
		return false;
	u = journal_add(c, UNDO_TAKE, 0);
	u->take.list = l;
	u->take.position = i;
	u->take.item = item;
	list_delete(l, i);
	return true;
}

static void count(struct cluster *c, struct counts *counts, int64_t key,
		  int64_t value)
{
	struct undo *u = journal_add(c, UNDO_COUNT, 0);

	u->count.counts = counts;
	u->count.key = key;
	u->count.value = counts_get(counts, key);
	counts_add(counts, key, value);
}

size_t change_mark(const struct cluster *c)
{
	return c->n_journal;
}

static void undo_one(struct cluster *c, const struct undo *u)
{
	struct instance *inst;

	switch (u->kind) {
	case UNDO_STATE:
		c->nodes[u->node].s = u->state;
		break;
	case UNDO_PUSH:
		u->take.list->n--;
		break;
	case UNDO_TAKE:
		list_insert(u->take.list, u->take.position, u->take.item);
		break;
	case UNDO_COUNT:
		counts_add(u->count.counts, u->count.key,
			   u->count.value -
				   counts_get(u->count.counts, u->count.key));
		break;
	case UNDO_PLACE:
		inst = &c->instances[u->node];
		inst->primary = u->place.primary;
		inst->secondary = u->place.secondary;
		inst->location = u->place.location;
		break;
	}
}

void change_undo(struct cluster *c, size_t mark)
{
	assert(mark <= c->n_journal);
	while (c->n_journal > mark)
		undo_one(c, &c->journal[--c->n_journal]);
}

static bool is_touched(const struct touched *list, int n, int node)
{
	for (int i = 0; i < n; i++)
		if (list[i].node == node)
			return true;
	return false;
}

int change_touched(const struct cluster *c, size_t mark, struct touched *ret,
		   int max)
{
	int n = 0;

	for (size_t i = mark; i < c->n_journal; i++) {
		const struct undo *u = &c->journal[i];

		if (u->kind != UNDO_STATE || is_touched(ret, n, u->node))
			continue;
		assert(n < max);
		ret[n++] = (struct touched){u->node, &u->state};
	}
	return n;
}

void change_commit(struct cluster *c)
{
	c->n_journal = 0;
}

void change_store(struct cluster *c, const struct instance *inst, int index)
{
	struct instance *stored = &c->instances[index];
	struct undo *u = journal_add(c, UNDO_PLACE, index);

	u->place.primary = stored->primary;
	u->place.secondary = stored->secondary;
	u->place.location = stored->location;
	stored->primary = inst->primary;
	stored->secondary = inst->secondary;
	stored->location = inst->location;
}

/* Free spindles after taking (sign -1) or giving back (+1) those of inst; a
 * disk of unknown width must never fit. */
static int64_t spindles_left(const struct node *n, int64_t now,
			     const struct instance *inst, int sign)
{
	if (!n->exclusive_storage)
		return 0;
	if (inst->spindles == SPINDLES_UNKNOWN)
		return sign < 0 ? -1 : now;
	return now + sign * inst->spindles;
}

/* Disk space and spindle use, which both kinds of copies need. */
static void shift_storage(const struct node *n, struct node_state *s,
			  const struct instance *inst, int sign)
{
	bool local = instance_is_local(inst);
	bool shares_spindles = local && !n->exclusive_storage;

	if (!inst->forthcoming) {
		s->free_spindles =
			spindles_left(n, s->free_spindles, inst, sign);
		if (local)
			s->free_disk += sign * inst->disk;
		if (shares_spindles)
			s->inst_spindles -= sign * (double)inst->spindle_use;
	}
	s->free_spindles_f = spindles_left(n, s->free_spindles_f, inst, sign);
	if (local)
		s->free_disk_f += sign * inst->disk;
	if (shares_spindles)
		s->inst_spindles_f -= sign * (double)inst->spindle_use;
}

static int64_t usable_mem(const struct node *n, const struct node_state *s)
{
	int64_t missing = n->missing_mem > 0 ? n->missing_mem : 0;

	return model_trunc(n->total_mem) - n->own_mem - s->inst_mem - missing;
}

static int64_t location_cost(const struct node *n, const struct instance *inst)
{
	return inst->location + inst->desired.n -
	       tagset_common(&inst->desired, &n->locations);
}

/* All scalar effects of a primary that comes (sign -1: resources are taken) or
 * goes (+1). */
static void shift_primary(const struct node *n, struct node_state *s,
			  const struct instance *inst, int sign)
{
	shift_storage(n, s, inst, sign);
	s->free_mem_f += sign * inst->memory;
	if (instance_counts_cpu(inst))
		s->used_cpus_f -= sign * inst->vcpus;
	if (inst->forthcoming)
		return;
	if (instance_uses_memory(inst))
		s->inst_mem -= sign * inst->memory;
	s->usable_mem = usable_mem(n, s);
	s->fails_n1 = s->usable_mem <= s->reserved_mem;
	if (instance_counts_cpu(inst))
		s->used_cpus -= sign * inst->vcpus;
	for (int i = 0; i < UTIL_COUNT; i++)
		s->load[i] -= sign * inst->util[i];
	s->location -= sign * location_cost(n, inst);
	s->n_primaries -= sign;
}

static int64_t location_key(int location, int exclusion)
{
	return (int64_t)location << 32 | exclusion;
}

/* The counts of exclusion tags, and of those with a location; each counted
 * tag beyond the first of its kind is a conflict. */
static void shift_tags(struct cluster *c, struct node *n, struct node_state *s,
		       const struct instance *inst, int sign)
{
	for (int i = 0; i < inst->exclusion.n; i++) {
		int tag = inst->exclusion.ids[i];
		int64_t before = counts_get(&n->tags_pri, tag);

		count(c, &n->tags_pri, tag, -sign);
		if (sign < 0 ? before > 0 : before > 1)
			s->tag_conflicts -= sign;
		for (int j = 0; j < n->locations.n && !inst->forthcoming; j++)
			count(c, &n->tags_loc,
			      location_key(n->locations.ids[j], tag), -sign);
	}
}

/* Say why not. */
static enum fail refuse(struct cluster *c, const struct node *n, enum fail why,
			enum refusal_kind kind, int64_t need, int64_t have)
{
	c->refused = (struct refusal){.kind = kind,
				      .node = (int)(n - c->nodes),
				      .need = need,
				      .have = have};
	return why;
}

/* The same for what is only short with forthcoming instances. */
static enum fail refuse_f(struct cluster *c, const struct node *n,
			  enum fail why, enum refusal_kind kind, int64_t need,
			  int64_t have)
{
	refuse(c, n, why, kind, need, have);
	c->refused.forthcoming = true;
	return why;
}

static bool over_spindles(const struct node *n, const struct instance *inst,
			  double used)
{
	return used > n->high_spindles && !inst->ignores_policy;
}

static enum fail refuse_disk(struct cluster *c, const struct node *n,
			     const struct instance *inst)
{
	return refuse(c, n, FAIL_DISK, REFUSAL_DISK, inst->disk,
		      n->s.free_disk);
}

/* The checks of disk space that both kinds of copies share. */
static enum fail check_disk(struct cluster *c, const struct node *n,
			    const struct node_state *s,
			    const struct instance *inst, unsigned flags)
{
	bool strict = flags & CHANGE_STRICT;

	if (s->free_disk <= 0 && !(flags & CHANGE_NO_DISK))
		return refuse_disk(c, n, inst);
	if (strict && s->free_disk < n->low_disk)
		return refuse(c, n, FAIL_DISK, REFUSAL_MIN_DISK, n->low_disk,
			      s->free_disk);
	if (n->exclusive_storage && s->free_spindles < 0)
		return refuse(c, n, FAIL_SPINDLES, REFUSAL_SPINDLES,
			      inst->spindles, n->s.free_spindles);
	if (strict && over_spindles(n, inst, s->inst_spindles))
		return refuse(c, n, FAIL_DISK, REFUSAL_SPINDLE_USE,
			      model_trunc(s->inst_spindles),
			      model_trunc(n->high_spindles));
	return FAIL_NONE;
}

static enum fail check_disk_f(struct cluster *c, const struct node *n,
			      const struct node_state *s,
			      const struct instance *inst)
{
	if (s->free_disk_f <= 0)
		return refuse_f(c, n, FAIL_DISK, REFUSAL_DISK, inst->disk,
				n->s.free_disk_f);
	if (s->free_disk_f < n->low_disk)
		return refuse_f(c, n, FAIL_DISK, REFUSAL_MIN_DISK, n->low_disk,
				s->free_disk_f);
	if (n->exclusive_storage && s->free_spindles_f < 0)
		return refuse_f(c, n, FAIL_SPINDLES, REFUSAL_SPINDLES,
				inst->spindles, n->s.free_spindles_f);
	if (over_spindles(n, inst, s->inst_spindles_f))
		return refuse_f(c, n, FAIL_DISK, REFUSAL_SPINDLE_USE,
				model_trunc(s->inst_spindles_f),
				model_trunc(n->high_spindles));
	return FAIL_NONE;
}

static bool over_cpu(const struct node *n, const struct instance *inst,
		     int64_t used)
{
	return n->vcpu_ratio >= 0 && !inst->ignores_policy &&
	       (double)used / n->total_cpus > n->vcpu_ratio;
}

static int64_t most_cpus(const struct node *n)
{
	return model_trunc(n->total_cpus * n->vcpu_ratio);
}

/* One of the instance's exclusion tags that a primary has; 0 if none. */
static int clashing_tag(const struct node *n, const struct instance *inst)
{
	for (int i = 0; i < inst->exclusion.n; i++)
		if (counts_get(&n->tags_pri, inst->exclusion.ids[i]) > 0)
			return inst->exclusion.ids[i];
	return 0;
}

/* Whether primary and forthcoming instances together fit. */
static enum fail check_primary_f(struct cluster *c, const struct node *n,
				 const struct node_state *s,
				 const struct instance *inst)
{
	enum fail why = FAIL_NONE;

	if (s->free_mem_f <= 0)
		return refuse_f(c, n, FAIL_MEM, REFUSAL_MEMORY, inst->memory,
				n->s.free_mem_f);
	if (instance_is_local(inst))
		why = check_disk_f(c, n, s, inst);
	if (why == FAIL_NONE && over_cpu(n, inst, s->used_cpus_f))
		why = refuse_f(c, n, FAIL_CPU, REFUSAL_CPU, s->used_cpus_f,
			       most_cpus(n));
	return why;
}

/* Too little would be left for what fails over from others. */
static enum fail refuse_reserved(struct cluster *c, const struct node *n,
				 const struct node_state *s)
{
	return refuse(c, n, FAIL_MEM, REFUSAL_RESERVED_MEMORY, s->reserved_mem,
		      s->usable_mem);
}

static enum fail check_primary(struct cluster *c, const struct node *n,
			       const struct node_state *s,
			       const struct instance *inst, unsigned flags)
{
	bool strict = flags & CHANGE_STRICT;
	enum fail why = FAIL_NONE;
	int tag;

	if (inst->forthcoming)
		return strict ? check_primary_f(c, n, s, inst) : FAIL_NONE;
	if (s->usable_mem <= 0)
		return refuse(c, n, FAIL_MEM, REFUSAL_MEMORY, inst->memory,
			      n->s.usable_mem);
	if (instance_is_local(inst))
		why = check_disk(c, n, s, inst, flags);
	if (why != FAIL_NONE || !strict)
		return why;
	if (s->fails_n1 && !n->s.fails_n1)
		return refuse_reserved(c, n, s);
	if (over_cpu(n, inst, s->used_cpus))
		return refuse(c, n, FAIL_CPU, REFUSAL_CPU, s->used_cpus,
			      most_cpus(n));
	tag = clashing_tag(n, inst);
	if (tag != 0)
		return refuse(c, n, FAIL_TAGS, REFUSAL_TAGS, tag, 0);
	return check_primary_f(c, n, s, inst);
}

enum fail change_add_primary(struct cluster *c, int node,
			     const struct instance *inst, int index,
			     unsigned flags)
{
	struct node *n = &c->nodes[node];
	struct node_state s = n->s;
	enum fail why;

	shift_primary(n, &s, inst, -1);
	why = check_primary(c, n, &s, inst, flags);
	if (why != FAIL_NONE)
		return why;
	shift_tags(c, n, &s, inst, -1);
	if (!inst->forthcoming)
		push(c, &n->primaries, index);
	set_state(c, node, &s);
	return FAIL_NONE;
}

static int64_t need_of(const struct instance *inst)
{
	return instance_uses_secondary_memory(inst) ? inst->memory : 0;
}

static enum fail check_secondary_f(struct cluster *c, const struct node *n,
				   const struct node_state *s,
				   const struct instance *inst)
{
	int64_t need = need_of(inst);
	enum fail why = check_disk_f(c, n, s, inst);

	if (why == FAIL_NONE && need >= s->free_mem_f)
		why = refuse_f(c, n, FAIL_MEM, REFUSAL_MEMORY, need,
			       s->free_mem_f);
	return why;
}

static enum fail check_secondary(struct cluster *c, const struct node *n,
				 const struct node_state *s,
				 const struct instance *inst, unsigned flags)
{
	int64_t need = need_of(inst);
	enum fail why;

	if (inst->template != TEMPLATE_DRBD)
		return refuse(c, n, FAIL_DISK, REFUSAL_TEMPLATE, 0, 0);
	if (inst->forthcoming)
		return flags & CHANGE_STRICT ? check_secondary_f(c, n, s, inst)
					     : FAIL_NONE;
	why = check_disk(c, n, s, inst, flags);
	if (why != FAIL_NONE || !(flags & CHANGE_STRICT))
		return why;
	if (need >= s->usable_mem)
		return refuse(c, n, FAIL_MEM, REFUSAL_MEMORY, need,
			      s->usable_mem);
	if (s->fails_n1 && !n->s.fails_n1)
		return refuse_reserved(c, n, s);
	return check_secondary_f(c, n, s, inst);
}

enum fail change_add_secondary(struct cluster *c, int node,
			       const struct instance *inst, int index,
			       int primary, unsigned flags)
{
	struct node *n = &c->nodes[node];
	struct node_state s = n->s;
	int64_t need = need_of(inst), kept;
	enum fail why;

	shift_storage(n, &s, inst, -1);
	if (!inst->forthcoming) {
		kept = counts_get(&n->peers, primary) + need;
		if (kept > s.reserved_mem)
			s.reserved_mem = kept;
		s.fails_n1 = s.usable_mem <= s.reserved_mem;
		s.load[UTIL_DISK] += inst->util[UTIL_DISK];
		s.n_secondaries++;
	}
	why = check_secondary(c, n, &s, inst, flags);
	if (why != FAIL_NONE)
		return why;
	if (!inst->forthcoming) {
		count(c, &n->peers, primary, need);
		push(c, &n->secondaries, index);
	}
	set_state(c, node, &s);
	return FAIL_NONE;
}

void change_remove_primary(struct cluster *c, int node,
			   const struct instance *inst, int index)
{
	struct node *n = &c->nodes[node];
	struct node_state s = n->s;

	shift_primary(n, &s, inst, +1);
	shift_tags(c, n, &s, inst, +1);
	if (!inst->forthcoming && !take(c, &n->primaries, index))
		s.n_primaries = n->primaries.n;
	set_state(c, node, &s);
}

static int64_t counts_max(const struct counts *counts)
{
	int64_t max = 0;

	for (int i = 0; i < counts->n; i++)
		if (counts->items[i].value > max)
			max = counts->items[i].value;
	return max;
}

void change_remove_secondary(struct cluster *c, int node,
			     const struct instance *inst, int index)
{
	struct node *n = &c->nodes[node];
	struct node_state s = n->s;
	int64_t kept = counts_get(&n->peers, inst->primary);

	shift_storage(n, &s, inst, +1);
	if (!inst->forthcoming) {
		count(c, &n->peers, inst->primary, -need_of(inst));
		if (kept >= s.reserved_mem)
			s.reserved_mem = counts_max(&n->peers);
		s.fails_n1 = s.usable_mem <= s.reserved_mem;
		s.load[UTIL_DISK] -= inst->util[UTIL_DISK];
		take(c, &n->secondaries, index);
		s.n_secondaries = n->secondaries.n;
	}
	set_state(c, node, &s);
}
