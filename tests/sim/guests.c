/* SPDX-License-Identifier: BSD-2-Clause */
/* The instances of a scripted node: which run, and what memory they have.  They
 * share what the node has; one that starts takes what is free between its
 * minmem and its maxmem, one that arrives has what it left with. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "tests/sim/sim.h"

#define MEMORY_MIB 65536

static json_t *good(json_t *payload STEALS)
{
	return json_make("[b, o]", 1, payload);
}

static const char *name_of(const json_t *args)
{
	const json_t *first = json_array_get(args, 0);

	return json_is_string(first) ? json_string_value(first)
				     : json_str(first, "name", "");
}

int sim_memory(const struct sim_node *n, const char *instance)
{
	return (int)(intptr_t)table_get(&n->running, instance);
}

bool sim_runs(const struct sim_node *n, const char *instance)
{
	return sim_memory(n, instance) > 0 &&
	       table_get(&n->sent, instance) == NULL;
}

static void set_memory(struct sim_node *n, const char *instance, int mib)
{
	table_put(&n->running, instance, (void *)(intptr_t)mib);
}

static void add_memory(const char *key, void *value, void *arg)
{
	(void)key;
	*(int *)arg += (int)(intptr_t)value;
}

static int free_memory(const struct sim_node *n)
{
	int used = n->other_memory;

	table_each(&n->running, add_memory, &used);
	return (n->memory == 0 ? MEMORY_MIB : n->memory) - used;
}

static json_t *do_node_info(struct sim_node *n, const json_t *args)
{
	json_t *storage = json_array();
	const json_t *units = json_array_get(args, 0);
	int total = n->memory == 0 ? MEMORY_MIB : n->memory;

	for (size_t i = 0; i < json_array_size(units); i++) {
		const json_t *unit = json_array_get(units, i);

		json_array_append_new(storage,
				      json_make("{s:O, s:O, s:i, s:i}", "type",
						json_array_get(unit, 0), "name",
						json_array_get(unit, 1),
						"storage_free", 500000,
						"storage_size", 1000000));
	}
	return good(json_make("[s, o, [{s:i, s:i, s:i, s:i, s:i, s:i, s:i}]]",
			      n->uuid, storage, "memory_total", total,
			      "memory_free", free_memory(n), "memory_dom0", 512,
			      "cpu_total", 16, "cpu_nodes", 1, "cpu_sockets", 1,
			      "cpu_dom0", 1));
}

static json_t *facts(int memory)
{
	return json_make("{s:i, s:i, s:i, s:i}", "memory", memory, "vcpus", 1,
			 "state", 0, "time", 0);
}

static void add_facts(const char *key, void *value, void *arg)
{
	json_object_set_new(arg, key, facts((int)(intptr_t)value));
}

static json_t *do_all_instances(struct sim_node *n, const json_t *args)
{
	json_t *all = json_object();

	(void)args;
	table_each(&n->running, add_facts, all);
	return good(all);
}

static json_t *do_instance_info(struct sim_node *n, const json_t *args)
{
	int memory = sim_memory(n, name_of(args));

	if (memory > 0 && n->guests_end)
		table_remove(&n->running, name_of(args));
	return good(memory > 0 ? facts(memory) : json_object());
}

static json_t *do_start(struct sim_node *n, const json_t *args)
{
	const json_t *be = json_get(json_array_get(args, 0), "beparams");
	int memory = (int)json_int(be, "maxmem", 128);
	int min = (int)json_int(be, "minmem", memory);

	table_remove(&n->sent, name_of(args));
	if (sim_memory(n, name_of(args)) > 0)
		return good(json_null());
	if (memory > free_memory(n))
		memory = free_memory(n);
	set_memory(n, name_of(args), memory > min ? memory : min);
	return good(json_null());
}

static json_t *do_stop(struct sim_node *n, const json_t *args)
{
	table_remove(&n->running, name_of(args));
	table_remove(&n->sent, name_of(args));
	return good(json_null());
}

static void expect_no_more(struct sim_node *n, const char *instance)
{
	if (!str_eq(n->expects, instance))
		return;
	free(n->expects);
	n->expects = NULL;
}

static json_t *do_balloon(struct sim_node *n, const json_t *args)
{
	if (sim_memory(n, name_of(args)) == 0)
		return json_make("[b, s]", 0, "it does not run");
	set_memory(n, name_of(args),
		   (int)json_integer_value(json_array_get(args, 1)));
	return good(json_null());
}

/* The process that waits here has it as soon as it comes.  All such listen on
 * one port, until they are told how it ended. */
