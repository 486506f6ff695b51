/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks are strict unless the move is forced, or a node that would be
 * left is offline. */
#include "iallocators/model/move.h"

bool move_migration_allowed(const struct cluster *c, int from, int to)
{
	return !c->has_migration ||
	       tagset_subset(&c->nodes[from].migration, &c->nodes[to].receives);
}

bool move_failover_possible(const struct cluster *c,
			    const struct instance *inst)
{
	const struct node *p = &c->nodes[inst->primary], *s;

	if (inst->secondary == NO_INDEX ||
	    !move_migration_allowed(c, inst->primary, inst->secondary))
		return false;
	s = &c->nodes[inst->secondary];
	if (s->s.free_disk <= 0 || (p->s.free_disk <= 0 && !p->offline))
		return false;
	if (!s->exclusive_storage && !p->exclusive_storage)
		return true;
	return inst->spindles != SPINDLES_UNKNOWN && s->s.free_spindles >= 0 &&
	       p->s.free_spindles >= 0;
}

static enum fail refuse(struct cluster *c, int node, enum fail why,
			enum refusal_kind kind)
{
	c->refused = (struct refusal){.kind = kind, .node = node};
	return why;
}

static enum fail no_migration(struct cluster *c, int to)
{
	return refuse(c, to, FAIL_MIG, REFUSAL_MIGRATION);
}

static enum fail no_secondary(struct cluster *c, const struct instance *inst)
{
	return refuse(c, inst->primary, FAIL_INTERNAL, REFUSAL_NO_SECONDARY);
}

static unsigned flags(bool force)
{
	return force ? 0 : CHANGE_STRICT;
}

/* Keep the change, or take it back. */
static enum fail finish(struct cluster *c, size_t mark, enum fail why,
			struct instance *inst, const struct instance *after,
			int index)
{
	if (why != FAIL_NONE) {
		change_undo(c, mark);
		return why;
	}
	*inst = *after;
	change_store(c, inst, index);
	return FAIL_NONE;
}

enum fail move_failover(struct cluster *c, struct instance *inst, int index,
			bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c);
	bool left_offline = c->nodes[inst->primary].offline;
	enum fail why;

	if (inst->secondary == NO_INDEX)
		return no_secondary(c, inst);
	after.primary = inst->secondary;
	after.secondary = inst->primary;
	if (!move_migration_allowed(c, inst->primary, inst->secondary))
		return no_migration(c, inst->secondary);
	change_remove_secondary(c, inst->secondary, inst, index);
	why = change_add_primary(c, after.primary, &after, index,
				 flags(force || left_offline));
	if (why == FAIL_NONE) {
		change_remove_primary(c, inst->primary, inst, index);
		why = change_add_secondary(
			c, after.secondary, &after, index, after.primary,
			left_offline ? CHANGE_NO_DISK : flags(force));
	}
	return finish(c, mark, why, inst, &after, index);
}

enum fail move_failover_to(struct cluster *c, struct instance *inst, int index,
			   int target, bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c);
	enum fail why;

	after.primary = target;
	if (!move_migration_allowed(c, inst->primary, target))
		return no_migration(c, target);
	why = change_add_primary(
		c, target, &after, index,
		flags(force || c->nodes[inst->primary].offline));
	if (why == FAIL_NONE)
		change_remove_primary(c, inst->primary, inst, index);
	return finish(c, mark, why, inst, &after, index);
}

/* Both are other nodes of the same instance: how much they have in common. */
static int64_t common_locations(const struct cluster *c, int a, int b)
{
	return tagset_common(&c->nodes[a].locations, &c->nodes[b].locations);
}

enum fail move_replace_secondary(struct cluster *c, struct instance *inst,
				 int index, int target, bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c);
	enum fail why;

	if (inst->secondary == NO_INDEX)
		return no_secondary(c, inst);
	after.secondary = target;
	after.location = common_locations(c, inst->primary, target);
	change_remove_secondary(c, inst->secondary, inst, index);
	why = change_add_secondary(
		c, target, &after, index, inst->primary,
		flags(force || c->nodes[inst->secondary].offline));
	if (why == FAIL_NONE) {
		change_remove_primary(c, inst->primary, inst, index);
		why = change_add_primary(c, inst->primary, &after, index, 0);
	}
	return finish(c, mark, why, inst, &after, index);
}

enum fail move_rf(struct cluster *c, struct instance *inst, int index,
		  int target, bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c);
	int p = inst->primary;
	enum fail why;

	after.primary = target;
	after.secondary = p;
	after.location = common_locations(c, p, target);
	if (!move_migration_allowed(c, p, target))
		return no_migration(c, target);
	why = change_add_primary(c, target, &after, index, flags(force));
	if (why == FAIL_NONE) {
		change_remove_primary(c, p, inst, index);
		change_remove_secondary(c, inst->secondary, inst, index);
		why = change_add_secondary(
			c, p, &after, index, target,
			flags(force || c->nodes[inst->secondary].offline));
	}
	return finish(c, mark, why, inst, &after, index);
}

enum fail move_fr(struct cluster *c, struct instance *inst, int index,
		  int target, bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c);
	int p = inst->primary, s = inst->secondary;
	unsigned checks = flags(force || c->nodes[p].offline);
	enum fail why;

	after.primary = s;
	after.secondary = target;
	after.location = common_locations(c, s, target);
	if (!move_migration_allowed(c, p, s))
		return no_migration(c, s);
	change_remove_secondary(c, s, inst, index);
	why = change_add_primary(c, s, &after, index, checks);
	if (why == FAIL_NONE) {
		change_remove_primary(c, p, inst, index);
		why = change_add_secondary(c, target, &after, index, s, checks);
	}
	return finish(c, mark, why, inst, &after, index);
}

enum fail move_frf(struct cluster *c, struct instance *inst, int index,
		   int target, bool force)
{
	struct instance after = *inst;
	size_t mark = change_mark(c), between;
	int p = inst->primary, s = inst->secondary;
	unsigned checks = flags(force || c->nodes[p].offline);
	enum fail why;

	after.primary = target;
	after.location = common_locations(c, s, target);
	if (!move_migration_allowed(c, p, s) ||
	    !move_migration_allowed(c, s, target))
		return no_migration(c, target);
	change_remove_secondary(c, s, inst, index);
	between = change_mark(c);
	why = change_add_primary(c, s, &after, index, checks);
	if (why == FAIL_NONE) {
		change_undo(c, between);
		why = change_add_primary(c, target, &after, index, checks);
	}
	if (why == FAIL_NONE) {
		change_remove_primary(c, p, inst, index);
		why = change_add_secondary(c, s, &after, index, target, checks);
	}
	return finish(c, mark, why, inst, &after, index);
}
