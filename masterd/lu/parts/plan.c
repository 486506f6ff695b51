/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator's answer is [moved, failed, jobs].  The jobs are submitted
 * first; then resources are booked under their ids.  For that the opcodes of
 * each job are followed in order, since each move changes the primary or
 * secondary node with which the next opcode begins. */
#include "masterd/lu/parts/plan.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/template.h"
#include "masterd/lu/parts/lu_allocator.h"
#include "queue/queue.h"

const char *plan_iallocator(struct lu *lu, const char *given)
{
	const char *ours =
		cluster_default_iallocator(config_cluster(lu->m->config));

	if (given != NULL && !str_eq(given, "."))
		return given;
	return *ours == '\0' ? NULL : lu_keep_str(lu, xstrdup(ours));
}

int plan_choose(struct lu *lu, const char *node, const char *iallocator,
		const char **ret_iallocator, struct error *err)
{
	if (iallocator != NULL && node != NULL)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Do not specify both, iallocator and node");
	*ret_iallocator = node != NULL ? NULL : plan_iallocator(lu, iallocator);
	if (node != NULL || *ret_iallocator != NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "No iallocator or node given and no cluster-wide "
			 "default iallocator found; please specify either an "
			 "iallocator or a node, or set a cluster-wide default "
			 "iallocator");
}

/* "inst1 (to node2, node3)" and so on. */
static char *moves_text(const json_t *moved)
{
	auto_strv struct strv all = {0};
	size_t i;
	json_t *row;

	json_array_foreach (moved, i, row) {
		const char *name = json_string_value(json_array_get(row, 0));
		auto_strv struct strv nodes = {0};
		auto_free char *to = NULL;

		json_to_strv(json_array_get(row, 2), &nodes);
		to = strv_join(&nodes, ", ");
		if (nodes.n > 0)
			strv_addf(&all, "%s (to %s)", name, to);
		else
			strv_add(&all, name);
	}
	return strv_join(&all, ", ");
}

/* "inst1 (why)" and so on. */
static char *failures_text(const json_t *failed)
{
	auto_strv struct strv all = {0};
	size_t i;
	json_t *row;

	json_array_foreach (failed, i, row) {
		const char *why = json_string_value(json_array_get(row, 1));

		strv_addf(&all, "%s (%s)",
			  json_string_value(json_array_get(row, 0)),
			  str_empty(why) ? "the allocator gives no reason"
					 : why);
	}
	return strv_join(&all, ", ");
}

static void set_early_release(const json_t *jobs, bool early)
{
	size_t i, k;
	json_t *job, *op;

	json_array_foreach (jobs, i, job)
		json_array_foreach (job, k, op)
			if (str_eq(json_str(op, "OP_ID", ""),
				   "OP_INSTANCE_REPLACE_DISKS"))
				json_set_bool(op, "early_release", early);
}

/* The jobs of the answer [[moved], [failed], [jobs]]. */
static json_t *read_plan(struct lu *lu, const json_t *plan, struct error *err)
{
	const json_t *moved = json_array_get(plan, 0);
	const json_t *failed = json_array_get(plan, 1);

	if (json_array_size(failed) > 0) {
		auto_free char *text = failures_text(failed);

		lu_warn(lu, "Unable to evacuate instances %s", text);
		error_set(err, ERR_EXEC, NULL,
			  "Unable to evacuate instances %s", text);
		return NULL;
	}
	if (json_array_size(moved) > 0) {
		auto_free char *text = moves_text(moved);

		lu_info(lu, "Instances to be moved: %s", text);
	}
	return json_incref(json_array_get(plan, 2));
}

/* The disk space that decides where these instances can go: that of mirrors,
 * where one of them has some, as the others take no disk along. */
static const char *template_of_all(const struct lu *lu,
				   const struct strv *names)
{
	const struct config *c = lu->m->config;
	const char *found = NULL;

	for (size_t i = 0; i < names->n; i++) {
		const json_t *inst =
			config_find(c, CONFIG_INSTANCE, names->items[i]);
		const char *template =
			inst == NULL ? NULL : config_instance_template(c, inst);

		if (template != NULL &&
		    (found == NULL || template_is_pair(template)))
			found = template;
	}
	return found == NULL ? "diskless" : found;
}

