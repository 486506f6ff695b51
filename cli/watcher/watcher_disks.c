/* SPDX-License-Identifier: BSD-2-Clause */
/* Which disks are activated: mirrors on nodes that have been rebooted, and what
 * OP_GROUP_VERIFY_DISKS found not to be active. */
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/array.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "lib/model/opcode/opcode.h"

#define LOW_PRIORITY 10

static const json_t *find(const json_t *list, const char *name)
{
	json_t *object;
	size_t i;

	json_array_foreach (list, i, object)
		if (strcmp(json_str(object, "name", ""), name) == 0)
			return object;
	return NULL;
}

static void plan_activation(const char *name, bool low, json_t *jobs)
{
	auto_free char *why = xprintf("Activating disks for instance %s", name);
	json_t *op = watcher_op(&op_class_instance_activate_disks,
				"instance_name", name, why);

	if (low)
		json_set_int(op, "priority", LOW_PRIORITY);
	watcher_jobs_add(jobs, name, json_make("[o]", op),
			 "activate the disks of instance %s", name);
}

/* Why the disks of this instance cannot be activated; NULL: they can. */
static const char *hindrance(const struct watcher_view *v, const json_t *inst)
{
	const char *status = json_str(inst, "status", "");
	const json_t *snodes = json_get(inst, "snodes");
	size_t i;
	json_t *name;

	if (strcmp(status, "ERROR_nodedown") == 0)
		return "its node does not answer";
	if (strcmp(status, "ERROR_nodeoffline") == 0)
		return "its node is offline";
	json_array_foreach (snodes, i, name)
		if (json_bool(find(v->nodes, json_string_value(name)),
			      "offline", false))
			return "its secondary node is offline";
	return json_str(v->busy, json_str(inst, "name", ""), NULL);
}

/* --- after a reboot of the secondary node --- */

static bool is_rebooted(const struct watcher_state *s, const json_t *node)
{
	const char *boot = json_str(node, "bootid", NULL);
	const char *before = watcher_state_boot(s, json_str(node, "name", ""));

	return boot != NULL && (before == NULL || strcmp(boot, before) != 0);
}

/* Whether the reboot of the node took the other side of its disks away.  A
 * start activates disks, too. */
static bool is_concerned(const json_t *inst, const char *node,
			 const json_t *started)
{
	return json_array_has_str(json_get(inst, "snodes"), node) &&
	       json_bool(inst, "disks_active", false) &&
	       json_get(started, json_str(inst, "name", "")) == NULL;
}

static void plan_mirrors(struct watcher_report *r, const struct watcher_view *v,
			 const char *node, const json_t *started, json_t *jobs)
{
	json_t *inst;
	size_t i;

	json_array_foreach (v->instances, i, inst) {
		const char *name = json_str(inst, "name", "");
		const char *why;

		if (!is_concerned(inst, node, started))
			continue;
		why = hindrance(v, inst);
		if (why == NULL)
			plan_activation(name, false, jobs);
		else
			watcher_did_not(r,
					"The disks of instance %s are not "
					"activated after the reboot of node "
					"%s: %s",
					name, node, why);
	}
}

void watcher_plan_disks(struct watcher_report *r, struct watcher_state *s,
			const struct watcher_view *v, const json_t *started,
			json_t *jobs)
{
	json_t *node;
	size_t i;

	json_array_foreach (v->nodes, i, node) {
		const char *name = json_str(node, "name", "");

		if (!is_rebooted(s, node))
			continue;
		if (watcher_state_boot(s, name) != NULL)
			log_info("Node %s has been rebooted", name);
		plan_mirrors(r, v, name, started, jobs);
	}
}

void watcher_settle_disks(struct watcher_state *s, const struct watcher_view *v)
{
	json_t *node;
	size_t i;

	json_array_foreach (v->nodes, i, node)
		if (is_rebooted(s, node))
			watcher_state_set_boot(s, json_str(node, "name", ""),
					       json_str(node, "bootid", ""));
}

/* --- verified --- */

bool watcher_has_volumes(const struct watcher_view *v)
{
	/* Files are there or not, and providers are not asked. */
	static const char *const without[] = {"diskless", "ext", "file",
					      "gluster", "sharedfile"};
	json_t *inst;
	size_t i, n;

	json_array_foreach (v->instances, i, inst) {
		const char *template = json_str(inst, "disk_template", "");

		if (!json_bool(inst, "disks_active", false))
			continue;
		for (n = 0; n < ARRAY_SIZE(without); n++)
			if (strcmp(template, without[n]) == 0)
				break;
		if (n == ARRAY_SIZE(without))
			return true;
	}
	return false;
}

static void tell_missing(struct watcher_report *r, const json_t *missing)
{
	const char *name;
	json_t *volumes;

	json_object_foreach (json_unconst(missing), name, volumes)
		watcher_did_not(r,
				"Instance %s lacks %zu of its volumes, %s for "
				"example (gnt-instance replace-disks, "
				"recreate-disks)",
				name, json_array_size(volumes),
				json_string_value(json_array_get(
					json_array_get(volumes, 0), 1)));
}

void watcher_plan_verified(struct watcher_report *r,
			   const struct watcher_view *v, const json_t *result,
			   json_t *jobs)
{
	const char *node, *why;
	json_t *value;
	size_t i;

	json_object_foreach (json_array_get(result, 0), node, value)
		watcher_did_not(r, "The volumes of a node cannot be listed: %s",
				json_string_value(value));
	json_array_foreach (json_array_get(result, 1), i, value) {
		const char *name = json_string_value(value);
		const json_t *inst =
			name == NULL ? NULL : find(v->instances, name);

		if (inst == NULL)
			continue; /* it is new */
		why = hindrance(v, inst);
		if (why == NULL)
			plan_activation(name, true, jobs);
		else
			watcher_did_not(r,
					"The disks of instance %s are not "
					"activated: %s",
					name, why);
	}
	tell_missing(r, json_array_get(result, 2));
}
