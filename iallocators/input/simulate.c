/* SPDX-License-Identifier: BSD-2-Clause */
/* Each specification adds a group and its nodes, beginning with the last one.
 * Names are made of numbers: group-01 has node-01-001 and so on.  The first
 * node is the master. */
#include "iallocators/input/simulate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/input/text.h"
#include "lib/base/array.h"
#include "lib/base/mem.h"

#define NODES_MAX 100000

int simulate_size(const char *what, const char *text, int64_t *ret,
		  struct error *err)
{
	static const struct {
		const char *unit;
		int64_t mul, div;
	} units[] = {
		{"", 1, 1},
		{"m", 1, 1},
		{"mib", 1, 1},
		{"g", 1024, 1},
		{"gib", 1024, 1},
		{"t", 1048576, 1},
		{"tib", 1048576, 1},
		{"M", 1000000, 1048576},
		{"mb", 1000000, 1048576},
		{"G", 1000000000, 1048576},
		{"gb", 1000000000, 1048576},
		{"T", 1000000000000, 1048576},
		{"tb", 1000000000000, 1048576},
	};
	const char *begin = text + strspn(text, " \t");
	size_t digits = strspn(begin, "0123456789");
	auto_free char *number = xprintf("%.*s", (int)digits, begin);
	const char *unit = begin + digits;
	int64_t n;

	while (isspace((unsigned char)*unit))
		unit++;
	if (!str_to_int64(number, &n) || *unit == '.')
		return error_set(err, ERR_REQUEST, NULL,
				 "%s: Can't parse string '%s'", what, text);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		bool same = strlen(unit) == 1
				    ? strcmp(unit, units[i].unit) == 0
				    : strcasecmp(unit, units[i].unit) == 0;

		if (same && !__builtin_mul_overflow(n, units[i].mul, ret)) {
			*ret /= units[i].div;
			return 0;
		}
	}
	return error_set(err, ERR_REQUEST, NULL, "%s: Unknown unit '%s'", what,
			 unit);
}

static const char *arena_name(struct cluster *c, const char *name)
{
	return arena_strndup(&c->arena, name, strlen(name));
}

/* The letter (a: last_resort) or the whole word. */
static int find_policy(const char *text, struct error *err)
{
	for (int i = 0; i < ALLOC_POLICY_COUNT; i++) {
		const char *name = alloc_policy_names[i];

		if (strcmp(text, name) == 0 ||
		    (text[0] == "pau"[i] && text[1] == '\0'))
			return i;
	}
	error_set(err, ERR_REQUEST, NULL,
		  "Invalid string value for type AllocPolicy: \"%s\"; Cannot "
		  "parse AllocPolicy abbreviation '%s'",
		  text, text);
	return NO_INDEX;
}

static int read_bool(const char *what, const char *text, bool *ret,
		     struct error *err)
{
	*ret = strcmp(text, "True") == 0;
	if (*ret || strcmp(text, "False") == 0)
		return 0;
	return error_set(err, ERR_REQUEST, NULL, "%s: cannot parse string '%s'",
			 what, text);
}

/* How many nodes, and what each of them has. */
static int read_nodes(const struct strv *words, int64_t *ret_count,
		      struct node *n, struct error *err)
{
	char *const *w = words->items;
	int64_t disk, memory, cpus;

	n->total_spindles = 1;
	if (text_int("node count", w[1], ret_count, err) < 0 ||
	    simulate_size("disk size", w[2], &disk, err) < 0 ||
	    simulate_size("memory size", w[3], &memory, err) < 0 ||
	    text_int("cpu count", w[4], &cpus, err) < 0 ||
	    (words->n > 5 &&
	     text_int("spindles", w[5], &n->total_spindles, err) < 0) ||
	    (words->n > 6 && read_bool("exclusive storage", w[6],
				       &n->exclusive_storage, err) < 0))
		return -1;
	if (*ret_count < 0 || *ret_count > NODES_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "node count: '%s' is not from 0 to %d", w[1],
				 NODES_MAX);
	n->total_mem = (double)memory;
	n->free_mem = memory;
	n->total_disk = (double)disk;
	n->s.free_disk = disk;
	n->total_cpus = (double)cpus;
	n->own_cpus = 1;
	n->cpu_speed = 1;
	return 0;
}

static void add_nodes(struct cluster *c, int group, const struct node *like,
		      int n)
{
	for (int i = 0; i < n; i++) {
		struct node *node = &c->nodes[c->n_nodes++];
		auto_free char *name =
			xprintf("node-%02d-%03d", group + 1, i + 1);

		*node = *like;
		node->name = arena_name(c, name);
		node->group = group;
	}
}

static void add_group(struct cluster *c, enum alloc_policy policy)
{
	int number = c->n_groups + 1;
	auto_free char *name = xprintf("group-%02d", number);
	auto_free char *uuid = xprintf("fake-uuid-%02d", number);

	c->groups[c->n_groups++] = (struct group){
		.name = arena_name(c, name),
		.uuid = arena_name(c, uuid),
		.alloc_policy = policy,
		.policy = text_default_policy(c),
	};
}

static int read_spec(struct cluster *c, const char *spec, struct error *err)
{
	auto_strv struct strv words = {0};
	struct node like = {0}, *nodes;
	int64_t count;
	int policy;

	if (*spec != '\0')
		str_split(&words, spec, ',');
	if (words.n < 5 || words.n > 7)
		return error_set(
			err, ERR_REQUEST, NULL,
			"Invalid cluster specification, expected 6 "
			"comma-separated sections (allocation policy, node "
			"count, disk size, memory size, number of CPUs, "
			"spindles) but got %zu: '%s'",
			words.n, spec);
	policy = find_policy(words.items[0], err);
	if (policy == NO_INDEX || read_nodes(&words, &count, &like, err) < 0)
		return -1;
	nodes = arena_calloc(&c->arena, (size_t)(c->n_nodes + count),
			     sizeof(*nodes));
	if (c->n_nodes > 0)
		memcpy(nodes, c->nodes, (size_t)c->n_nodes * sizeof(*nodes));
	c->nodes = nodes;
	add_nodes(c, c->n_groups, &like, (int)count);
	add_group(c, (enum alloc_policy)policy);
	return 0;
}

int simulate_clusters(struct cluster *c, const struct strv *specs,
		      struct error *err)
{
	c->policy = text_default_policy(c);
	c->groups = arena_calloc(&c->arena, specs->n, sizeof(*c->groups));
	/* The reference's first group is the last one that is given. */
	for (size_t i = specs->n; i-- > 0;)
		if (read_spec(c, specs->items[i], err) < 0)
			return -1;
	if (c->n_nodes > 0)
		c->nodes[0].master = true;
	return 0;
}