static json_t *do_accept(struct sim_node *n, const json_t *args)
{
	if (n->expects != NULL && !str_eq(n->expects, name_of(args)))
		return json_make("[b, s]", 0, "Address already in use");
	free(n->expects);
	n->expects = xstrdup(name_of(args));
	table_remove(&n->sent, name_of(args));
	if (n->arrived)
		set_memory(n, name_of(args), 1);
	return good(json_null());
}

/* What it left with. */
static json_t *do_migration_info(struct sim_node *n, const json_t *args)
{
	auto_free char *text = xprintf("%d", sim_memory(n, name_of(args)));

	return good(json_string(text));
}

static json_t *arrived(void)
{
	return json_make("[b, s]", 0, "it has arrived");
}

static json_t *do_migrate(struct sim_node *n, const json_t *args)
{
	table_put(&n->sent, json_str(json_array_get(args, 1), "name", ""), n);
	return good(json_null());
}

static json_t *do_finalize_dst(struct sim_node *n, const json_t *args)
{
	const char *info = json_string_value(json_array_get(args, 1));

	expect_no_more(n, name_of(args));
	/* What is left of one that has gone is ended like one that waits. */
	if (!json_is_true(json_array_get(args, 2)))
		return n->arrived && table_get(&n->sent, name_of(args)) == NULL
			       ? arrived()
			       : do_stop(n, args);
	set_memory(n, name_of(args),
		   info == NULL || atoi(info) < 1 ? 1 : atoi(info));
	return good(json_null());
}

static json_t *do_finalize_src(struct sim_node *n, const json_t *args)
{
	bool sent = table_get(&n->sent, name_of(args)) != NULL;

	if (json_is_true(json_array_get(args, 1)))
		return do_stop(n, args);
	if (n->arrived && sent)
		return arrived();
	table_remove(&n->sent, name_of(args));
	return good(json_null());
}

static json_t *do_migration_status(struct sim_node *n, const json_t *args)
{
	(void)args;
	return good(json_make("{s:s, s:I, s:I}", "status",
			      n->migration ?: "completed", "transferred_ram",
			      (json_int_t)n->sent_ram, "total_ram",
			      (json_int_t)(512 << 20)));
}

static const struct {
	const char *procedure;
	json_t *(*answer)(struct sim_node *n, const json_t *args);
} script[] = {
	{"node_info", do_node_info},
	{"all_instances_info", do_all_instances},
	{"instance_info", do_instance_info},
	{"instance_start", do_start},
	{"instance_shutdown", do_stop},
	{"instance_balloon_memory", do_balloon},
	{"accept_instance", do_accept},
	{"migration_info", do_migration_info},
	{"instance_migrate", do_migrate},
	{"instance_finalize_migration_dst", do_finalize_dst},
	{"instance_finalize_migration_src", do_finalize_src},
	{"instance_get_migration_status", do_migration_status},
};

json_t *sim_guests(struct sim_node *n, const char *procedure,
		   const json_t *args)
{
	for (size_t i = 0; i < ARRAY_SIZE(script); i++)
		if (strcmp(script[i].procedure, procedure) == 0)
			return script[i].answer(n, args);
	return NULL;
}
