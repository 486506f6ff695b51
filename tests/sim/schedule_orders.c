/* SPDX-License-Identifier: BSD-2-Clause */
/* Random orders: for few names, addresses and MACs, and more memory and disk
 * than there is, so that they get in each other's way. */
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "tests/sim/ops.h"
#include "tests/sim/schedules.h"

#define N_NAMES 40
#define N_MACS 30
#define N_VOLUMES 2	       /* disks of an instance, at most */
#define MEMORY_MIB 20000       /* three fit on a node */
#define VOLUME_MIB 60000       /* sixteen */
#define VOLUMES_BIG_MIB 400000 /* two */

static char *random_name(void)
{
	return xprintf("web%u", (unsigned)random_below(N_NAMES));
}

/* Mostly of one that is there. */
static char *random_instance(const struct config *c)
{
	auto_strv struct strv uuids = {0};

	config_sorted(c, CONFIG_INSTANCE, &uuids);
	if (uuids.n == 0 || random_below(10) == 0)
		return random_name();
	return xstrdup(config_name(c, CONFIG_INSTANCE,
				   uuids.items[random_below(uuids.n)]));
}

static char *random_mirrored(void)
{
	return xprintf("mirror%u", (unsigned)random_below(SCHEDULE_MIRRORED));
}

static char *random_node(void)
{
	return xprintf("node%u.example.com",
		       1 + (unsigned)random_below(SCHEDULE_NODES));
}

/* --- parts --- */

/* An address of its own choice, one of the pool's, one of the pool's by
 * number, or none. */
static json_t *random_nic(void)
{
	auto_free char *outside =
		xprintf("203.0.113.%u", 1 + (unsigned)random_below(N_NAMES));
	auto_free char *inside =
		xprintf("198.51.100.%u", 1 + (unsigned)random_below(N_NAMES));
	auto_free char *mac =
		xprintf("aa:00:00:00:00:%02x", (unsigned)random_below(N_MACS));
	json_t *nic = json_object();
	uint64_t what = random_below(8);

	if (what < 3)
		json_set_str(nic, "ip", outside);
	else if (what < 5)
		json_set_str(nic, "ip", "pool");
	else if (what < 7)
		json_set_str(nic, "ip", inside);
	if (what >= 3 && what < 7)
		json_set_str(nic, "network", SCHEDULE_NETWORK);
	if (random_below(3) == 0)
		json_set_str(nic, "mac", mac);
	return nic;
}

static int random_volume(void)
{
	return random_below(4) == 0 ? VOLUMES_BIG_MIB
				    : 1 + (int)random_below(VOLUME_MIB);
}

static json_t *add(const char *node)
{
	static const char *const templates[] = {"sharedfile", "file",
						"diskless"};
	auto_free char *name = random_name();
	const char *template = templates[random_below(3)];
	json_t *op = op_add(name, node, true);
	json_t *disks = json_array();

	for (uint64_t n = random_below(N_VOLUMES + 1);
	     !str_eq(template, "diskless") && n-- > 0;)
		json_array_append_new(
			disks, json_make("{s:i}", "size", random_volume()));
	json_set_str(op, "disk_template", template);
	json_object_set_new(op, "disks", disks);
	json_object_set_new(op, "beparams",
			    json_make("{s:i, s:i}", "minmem", MEMORY_MIB,
				      "maxmem",
				      MEMORY_MIB + (int)random_below(2000)));
	json_object_set_new(op, "nics", json_make("[o]", random_nic()));
	json_set_bool(op, "start", random_below(3) > 0);
	return op;
}

static json_t *modify(const char *name, const char *key, json_t *value)
{
	json_t *op = op_named("OP_INSTANCE_SET_PARAMS", name);

	json_object_set_new(op, key, value);
	return op;
}

/* One change in a list of NICs or disks. */
static json_t *change(const char *action, int index, json_t *values)
{
	return json_make("[[s, i, o]]", action, index, values);
}

/* --- orders --- */

static json_t *add_here(const char *name, const char *node)
{
	(void)name;
	return add(node);
}

static json_t *add_anywhere(const char *name, const char *node)
{
	(void)name;
	(void)node;
	return add(NULL);
}

static json_t *add_many(const char *name, const char *node)
{
	json_t *instances = json_array();

	(void)name;
	(void)node;
	for (int i = 0; i < 3; i++) {
		json_t *one = add(NULL);

		json_object_del(one, "iallocator");
		json_array_append_new(instances, one);
	}
	return json_make("{s:s, s:o, s:s, s:b}", "OP_ID",
			 "OP_INSTANCE_MULTI_ALLOC", "instances", instances,
			 "iallocator", "any", "atomic", random_below(2) == 0);
}

static json_t *remove_it(const char *name, const char *node)
{
	(void)node;
	return op_named("OP_INSTANCE_REMOVE", name);
}

static json_t *evacuate(const char *name, const char *node)
{
	(void)name;
	return json_make("{s:s, s:s, s:s, s:s}", "OP_ID", "OP_NODE_EVACUATE",
			 "node_name", node, "mode",
			 random_below(2) == 0 ? "all" : "primary-only",
			 "iallocator", "any");
}

static json_t *evacuate_secondaries(const char *name, const char *node)
{
	auto_free char *to = random_node();

	(void)name;
	return json_make("{s:s, s:s, s:s, s:s, s:b}", "OP_ID",
			 "OP_NODE_EVACUATE", "node_name", node, "mode",
			 "secondary-only", "remote_node", to, "early_release",
			 random_below(2) == 0);
}

