/* SPDX-License-Identifier: BSD-2-Clause */
/* The part about one node group: ask what there is, submit jobs, wait for them.
 * It asks without locks (the lists of the master), and nothing holds it up but
 * its own jobs: the other groups have processes of their own. */
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/ssconf.h"
#include "lib/model/opcode/opcode.h"

#define EXIT_NOT_MASTER 11
#define LOW_PRIORITY 10
#define INSTANCE_LOCK "instance/"

struct watcher_group {
	struct watcher *w;
	const char *uuid;
	struct watcher_state *state;
	struct watcher_view view;
	struct watcher_policy policy;
};

/* --- what there is --- */

static const struct watcher_field instance_fields[] = {
	{"name", NULL},
	{"status", NULL},
	{"admin_state", NULL},
	{"admin_state_source", NULL},
	{"disks_active", NULL},
	{"snodes", NULL},
	{"disk_template", NULL},
	{"pnode.group.uuid", "group"},
	{"snodes.group.uuid", "groups"},
};
static const struct watcher_field node_fields[] = {
	{"name", NULL},	   {"bootid", NULL}, {"offline", NULL},
	{"powered", NULL}, {"master", NULL}, {"tags", NULL},
	{"pip", NULL},	   {"sip", NULL},    {"ndp/ssh_port", "ssh_port"},
};

/* An instance whose nodes are in several groups is nobody's. */
static void drop_split(struct watcher_group *g)
{
	size_t i = 0;

	while (i < json_array_size(g->view.instances)) {
		const json_t *inst = json_array_get(g->view.instances, i);
		const json_t *groups = json_get(inst, "groups");
		bool split = false;
		json_t *group;
		size_t n;

		json_array_foreach (groups, n, group)
			split = split ||
				!json_equal(group,
					    json_object_get(inst, "group"));
		if (!split) {
			i++;
			continue;
		}
		watcher_did_not(g->w->report,
				"Instance %s is left out: its nodes are in "
				"different groups",
				json_str(inst, "name", ""));
		json_array_remove(g->view.instances, i);
	}
}

/* "INSTANCE_MIGRATE(web1)": a live job says what it is about. */
static void note_job(json_t *busy, const json_t *job)
{
	const json_t *ops = json_get(job, "summary");
	json_t *op;
	size_t i;

	json_array_foreach (ops, i, op) {
		const char *text = json_string_value(op);
		const char *begin = text == NULL ? NULL : strchr(text, '(');
		auto_free char *name = NULL, *why = NULL;

		if (begin == NULL || !str_starts(text, "INSTANCE_") ||
		    !str_ends(text, ")"))
			continue;
		name = xstrndup(begin + 1, strlen(begin + 1) - 1);
		why = xprintf("job %jd (%s) works on it",
			      (intmax_t)json_int(job, "id", 0), text);
		json_set_str(busy, name, why);
	}
}

static void note_lock(json_t *busy, const json_t *lock)
{
	const char *name = json_str(lock, "name", "");
	const json_t *owner = json_get(lock, "owner");
	bool taken = strcmp(json_str(lock, "mode", ""), "exclusive") == 0;
	auto_free char *why = NULL;

	if (!str_starts(name, INSTANCE_LOCK) || !taken)
		return;
	name += strlen(INSTANCE_LOCK);
	if (json_get(busy, name) != NULL)
		return;
	why = xprintf("%s works on it",
		      json_array_size(owner) == 0
			      ? "somebody"
			      : json_string_value(json_array_get(owner, 0)));
	json_set_str(busy, name, why);
}

static json_t *find_busy(struct watcher *w, struct error *err)
{
	static const struct watcher_field lock_fields[] = {
		{"name", NULL}, {"mode", NULL}, {"owner", NULL}};
	auto_json json_t *jobs = NULL, *locks = NULL;
	json_t *busy, *row;
	size_t i;

	jobs = watcher_jobs_live(w, err);
	if (jobs == NULL)
		return NULL;
	locks = watcher_query(w, "lock", lock_fields, ARRAY_SIZE(lock_fields),
			      json_null(), err);
	if (locks == NULL)
		return NULL;
	busy = json_object();
	json_array_foreach (jobs, i, row)
		note_job(busy, row);
	json_array_foreach (locks, i, row)
		note_lock(busy, row);
	return busy;
}

/* Tries must not be counted that nobody could make. */
static int check_drained(struct watcher *w, struct error *err)
{
	auto_json json_t *values =
		luxi_call(w->luxi, "QueryConfigValues",
			  json_make("[[s]]", "drain_flag"), err);

	if (values == NULL)
		return -1;
	if (!json_is_true(json_array_get(values, 0)))
		return 0;
	return error_set(err, ERR_QUEUE_DRAINED, NULL, "Queue drained");
}

static int look(struct watcher_group *g, struct error *err)
{
	struct watcher *w = g->w;
	auto_json json_t *info = NULL;

	if (check_drained(w, err) < 0)
		return -1;
	g->view.busy = find_busy(w, err);
	if (g->view.busy == NULL)
		return -1;
	g->view.instances = watcher_query(
		w, "instance", instance_fields, ARRAY_SIZE(instance_fields),
		json_make("[s, s, s]", "=", "pnode.group.uuid", g->uuid), err);
	if (g->view.instances == NULL)
		return -1;
	g->view.nodes = watcher_query(
		w, "node", node_fields, ARRAY_SIZE(node_fields),
		json_make("[s, s, s]", "=", "group.uuid", g->uuid), err);
	if (g->view.nodes == NULL)
		return -1;
	info = luxi_call(w->luxi, "QueryClusterInfo", json_array(), err);
	if (info == NULL)
		return -1;
	g->policy.offline = json_bool(info, "auto_offline", false);
	g->policy.readmit = json_bool(info, "auto_readmit", false);
	drop_split(g);
	return 0;
}

