/* SPDX-License-Identifier: BSD-2-Clause */
/* OP_INSTANCE_MULTI_FINISH: the last job of a creation of all or none.
 *
 * It depends on the jobs that create, whatever their outcome.  If one of them
 * did not succeed, the instances of the others are removed, with a job each.
 * It is queued before the first of them begins, so a new master runs it as
 * well. Instances are known by their UUIDs: one that somebody has created with
 * the same name meanwhile stays. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/frame/lu.h"
#include "queue/queue.h"

/* Whether the job has succeeded; a job that is unknown has not. */
static WAITS bool succeeded(struct lu *lu, uint64_t id)
{
	const struct job *j = queue_job(lu->m->queue, id);
	struct job *archived;
	struct error ignored;
	bool ok;

	if (j != NULL)
		return job_status(j) == JOB_SUCCESS;
	archived = queue_archived(lu->m->queue, id, &ignored);
	if (archived == NULL)
		return false;
	ok = job_status(archived) == JOB_SUCCESS;
	job_free(archived);
	return ok;
}

/* The names of those whose jobs, in the same order, have not succeeded. */
static WAITS json_t *find_failed(struct lu *lu)
{
	const struct op_instance_multi_finish *op = lu->op;
	json_t *failed = json_array();

	for (size_t i = 0; i < json_array_size(op->instances); i++) {
		const json_t *pair = json_array_get(op->instances, i);
		const json_t *depend = json_array_get(lu->common.depends, i);
		json_int_t id = json_integer_value(json_array_get(depend, 0));

		if (!succeeded(lu, (uint64_t)id))
			json_array_append(failed, json_array_get(pair, 0));
	}
	return failed;
}

/* Nobody has used the instance yet: no time for a shutdown is needed. */
static json_t *removal(const char *name, const char *uuid)
{
	return json_make("[{s:s, s:s, s:s, s:i, s:b}]", "OP_ID",
			 "OP_INSTANCE_REMOVE", "instance_name", name,
			 "instance_uuid", uuid, "shutdown_timeout", 0,
			 "ignore_failures", true);
}

/* The jobs that remove the instances which exist. */
static json_t *removals(struct lu *lu, json_t *ret_names)
{
	const struct op_instance_multi_finish *op = lu->op;
	json_t *jobs = json_array(), *pair;
	size_t i;

	json_array_foreach (op->instances, i, pair) {
		const char *uuid = json_string_value(json_array_get(pair, 1));
		const json_t *inst =
			uuid == NULL ? NULL
				     : config_get(lu->m->config,
						  CONFIG_INSTANCE, uuid);
		const char *name = inst_name(inst);

		if (inst == NULL || inst_forthcoming(inst))
			continue;
		json_array_append_new(ret_names, json_string(name));
		json_array_append_new(jobs, removal(name, uuid));
	}
	return jobs;
}

static WAITS json_t *finish_exec(struct lu *lu, struct error *err)
{
	json_t *failed = find_failed(lu), *removed = json_array();
	json_t *jobs = json_array_size(failed) == 0 ? json_array()
						    : removals(lu, removed);

	for (size_t i = 0; i < json_array_size(removed); i++)
		lu_warn(lu,
			"Instance %s is removed: all or none were asked for, "
			"and %s could not be created",
			json_string_value(json_array_get(removed, i)),
			json_string_value(json_array_get(failed, 0)));
	return lu_submit_undo(
		lu, jobs,
		json_make("{s:o, s:o}", "failed", failed, "removed", removed),
		err);
}

const struct lu_class lu_instance_multi_finish = {
	.op = &op_class_instance_multi_finish,
	.size = sizeof(struct lu),
	.exec = finish_exec,
};