WAITS json_t *plan_jobs(struct lu *lu, const struct plan_wish *wish,
			json_t *request STEALS, struct error *err)
{
	const char *template = template_of_all(lu, wish->instances);
	auto_json json_t *plan = lu_allocator(
		lu, request,
		(struct iallocator_how){
			.name = wish->iallocator,
			.disk_template = template,
			.ignore_soft_errors = wish->ignore_soft_errors,
		},
		err);
	json_t *jobs;

	if (plan == NULL)
		return NULL;
	jobs = read_plan(lu, plan, err);
	set_early_release(jobs, wish->early_release);
	return jobs;
}

/* --- the resources that the jobs will need --- */

/* Where an instance of the plan is after the opcodes so far. */
struct route {
	const json_t *inst;
	const char *primary, *secondary; /* UUIDs; secondary may be NULL */
};

/* NULL: the opcode names none. */
static const char *uuid_of_named(const struct lu *lu, const json_t *op,
				 const char *key)
{
	const char *name = json_str(op, key, NULL);

	return name == NULL ? NULL
			    : node_uuid_or(config_find(lu->m->config,
						       CONFIG_NODE, name),
					   NULL);
}

/* A migration or failover: to the node given, or to the secondary. */
static void follow_move(struct lu *lu, struct route *r, const json_t *op,
			uint64_t job)
{
	const char *target = uuid_of_named(lu, op, "target_node");

	if (target == NULL)
		target = r->secondary;
	if (target == NULL)
		return; /* it chooses its node itself */
	config_book(lu->m->config, job, inst_uuid(r->inst), target,
		    BOOK_MEMORY);
	if (str_eq(target, r->secondary))
		r->secondary = r->primary;
	r->primary = target;
}

static void follow_replacement(struct lu *lu, struct route *r, const json_t *op,
			       uint64_t job)
{
	const char *target = uuid_of_named(lu, op, "remote_node");

	if (target == NULL)
		return;
	config_book(lu->m->config, job, inst_uuid(r->inst), target, BOOK_DISKS);
	r->secondary = target;
}

static void book_job(struct lu *lu, const json_t *ops, uint64_t job)
{
	const char *name =
		json_str(json_array_get(ops, 0), "instance_name", "");
	const json_t *inst = config_find(lu->m->config, CONFIG_INSTANCE, name);
	auto_strv struct strv secondaries = {0};
	struct route r = {.inst = inst, .primary = inst_primary_node(inst)};
	size_t i;
	json_t *op;

	if (inst == NULL)
		return;
	config_instance_secondaries(lu->m->config, inst, &secondaries);
	r.secondary = secondaries.n == 0 ? NULL : secondaries.items[0];
	json_array_foreach (ops, i, op)
		if (str_eq(json_str(op, "OP_ID", ""),
			   "OP_INSTANCE_REPLACE_DISKS"))
			follow_replacement(lu, &r, op, job);
		else
			follow_move(lu, &r, op, job);
}

void plan_book(struct lu *lu, const json_t *jobs)
{
	for (size_t i = 0; i < json_array_size(jobs) && !lu->common.dry_run;
	     i++)
		book_job(lu, json_array_get(jobs, i), lu->job_id);
}

/* The id in [success, id] if the job is live; 0: it will never run, or has
 * ended. */
static uint64_t still_to_come(const struct lu *lu, const json_t *row)
{
	uint64_t id = (uint64_t)json_integer_value(json_array_get(row, 1));
	const struct job *j = json_is_true(json_array_get(row, 0))
				      ? queue_job(lu->m->queue, id)
				      : NULL;

	return j == NULL || job_is_final(j) ? 0 : id;
}

WAITS json_t *plan_submit(struct lu *lu, json_t *jobs STEALS, struct error *err)
{
	auto_json json_t *own = jobs;
	json_t *result = lu_submit_jobs(lu, json_incref(own), NULL, err);
	const json_t *rows = json_get(result, "jobs");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		uint64_t id = still_to_come(lu, json_array_get(rows, i));

		if (id != 0)
			book_job(lu, json_array_get(own, i), id);
	}
	lu_release(lu, LOCK_NODE_RES);
	return result;
}
