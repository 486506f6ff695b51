/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold when everything is quiet. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/config/config.h"
#include "queue/locks/locks.h"
#include "queue/queue.h"
#include "tests/sim/sim.h"

struct count {
	struct strv *problems;
	struct sim *sim;
};

static void lock_problem(const struct lock_info *info, void *arg)
{
	struct count *c = arg;

	if (info->n_owners > 0 || info->n_pending > 0)
		strv_addf(c->problems, "lock %s is held or waited for",
			  info->name);
}

static bool job_problem(const struct job *j, void *arg)
{
	struct count *c = arg;

	if (!job_is_final(j))
		strv_addf(c->problems, "job %ju is %s", (uintmax_t)j->id,
			  job_state_name(job_status(j)));
	return true;
}

char *sim_volume(const char *node_uuid, const json_t *disk)
{
	return xprintf("%s:%s", node_uuid,
		       json_string_value(json_array_get(
			       json_get(disk, "logical_id"), 1)));
}

struct search {
	const char *part;
	struct strv *found;
};

static void add_found(const char *name, void *value, void *arg)
{
	struct search *search = arg;

	(void)value;
	if (strstr(name, search->part) != NULL)
		strv_add(search->found, name);
}

void sim_find_volumes(const struct sim *s, const char *part, struct strv *ret)
{
	struct search search = {.part = part, .found = ret};

	table_each(&s->files, add_found, &search);
}

static void check_instance(struct sim *s, const json_t *inst, struct strv *ret)
{
	const char *name = json_str(inst, "name", "");
	bool up = strcmp(json_str(inst, "admin_state", ""), "up") == 0;

	if (json_bool(inst, "forthcoming", false))
		strv_addf(ret, "instance %s is still forthcoming", name);
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct sim_node *n = &s->nodes[i];
		bool home = strcmp(json_str(inst, "primary_node", ""),
				   n->uuid) == 0;
		bool runs = table_get(&n->running, name) != NULL;

		if (n->down)
			continue;
		if (sim_runs(n, name) && !home)
			strv_addf(ret, "%s runs on %s, not its primary", name,
				  n->name);
		if (home && up != runs)
			strv_addf(ret, "%s should be %s on %s", name,
				  up ? "up" : "down", n->name);
	}
}

static void unknown_running(const char *name, void *value, void *arg)
{
	struct count *c = arg;

	(void)value;
	if (config_find(c->sim->master->config, CONFIG_INSTANCE, name) == NULL)
		strv_addf(c->problems, "%s runs and is unknown", name);
}

/* The volumes of a mirror, on both its nodes. */
static void known_volumes(struct sim *s, const json_t *disk, struct table *ret)
{
	const json_t *children = json_get(disk, "children");

	for (size_t i = 0; i < 2 * json_array_size(children); i++) {
		auto_free char *name = sim_volume(
			json_string_value(json_array_get(
				json_get(disk, "logical_id"), i % 2)),
			json_array_get(children, i / 2));

		table_put(ret, name, s);
	}
}

static void known_disk(struct sim *s, const json_t *disk, struct table *ret)
{
	const char *type = json_str(disk, "dev_type", "");
	const json_t *id = json_get(disk, "logical_id");
	const char *node =
		json_string_value(json_array_get(json_get(disk, "nodes"), 0));
	auto_free char *name =
		str_eq(type, "plain")
			? sim_volume(node, disk)
			: xstrdup(json_string_value(json_array_get(id, 1)));

	if (str_eq(type, "drbd"))
		known_volumes(s, disk, ret);
	else
		table_put(ret, name, s);
}

static void known_files(struct sim *s, struct table *ret)
{
	const char *uuid;
	json_t *disk;

	json_object_foreach (
		json_unconst(config_all(s->master->config, CONFIG_DISK)), uuid,
		disk)
		known_disk(s, disk, ret);
}

struct file_check {
	struct count *c;
	const struct table *other;
	const char *text;
};

static void file_problem(const char *path, void *value, void *arg)
{
	struct file_check *f = arg;

	(void)value;
	if (table_get(f->other, path) == NULL)
		strv_addf(f->c->problems, "%s: %s", path, f->text);
}

void sim_check(struct sim *s, struct strv *ret_problems)
{
	struct count c = {.problems = ret_problems, .sim = s};
	struct table known = {0};
	const char *uuid;
	json_t *inst;

	locks_describe(s->master->locks, lock_problem, &c);
	queue_each(s->master->queue, job_problem, &c);
	json_object_foreach (
		json_unconst(config_all(s->master->config, CONFIG_INSTANCE)),
		uuid, inst)
		check_instance(s, inst, ret_problems);
	for (size_t i = 0; i < s->n_nodes; i++)
		table_each(&s->nodes[i].running, unknown_running, &c);
	known_files(s, &known);
	table_each(&s->files, file_problem,
		   &(struct file_check){&c, &known, "an orphan disk"});
	table_each(&known, file_problem,
		   &(struct file_check){&c, &s->files, "the disk is missing"});
	table_done(&known, NULL);
}