static json_t *replace_secondary(const char *name, const char *node)
{
	auto_free char *mirrored = random_mirrored();
	json_t *op = op_named("OP_INSTANCE_REPLACE_DISKS", mirrored);

	(void)name;
	json_set_str(op, "mode", "replace_new_secondary");
	json_set_str(op, "remote_node", node);
	return op;
}

static json_t *replace_own(const char *name, const char *node)
{
	auto_free char *mirrored = random_mirrored();
	json_t *op = op_named("OP_INSTANCE_REPLACE_DISKS", mirrored);

	(void)name;
	(void)node;
	json_set_str(op, "mode",
		     random_below(2) == 0 ? "replace_on_primary"
					  : "replace_on_secondary");
	return op;
}

static json_t *fail_over(const char *name, const char *node)
{
	json_t *op = op_move("OP_INSTANCE_FAILOVER", name, node);

	if (str_starts(name, "mirror"))
		json_object_del(op, "target_node");
	return op;
}

static json_t *migrate(const char *name, const char *node)
{
	json_t *op = fail_over(name, node);

	json_set_str(op, "OP_ID", "OP_INSTANCE_MIGRATE");
	json_set_bool(op, "allow_failover", true);
	return op;
}

static json_t *modify_memory(const char *name, const char *node)
{
	int min = 1000 + (int)random_below(2 * MEMORY_MIB);

	(void)node;
	return modify(name, "beparams",
		      json_make("{s:i, s:i}", "minmem", min, "maxmem",
				min + (int)random_below(MEMORY_MIB)));
}

static json_t *modify_nic(const char *name, const char *node)
{
	(void)node;
	return modify(name, "nics", change("modify", 0, random_nic()));
}

static json_t *add_nic(const char *name, const char *node)
{
	(void)node;
	return modify(name, "nics", change("add", -1, random_nic()));
}

static json_t *remove_nic(const char *name, const char *node)
{
	(void)node;
	return modify(name, "nics", change("remove", -1, json_object()));
}

static json_t *add_disk(const char *name, const char *node)
{
	(void)node;
	return modify(
		name, "disks",
		change("add", -1, json_make("{s:i}", "size", random_volume())));
}

static json_t *remove_disk(const char *name, const char *node)
{
	(void)node;
	return modify(name, "disks", change("remove", -1, json_object()));
}

static json_t *grow_disk(const char *name, const char *node)
{
	json_t *op = op_named("OP_INSTANCE_GROW_DISK", name);

	(void)node;
	json_set_int(op, "disk", 0);
	json_set_int(op, "amount", random_volume());
	return op;
}

static json_t *switch_power(const char *name, const char *node)
{
	(void)node;
	return op_named(random_below(2) == 0 ? "OP_INSTANCE_SHUTDOWN"
					     : "OP_INSTANCE_STARTUP",
			name);
}

/* Off the books with its memory, and on them again. */
static json_t *switch_books(const char *name, const char *node)
{
	(void)node;
	return modify(name, "offline", json_boolean(random_below(2) == 0));
}

static json_t *rename_it(const char *name, const char *node)
{
	auto_free char *to = random_name();
	json_t *op = op_named("OP_INSTANCE_RENAME", name);

	(void)node;
	json_set_str(op, "new_name", to);
	json_set_bool(op, "name_check", false);
	json_set_bool(op, "ip_check", false);
	return op;
}

static json_t *drain_node(const char *name, const char *node)
{
	(void)name;
	return json_make("{s:s, s:s, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", node, "drained", random_below(2) == 0);
}

static const struct kind {
	const char *name;
	unsigned weight;
	json_t *(*make)(const char *name, const char *node);
} kinds[SCHEDULE_KINDS] = {
	{"add on a node", 14, add_here},
	{"add anywhere", 14, add_anywhere},
	{"bulk add", 6, add_many},
	{"remove", 6, remove_it},
	{"evacuate", 6, evacuate},
	{"evacuate secondaries", 4, evacuate_secondaries},
	{"replace the secondary", 6, replace_secondary},
	{"replace disks", 2, replace_own},
	{"failover", 4, fail_over},
	{"migrate", 4, migrate},
	{"modify memory", 6, modify_memory},
	{"modify a NIC", 5, modify_nic},
	{"add a NIC", 5, add_nic},
	{"remove a NIC", 3, remove_nic},
	{"add a disk", 4, add_disk},
	{"remove a disk", 2, remove_disk},
	{"grow a disk", 4, grow_disk},
	{"shut down or start", 4, switch_power},
	{"off- or online", 4, switch_books},
	{"rename", 2, rename_it},
	{"drain a node", 2, drain_node},
};

json_t *schedule_order(const struct config *c, size_t *ret_kind)
{
	auto_free char *name = random_instance(c), *node = random_node();
	uint64_t total = 0, pick;
	size_t i = 0;

	for (size_t k = 0; k < SCHEDULE_KINDS; k++)
		total += kinds[k].weight;
	for (pick = random_below(total); pick >= kinds[i].weight; i++)
		pick -= kinds[i].weight;
	*ret_kind = i;
	return kinds[i].make(name, node);
}

const char *schedule_kind_name(size_t kind)
{
	return kind < SCHEDULE_KINDS ? kinds[kind].name : NULL;
}
