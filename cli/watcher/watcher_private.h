/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the watcher share. */
#ifndef CLI_WATCHER_WATCHER_PRIVATE_H
#define CLI_WATCHER_WATCHER_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/client/luxi.h"
#include "lib/model/files/paths.h"

/* As often the start of an instance is tried, within this time. */
#define WATCHER_TRIES 5
#define WATCHER_EXPIRE_S (8 * 3600)

/* In so many runs, one after the other, a node must not have answered before
 * it is set offline. */
#define WATCHER_MISSES 3

struct watcher_options {
	bool debug, ignore_pause, no_verify_disks, no_wait;
	const char *group; /* UUID: only the part about this one */
	int64_t job_age;   /* in seconds: jobs that are older are archived */
};

struct watcher_report;

struct watcher {
	struct watcher_options options;
	struct paths *paths;
	struct luxi *luxi; /* NULL: not connected */
	struct watcher_report *report;
};

/* --- what it did, and why not (watcher_report.c) --- */

/* Begin the report in a status file, whose former actions are kept. */
struct watcher_report *watcher_report_create(const char *file);
void watcher_report_destroy(struct watcher_report *r);
/* Something that was done: also a line of the log. */
void watcher_did(struct watcher_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Something that was not done, or is not as it should be, and why. */
void watcher_did_not(struct watcher_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Set a further member of the status. */
void watcher_report_set(struct watcher_report *r, const char *key,
			json_t *value STEALS);
/* A list that the last run or this one has set; NULL: none.  Of the last run
 * only "inconsistent" is kept. */
const json_t *watcher_report_list(const struct watcher_report *r,
				  const char *key);
/* Write the status file: the run has ended with this exit code. */
void watcher_report_end(struct watcher_report *r, int code);
/* The status as it would be written; borrowed. */
const json_t *watcher_report_data(const struct watcher_report *r);

/* The status file of a group ("watcher.UUID.status" and so on): data folder,
 * UUID, what it is; to be freed. */
char *watcher_group_file(const struct paths *p, const char *uuid,
			 const char *what);

/* --- what it remembers of a group (watcher_state.c) --- */

/* Open the state file, which Ganeti's watcher understands, too, and lock it.
 * NULL with err: another watcher has it. */
struct watcher_state *watcher_state_open(const char *file, struct error *err);
/* The same without a file, for tests. */
struct watcher_state *watcher_state_of(json_t *data STEALS);
void watcher_state_close(struct watcher_state *s);
int watcher_state_save(struct watcher_state *s, struct error *err);
const json_t *watcher_state_data(const struct watcher_state *s);

/* Forget instances that are not in the list of names any more, and tries that
 * are long ago. */
void watcher_state_clean(struct watcher_state *s, const json_t *names,
			 double now);
/* How often something was tried with an instance: "restart", "cleanup". */
int64_t watcher_state_tries(const struct watcher_state *s, const char *name,
			    const char *what);
void watcher_state_tried(struct watcher_state *s, const char *name,
			 const char *what, double now);
/* The last try was none. */
void watcher_state_not_tried(struct watcher_state *s, const char *name,
			     const char *what);
void watcher_state_forget(struct watcher_state *s, const char *name);
/* The node's boot id when it was last seen; NULL. */
const char *watcher_state_boot(const struct watcher_state *s, const char *node);
void watcher_state_set_boot(struct watcher_state *s, const char *node,
			    const char *boot);
/* In how many runs a node has not answered; count it, or begin again. */
int64_t watcher_state_missed(struct watcher_state *s, const char *node,
			     bool answers);

/* --- what there is, as lists of objects (watcher_group.c) ---
 *
 * An instance: name, status, admin_state, admin_state_source, disks_active,
 * snodes, disk_template.  A node: name, bootid (null: it does not answer),
 * offline, powered, master, tags, pip, sip, ssh_port.  Busy: why nothing may be
 * done to an instance now, by its name. */
struct watcher_view {
	json_t *instances, *nodes, *busy;
};

/* --- the master's lists (watcher_query.c) --- */

struct watcher_field {
	const char *field, *key; /* of the objects; NULL: the same */
};

/* The rows of a query as objects, to be freed; what is not known is null.  NULL
 * with err. */
json_t *watcher_query(struct watcher *w, const char *kind,
		      const struct watcher_field *fields, size_t n,
		      json_t *filter STEALS, struct error *err);
/* The jobs that have not ended, to be freed: [{"id", "summary": [of each
 * opcode, ...]}, ...].  NULL with err. */
json_t *watcher_jobs_live(struct watcher *w, struct error *err);

/* --- jobs (watcher_jobs.c) --- */

/* Jobs to be submitted: [{"what", "about", "ops"}], then also "job", "status"
 * and "error", or "refused" where the master did not take it. */
#define WATCHER_OPS_MAX 2
/* what: of the sentence "Submitted job 7 to WHAT"; about: the object's name. */
void watcher_jobs_add(json_t *jobs, const char *about, json_t *ops STEALS,
		      const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The opcode with a reason that names the watcher, to be freed. */
struct op_class;
json_t *watcher_op(const struct op_class *class, const char *key,
		   const char *value, const char *why);
/* Submit all, wait for their ends at most so long as the constant says, and
 * note in each what came of it. */
int watcher_jobs_run(struct watcher *w, json_t *jobs, struct error *err);
/* Whether such a job has ended well. */
bool watcher_job_is_good(const json_t *job);
/* The result of its first opcode, to be freed; NULL. */
json_t *watcher_job_result(struct watcher *w, const json_t *job);

/* --- what is to be done --- */

/* Add jobs for instances that are down and should not be, or were shut down by
 * their users (watcher_instances.c). */
void watcher_plan_instances(struct watcher_report *r, struct watcher_state *s,
			    const struct watcher_view *v, double now,
			    json_t *jobs);
/* Starts that the master refused are no tries. */
void watcher_take_back(struct watcher_state *s, const json_t *jobs);
/* After these jobs. */
void watcher_settle_instances(struct watcher_state *s, const json_t *jobs,
			      double now);

/* Add jobs for the disks of instances whose secondary node has been rebooted;
 * those of `started` have theirs (watcher_disks.c). */
void watcher_plan_disks(struct watcher_report *r, struct watcher_state *s,
			const struct watcher_view *v, const json_t *started,
			json_t *jobs);
/* After these jobs, however they have ended: the reboots are remembered.  What
 * is not active now is found by OP_GROUP_VERIFY_DISKS, instance by instance. */
void watcher_settle_disks(struct watcher_state *s,
			  const struct watcher_view *v);
/* The result of OP_GROUP_VERIFY_DISKS: jobs for what is not active. */
void watcher_plan_verified(struct watcher_report *r,
			   const struct watcher_view *v, const json_t *result,
			   json_t *jobs);
/* Whether instances have disks of a kind that is verified. */
bool watcher_has_volumes(const struct watcher_view *v);

/* What nodes may be changed by themselves: cluster parameters. */
struct watcher_policy {
	bool offline, readmit;
};

/* Whether a host answers at one of its services. */
struct watcher_probe {
	bool (*ssh)(void *arg, const json_t *node);
	bool (*noded)(void *arg, const json_t *node);
	void *arg;
};

/* Add jobs for nodes that do not answer any more, and for those that answer
 * again (watcher_nodes.c). */
void watcher_plan_nodes(struct watcher_report *r, struct watcher_state *s,
			const struct watcher_view *v,
			const struct watcher_policy *policy,
			const struct watcher_probe *probe, json_t *jobs);
/* The real probe (watcher_probe.c). */
extern const struct watcher_probe watcher_probe_real;

/* The result of OP_CLUSTER_REPAIR_VOLUMES is told and remembered
 * (watcher_volumes.c). */
void watcher_note_volumes(struct watcher_report *r, const json_t *result);

/* --- parts of a run --- */

/* Volume groups of all nodes are looked at, and repaired, where the cluster
 * allows that (watcher_volumes.c). */
int watcher_volumes(struct watcher *w, struct error *err);

/* Daemons of this node that do not run are started; scripts of the site are
 * run.  is_master: also the master daemon and the remote API
 * (watcher_node.c). */
int watcher_node(struct watcher *w, bool is_master);

/* The part about one group, with a state file and a status file of its own: its
 * exit code (watcher_group.c). */
int watcher_group(struct watcher *w, const char *uuid);

/* Write the instance-status file of the group, and of all groups from those of
 * each (watcher_files.c).  Sites read them, not the watcher: where that fails
 * it is told, and the run goes on. */
void watcher_write_status(const struct watcher *w, const char *uuid,
			  const json_t *instances);

/* A failure of the whole run: tell it; 0 where it is no fault (the queue is
 * drained, for example), else 1. */
int watcher_failure(struct watcher_report *r, const struct error *err);

#endif
