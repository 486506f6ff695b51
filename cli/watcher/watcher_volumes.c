/* SPDX-License-Identifier: BSD-2-Clause */
/* Volume groups that have lost a physical volume are repaired where the cluster
 * allows it (auto_repair_volumes).  The master decides whether that is safe;
 * the watcher remembers which nodes were broken in the run before, as only what
 * has just broken is repaired, and starts the jobs. */
#include "cli/watcher/watcher_private.h"
#include "lib/json/json.h"
#include "lib/model/opcode/opcode.h"

#define LOW_PRIORITY 10
/* So long it waits for the locks of nodes; the next run tries again. */
#define LOCK_S 60
#define SUMMARY "CLUSTER_REPAIR_VOLUMES"

/* The first run only looks. */
static json_t *question(const json_t *known)
{
	json_t *op = watcher_op(&op_class_cluster_repair_volumes, "comment",
				NULL, "Looking at the volume groups");

	json_set_int(op, "priority", LOW_PRIORITY);
	json_set_int(op, "lock_timeout", LOCK_S);
	if (known == NULL)
		json_set_bool(op, "repair", false);
	else
		json_object_set(op, "known", json_unconst(known));
	return op;
}

static void tell(struct watcher_report *r, const json_t *result)
{
	const json_t *jobs = json_get(result, "jobs"), *one;
	size_t i;

	json_array_foreach (json_get(result, "inconsistent"), i, one)
		watcher_did_not(r,
				"Node %s misses physical volumes (gnt-cluster "
				"repair-volumes)",
				json_string_value(one));
	json_array_foreach (jobs, i, one)
		watcher_did(
			r, "Job %jd repairs volumes and mirrors",
			(intmax_t)json_integer_value(json_array_get(one, 1)));
}

/* What the next run has to know: what was found, or, when nodes did not answer,
 * what was known before. */
void watcher_note_volumes(struct watcher_report *r, const json_t *result)
{
	if (result == NULL || json_array_size(json_get(result, "silent")) > 0)
		return;
	watcher_report_set(r, "inconsistent",
			   json_ref(json_get(result, "inconsistent")));
	tell(r, result);
}

/* One that waits would find the same as a second one. */
static int is_under_way(struct watcher *w, bool *ret, struct error *err)
{
	auto_json json_t *live = watcher_jobs_live(w, err);
	json_t *job;
	size_t i;

	*ret = false;
	json_array_foreach (live, i, job) {
		if (!json_array_has_str(json_get(job, "summary"), SUMMARY))
			continue;
		*ret = true;
		watcher_did_not(w->report,
				"The volume groups are not looked at: job %jd "
				"does so",
				(intmax_t)json_int(job, "id", 0));
	}
	return live == NULL ? -1 : 0;
}

int watcher_volumes(struct watcher *w, struct error *err)
{
	auto_json json_t *info =
		luxi_call(w->luxi, "QueryClusterInfo", json_array(), err);
	auto_json json_t *jobs = json_array(), *result = NULL, *archived = NULL;
	const json_t *job;
	struct error ignored;
	bool under_way;

	if (info == NULL)
		return -1;
	if (!json_bool(info, "auto_repair_volumes", false)) {
		watcher_report_set(w->report, "inconsistent", json_null());
		return 0;
	}
	if (is_under_way(w, &under_way, err) < 0)
		return -1;
	if (under_way)
		return 0;
	watcher_jobs_add(jobs, "",
			 json_make("[o]", question(watcher_report_list(
						  w->report, "inconsistent"))),
			 "look at the volume groups of all nodes");
	job = json_array_get(jobs, 0);
	json_set_bool(json_unconst(job), "quiet", true);
	if (watcher_jobs_run(w, jobs, err) < 0)
		return -1;
	if (!watcher_job_is_good(job))
		return 0; /* it was told why */
	result = watcher_job_result(w, job);
	archived = luxi_call(w->luxi, "ArchiveJob",
			     json_make("[O]", json_get(job, "job")), &ignored);
	watcher_note_volumes(w->report, result);
	return 0;
}
