/* SPDX-License-Identifier: BSD-2-Clause */
/* What is reserved, for whom, and that nothing of it stays. */
#include <uv.h>

#include "lib/event/task.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/config/config.h"
#include "masterd/resources/resources.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"
#include "tests/sim/fixture.h"
#include "tests/sim/ops.h"
#include "tests/sim/planned.h"

TestSuite(placement, .init = setup, .fini = teardown, .timeout = 60);

static const json_t *instance(const char *name)
{
	return config_find(s.master->config, CONFIG_INSTANCE, name);
}

/* A bulk creation of instances with a small disk on one node. */
static json_t *op_bulk(const char *node, const char *const *names)
{
	json_t *instances = json_array();

	for (; *names != NULL; names++) {
		json_t *one = op_add(*names, node, true);

		json_object_del(one, "iallocator");
		json_array_append_new(instances, one);
	}
	return json_make("{s:s, s:o}", "OP_ID", "OP_INSTANCE_MULTI_ALLOC",
			 "instances", instances);
}

/* The second of them wants more memory than there is. */
static json_t *op_too_big(bool atomic)
{
	static const char *const names[] = {"web1", "web2", NULL};
	json_t *op = op_bulk(NODE2, names);

	json_object_set_new(json_array_get(json_get(op, "instances"), 1),
			    "beparams", json_make("{s:i}", "memory", 1 << 20));
	if (atomic)
		json_set_bool(op, "atomic", true);
	return op;
}

/* Job i of those that the bulk creation has submitted. */
static uint64_t job_of(uint64_t bulk, size_t i)
{
	const struct job *j = queue_job(s.master->queue, bulk);
	struct error err;
	auto_json json_t *result =
		json_parse(j->ops[0].result, strlen(j->ops[0].result), &err);

	return (uint64_t)json_integer_value(
		json_array_get(json_array_get(json_get(result, "jobs"), i), 1));
}

static bool is_planned(const char *name)
{
	return json_bool(instance(name), "forthcoming", false);
}

