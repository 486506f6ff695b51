/* SPDX-License-Identifier: BSD-2-Clause */
/* schedules FIRST LAST: for each seed a cluster of 20 nodes and random orders
 * all at once: adds, bulk adds, removals, evacuations, moves, changes.  When
 * all jobs have ended, no node has promised more than it has, nothing (disk,
 * MAC, address, port) is booked twice, and nothing is planned any more. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/config.h"
#include "masterd/resources.h"
#include "queue/queue.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define N_NODES 20
#define N_NAMES 40
#define N_ORDERS 25
#define MEMORY_MIB 20000 /* three fit on a node */
#define WAIT_MS (3600 * 1000)

static struct sim s;
static size_t n_made; /* instances that are there in the end */

static char *random_name(void)
{
	return xprintf("web%u", (unsigned)random_below(N_NAMES));
}

static char *random_node(void)
{
	return xprintf("node%u.example.com",
		       1 + (unsigned)random_below(N_NODES));
}

static json_t *order_add(const char *name, const char *node)
{
	json_t *op = op_add(name, random_below(2) == 0 ? NULL : node, true);
	auto_free char *ip =
		xprintf("203.0.113.%u", 1 + (unsigned)random_below(N_NAMES));

	json_object_set_new(op, "beparams",
			    json_make("{s:i}", "memory", MEMORY_MIB));
	json_object_set_new(op, "nics", json_make("[{s:s}]", "ip", ip));
	return op;
}

static json_t *order_bulk(void)
{
	json_t *instances = json_array();

	for (int i = 0; i < 3; i++) {
		auto_free char *name = random_name(), *node = random_node();
		json_t *one = order_add(name, node);

		json_object_del(one, "iallocator");
		json_object_del(one, "pnode");
		json_array_append_new(instances, one);
	}
	return json_make("{s:s, s:o, s:s, s:b}", "OP_ID",
			 "OP_INSTANCE_MULTI_ALLOC", "instances", instances,
			 "iallocator", "any", "atomic", random_below(2) == 0);
}

static json_t *order_modify(const char *name)
{
	return json_make("{s:s, s:s, s:{s:i}}", "OP_ID",
			 "OP_INSTANCE_SET_PARAMS", "instance_name", name,
			 "beparams", "maxmem",
			 MEMORY_MIB + (int)random_below(MEMORY_MIB));
}

static json_t *random_order(void)
{
	auto_free char *name = random_name(), *node = random_node();

	switch (random_below(10)) {
	case 0:
		return op_named("OP_INSTANCE_REMOVE", name);
	case 1:
		return json_make("{s:s, s:s, s:s, s:s}", "OP_ID",
				 "OP_NODE_EVACUATE", "node_name", node, "mode",
				 "all", "iallocator", "any");
	case 2:
		return op_move("OP_INSTANCE_FAILOVER", name, node);
	case 3:
		return order_modify(name);
	case 4:
		return order_bulk();
	default:
		return order_add(name, node);
	}
}

/* --- afterwards --- */

static bool find_unfinished(const struct job *j, void *arg)
{
	uint64_t *id = arg;

	if (!job_is_final(j))
		*id = j->id;
	return *id == 0;
}

static bool all_final(struct sim *sim, void *arg)
{
	uint64_t id = 0;

	(void)arg;
	queue_each(sim->master->queue, find_unfinished, &id);
	return id == 0;
}

static void once(struct table *seen, struct strv *problems, const char *what,
		 const char *value)
{
	auto_free char *key = xprintf("%s %s", what, value);

	if (*value != '\0' && table_put(seen, key, problems) != NULL)
		strv_addf(problems, "%s is booked twice", key);
}

static void check_instance(const json_t *inst, struct table *seen,
			   struct strv *problems)
{
	const json_t *nic;
	auto_free char *port =
		xprintf("%jd", (intmax_t)json_int(inst, "network_port", 0));
	size_t i;

	if (json_get(inst, "reserved_by_job") != NULL)
		strv_addf(problems, "%s is planned still",
			  json_str(inst, "name", ""));
	if (json_get(inst, "network_port") != NULL)
		once(seen, problems, "port", port);
	json_array_foreach ((json_t *)json_get(inst, "nics"), i, nic) {
		once(seen, problems, "MAC", json_str(nic, "mac", ""));
		once(seen, problems, "address", json_str(nic, "ip", ""));
	}
}

static void check_books(struct config *c, struct strv *problems)
{
	struct table seen = {0};
	const char *uuid;
	json_t *object;

	json_object_foreach ((json_t *)config_all(c, CONFIG_INSTANCE), uuid,
			     object)
		check_instance(object, &seen, problems);
	json_object_foreach ((json_t *)config_all(c, CONFIG_DISK), uuid, object)
		once(&seen, problems, "disk",
		     json_string_value(json_array_get(
			     json_get(object, "logical_id"), 1)));
	json_object_foreach ((json_t *)config_all(c, CONFIG_NODE), uuid,
			     object) {
		struct node_memory m;

		resources_memory(c, uuid, NULL, &m);
		if (!m.recorded)
			strv_addf(problems, "%s has no record",
				  json_str(object, "name", ""));
		else if (resources_mem_guarantee(&m) < 0)
			strv_addf(problems, "%s has promised too much: %jd",
				  json_str(object, "name", ""),
				  (intmax_t)resources_mem_guarantee(&m));
	}
	table_done(&seen, NULL);
}

static int run(uint64_t seed)
{
	auto_strv struct strv problems = {0};
	auto_free char *text = NULL, *recorded = NULL;

	sim_init(&s, N_NODES, seed);
	recorded = sim_do(&s,
			  json_make("{s:s}", "OP_ID", "OP_NODE_REFRESH_STATE"));
	if (!str_eq(recorded, "success"))
		strv_addf(&problems, "refresh: %s", recorded);
	for (int i = 0; i < N_ORDERS; i++) {
		char *refused = NULL;

		if (sim_submit(&s, random_order(), &refused) == 0)
			strv_addf(&problems, "refused: %s", refused);
		free(refused);
	}
	if (!sim_run(&s, WAIT_MS, all_final, NULL))
		strv_add(&problems, "jobs did not end");
	sim_run(&s, 60000, NULL, NULL);
	check_books(s.master->config, &problems);
	sim_check(&s, &problems);
	n_made +=
		json_object_size(config_all(s.master->config, CONFIG_INSTANCE));
	text = strv_join(&problems, "; ");
	if (problems.n > 0)
		printf("# seed %" PRIu64 ": %s\n", seed, text);
	sim_done(&s);
	return problems.n > 0;
}

/* Tasks hand control around: on one CPU that is ten times as fast. */
static void pin(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (cpu < 0)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t last = argc > 2 ? strtoull(argv[2], NULL, 10) : first;
	int failed = 0;

	mem_init();
	pin();
	for (uint64_t seed = first; seed <= last; seed++)
		failed += run(seed);
	printf("%sok 1 - schedules %" PRIu64 " to %" PRIu64 "\n",
	       failed > 0 ? "not " : "", first, last);
	printf("%sok 2 - they made %zu instances\n1..2\n",
	       n_made == 0 ? "not " : "", n_made);
	return failed > 0;
}
