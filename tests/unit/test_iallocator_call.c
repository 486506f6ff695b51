/* SPDX-License-Identifier: BSD-2-Clause */
/* Our own hail by a call says what it says by text: about random clusters, each
 * of which changes from one request to the next, so that what is kept of it
 * must change, too. */
#include <criterion/criterion.h>

#include "lib/base/array.h"
#include "lib/base/random.h"
#include "lib/event/task.h"
#include "masterd/config/config.h"
#include "tests/lib/message_master.h"

/* All kinds of change, with each favourite template, with and without records.
 */
#define CLUSTERS 132
#define STEPS 12
#define NODES_MAX 6
#define INSTANCES_MAX 24

static const char *const templates[] = {"drbd",	      "plain",	  "rbd",
					"sharedfile", "diskless", "drbd"};

/* The template of most instances of this cluster. */
static const char *favourite;

static const char *one_of(const char *const *list, size_t n)
{
	return list[random_below(n)];
}

static bool chance(unsigned percent)
{
	return random_below(100) < percent;
}

static const char *random_template(void)
{
	return chance(75) ? favourite
			  : one_of(templates, ARRAY_SIZE(templates));
}

/* --- a random message --- */

static json_t *policy(void)
{
	json_t *list = json_array(), *ret;

	for (size_t i = 0; i < ARRAY_SIZE(templates) - 1; i++)
		json_array_append_new(list, json_string(templates[i]));
	ret = json_make(
		"{s:[{s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:{s:i, s:i, s:i, s:i, "
		"s:i, s:i}}], s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:o, s:f, s:i}",
		"minmax", "min", "memory-size", 4, "cpu-count", 1, "disk-size",
		0, "disk-count", 0, "nic-count", 0, "spindle-use", 0, "max",
		"memory-size", 8192, "cpu-count", 8, "disk-size", 1048576,
		"disk-count", 16, "nic-count", 8, "spindle-use", 12, "std",
		"memory-size", 128, "cpu-count", 1, "disk-size", 1024,
		"disk-count", 1, "nic-count", 1, "spindle-use", 1,
		"disk-templates", list, "vcpu-ratio", chance(50) ? 4.0 : 1.5,
		"spindle-ratio", 32);
	return ret;
}

static json_t *group(const char *name, const char *alloc_policy, bool failures)
{
	json_t *ret = json_make("{s:s, s:s, s:[], s:[], s:o}", "name", name,
				"alloc_policy", alloc_policy, "networks",
				"tags", "ipolicy", policy());

	if (failures)
		json_object_set_new(ret, "ipolicy_extra",
				    json_make("{s:i}", "max-node-failures", 1));
	return ret;
}

static json_t *node(const char *group_uuid, bool exclusive)
{
	const char *const tags[] = {"rack:a", "rack:b"};

	return json_make(
		"{s:b, s:b, s:s, s:b, s:b, s:b, s:{s:b, s:i}, s:s, s:s, s:[s], "
		"s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
		"drained", chance(5), "offline", chance(5), "group", group_uuid,
		"master_candidate", 1, "master_capable", 1, "vm_capable", 1,
		"ndparams", "exclusive_storage", exclusive, "spindle_count",
		(int)random_below(3) + 1, "primary_ip", "192.0.2.1",
		"secondary_ip", "192.0.2.1", "tags", one_of(tags, 2),
		"total_memory", 16384, "reserved_memory", 1024, "free_memory",
		(int)random_below(12000), "total_disk", 1000000, "free_disk",
		(int)random_below(1000000), "total_spindles", 20,
		"free_spindles", 15, "total_cpus", 8, "reserved_cpus", 1);
}

static json_t *disks(const char *template)
{
	return str_eq(template, "diskless")
		       ? json_array()
		       : json_make("[{s:i, s:s, s:s}]", "size",
				   1024 * (int)(random_below(40) + 1), "mode",
				   "rw", "dev_type", template);
}

static char *node_name(size_t i)
{
	return xprintf("node%zu.example.com", i + 1);
}

/* Of equally many nodes in each group. */
static size_t mate(size_t i, size_t n_nodes, size_t n_groups)
{
	size_t other = (i + n_groups) % n_nodes;

	return other % n_groups == i % n_groups && other != i
		       ? other
		       : (i % n_groups + (i < n_groups ? n_groups : 0)) %
				 n_nodes;
}

