/* SPDX-License-Identifier: BSD-2-Clause */
/* Node groups, in a simulated cluster. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"

TestSuite(groups, .init = setup, .fini = teardown, .timeout = 60);

static json_t *group_op(const char *id, const char *name)
{
	return json_make("{s:s, s:s}", "OP_ID", id, "group_name", name);
}

static json_t *with(json_t *op, const char *key, json_t *value)
{
	json_object_set_new(op, key, value);
	return op;
}

static const json_t *group(const char *name)
{
	return config_find(s.master->config, CONFIG_GROUP, name);
}

static json_t *assign(const char *name, const char *node)
{
	return with(group_op("OP_GROUP_ASSIGN_NODES", name), "nodes",
		    json_make("[s]", node));
}

Test(groups, one_is_added_with_its_parameters)
{
	expect(with(with(group_op("OP_GROUP_ADD", "g2"), "alloc_policy",
			 json_string("last_resort")),
		    "ndparams", json_make("{s:i}", "spindle_count", 4)),
	       "success");
	cr_assert_not_null(group("g2"));
	cr_expect_str_eq(json_str(group("g2"), "alloc_policy", ""),
			 "last_resort");
	cr_expect_eq(
		json_int(json_get(group("g2"), "ndparams"), "spindle_count", 0),
		4);
	expect(group_op("OP_GROUP_ADD", "g2"), "already exists");
	expect(with(group_op("OP_GROUP_ADD", "g3"), "ndparams",
		    json_make("{s:i}", "nonsense", 4)),
	       "nonsense");
	cr_expect_null(group("g3"));
}

Test(groups, only_an_empty_one_that_is_not_the_last_goes)
{
	expect(group_op("OP_GROUP_REMOVE", "default"), "not empty");
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(assign("g2", "node2.example.com"), "success");
	expect(group_op("OP_GROUP_REMOVE", "g2"), "node2.example.com");
	expect(assign("default", "node2.example.com"), "success");
	expect(group_op("OP_GROUP_REMOVE", "g2"), "success");
	cr_expect_null(group("g2"));
	expect(group_op("OP_GROUP_REMOVE", "g2"), "not known");
}

Test(groups, a_new_name_must_be_free)
{
	expect(group_op("OP_GROUP_ADD", "g2"), "success");
	expect(with(group_op("OP_GROUP_RENAME", "g2"), "new_name",
		    json_string("default")),
	       "clashes");
	expect(with(group_op("OP_GROUP_RENAME", "g2"), "new_name",
		    json_string("g3")),
	       "success");
	cr_expect_null(group("g2"));
	cr_expect_not_null(group("g3"));
}

Test(groups, parameters_are_changed_and_reported)
{
	uint64_t id;

	expect(group_op("OP_GROUP_SET_PARAMS", "default"),
	       "at least one modification");
	id = sim_submit(&s,
			with(group_op("OP_GROUP_SET_PARAMS", "default"),
			     "ndparams", json_make("{s:i}", "cpu_speed", 2)),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_expect_str_eq(queue_job(s.master->queue, id)->ops[0].result,
			 "[[\"ndparams\",\"{'cpu_speed': 2}\"]]");
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "alloc_policy",
		    json_string("unallocable")),
	       "success");
	cr_expect_str_eq(json_str(group("default"), "alloc_policy", ""),
			 "unallocable");
}

Test(groups, a_policy_takes_values_back_with_default)
{
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:f}", "vcpu-ratio", 2.5)),
	       "success");
	cr_expect_float_eq(json_num(json_get(group("default"), "ipolicy"),
				    "vcpu-ratio", 0),
			   2.5, 1e-9);
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:s}", "vcpu-ratio", "default")),
	       "success");
	cr_expect_null(
		json_get(json_get(group("default"), "ipolicy"), "vcpu-ratio"));
	expect(with(group_op("OP_GROUP_SET_PARAMS", "default"), "ipolicy",
		    json_make("{s:f}", "nonsense", 2.5)),
	       "nonsense");
}

Test(groups, instances_that_a_policy_makes_violators_are_named)
{
	auto_json json_t *policy = json_make(
		"{s:[{s:{s:i,s:i,s:i,s:i,s:i,s:i}, s:{s:i,s:i,s:i,s:i,s:i,s:i}}"
		"]}",
		"minmax", "min", "memory-size", 1, "disk-size", 1, "disk-count",
		0, "cpu-count", 1, "nic-count", 0, "spindle-use", 1, "max",
		"memory-size", 16, "disk-size", 9, "disk-count", 9, "cpu-count",
		9, "nic-count", 9, "spindle-use", 9);
	const struct job *j;
	uint64_t id;

	expect(op_add("web1", "node1.example.com", false), "success");
	id = sim_submit(&s,
			with(group_op("OP_GROUP_SET_PARAMS", "default"),
			     "ipolicy", json_incref(policy)),
			NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	j = queue_job(s.master->queue, id);
	cr_expect_not_null(strstr(j->ops[0].log.data, "web1"));
}
