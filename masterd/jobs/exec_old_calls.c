/* SPDX-License-Identifier: BSD-2-Clause */
/* What an opcode works on is known by its locks.  A call about an instance, or
 * about a disk of one, concerns those who hold the instance's lock exclusively.
 * Any other call concerns those who hold the node's lock so.  While a node has
 * not said what it does, all who work with it wait, but that is a moment. */
#include "masterd/jobs/exec_old_calls.h"

#include "lib/model/config/config_objects.h"
#include "masterd/failover/old_calls.h"
#include "masterd/lu/frame/lu_private.h"

/* A question that is answered sooner is not worth a line in the job's log. */
#define TELL_UNKNOWN_S 1
/* Of a cluster of very many nodes so many are named. */
#define TOLD_MAX 10

struct wait {
	struct lu *lu;
	struct strv told; /* lines of the log, each once */
	bool waits;
};

static bool is_of(const struct lock_want *w, const char *object)
{
	return w->name == NULL || str_eq(w->name, object);
}

static bool uses_node(const struct lu *lu, const char *instance,
		      const char *node)
{
	const struct config *c = lu->m->config;
	const json_t *inst = config_find(c, CONFIG_INSTANCE, instance);
	auto_strv struct strv others = {0};

	if (inst == NULL)
		return false;
	if (str_eq(inst_primary_node(inst), node))
		return true;
	config_instance_secondaries(c, inst, &others);
	return strv_has(&others, node);
}

/* Whether who has this lock works on the instance of the call, */
static bool meets_instance(const struct lock_want *w,
			   const struct old_call *call)
{
	return (w->level == LOCK_INSTANCE || w->level == LOCK_INSTANCE_DISKS) &&
	       w->exclusive && is_of(w, call->instance);
}

/* on the node itself, */
static bool meets_node(const struct lock_want *w, const struct old_call *call)
{
	return (w->level == LOCK_NODE || w->level == LOCK_NODE_RES) &&
	       w->exclusive && is_of(w, call->node);
}

/* or in any way with that node. */
static bool meets_unknown(const struct lu *lu, const struct lock_want *w,
			  const struct old_call *call)
{
	if (w->level == LOCK_NODE || w->level == LOCK_NODE_RES)
		return is_of(w, call->node);
	return w->level == LOCK_INSTANCE && w->exclusive &&
	       (w->name == NULL || uses_node(lu, w->name, call->node));
}

static bool meets(const struct lu *lu, const struct lock_want *w,
		  const struct old_call *call)
{
	if (w->level == LOCK_CLUSTER)
		return w->exclusive;
	if (call->procedure == NULL)
		return meets_unknown(lu, w, call);
	return call->instance != NULL ? meets_instance(w, call)
				      : meets_node(w, call);
}

static bool concerns(const struct lu *lu, const struct old_call *call)
{
	for (size_t i = 0; i < lu->locks->n; i++)
		if (meets(lu, &lu->locks->wants[i], call))
			return true;
	return false;
}

/* Add the line to the log unless it is there. */
static void tell(struct wait *w, bool warn, const char *line)
{
	if (strv_has(&w->told, line))
		return;
	strv_add(&w->told, line);
	if (warn)
		lu_warn(w->lu, "%s", line);
	else
		lu_info(w->lu, "%s", line);
}

static void tell_call(struct wait *w, const struct old_call *call)
{
	auto_free char *line =
		call->given_up
			? xprintf("Node %s still executes %s of a former "
				  "master, going on without waiting for it "
				  "any longer",
				  call->node_name, call->procedure)
			: xprintf("Waiting for node %s, which still executes "
				  "%s of a former master",
				  call->node_name, call->procedure);

	tell(w, call->given_up, line);
}

static void tell_unknown(struct wait *w, const struct old_call *call)
{
	auto_free char *line =
		w->told.n >= TOLD_MAX
			? xstrdup("Waiting for further nodes to say what they "
				  "still execute for a former master")
			: xprintf("Waiting for node %s to say what it still "
				  "executes for a former master",
				  call->node_name);

	if (call->seconds >= TELL_UNKNOWN_S)
		tell(w, false, line);
}

static void visit(void *arg, const struct old_call *call)
{
	struct wait *w = arg;

	if (!concerns(w->lu, call))
		return;
	if (call->procedure != NULL)
		tell_call(w, call);
	else
		tell_unknown(w, call);
	w->waits |= !call->given_up;
}

int exec_old_calls(struct lu *lu, struct error *err)
{
	struct old_calls *old = lu->m->old_calls;
	struct wait w = {.lu = lu, .waits = true};
	int rc = 0;

	if (old == NULL || lu_plans(lu))
		return 0;
	while (rc == 0 && w.waits) {
		w.waits = false;
		old_calls_each(old, visit, &w);
		if (w.waits) {
			old_calls_wait(old);
			rc = lu_check_killed(lu, err);
		}
	}
	strv_done(&w.told);
	return rc;
}