static json_t *instance(size_t n_nodes, size_t n_groups)
{
	static const char *const states[] = {"up", "up", "down", "offline"};
	const char *const tags[] = {"svc:a", "svc:b", "other"};
	const char *template = random_template();
	size_t first = random_below(n_nodes);
	auto_free char *primary = node_name(first);
	auto_free char *secondary = node_name(mate(first, n_nodes, n_groups));
	json_t *nodes = json_make("[s]", primary);
	int memory = 256 * (int)(random_below(8) + 1);
	json_t *ret;

	if (str_eq(template, "drbd") && !str_eq(primary, secondary))
		json_array_append_new(nodes, json_string(secondary));
	else if (str_eq(template, "drbd"))
		template = "plain";
	ret = json_make("{s:s, s:i, s:i, s:i, s:s, s:s, s:o, s:o, s:[s], "
			"s:[{s:s}]}",
			"admin_state", one_of(states, 4), "memory", memory,
			"vcpus", (int)random_below(3) + 1, "spindle_use", 1,
			"hypervisor", "kvm", "disk_template", template, "disks",
			disks(template), "nodes", nodes, "tags",
			one_of(tags, 3), "nics", "mode", "routed");
	if (chance(30))
		json_object_set_new(ret, "beparams_extra",
				    json_make("{s:i, s:b}", "minmem",
					      memory / 2, "auto_balance",
					      chance(50)));
	return ret;
}

static const char *const group_uuids[] = {
	"11111111-1111-4111-8111-111111111111",
	"22222222-2222-4222-8222-222222222222",
};

static json_t *random_message(void)
{
	size_t n_groups = 1 + random_below(2);
	size_t n_nodes = n_groups * (1 + random_below(NODES_MAX / n_groups));
	size_t n_instances = random_below(chance(30) ? 4 : INSTANCES_MAX);
	bool exclusive = chance(10);
	json_t *groups = json_object(), *nodes = json_object();
	json_t *instances = json_object();

	for (size_t i = 0; i < n_groups; i++)
		json_object_set_new(groups, group_uuids[i],
				    group(i == 0 ? "first" : "second",
					  i == 0 ? "preferred" : "last_resort",
					  chance(20)));
	for (size_t i = 0; i < n_nodes; i++) {
		auto_free char *name = node_name(i);
		json_t *one = node(group_uuids[i % n_groups], exclusive);

		if (i == 0) /* the master node */
			json_set_bool(one, "offline", false);
		json_object_set_new(nodes, name, one);
	}
	for (size_t i = 0; i < n_instances; i++) {
		auto_free char *name = xprintf("inst%zu.example.com", i);

		json_object_set_new(instances, name,
				    instance(n_nodes, n_groups));
	}
	return json_make("{s:[s, s], s:[s], s:o, s:o, s:o, s:o}",
			 "cluster_tags", "htools:iextags:svc",
			 "htools:nlocation:rack", "enabled_hypervisors",
			 chance(50) ? "kvm" : "xen-pvm", "ipolicy", policy(),
			 "nodegroups", groups, "nodes", nodes, "instances",
			 instances);
}

/* --- a random request about what there is --- */

static const json_t *some(const struct config *c, enum config_kind kind)
{
	json_t *all = json_unconst(config_all(c, kind));
	size_t n = json_object_size(all);
	void *at = json_object_iter(all);

	if (n == 0)
		return NULL;
	for (size_t i = random_below(n); i > 0; i--)
		at = json_object_iter_next(all, at);
	return json_object_iter_value(at);
}

static json_t *new_instance(const char *name)
{
	const char *template = random_template();
	json_t *list = disks(template);
	int64_t size = json_int(json_array_get(list, 0), "size", 0);

	return json_make(
		"{s:s, s:s, s:s, s:i, s:i, s:i, s:o, s:I, s:[], s:[s], "
		"s:s, s:i}",
		"type", "allocate", "name", name, "disk_template", template,
		"memory", 256 * (int)(random_below(16) + 1), "vcpus", 1,
		"spindle_use", 1, "disks", list, "disk_space_total", size,
		"nics", "tags", "svc:a", "hypervisor",
		chance(50) ? "kvm" : "xen-pvm", "required_nodes",
		str_eq(template, "drbd") ? 2 : 1);
}

static json_t *many_new(void)
{
	json_t *list = json_array();

	for (size_t i = random_below(4); i < 5; i++) {
		auto_free char *name = xprintf("new%zu", i);

		json_array_append_new(list, new_instance(name));
	}
	return json_make("{s:s, s:o, s:b}", "type", "multi-allocate",
			 "instances", list, "skip_failed", chance(50));
}

