/* SPDX-License-Identifier: BSD-2-Clause */
/* bench_allocate [NODES INSTANCES]: how long the master daemon takes to find a
 * place for one new instance with its own hail, by a message that is a text and
 * by a call.  The nodes' resources are recorded, and they have just answered.
 * Before each round an instance and its disk change, as they do in a cluster
 * that is used. */
#include <stdio.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/event/task.h"
#include "masterd/allocator/iallocator.h"
#include "masterd/allocator/iallocator_kept.h"
#include "masterd/allocator/iallocator_private.h"
#include "masterd/config/config.h"
#include "tests/lib/message_master.h"

#define ROUNDS 10
#define GROUP "11111111-1111-4111-8111-111111111111"

static size_t n_nodes = 1000, n_instances = 10000;

/* --- the cluster --- */

static json_t *spec(int memory, int disk, int count)
{
	return json_make("{s:i, s:i, s:i, s:i, s:i, s:i}", "memory-size",
			 memory, "cpu-count", count, "disk-size", disk,
			 "disk-count", count, "nic-count", count, "spindle-use",
			 count);
}

static json_t *policy(void)
{
	return json_make("{s:[{s:o, s:o}], s:o, s:[s, s, s], s:i, s:i}",
			 "minmax", "min", spec(4, 0, 0), "max",
			 spec(32768, 1048576, 16), "std", spec(128, 1024, 1),
			 "disk-templates", "drbd", "plain", "rbd", "vcpu-ratio",
			 4, "spindle-ratio", 32);
}

static char *node_name(size_t i)
{
	return xprintf("node%zu.example.com", i % n_nodes);
}

static json_t *node(void)
{
	return json_make(
		"{s:b, s:b, s:s, s:b, s:b, s:b, s:{}, s:[], s:i, s:i, s:i, "
		"s:i, s:i}",
		"drained", 0, "offline", 0, "group", GROUP, "master_candidate",
		0, "master_capable", 1, "vm_capable", 1, "ndparams", "tags",
		"total_memory", 131072, "reserved_memory", 1024, "total_disk",
		4000000, "total_cpus", 64, "reserved_cpus", 1);
}

static json_t *instance(size_t i)
{
	static const char *const templates[] = {"drbd", "plain", "rbd"};
	const char *template = templates[i % 3];
	auto_free char *primary = node_name(i * 7);
	auto_free char *secondary = node_name(i * 7 + 1 + i / n_nodes);
	json_t *nodes = json_make("[s]", primary);

	if (i % 3 == 0)
		json_array_append_new(nodes, json_string(secondary));
	return json_make("{s:s, s:i, s:i, s:i, s:s, s:s, s:[{s:i}], s:o, "
			 "s:[s], s:[{s:s}]}",
			 "admin_state", "up", "memory", 1024 * (int)(1 + i % 4),
			 "vcpus", 1, "spindle_use", 1, "hypervisor", "kvm",
			 "disk_template", template, "disks", "size",
			 10240 * (int)(1 + i % 5), "nodes", nodes, "tags",
			 "service:web", "nics", "mode", "bridged");
}

static json_t *cluster(void)
{
	json_t *nodes = json_object(), *instances = json_object();

	for (size_t i = 0; i < n_nodes; i++) {
		auto_free char *name = node_name(i);

		json_object_set_new(nodes, name, node());
	}
	for (size_t i = 0; i < n_instances; i++) {
		auto_free char *name = xprintf("inst%zu.example.com", i);

		json_object_set_new(instances, name, instance(i));
	}
	return json_make("{s:[], s:[s], s:o, s:{s:{s:s, s:s, s:[], s:[], "
			 "s:o}}, s:o, s:o}",
			 "cluster_tags", "enabled_hypervisors", "kvm",
			 "ipolicy", policy(), "nodegroups", GROUP, "name",
			 "default", "alloc_policy", "preferred", "networks",
			 "tags", "ipolicy", policy(), "nodes", nodes,
			 "instances", instances);
}

static json_t *request(const char *template)
{
	return json_make("{s:s, s:s, s:s, s:i, s:i, s:i, s:[{s:i, s:s}], s:i, "
			 "s:[], s:[], s:s, s:i}",
			 "type", "allocate", "name", "new", "disk_template",
			 template, "memory", 2048, "vcpus", 1, "spindle_use", 1,
			 "disks", "size", 10240, "mode", "rw",
			 "disk_space_total", 10240, "nics", "tags",
			 "hypervisor", "kvm", "required_nodes",
			 iallocator_required_nodes(template));
}

/* --- the rounds --- */