/* --- what is done --- */

static int check_instances(struct watcher_group *g, json_t *ret_started,
			   struct error *err)
{
	auto_json json_t *jobs = json_array();
	struct error ignored;
	json_t *job;
	size_t i;
	int rc;

	watcher_plan_instances(g->w->report, g->state, &g->view,
			       clock_seconds(), jobs);
	/* Tries are noted before: a run that is cut off counts, too. */
	if (watcher_state_save(g->state, err) < 0)
		return -1;
	rc = watcher_jobs_run(g->w, jobs, err);
	watcher_take_back(g->state, jobs);
	if (rc < 0) {
		watcher_state_save(g->state, &ignored);
		return -1;
	}
	watcher_settle_instances(g->state, jobs, clock_seconds());
	json_array_foreach (jobs, i, job)
		if (watcher_job_is_good(job))
			json_set_bool(ret_started, json_str(job, "about", ""),
				      true);
	return 0;
}

static int check_disks(struct watcher_group *g, const json_t *started,
		       struct error *err)
{
	auto_json json_t *jobs = json_array();

	watcher_plan_disks(g->w->report, g->state, &g->view, started, jobs);
	if (watcher_jobs_run(g->w, jobs, err) < 0)
		return -1;
	watcher_settle_disks(g->state, &g->view);
	return 0;
}

static int check_nodes(struct watcher_group *g, struct error *err)
{
	auto_json json_t *jobs = json_array();

	watcher_plan_nodes(g->w->report, g->state, &g->view, &g->policy,
			   &watcher_probe_real, jobs);
	return watcher_jobs_run(g->w, jobs, err);
}

static int verify_disks(struct watcher_group *g, struct error *err)
{
	struct watcher *w = g->w;
	auto_json json_t *verify = json_array(), *jobs = json_array(),
			 *result = NULL, *archived = NULL;
	auto_free char *why = xprintf("Verifying disks of group %s", g->uuid);
	json_t *op = watcher_op(&op_class_group_verify_disks, "group_name",
				g->uuid, why);
	struct error ignored;
	const json_t *job;

	json_set_int(op, "priority", LOW_PRIORITY);
	watcher_jobs_add(verify, g->uuid, json_make("[o]", op),
			 "verify the disks of the group");
	json_set_bool(json_array_get(verify, 0), "quiet", true);
	if (watcher_jobs_run(w, verify, err) < 0)
		return -1;
	job = json_array_get(verify, 0);
	if (!watcher_job_is_good(job))
		return 0; /* it was told why */
	result = watcher_job_result(w, job);
	/* One every few minutes: nobody wants to see them all. */
	archived = luxi_call(w->luxi, "ArchiveJob",
			     json_make("[O]", json_get(job, "job")), &ignored);
	watcher_plan_verified(w->report, &g->view, result, jobs);
	return watcher_jobs_run(w, jobs, err);
}

static int work(struct watcher_group *g, struct error *err)
{
	auto_json json_t *started = json_object();

	if (look(g, err) < 0)
		return -1;
	watcher_write_status(g->w, g->uuid, g->view.instances);
	if (check_nodes(g, err) < 0 || check_instances(g, started, err) < 0 ||
	    check_disks(g, started, err) < 0)
		return -1;
	if (!g->w->options.no_verify_disks && watcher_has_volumes(&g->view) &&
	    verify_disks(g, err) < 0)
		return -1;
	return watcher_state_save(g->state, err);
}

static bool is_known(const struct paths *p, const char *uuid)
{
	auto_strv struct strv groups = {0};

	ssconf_read_lines(p, "nodegroups", &groups);
	for (size_t i = 0; i < groups.n; i++)
		if (str_starts(groups.items[i], uuid))
			return true;
	return false;
}

static int run(struct watcher_group *g, struct error *err)
{
	struct watcher *w = g->w;
	auto_free char *file = watcher_group_file(w->paths, g->uuid, "data");
	auto_free char *master = ssconf_read(w->paths, "master_node");
	int rc;

	if (!is_known(w->paths, g->uuid))
		return error_set(err, ERR_PREREQ, ECODE_NOENT,
				 "Node group '%s' is not known by ssconf",
				 g->uuid);
	if (!str_eq(master, w->paths->hostname)) {
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "This is not the master node");
		return EXIT_NOT_MASTER;
	}
	w->luxi = luxi_connect(path(w->paths, PATH_QUERY_SOCKET), err);
	if (w->luxi == NULL)
		return -1;
	g->state = watcher_state_open(file, err);
	rc = g->state == NULL ? -1 : work(g, err);
	watcher_state_close(g->state);
	luxi_close(steal(&w->luxi));
	return rc;
}

int watcher_group(struct watcher *w, const char *uuid)
{
	auto_free char *lower = str_lower(uuid);
	auto_free char *file = watcher_group_file(w->paths, lower, "status");
	struct watcher_group g = {.w = w, .uuid = lower};
	struct watcher_report *outer = w->report;
	struct error err;
	int code;

	w->report =
		watcher_report_create(is_known(w->paths, lower) ? file : NULL);
	code = run(&g, &err);
	if (code < 0)
		code = watcher_failure(w->report, &err);
	else if (code > 0)
		watcher_did_not(w->report, "%s", err.text);
	watcher_report_end(w->report, code);
	watcher_report_destroy(w->report);
	w->report = outer;
	json_decref(g.view.instances);
	json_decref(g.view.nodes);
	json_decref(g.view.busy);
	return code;
}