static json_t *relocation(const struct config *c, const json_t *inst)
{
	auto_strv struct strv others = {0};
	const char *from = json_str(inst, "primary_node", "");

	config_instance_secondaries(c, inst, &others);
	return json_make("{s:s, s:s, s:i, s:[s], s:i}", "type", "relocate",
			 "name", json_str(inst, "name", ""), "required_nodes",
			 1, "relocate_from",
			 config_name(c, CONFIG_NODE,
				     others.n > 0 ? others.items[0] : from),
			 "disk_space_total", 0);
}

static json_t *moves(const struct config *c, const json_t *inst)
{
	static const char *const modes[] = {"all", "primary-only",
					    "secondary-only"};
	const json_t *other = some(c, CONFIG_INSTANCE);
	json_t *names = json_make("[s]", json_str(inst, "name", ""));

	if (other != inst)
		json_array_append(names, json_object_get(other, "name"));
	if (chance(50))
		return json_make("{s:s, s:o, s:s}", "type", "node-evacuate",
				 "instances", names, "evac_mode",
				 one_of(modes, 3));
	return json_make("{s:s, s:o, s:o}", "type", "change-group", "instances",
			 names, "target_groups",
			 chance(50) ? json_array()
				    : json_make("[s]", group_uuids[0]));
}

static json_t *random_request(const struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);

	switch (inst == NULL ? random_below(2) : random_below(10)) {
	case 0:
	case 6:
	case 7:
	case 8:
	case 9:
		return new_instance("new");
	case 1:
		return many_new();
	case 2:
		return relocation(c, inst);
	case 3:
		return json_make("{s:s, s:s}", "type", "allocate-secondary",
				 "name", json_str(inst, "name", ""));
	default:
		return moves(c, inst);
	}
}

/* --- random changes --- */

static void change_instance(struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);
	json_t *own;

	if (inst == NULL)
		return;
	own = config_edit(inst);
	switch (random_below(3)) {
	case 0:
		json_set_str(own, "admin_state", chance(50) ? "up" : "offline");
		break;
	case 1:
		json_object_set_new(
			own, "beparams",
			json_make("{s:i, s:i}", "maxmem", 2000, "minmem", 700));
		break;
	default:
		json_object_set_new(own, "tags", json_make("[s]", "svc:b"));
	}
	config_put(c, CONFIG_INSTANCE, own);
}

/* Another primary for an instance that is on one node. */
static void move_instance(struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);
	const json_t *to = some(c, CONFIG_NODE);
	auto_strv struct strv others = {0};
	json_t *own;

	if (inst == NULL)
		return;
	config_instance_secondaries(c, inst, &others);
	if (others.n > 0)
		return;
	own = config_edit(inst);
	json_object_set(own, "primary_node", json_object_get(to, "uuid"));
	config_put(c, CONFIG_INSTANCE, own);
}

static void change_disk(struct config *c)
{
	const json_t *disk = some(c, CONFIG_DISK);
	json_t *own;

	if (disk == NULL)
		return;
	own = config_edit(disk);
	json_set_int(own, "size", 1024 * (int64_t)(random_below(50) + 1));
	config_put(c, CONFIG_DISK, own);
}

/* The only disk gets this size, in MiB. */
static void resize_disk(struct config *c, int64_t size)
{
	json_t *own = config_edit(some(c, CONFIG_DISK));

	json_set_int(own, "size", size);
	config_put(c, CONFIG_DISK, own);
}

static void remove_instance(struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);
	auto_json json_t *held = json_ref(inst);
	json_t *disk;
	size_t i;

	if (inst == NULL)
		return;
	config_remove(c, CONFIG_INSTANCE, json_str(held, "uuid", ""));
	json_array_foreach (json_object_get(held, "disks"), i, disk)
		config_remove(c, CONFIG_DISK, json_string_value(disk));
}

/* A copy of one, without disks. */
static void add_instance(struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);
	char uuid[37];
	json_t *own;

	if (inst == NULL)
		return;
	uuid_new(uuid);
	own = config_edit(inst);
	json_set_str(own, "uuid", uuid);
	json_set_str(own, "name", uuid);
	json_object_set_new(own, "disks", json_array());
	json_object_set_new(own, "nics", json_array());
	config_put(c, CONFIG_INSTANCE, own);
}

