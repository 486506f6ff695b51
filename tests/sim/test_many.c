/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster of 10,000 instances: no size that comes with them stops it. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "masterd/config/config.h"
#include "masterd/distribute/distribute.h"
#include "masterd/quorum/quorum.h"
#include "tests/sim/ops.h"
#include "tests/sim/sim.h"

#define N_INSTANCES 10000
#define MINUTE_MS 60000

static struct sim s;

static void fill(void);

static void setup(void)
{
	sim_init(&s, 3, 1);
	fill();
}

static void teardown(void)
{
	sim_done(&s);
}

TestSuite(many, .init = setup, .fini = teardown, .timeout = 300);

/* Do it and compare the outcome: "success", or a part of the error. */
static void expect(json_t *op STEALS, const char *outcome)
{
	auto_free char *got = sim_do(&s, op);

	cr_expect_not_null(strstr(got, outcome), "%s", got);
}

static void set_uuid(json_t *object)
{
	char uuid[37];

	uuid_new(uuid);
	json_set_str(object, "uuid", uuid);
}

static void add_copy(const json_t *pattern, int number)
{
	json_t *inst = json_deep_copy(pattern);
	json_t *nic = json_array_get(json_object_get(inst, "nics"), 0);
	auto_free char *name = xprintf("instance%d.example.com", number);
	auto_free char *mac =
		xprintf("aa:00:00:01:%02x:%02x", number >> 8, number & 0xff);

	set_uuid(inst);
	json_set_str(inst, "name", name);
	set_uuid(nic);
	json_set_str(nic, "mac", mac);
	config_put(s.master->config, CONFIG_INSTANCE, inst);
}

static bool committed;

static void commit_task(void *arg)
{
	struct error err;

	(void)arg;
	committed = config_commit(s.master->config, &err) == 0;
}

static void fill(void)
{
	auto_json json_t *pattern = NULL;

	expect(op_add("instance0.example.com", "node2.example.com", false),
	       "success");
	pattern = json_deep_copy(config_find(s.master->config, CONFIG_INSTANCE,
					     "instance0.example.com"));
	for (int i = 1; i < N_INSTANCES; i++)
		add_copy(pattern, i);
	task_set_owner(&s.nodes[0].masterd);
	task_spawn("commit", commit_task, NULL);
	task_set_owner(NULL);
	sim_run(&s, MINUTE_MS, NULL, NULL);
}

static void expect_quorum(void)
{
	auto_strv struct strv candidates = {0}, others = {0};
	struct error err;

	cr_expect_eq(quorum_safe(s.master->quorum, &err), 0, "%s", err.text);
	distribute_failing(s.master->distribute, &candidates, &others);
	cr_expect_eq(candidates.n + others.n, 0);
}

static size_t instances_known_on(const struct sim_node *n)
{
	auto_free char *text = ssconf_read_on(mem_unconst(&n->disk.disk),
					      n->paths, "instance_list");
	auto_strv struct strv lines = {0};

	str_split(&lines, text, '\n');
	return lines.n;
}

static bool serves(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct sim_node *)arg)->master != NULL;
}

Test(many, the_cluster_can_be_changed_and_taken_over)
{
	cr_assert(committed);
	expect_quorum();
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(instances_known_on(&s.nodes[i]), N_INSTANCES);
	expect(json_make("{s:s, s:s, s:[s]}", "OP_ID", "OP_TAGS_SET", "kind",
			 "cluster", "tags", "big"),
	       "success");
	expect(op_add("more.example.com", "node3.example.com", true),
	       "success");
	expect(json_make("{s:s, s:s, s:{s:i}}", "OP_ID",
			 "OP_INSTANCE_SET_PARAMS", "instance_name",
			 "instance7.example.com", "beparams", "vcpus", 2),
	       "success");
	expect_quorum();
	sim_power_cut(&s.nodes[0], 7);
	sim_take_over(&s.nodes[1], true);
	cr_assert(sim_run(&s, 5 * MINUTE_MS, serves, &s.nodes[1]));
	expect(op_named("OP_INSTANCE_REMOVE", "more.example.com"), "success");
	cr_expect_eq(instances_known_on(&s.nodes[2]), N_INSTANCES);
	sim_take_over(&s.nodes[0], false);
	sim_run(&s, MINUTE_MS, NULL, NULL);
}
