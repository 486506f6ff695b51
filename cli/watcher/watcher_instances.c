/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instances are started, or marked as stopped since their users shut them
 * down.  An instance somebody works on is left alone: its state may be on the
 * way to what it shall be. */
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

#define USER_SOURCE "user"

static bool has_status(const json_t *inst, const char *status)
{
	return strcmp(json_str(inst, "status", ""), status) == 0;
}

/* Shut down from inside, which the configuration does not say yet. */
static bool was_left(const json_t *inst)
{
	return has_status(inst, "USER_down") &&
	       strcmp(json_str(inst, "admin_state", ""), "down") != 0;
}

static void plan_start(struct watcher_report *r, struct watcher_state *s,
		       const char *name, double now, json_t *jobs)
{
	int64_t n = watcher_state_tries(s, name, "restart");
	auto_free char *why = xprintf("Restarting instance %s", name);

	if (n > WATCHER_TRIES) {
		watcher_did_not(r,
				"Instance %s is down and is not started any "
				"more: %d tries failed (gnt-instance startup "
				"starts it; the next try is %d h after the "
				"last)",
				name, WATCHER_TRIES, WATCHER_EXPIRE_S / 3600);
		return;
	}
	watcher_state_tried(s, name, "restart", now);
	if (n == WATCHER_TRIES) {
		watcher_did_not(r,
				"Instance %s is down: %d tries to start it "
				"failed, giving up",
				name, WATCHER_TRIES);
		return;
	}
	watcher_jobs_add(
		jobs, name,
		json_make("[o]", watcher_op(&op_class_instance_startup,
					    "instance_name", name, why)),
		"start instance %s (try %jd of %d)", name, (intmax_t)n + 1,
		WATCHER_TRIES);
}

static void plan_cleanup(struct watcher_report *r, struct watcher_state *s,
			 const char *name, json_t *jobs)
{
	auto_free char *why = xprintf("Cleaning up instance %s", name);
	json_t *op;

	if (watcher_state_tries(s, name, "cleanup") > WATCHER_TRIES) {
		watcher_did_not(r,
				"Instance %s was shut down by its user and "
				"cannot be cleaned up: %d tries failed",
				name, WATCHER_TRIES);
		return;
	}
	op = watcher_op(&op_class_instance_shutdown, "instance_name", name,
			why);
	json_set_str(op, "admin_state_source", USER_SOURCE);
	watcher_jobs_add(jobs, name, json_make("[o]", op),
			 "clean up instance %s, which its user shut down",
			 name);
}

/* It is as it should be, or nothing can be done for it. */
static void look_at_rest(struct watcher_report *r, struct watcher_state *s,
			 const json_t *inst)
{
	const char *name = json_str(inst, "name", "");

	if (has_status(inst, "ERROR_nodedown"))
		watcher_did_not(r,
				"Instance %s: its node does not answer "
				"(gnt-instance failover, where its disks are "
				"mirrored or shared)",
				name);
	else if (has_status(inst, "ERROR_nodeoffline"))
		watcher_did_not(r,
				"Instance %s: its node is offline "
				"(gnt-instance failover, where its disks are "
				"mirrored or shared)",
				name);
	else if (has_status(inst, "ERROR_wrongnode"))
		watcher_did_not(r, "Instance %s runs on a wrong node", name);
	else if (has_status(inst, "ERROR_up"))
		watcher_did_not(r, "Instance %s runs, and should not", name);
	else if (watcher_state_tries(s, name, "restart") > 0)
		log_info("The restart of instance %s succeeded", name);
	watcher_state_forget(s, name);
}

void watcher_plan_instances(struct watcher_report *r, struct watcher_state *s,
			    const struct watcher_view *v, double now,
			    json_t *jobs)
{
	auto_json json_t *names = json_array();
	json_t *inst;
	size_t i;

	json_array_foreach (v->instances, i, inst)
		json_array_append(names, json_object_get(inst, "name"));
	watcher_state_clean(s, names, now);
	json_array_foreach (v->instances, i, inst) {
		const char *name = json_str(inst, "name", "");
		const char *busy = json_str(v->busy, name, NULL);
		bool down = has_status(inst, "ERROR_down");

		if (!down && !was_left(inst))
			look_at_rest(r, s, inst);
		else if (busy != NULL)
			watcher_did_not(r, "Instance %s is down, but %s", name,
					busy);
		else if (down)
			plan_start(r, s, name, now, jobs);
		else
			plan_cleanup(r, s, name, jobs);
	}
}

static bool is_job_of(const json_t *job, const char *op_id)
{
	const json_t *op = json_array_get(json_get(job, "ops"), 0);

	return strcmp(json_str(op, "OP_ID", ""), op_id) == 0;
}

void watcher_take_back(struct watcher_state *s, const json_t *jobs)
{
	json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job)
		if (is_job_of(job, "OP_INSTANCE_STARTUP") &&
		    json_bool(job, "refused", false))
			watcher_state_not_tried(s, json_str(job, "about", ""),
						"restart");
}

void watcher_settle_instances(struct watcher_state *s, const json_t *jobs,
			      double now)
{
	json_t *job;
	size_t i;

	json_array_foreach (jobs, i, job) {
		const char *name = json_str(job, "about", "");

		if (!is_job_of(job, "OP_INSTANCE_SHUTDOWN") ||
		    json_bool(job, "refused", false))
			continue;
		if (watcher_job_is_good(job))
			watcher_state_forget(s, name);
		else
			watcher_state_tried(s, name, "cleanup", now);
	}
}