static void change_node(struct config *c)
{
	json_t *own = config_edit(some(c, CONFIG_NODE));

	switch (random_below(3)) {
	case 0:
		json_set_bool(own, "drained", chance(50));
		break;
	case 1:
		json_object_set_new(own, "tags", json_make("[s]", "rack:b"));
		break;
	default:
		if (json_get(own, "hv_state_static") != NULL)
			json_object_set_new(own, "hv_state_static",
					    json_make("{s:{s:i}, s:{s:i}}",
						      "kvm", "mem_total", 20000,
						      "xen-pvm", "mem_total",
						      9000));
	}
	config_put(c, CONFIG_NODE, own);
}

static void add_node(struct config *c)
{
	char uuid[37];
	json_t *own = config_edit(some(c, CONFIG_NODE));

	uuid_new(uuid);
	json_set_str(own, "uuid", uuid);
	json_set_str(own, "name", uuid);
	config_put(c, CONFIG_NODE, own);
}

/* One without instances, but not the master node. */
static void remove_node(struct config *c)
{
	const json_t *node = some(c, CONFIG_NODE);
	const char *uuid = json_str(node, "uuid", "");
	auto_strv struct strv instances = {0};

	config_node_primaries(c, uuid, &instances);
	config_node_secondaries(c, uuid, &instances);
	config_unbook_job(c, 1);
	if (instances.n == 0 && !config_is_master(c, uuid))
		config_remove(c, CONFIG_NODE, uuid);
	else
		add_node(c);
}

static void change_group(struct config *c)
{
	json_t *own = config_edit(some(c, CONFIG_GROUP));

	if (chance(50))
		json_object_set_new(own, "ndparams",
				    json_make("{s:i}", "spindle_count", 4));
	else
		json_object_set_new(own, "ipolicy",
				    json_make("{s:f, s:i}", "vcpu-ratio", 2.0,
					      "max-node-failures",
					      (int)random_below(2)));
	config_put(c, CONFIG_GROUP, own);
}

static void change_cluster(struct config *c)
{
	json_t *own = config_edit(config_cluster(c));

	switch (random_below(3)) {
	case 0:
		json_set_int(own, "highest_used_port", 11001);
		break;
	case 1:
		json_object_set_new(own, "tags",
				    json_make("[s]", "htools:iextags:svc"));
		break;
	default:
		json_object_set_new(own, "beparams",
				    json_make("{s:{s:i, s:i, s:i, s:b, s:i}}",
					      "default", "minmem", 64, "maxmem",
					      512, "vcpus", 2, "auto_balance",
					      1, "spindle_use", 2));
	}
	config_put_cluster(c, own);
}

/* A job has booked resources, or gives them back. */
static void change_bookings(struct config *c)
{
	const json_t *inst = some(c, CONFIG_INSTANCE);
	const json_t *to = some(c, CONFIG_NODE);

	if (inst == NULL || chance(40))
		config_unbook_job(c, 1);
	else
		config_book(c, 1, json_str(inst, "uuid", ""),
			    json_str(to, "uuid", ""), BOOK_MEMORY | BOOK_DISKS);
}

static void (*const changes[])(struct config *) = {
	change_instance, move_instance,	  change_disk, remove_instance,
	add_instance,	 change_node,	  add_node,    change_group,
	change_cluster,	 change_bookings, remove_node,
};

/* Mostly of one kind, so that it happens to a cluster that is known well. */
static void random_change(struct config *c, uint64_t seed)
{
	changes[seed / 2 % ARRAY_SIZE(changes)](c);
	if (chance(15))
		changes[random_below(ARRAY_SIZE(changes))](c);
}

/* --- the tests --- */

static unsigned n_found, n_not_found, n_refused;

static WAITS void ask(struct message_master *w, uint64_t seed, int step)
{
	auto_json json_t *request = random_request(w->m.config);
	struct error err;
	auto_json json_t *answer = message_master_ask(w, request, &err);
	auto_free char *text = json_text(request);

	cr_assert_not_null(answer, "seed %d, step %d: %s: %s", (int)seed, step,
			   text, err.text);
	n_refused += json_get(answer, "error") != NULL;
	n_found += json_bool(answer, "success", false);
	n_not_found += !json_bool(answer, "success", true);
}