Test(placement, a_bulk_creation_reserves_all_its_places)
{
	static const char *const names[] = {"web1", "web2", "web3", NULL};
	uint64_t id, busy;

	queue_set_max_running(s.master->queue, 1);
	id = sim_submit(&s, op_bulk(NODE2, names), NULL);
	busy = sim_submit(&s, op_delay(5, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	for (size_t i = 0; i < 3; i++)
		cr_assert(is_planned(names[i]), "no job has begun yet");
	for (size_t i = 0; i < 3; i++) {
		cr_assert_str_eq(sim_wait(&s, job_of(id, i)), "success");
		cr_assert_not(is_planned(names[i]));
		cr_assert_null(json_get(instance(names[i]), "reserved_by_job"));
	}
	cr_assert(job_is_final(queue_job(s.master->queue, busy)));
}

/* At each turn of the loop: have only some of them their place? */
struct look {
	uv_prepare_t turn;
	const char *const *names;
	unsigned halves;
};

static void on_turn(uv_prepare_t *turn)
{
	struct look *look = turn->data;
	size_t n = 0, there = 0;

	for (; look->names[n] != NULL; n++)
		there += instance(look->names[n]) != NULL;
	look->halves += there > 0 && there < n;
}

Test(placement, a_bulk_creation_lets_others_in)
{
	static const char *const names[] = {"web1", "web2", "web3", NULL};
	static struct look look = {.names = names};
	json_t *op = op_bulk(NODE2, names), *one;
	uint64_t id;
	size_t i;

	json_array_foreach (json_get(op, "instances"), i, one) {
		json_set_str(one, "disk_template", "diskless");
		json_object_set_new(one, "disks", json_array());
		json_set_bool(one, "start", false); /* no node is asked */
	}
	id = sim_submit(&s, op, NULL);
	uv_prepare_init(tasks_loop(), &look.turn);
	look.turn.data = &look;
	uv_prepare_start(&look.turn, on_turn);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_geq(look.halves, 2);
	for (i = 0; i < 3; i++)
		cr_assert_str_eq(sim_wait(&s, job_of(id, i)), "success");
	uv_close((uv_handle_t *)&look.turn, NULL);
}

struct cancel {
	uint64_t id;
	bool over;
};

static void cancel_task(void *arg)
{
	struct cancel *c = arg;
	struct error err;
	char *text = NULL;
	bool ok;

	queue_cancel(s.master->queue, c->id, false, &ok, &text, &err);
	free(text);
	c->over = true;
}

static bool is_over(struct sim *sim, void *arg)
{
	(void)sim;
	return ((struct cancel *)arg)->over;
}

static bool is_gone(struct sim *sim, void *arg)
{
	return config_find(sim->master->config, CONFIG_INSTANCE, arg) == NULL;
}

static void cancel(uint64_t id)
{
	struct cancel c = {.id = id};

	task_set_owner(&s);
	task_spawn("cancel", cancel_task, &c);
	task_set_owner(NULL);
	cr_assert(sim_run(&s, 1000, is_over, &c));
	cr_assert_str_eq(sim_wait(&s, id), "canceled");
}

Test(placement, a_creation_that_never_begins_leaves_nothing)
{
	static const char *const names[] = {"web1", "web2", NULL};
	uint64_t id;

	queue_set_max_running(s.master->queue, 1);
	id = sim_submit(&s, op_bulk(NODE2, names), NULL);
	sim_submit(&s, op_delay(5, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cancel(job_of(id, 1));
	cr_assert_str_eq(sim_wait(&s, job_of(id, 0)), "success");
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web2"));
	cr_assert_not_null(instance("web1"));
	sim_run(&s, 60000, NULL, NULL);
}

/* Its OS is not allowed any more when its turn comes. */
Test(placement, a_creation_that_is_refused_leaves_nothing)
{
	static const char *const names[] = {"web1", NULL};
	uint64_t id;

	queue_set_max_running(s.master->queue, 1);
	id = sim_submit(&s, op_bulk(NODE2, names), NULL);
	sim_submit(&s,
		   json_make("{s:s, s:[[s, s]]}", "OP_ID",
			     "OP_CLUSTER_SET_PARAMS", "blacklisted_os", "add",
			     "noop"),
		   NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert(is_planned("web1"));
	cr_assert_str_eq(sim_wait(&s, job_of(id, 0)), "error");
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web1"));
}

/* With all defaults the job of the second is larger than any may be. */
static json_t *op_too_long(bool atomic)
{
	static const char *const names[] = {"web1", "web2", NULL};
	json_t *op = op_bulk(NODE2, names);
	json_t *one = json_array_get(json_get(op, "instances"), 1);
	auto_free char *text = json_text(op), *comment = NULL;
	size_t len = QUEUE_JOB_BYTES_MAX - strlen(text) - 200;

	comment = xalloc(len + 1);
	memset(comment, 'x', len);
	json_set_str(one, "comment", comment);
	if (atomic)
		json_set_bool(op, "atomic", true);
	return op;
}

Test(placement, a_creation_that_is_not_submitted_leaves_nothing)
{
	uint64_t id = sim_submit(&s, op_too_long(false), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_eq(job_of(id, 1), 0);
	cr_assert_null(instance("web2"));
	cr_assert_str_eq(sim_wait(&s, job_of(id, 0)), "success");
}

Test(placement, all_or_none_also_when_a_job_is_refused)
{
	expect(op_too_long(true), "No instance is created, since the job for "
				  "web2 is refused: The job is too large");
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_null(instance("web1"));
}

Test(placement, reserved_places_survive_a_restart_with_their_jobs)
{
	static const char *const names[] = {"web1", "web2", NULL};
	uint64_t id, first;

	queue_set_max_running(s.master->queue, 1);
	id = sim_submit(&s, op_bulk(NODE2, names), NULL);
	sim_submit(&s, op_delay(5, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	first = job_of(id, 0);
	sim_crash(&s, 3);
	sim_restart(&s);
	cr_assert(is_planned("web1"));
	cr_assert_str_eq(sim_wait(&s, first), "success");
	cr_assert_str_eq(sim_wait(&s, first + 1), "success");
	cr_assert_not(is_planned("web2"));
}

Test(placement, all_or_nothing)
{
	expect(op_too_big(true), "No instance is created, since there is no "
				 "place for web2");
	cr_assert_null(instance("web1"));
}

Test(placement, or_as_many_as_there_is_place_for)
{
	uint64_t id = sim_submit(&s, op_too_big(false), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(sim_wait(&s, job_of(id, 0)), "success");
	cr_assert_str_eq(sim_wait(&s, job_of(id, 1)), "error");
	cr_assert_not_null(instance("web1"));
	cr_assert_null(instance("web2"));
}

/* The third finds a place, where it does not start. */
static json_t *op_third_fails(bool keep)
{
	static const char *const names[] = {"web1", "web2", "web3", NULL};
	json_t *op = op_bulk(NODE2, names), *third;

	third = json_array_get(json_get(op, "instances"), 2);
	json_set_str(third, "pnode", NODE3);
	s.nodes[2].fail_on = "instance_start";
	json_set_bool(op, "atomic", true);
	if (keep)
		json_set_bool(op, "keep_others", true);
	return op;
}

/* [[name, [nodes]], ...] of its result, in the order of the request. */
static void assert_placed(uint64_t bulk, const char *const *names)
{
	const struct job *j = queue_job(s.master->queue, bulk);
	struct error err;
	auto_json json_t *result =
		json_parse(j->ops[0].result, strlen(j->ops[0].result), &err);
	const json_t *placement = json_get(result, "placement"), *row;
	size_t i;

	json_array_foreach (placement, i, row) {
		cr_assert_str_eq(json_string_value(json_array_get(row, 0)),
				 names[i]);
		cr_assert_str_eq(json_string_value(json_array_get(
					 json_array_get(row, 1), 0)),
				 NODE2);
	}
	cr_assert_null(names[i], "all of them");
}

/* The job that ends a creation of all or none; 0. */
static uint64_t last_job_of(uint64_t bulk)
{
	const struct job *j = queue_job(s.master->queue, bulk);
	struct error err;
	auto_json json_t *result =
		json_parse(j->ops[0].result, strlen(j->ops[0].result), &err);

	cr_assert_eq(json_array_size(json_get(result, "jobs")), 3);
	return (uint64_t)json_int(result, "undo_job", 0);
}

Test(placement, all_or_none_also_when_a_creation_fails)
{
	uint64_t id = sim_submit(&s, op_third_fails(false), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_str_eq(sim_wait(&s, last_job_of(id)), "success");
	cr_assert_str_eq(sim_wait(&s, job_of(id, 2)), "error");
	for (int i = 1; i <= 3; i++) {
		auto_free char *name = xprintf("web%d", i);

		cr_assert(sim_run(&s, 60000, is_gone, name), "%s", name);
	}
	sim_run(&s, 60000, NULL, NULL); /* the removals end */
}

Test(placement, all_or_none_also_when_a_creation_is_canceled)
{
	static const char *const names[] = {"web1", "web2", "web3", NULL};
	json_t *op = op_bulk(NODE2, names);
	uint64_t id;

	queue_set_max_running(s.master->queue, 1);
	json_set_bool(op, "atomic", true);
	id = sim_submit(&s, op, NULL);
	sim_submit(&s, op_delay(5, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	cancel(job_of(id, 2));
	cr_assert_str_eq(sim_wait(&s, last_job_of(id)), "success");
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web1"));
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web2"));
	sim_run(&s, 60000, NULL, NULL); /* the removals end */
}

static void drain_task(void *arg)
{
	struct error err;

	cr_assert_eq(queue_set_drained(s.master->queue, true, &err), 0);
	*(bool *)arg = true;
}

static bool is_true(struct sim *sim, void *arg)
{
	(void)sim;
	return *(bool *)arg;
}

Test(placement, all_or_none_also_while_the_queue_is_drained)
{
	uint64_t id = sim_submit(&s, op_third_fails(false), NULL);
	bool drained = false;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	task_set_owner(&s);
	task_spawn("drain", drain_task, &drained);
	task_set_owner(NULL);
	cr_assert(sim_run(&s, 1000, is_true, &drained));
	cr_assert_str_eq(sim_wait(&s, last_job_of(id)), "success");
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web1"));
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web2"));
	sim_run(&s, 60000, NULL, NULL); /* the removals end */
}

Test(placement, all_or_none_survives_the_master)
{
	uint64_t id = sim_submit(&s, op_third_fails(false), NULL), last;

	cr_assert_str_eq(sim_wait(&s, id), "success");
	last = last_job_of(id);
	sim_crash(&s, 3);
	sim_restart(&s);
	cr_assert_str_eq(sim_wait(&s, last), "success");
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web1"));
	cr_assert(sim_run(&s, 60000, is_gone, (void *)"web2"));
	sim_run(&s, 60000, NULL, NULL); /* the removals end */
}

Test(placement, unless_the_others_are_to_be_kept)
{
	uint64_t id = sim_submit(&s, op_third_fails(true), NULL);

	cr_assert_str_eq(sim_wait(&s, id), "success");
	cr_assert_eq(last_job_of(id), 0);
	for (size_t i = 0; i < 3; i++)
		sim_wait(&s, job_of(id, i));
	sim_run(&s, 60000, NULL, NULL);
	cr_assert_not_null(instance("web1"));
	cr_assert_not_null(instance("web2"));
	/* Its creation failed when it was there already. */
	s.nodes[2].fail_on = NULL;
	expect(op_named("OP_INSTANCE_STARTUP", "web3"), "success");
}

Test(placement, what_all_created_stays)
{
	static const char *const names[] = {"web1", "web2", "web3", NULL};
	json_t *op = op_bulk(NODE2, names);
	uint64_t id;

	json_set_bool(op, "atomic", true);
	id = sim_submit(&s, op, NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	assert_placed(id, names);
	cr_assert_str_eq(sim_wait(&s, last_job_of(id)), "success");
	sim_run(&s, 60000, NULL, NULL);
	for (size_t i = 0; i < 3; i++)
		cr_assert_not_null(instance(names[i]));
}

/* As with Ganeti, whose command reads the jobs of the result. */
Test(placement, a_dry_run_tells_the_places)
{
	static const char *const names[] = {"web1", "web2", NULL};
	json_t *op = op_bulk(NODE2, names);
	auto_json json_t *result = NULL;
	const struct job *j;
	struct error err;
	uint64_t id;

	json_set_bool(op, "dry_run", true);
	id = sim_submit(&s, op, NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	assert_placed(id, names);
	j = queue_job(s.master->queue, id);
	result = json_parse(j->ops[0].result, strlen(j->ops[0].result), &err);
	cr_assert_eq(json_array_size(json_get(result, "allocatable")), 2);
	cr_assert(json_is_array(json_get(result, "failed")));
	cr_assert(json_is_array(json_get(result, "jobs")));
	cr_assert_eq(json_array_size(json_get(result, "jobs")), 0);
	cr_assert_null(instance(names[0]));
}

/* --- room for moves --- */

/* MiB guaranteed to instances on the node. */
static int64_t guaranteed(const char *name)
{
	const json_t *node = config_find(s.master->config, CONFIG_NODE, name);
	struct node_memory m;

	resources_memory(s.master->config, json_str(node, "uuid", ""), NULL,
			 &m);
	return m.min;
}

static size_t n_booked(void)
{
	size_t n;

	config_bookings(s.master->config, &n);
	return n;
}

/* Two instances leave node 2; their jobs wait for a place in the queue. */
static uint64_t plan_two_moves(void)
{
	json_t *op = json_make("{s:s}", "OP_ID", "OP_NODE_EVACUATE");
	uint64_t id;

	expect(op_add("web1", NODE2, true), "success");
	expect(op_add("web2", NODE2, true), "success");
	json_set_str(op, "node_name", NODE2);
	json_set_str(op, "mode", "all");
	json_set_str(op, "iallocator", "hail");
	queue_set_max_running(s.master->queue, 1);
	id = sim_submit(&s, op, NULL);
	sim_submit(&s, op_delay(5, NODE3), NULL);
	cr_assert_str_eq(sim_wait(&s, id), "success");
	return id;
}

Test(placement, who_plans_next_counts_the_moves_that_are_planned)
{
	int64_t one,
		before = guaranteed("node1.example.com") + guaranteed(NODE3);
	uint64_t id = plan_two_moves();

	one = guaranteed(NODE2) / 2;
	cr_assert_gt(one, 0);
	cr_assert_eq(guaranteed("node1.example.com") + guaranteed(NODE3),
		     before + 2 * one, "before any of them runs");
	cr_assert_str_eq(sim_wait(&s, job_of(id, 0)), "success");
	cr_assert_str_eq(sim_wait(&s, job_of(id, 1)), "success");
	cr_assert_eq(guaranteed(NODE2), 0);
	cr_assert_eq(guaranteed("node1.example.com") + guaranteed(NODE3),
		     before + 2 * one, "none counts twice");
	sim_run(&s, 1000, NULL, NULL);
	cr_assert_eq(n_booked(), 0);
}

Test(placement, a_planned_move_that_is_canceled_gives_its_room_back)
{
	uint64_t id = job_of(plan_two_moves(), 0);

	cr_assert_eq(n_booked(), 2);
	cancel(id);
	cr_assert_eq(n_booked(), 1);
	cr_assert_str_eq(sim_wait(&s, id + 1), "success");
}

static bool is_booked(struct sim *sim, void *arg)
{
	size_t n;

	(void)arg;
	config_bookings(sim->master->config, &n);
	return n > 0;
}

/* Others may place while memory is on its way. */
Test(placement, a_migration_holds_no_resources)
{
	uint64_t id;
	int64_t before;

	expect(op_add("web1", NODE2, true), "success");
	before = guaranteed(NODE3);
	id = sim_submit(&s, op_move("OP_INSTANCE_MIGRATE", "web1", NODE3),
			NULL);
	cr_assert(sim_run(&s, 60000, is_booked, NULL));
	cr_assert_gt(guaranteed(NODE3), before);
	cr_assert_gt(guaranteed(NODE2), 0, "where it still is");
	expect(op_add("web2", NULL, true), "success");
	cr_assert_str_eq(sim_wait(&s, id), "success");
	sim_run(&s, 1000, NULL, NULL);
	cr_assert_eq(n_booked(), 0);
}

/* --- opportunistic --- */

static void on_granted(struct lock_request *r)
{
	(void)r;
}

Test(placement, an_opportunistic_creation_takes_what_is_free)
{
	const json_t *node = config_find(s.master->config, CONFIG_NODE, NODE2);
	const struct lock_want busy = {.level = LOCK_NODE_RES,
				       .name = json_str(node, "uuid", ""),
				       .exclusive = true};
	struct lock_request r = {
		.wants = &busy, .n_wants = 1, .granted = on_granted};
	struct error err;
	json_t *op;

	cr_assert_eq(locks_request(s.master->locks, &r, &err), 0);
	for (int i = 0; i < 4; i++) {
		auto_free char *name = xprintf("web%d", i);

		op = op_add(name, NULL, true);
		json_set_bool(op, "opportunistic_locking", true);
		expect(op, "success");
		cr_assert_str_neq(json_str(instance(name), "primary_node", ""),
				  busy.name);
	}
	locks_release(s.master->locks, &r);
}

/* The lock of a node that is away is always free. */
Test(placement, an_opportunistic_creation_waits_for_a_node_of_use)
{
	static const char *const names[] = {"node1.example.com", NODE2};
	struct lock_want busy[2];
	struct lock_request r = {
		.wants = busy, .n_wants = 2, .granted = on_granted};
	json_t *op = op_add("web1", NULL, true);
	struct error err;
	uint64_t id;

	expect(json_make("{s:s, s:s, s:b, s:b}", "OP_ID", "OP_NODE_SET_PARAMS",
			 "node_name", NODE3, "offline", true, "force", true),
	       "success");
	for (size_t i = 0; i < 2; i++)
		busy[i] = (struct lock_want){
			.level = LOCK_NODE_RES,
			.name = node_uuid(config_find(s.master->config,
						      CONFIG_NODE, names[i])),
			.exclusive = true};
	cr_assert_eq(locks_request(s.master->locks, &r, &err), 0);
	json_set_bool(op, "opportunistic_locking", true);
	id = sim_submit(&s, op, NULL);
	sim_run(&s, 5000, NULL, NULL);
	cr_expect_eq(job_status(queue_job(s.master->queue, id)), JOB_WAITING);
	locks_release(s.master->locks, &r);
	cr_assert_str_eq(sim_wait(&s, id), "success");
}

static json_t *op_remove_node(const char *node)
{
	return json_make("{s:s, s:s}", "OP_ID", "OP_NODE_REMOVE", "node_name",
			 node);
}

static void leave_one_node(void)
{
	expect(op_remove_node(NODE2), "success");
	expect(op_remove_node(NODE3), "success");
}

/* template NULL: the cluster's first */
static void expect_too_few_nodes(const char *template)
{
	static const char why[] = "An instance with the disk template drbd "
				  "needs 2 nodes, and the cluster has 1";
	static const char *const names[] = {"web1", "web2", NULL};
	json_t *op = op_add("web1", NULL, true);
	json_t *bulk = op_bulk(NODE2, names);
	json_t *two = json_array_get(json_get(bulk, "instances"), 1);

	json_set_str(op, "disk_template", template);
	json_set_bool(op, "opportunistic_locking", true);
	sim_expect_as_planned(&s, json_ref(op));
	expect(op, why);
	json_object_del(json_array_get(json_get(bulk, "instances"), 0),
			"pnode");
	json_object_del(two, "pnode");
	json_set_str(two, "disk_template", template);
	json_set_str(bulk, "iallocator", "any");
	json_set_bool(bulk, "opportunistic_locking", true);
	expect(bulk, why);
}

Test(placement, an_opportunistic_creation_needs_enough_nodes)
{
	leave_one_node();
	expect_too_few_nodes("drbd");
}

Test(placement, also_where_drbd_is_what_the_cluster_has_first)
{
	json_t *cluster = config_edit(config_cluster(s.master->config));

	json_object_set_new(cluster, "enabled_disk_templates",
			    json_make("[s, s]", "drbd", "sharedfile"));
	config_put_cluster(s.master->config, cluster);
	leave_one_node();
	expect_too_few_nodes(NULL);
}

/* --- addresses --- */

static json_t *with_ip(const char *name, const char *ip)
{
	json_t *op = op_add(name, NODE2, false);

	json_object_set_new(op, "nics", json_make("[{s:s}]", "ip", ip));
	return op;
}

Test(placement, an_address_is_given_once)
{
	json_t *op;

	expect(with_ip("web1", "203.0.113.5"), "success");
	expect(with_ip("web2", "203.0.113.5"),
	       "IP address 203.0.113.5 is already in use");
	op = with_ip("web3", s.nodes[2].address);
	expect(op, "is a node's");
	op = with_ip("web4", "203.0.113.5");
	json_set_bool(op, "conflicts_check", false);
	expect(op, "success");
}
