/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/simulate.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "iallocators/text.h"
#include "lib/base/mem.h"

#define NODES_MAX 100000

bool simulate_size(const char *text, int64_t *ret)
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
	size_t digits = strspn(text, "0123456789");
	auto_free char *number = xprintf("%.*s", (int)digits, text);
	const char *unit = text + digits;
	int64_t n;

	while (isspace((unsigned char)*unit))
		unit++;
	if (!str_to_int64(number, &n))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		bool same = strlen(unit) == 1
				    ? strcmp(unit, units[i].unit) == 0
				    : strcasecmp(unit, units[i].unit) == 0;

		if (same && !__builtin_mul_overflow(n, units[i].mul, ret)) {
			*ret /= units[i].div;
			return true;
		}
	}
	return false;
}

static const char *arena_name(struct cluster *c, const char *name)
{
	return arena_strndup(&c->arena, name, strlen(name));
}

/* The letter (a: last_resort) or the whole word. */
static int find_policy(const char *text)
{
	for (int i = 0; i < ALLOC_POLICY_COUNT; i++) {
		const char *name = alloc_policy_names[i];

		if (strcmp(text, name) == 0 ||
		    (text[0] == "pau"[i] && text[1] == '\0'))
			return i;
	}
	return NO_INDEX;
}

/* What all nodes of a group have. */
static bool read_node(const struct strv *words, struct node *n)
{
	int64_t disk, memory, cpus;

	n->total_spindles = 1;
	if (!simulate_size(words->items[2], &disk) ||
	    !simulate_size(words->items[3], &memory) ||
	    !str_to_int64(words->items[4], &cpus) ||
	    (words->n > 5 &&
	     !str_to_int64(words->items[5], &n->total_spindles)))
		return false;
	n->exclusive_storage =
		words->n > 6 && strcmp(words->items[6], "True") == 0;
	n->total_mem = (double)memory;
	n->free_mem = memory;
	n->total_disk = (double)disk;
	n->s.free_disk = disk;
	n->total_cpus = (double)cpus;
	n->own_cpus = 1;
	n->cpu_speed = 1;
	return true;
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
	int policy = NO_INDEX;

	str_split(&words, spec, ',');
	if (words.n >= 5 && words.n <= 7)
		policy = find_policy(words.items[0]);
	if (policy == NO_INDEX || !str_to_int64(words.items[1], &count) ||
	    count < 0 || count > NODES_MAX || !read_node(&words, &like))
		return error_set(err, ERR_REQUEST, NULL,
				 "Invalid cluster specification '%s', expected "
				 "policy,nodes,disk,memory,cpus[,spindles"
				 "[,exclusive]]",
				 spec);
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
	for (size_t i = 0; i < specs->n; i++)
		if (read_spec(c, specs->items[i], err) < 0)
			return -1;
	return 0;
}
