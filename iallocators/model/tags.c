/* SPDX-License-Identifier: BSD-2-Clause */
/* A tag that matters becomes a number (intern()), and nodes and instances keep
 * sorted lists of these numbers.  A tag matters if it begins with a prefix that
 * a cluster tag names, or for exclusion also an option. */
#include "iallocators/model/tags.h"

#include <stdlib.h>
#include <string.h>

#define EXCLUSION "htools:iextags:"
#define DESIRED "htools:desiredlocation:"
#define LOCATION "htools:nlocation:"
#define MIGRATION "htools:migration:"
#define ALLOW_MIGRATION "htools:allowmigration:"

/* Numbers from 1 on, equal for equal text. */
static int intern(struct cluster *c, const char *text)
{
	int *id = table_get(&c->symbols, text);

	if (id == NULL) {
		id = arena_alloc(&c->arena, sizeof(*id));
		*id = ++c->n_symbols;
		table_put(&c->symbols, text, id);
	}
	return *id;
}

/* Whether tag begins with a prefix that some cluster tag `kind` names, with
 * the separator behind it.  Without both, each tag would: that counts for
 * none. */
static bool has_prefix(const struct cluster *c, const char *kind,
		       const char *separator, const char *tag)
{
	size_t kind_len = strlen(kind);

	for (size_t i = 0; i < c->n_tags; i++) {
		const char *prefix = c->tags[i] + kind_len;

		if (str_starts(c->tags[i], kind) &&
		    (*prefix != '\0' || *separator != '\0') &&
		    str_starts(tag, prefix) &&
		    str_starts(tag + strlen(prefix), separator))
			return true;
	}
	return false;
}

static bool cluster_uses(const struct cluster *c, const char *kind)
{
	for (size_t i = 0; i < c->n_tags; i++)
		if (str_starts(c->tags[i], kind))
			return true;
	return false;
}

void tags_read(struct cluster *c, const struct load_options *o)
{
	c->has_locations = cluster_uses(c, LOCATION);
	c->has_exclusion =
		o->n_exclusion_tags > 0 || cluster_uses(c, EXCLUSION);
	c->has_migration = cluster_uses(c, MIGRATION);
}

static int compare_ids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void set_sort(struct tagset *set, bool unique)
{
	int kept = 0;

	if (set->n == 0)
		return;
	qsort(set->ids, (size_t)set->n, sizeof(*set->ids), compare_ids);
	for (int i = 0; i < set->n; i++)
		if (!unique || i == 0 || set->ids[i] != set->ids[kept - 1])
			set->ids[kept++] = set->ids[i];
	set->n = kept;
}

static void set_reserve(struct cluster *c, struct tagset *set, size_t n)
{
	set->ids = arena_calloc(&c->arena, n, sizeof(*set->ids));
	set->n = 0;
}

/* Those of the tags that begin with a prefix of that kind, as a set. */
static void collect(struct cluster *c, struct tagset *set, const char *kind,
		    const char *separator, const char *const *tags, size_t n)
{
	set_reserve(c, set, n);
	for (size_t i = 0; i < n; i++)
		if (has_prefix(c, kind, separator, tags[i]))
			set->ids[set->n++] = intern(c, tags[i]);
	set_sort(set, true);
}

/* "a::b" -> a when b is one of the node's migration tags. */
static int allowed_source(struct cluster *c, const struct node *n,
			  const char *rule)
{
	const char *colons = strstr(rule, "::");
	struct tagset target = {.ids = &(int){0}, .n = 1};
	char *from;

	if (colons == NULL || strstr(colons + 2, "::") != NULL)
		return 0;
	target.ids[0] = intern(c, colons + 2);
	if (!tagset_subset(&target, &n->migration))
		return 0;
	from = arena_strndup(&c->arena, rule, (size_t)(colons - rule));
	return intern(c, from);
}

static void collect_receives(struct cluster *c, struct node *n)
{
	struct tagset *set = &n->receives;

	set_reserve(c, set, (size_t)n->migration.n + c->n_tags);
	for (int i = 0; i < n->migration.n; i++)
		set->ids[set->n++] = n->migration.ids[i];
	for (size_t i = 0; i < c->n_tags; i++) {
		int from = 0;

		if (str_starts(c->tags[i], ALLOW_MIGRATION))
			from = allowed_source(
				c, n, c->tags[i] + strlen(ALLOW_MIGRATION));
		if (from > 0)
			set->ids[set->n++] = from;
	}
	set_sort(set, true);
}

void tags_of_node(struct cluster *c, struct node *n)
{
	if (c->has_locations)
		collect(c, &n->locations, LOCATION, ":", n->tags, n->n_tags);
	if (c->has_migration) {
		collect(c, &n->migration, MIGRATION, ":", n->tags, n->n_tags);
		collect_receives(c, n);
	}
}

static bool option_excludes(const struct load_options *o, const char *tag)
{
	for (size_t i = 0; i < o->n_exclusion_tags; i++) {
		const char *prefix = o->exclusion_tags[i];

		if (str_starts(tag, prefix) && tag[strlen(prefix)] == ':')
			return true;
	}
	return false;
}

void tags_of_instance(struct cluster *c, struct instance *inst,
		      const struct load_options *o)
{
	struct tagset *set = &inst->exclusion;

	*set = (struct tagset){0};
	if (inst->n_tags == 0)
		return;
	if (c->has_exclusion) {
		set_reserve(c, set, inst->n_tags);
		for (size_t i = 0; i < inst->n_tags; i++)
			if (has_prefix(c, EXCLUSION, "", inst->tags[i]) ||
			    option_excludes(o, inst->tags[i]))
				set->ids[set->n++] = intern(c, inst->tags[i]);
		set_sort(set, false);
	}
	collect(c, &inst->desired, DESIRED, "", inst->tags, inst->n_tags);
}