static void change(struct config *c, size_t round)
{
	auto_free char *name = xprintf("inst%zu.example.com", round * 3);
	const json_t *inst = config_find(c, CONFIG_INSTANCE, name);
	json_t *own = config_edit(inst), *disk;

	disk = config_edit(config_get(
		c, CONFIG_DISK,
		json_string_value(json_array_get(json_get(inst, "disks"), 0))));
	json_object_set_new(own, "tags", json_make("[s]", "service:db"));
	json_set_int(disk, "size", 20480 + (int64_t)round * 1024);
	config_put(c, CONFIG_INSTANCE, own);
	config_put(c, CONFIG_DISK, disk);
}

/* Microseconds of the parts: while other tasks stand still, and beside them. */
struct parts {
	int64_t held, beside;
};

static WAITS void by_text(struct master *m, const json_t *question,
			  const struct iallocator_how *how, struct parts *sum)
{
	int64_t begin = clock_mono_us(), described;
	auto_json json_t *params = json_object(), *result = NULL;
	auto_json json_t *message =
		iallocator_message(m, json_ref(question), how);
	auto_free char *text = json_text(message), *output = NULL;
	struct error err;

	described = clock_mono_us();
	output = iallocator_run_builtin(text, params, &err);
	sum->held += described - begin;
	sum->beside += clock_mono_us() - described;
	begin = clock_mono_us();
	result = iallocator_check_answer(m->config, "hail", question, output,
					 &err);
	json_decref(steal(&message));
	sum->held += clock_mono_us() - begin;
	if (result == NULL)
		printf("no place: %s\n", err.text);
}

static WAITS int64_t describe(struct master *m, const json_t *question,
			      const struct iallocator_how *how)
{
	int64_t begin = clock_mono_us();
	struct iallocator_nodes *nodes = iallocator_nodes_ask(
		m, iallocator_hypervisor(m, question), how);
	struct iallocator_snapshot s;
	struct error err;

	if (iallocator_kept_build(m->kept, m->config, nodes, 2, &s, &err) < 0)
		printf("%s\n", err.text);
	iallocator_kept_release(&s);
	iallocator_nodes_free(nodes);
	return clock_mono_us() - begin;
}

/* The description is made once more, when nothing is left to be read, to tell
 * its part. */
static WAITS void by_call(struct master *m, const json_t *question,
			  const struct iallocator_how *how, struct parts *sum)
{
	int64_t begin = clock_mono_us(), all, again;
	auto_json json_t *params = json_object(), *result = NULL;
	struct iallocator_answer answer;
	struct error err;

	if (iallocator_call_builtin(m, question, how, params, &answer, &err) <
	    0) {
		printf("%s\n", err.text);
		return;
	}
	result = iallocator_check_result(m->config, "hail", question, &answer,
					 &err);
	if (result == NULL)
		printf("no place: %s\n", err.text);
	iallocator_answer_done(&answer);
	all = clock_mono_us() - begin;
	again = describe(m, question, how);
	sum->held += again;
	sum->beside += all - again;
}

static void show(const char *way, const struct parts *sum)
{
	printf("  %s: %.1f ms, of which %.1f ms hold up the master\n", way,
	       (double)(sum->held + sum->beside) / 1000 / ROUNDS,
	       (double)sum->held / 1000 / ROUNDS);
}

static WAITS void measure(struct master *m, const char *template)
{
	const struct iallocator_how how = {.name = "hail",
					   .disk_template = template};
	auto_json json_t *question = request(template);
	struct parts text = {0}, call = {0}, first = {0};

	iallocator_kept_free(m->kept);
	m->kept = iallocator_kept_create();
	by_call(m, question, &how, &first);
	for (size_t i = 0; i < ROUNDS; i++) {
		change(m->config, i);
		by_text(m, question, &how, &text);
		by_call(m, question, &how, &call);
	}
	printf("allocation of %s, %zu nodes, %zu instances\n", template,
	       n_nodes, n_instances);
	show("by text", &text);
	show("by a call", &call);
	printf("  the first call: %.1f ms\n",
	       (double)(first.held + first.beside) / 1000);
}

static void run(void *arg)
{
	static const char *const templates[] = {"plain", "drbd"};
	struct message_master w;
	struct error err;
	auto_json json_t *message = cluster();

	(void)arg;
	if (message_master_begin(&w, message, RECORD_ALL, &err) < 0) {
		printf("%s\n", err.text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(templates); i++)
		measure(&w.m, templates[i]);
	message_master_end(&w);
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		n_nodes = strtoul(argv[1], NULL, 10);
		n_instances = strtoul(argv[2], NULL, 10);
	}
	mem_init();
	tasks_init(uv_default_loop());
	task_spawn("bench", run, NULL);
	while (tasks_count() > 0)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	tasks_close();
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