static WAITS void one_cluster(uint64_t seed)
{
	struct message_master w;
	struct error err;
	auto_json json_t *message = NULL;

	random_seed(seed);
	favourite = templates[seed / 22 % ARRAY_SIZE(templates)];
	message = random_message();
	cr_assert_eq(message_master_begin(
			     &w, message,
			     seed % 2 == 1 ? RECORD_MOST : RECORD_NONE, &err),
		     0, "seed %d: %s", (int)seed, err.text);
	for (int step = 0; step < STEPS; step++) {
		ask(&w, seed, step);
		random_change(w.m.config, seed);
	}
	message_master_end(&w);
}

static void many_clusters(void *arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= CLUSTERS; seed++)
		one_cluster(seed);
}

static void run(task_fn *body, void *arg)
{
	mem_init();
	tasks_init(uv_default_loop());
	task_spawn("test", body, arg);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

Test(iallocator_call, both_ways_agree_while_the_cluster_changes)
{
	run(many_clusters, NULL);
	cr_expect_gt(n_found, CLUSTERS * STEPS / 4);
	cr_expect_gt(n_not_found, CLUSTERS);
	cr_expect_lt(n_refused, CLUSTERS * STEPS / 4);
}

/* --- storage that all nodes share --- */

static json_t *shared_message(void)
{
	json_t *nodes = json_object();

	for (size_t i = 0; i < 4; i++) {
		auto_free char *name = node_name(i);
		json_t *one = node(group_uuids[0], false);

		json_set_bool(one, "offline", false);
		json_set_bool(one, "drained", false);
		json_set_int(one, "free_memory", 12000);
		json_set_int(one, "free_disk", 100 * 1024);
		json_set_int(one, "free_spindles", 20);
		json_object_set_new(nodes, name, one);
	}
	return json_make(
		"{s:[], s:[s], s:o, s:{s:o}, s:o, s:{s:{s:s, s:i, s:i, s:i, "
		"s:s, s:s, s:[{s:i}], s:[s], s:[], s:[]}}}",
		"cluster_tags", "enabled_hypervisors", "kvm", "ipolicy",
		policy(), "nodegroups", group_uuids[0],
		group("first", "preferred", false), "nodes", nodes, "instances",
		"inst0.example.com", "admin_state", "up", "memory", 512,
		"vcpus", 1, "spindle_use", 1, "hypervisor", "kvm",
		"disk_template", "sharedfile", "disks", "size", 1024, "nodes",
		"node1.example.com", "tags", "nics");
}

/* What an instance takes of it is missing on all nodes, also where it is not.
 */
static void shared_storage(void *arg)
{
	struct message_master w;
	struct error err;
	auto_json json_t *message = NULL, *request = NULL;
	auto_json json_t *before = NULL, *after = NULL;

	(void)arg;
	random_seed(1);
	favourite = "sharedfile";
	message = shared_message();
	request = new_instance("new");
	json_set_str(request, "disk_template", favourite);
	json_set_str(request, "hypervisor", "kvm"); /* it has records */
	json_set_int(request, "memory", 512);
	json_set_int(request, "required_nodes", 1);
	cr_assert_eq(message_master_begin(&w, message, RECORD_MOST, &err), 0,
		     "%s", err.text);
	before = message_master_ask(&w, request, &err);
	cr_assert_not_null(before, "%s", err.text);
	cr_assert(json_bool(before, "success", false));
	resize_disk(w.m.config, 50 * 1024);
	after = message_master_ask(&w, request, &err);
	cr_assert_not_null(after, "%s", err.text);
	cr_assert_not(json_equal(before, after));
	message_master_end(&w);
}

Test(iallocator_call, shared_storage_is_less_for_all_when_a_disk_grows)
{
	run(shared_storage, NULL);
}

/* --- storage that nodes do not share at all --- */

static json_t *exclusive_instance(const char *state, int memory)
{
	auto_free char *name = node_name(0);

	return json_make(
		"{s:s, s:i, s:i, s:i, s:s, s:s, s:[{s:i, s:i}], s:[s], s:[], "
		"s:[]}",
		"admin_state", state, "memory", memory, "vcpus", 1,
		"spindle_use", 1, "hypervisor", "kvm", "disk_template", "plain",
		"disks", "size", 1024, "spindles", 2, "nodes", name, "tags",
		"nics");
}

/* One node with exclusive storage.  A guest of 8 GiB runs there and has used
 * less until now; another instance is down. */
static json_t *exclusive_message(int down_memory, int free_spindles)
{
	auto_free char *name = node_name(0);
	json_t *one = node(group_uuids[0], true);

	json_set_bool(one, "offline", false);
	json_set_bool(one, "drained", false);
	json_set_int(one, "free_memory", 12000);
	json_set_int(one, "free_disk", 100 * 1024);
	json_set_int(one, "free_spindles", free_spindles);
	return json_make("{s:[], s:[s], s:o, s:{s:o}, s:{s:o}, s:{s:o, s:o}}",
			 "cluster_tags", "enabled_hypervisors", "kvm",
			 "ipolicy", policy(), "nodegroups", group_uuids[0],
			 group("first", "preferred", false), "nodes", name, one,
			 "instances", "inst0.example.com",
			 exclusive_instance("down", down_memory),
			 "inst1.example.com", exclusive_instance("up", 8192));
}

static json_t *with_spindles(int spindles)
{
	json_t *request = new_instance("new");

	json_set_str(request, "disk_template", "plain");
	json_set_str(request, "hypervisor", "kvm");
	json_set_int(request, "memory", 2048);
	json_set_int(request, "required_nodes", 1);
	json_object_set_new(request, "disks",
			    json_make("[{s:i, s:s, s:s, s:i}]", "size", 1024,
				      "mode", "rw", "dev_type", "plain",
				      "spindles", spindles));
	json_set_int(request, "disk_space_total", 1024);
	return request;
}

static WAITS void expect_place(struct message_master *w, int spindles,
			       bool place)
{
	struct error err;
	auto_json json_t *request = with_spindles(spindles);
	auto_json json_t *answer = message_master_ask(w, request, &err);
	auto_free char *text = NULL;

	cr_assert_not_null(answer, "%s", err.text);
	text = json_text(answer);
	cr_expect_eq(json_bool(answer, "success", !place), place, "%s", text);
}

static void begin_exclusive(struct message_master *w, int memory,
			    int free_spindles)
{
	struct error err;
	auto_json json_t *message = NULL;

	random_seed(1);
	favourite = "plain";
	message = exclusive_message(memory, free_spindles);
	cr_assert_eq(message_master_begin(w, message, RECORD_ALL, &err), 0,
		     "%s", err.text);
}

static void exclusive_memory(void *arg)
{
	struct message_master w;

	(void)arg;
	begin_exclusive(&w, 256, 10);
	expect_place(&w, 2, true);
	message_master_end(&w);
	begin_exclusive(&w, 6000, 10);
	expect_place(&w, 2, false);
	message_master_end(&w);
}

Test(iallocator_call, with_exclusive_storage_memory_is_that_of_the_record)
{
	run(exclusive_memory, NULL);
}

static void exclusive_spindles(void *arg)
{
	struct message_master w;
	const json_t *inst;
	json_t *own;

	(void)arg;
	begin_exclusive(&w, 128, 3);
	expect_place(&w, 3, true);
	inst = some(w.m.config, CONFIG_INSTANCE);
	own = config_edit(inst);
	json_set_bool(own, "forthcoming", true);
	config_put(w.m.config, CONFIG_INSTANCE, own);
	expect_place(&w, 1, true);
	expect_place(&w, 2, false);
	config_book(w.m.config, 1, json_str(inst, "uuid", ""),
		    json_str(inst, "primary_node", ""), BOOK_COPY);
	expect_place(&w, 1, false);
	message_master_end(&w);
}

Test(iallocator_call, spindles_of_disks_that_are_not_made_yet_are_not_free)
{
	run(exclusive_spindles, NULL);
}

/* --- requests at the same time --- */

#define TASKS 4
#define ROUNDS 25

/* Placement runs beside the loop, where others change the configuration. */
static void overlapping(void *arg)
{
	struct message_master *w = arg;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		auto_json json_t *request = random_request(w->m.config);
		auto_json json_t *answer = message_master_call(w, request);

		n_found += json_bool(answer, "success", false);
		random_change(w->m.config, random_below(1000));
	}
}

Test(iallocator_call, requests_may_overlap_with_changes)
{
	struct message_master w;
	struct error err;
	auto_json json_t *message = NULL;

	mem_init();
	random_seed(7);
	favourite = "drbd";
	message = random_message();
	cr_assert_eq(message_master_begin(&w, message, RECORD_MOST, &err), 0,
		     "%s", err.text);
	tasks_init(uv_default_loop());
	for (int i = 0; i < TASKS; i++)
		task_spawn("overlapping", overlapping, &w);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	message_master_end(&w);
	cr_expect_gt(n_found, 0);
}
