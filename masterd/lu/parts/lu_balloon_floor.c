/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of one node at one moment: what running instances have, and what
 * jobs have booked for instances that are to arrive.  Instances that may be
 * resized are called guests; all others count as fixed.  floor_apply() carries
 * out the sizes that were computed for the guests. */
#include "lib/model/config/config_objects.h"
#include "masterd/core/balloon_turns.h"
#include "masterd/lu/parts/lu_balloon_private.h"

#include <string.h>

#include "lib/json/json.h"
#include "lib/model/config/state.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/resources/resources.h"
#include "masterd/resources/running.h"

/* this is reported for one that its user has shut down */
#define STATE_SHUTDOWN 1

void floor_done(struct floor *f)
{
	free(f->guests);
	free(f->insts);
}
/* --- who may have how much --- */

struct balloon_guest lu_balloon_guest_of(struct lu *lu, const json_t *inst,
					 int64_t size)
{
	auto_json json_t *be = inst_filled_be(lu, inst);
	int64_t max = be_maxmem(be);
	int64_t chosen =
		state_own(config_cluster(lu->m->config), inst_uuid(inst), 0);

	return (struct balloon_guest){
		.size = size,
		.min = be_minmem(be),
		.most = chosen > 0 && chosen < max ? chosen : max,
		.chosen = chosen > 0,
	};
}

int64_t floor_taken(const struct floor *f, const char *uuid)
{
	size_t n;
	const struct config_booking *b = config_bookings(f->lu->m->config, &n);

	for (size_t i = 0; i < n; i++)
		if (b[i].runtime > 0 && str_eq(b[i].node, f->node) &&
		    str_eq(b[i].instance, uuid))
			return b[i].runtime;
	return 0;
}

/* Whether some job is moving it to another node: its size is agreed on
 * there. */
static bool is_leaving(const struct floor *f, const char *uuid)
{
	size_t n;
	const struct config_booking *b = config_bookings(f->lu->m->config, &n);

	for (size_t i = 0; i < n; i++)
		if ((b[i].what & BOOK_MEMORY) != 0 &&
		    !str_eq(b[i].node, f->node) && str_eq(b[i].instance, uuid))
			return true;
	return false;
}

static void add_running(struct floor *f, const char *name, const json_t *report)
{
	struct lu *lu = f->lu;
	const json_t *inst = config_find(lu->m->config, CONFIG_INSTANCE, name);
	const char *uuid = inst_uuid(inst);
	int64_t size = json_int(report, "memory", 0);
	int64_t taken = inst == NULL ? 0 : floor_taken(f, uuid);

	if (json_int(report, "state", 0) == STATE_SHUTDOWN)
		return;
	if (inst != NULL && f->self != NULL &&
	    str_eq(uuid, inst_uuid(f->self))) {
		f->runs_here = true;
		return;
	}
	/* It has just started and will be shrunk to this size. */
	if (taken > 0 && taken < size)
		size = taken;
	if (inst == NULL || strcmp(inst_primary_node(inst), f->node) != 0 ||
	    is_leaving(f, uuid)) {
		f->fixed += size;
		return;
	}
	f->insts[f->n] = lu_keep(lu, inst);
	f->guests[f->n++] = lu_balloon_guest_of(lu, inst, size);
}

/* Instances that are on their way here. */
static void add_coming(struct floor *f, const json_t *running)
{
	size_t n;
	const struct config_booking *b = config_bookings(f->lu->m->config, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = config_name(f->lu->m->config,
					       CONFIG_INSTANCE, b[i].instance);

		if (b[i].runtime > 0 && str_eq(b[i].node, f->node) &&
		    !str_eq(b[i].instance, inst_uuid(f->self)) &&
		    json_object_get(running, name) == NULL)
			f->fixed += b[i].runtime;
	}
}

/* An instance under a hypervisor that does not report memory counts with its
 * maximum. */
static void add_unseen(struct floor *f, const struct node_result *r)
{
	struct config *c = f->lu->m->config;
	auto_strv struct strv uuids = {0};

	config_node_primaries(c, f->node, &uuids);
	for (size_t i = 0; r->blind != NULL && i < uuids.n; i++) {
		const json_t *inst =
			config_get(c, CONFIG_INSTANCE, uuids.items[i]);

		if (str_eq(inst_admin_state(inst), "up") &&
		    !running_is_known(r, inst_hypervisor(inst)))
			f->fixed += lu_balloon_guest_of(f->lu, inst, 0).most;
	}
}

WAITS int floor_look(struct floor *f, struct error *err)
{
	struct config *c = f->lu->m->config;
	struct node_result *r = node_results_new(1);
	struct node_memory m;
	const char *name;
	json_t *report;
	int rc = 0;

	r->node = json_ref(config_get(c, CONFIG_NODE, f->node));
	running_look(f->lu->m->rpc, c, r, 1);
	if (r->payload == NULL) {
		*err = *r->err;
		rc = error_wrap(err, "Cannot see what runs on node %s",
				lu_node_name(f->lu, f->node));
	} else {
		size_t n = json_object_size(r->payload);

		resources_memory(c, f->node, NULL, &m);
		f->capacity = resources_mem_capacity(&m);
		f->guests = xcalloc(n + 1, sizeof(*f->guests));
		f->insts = xcalloc(n + 1, sizeof(*f->insts));
		json_object_foreach (r->payload, name, report)
			add_running(f, name, report);
		add_coming(f, r->payload);
		add_unseen(f, r);
	}
	node_results_free(r, 1);
	return rc;
}

int64_t floor_free(const struct floor *f)
{
	int64_t mib = f->capacity - f->fixed;

	for (size_t i = 0; i < f->n; i++)
		mib -= f->guests[i].size;
	return mib;
}

/* --- changes --- */

WAITS int lu_balloon_set_size(struct lu *lu, const json_t *inst,
			      const char *node, int64_t mib, struct error *err)
{
	auto_json json_t *done =
		lu_call(lu, node,
			rpc_instance_balloon_memory(
				inst_rpc(lu, inst, NULL, NULL), mib),
			err);

	return done == NULL ? -1 : 0;
}

/* Guests that another job is about to resize get this size, too. */
static void retake(struct floor *f, const char *uuid, int64_t mib)
{
	if (floor_taken(f, uuid) > mib)
		config_rebook_runtime(f->lu->m->config, uuid, f->node, mib);
}

WAITS int floor_apply(struct floor *f, const int64_t *before, json_t *rows,
		      bool needed, struct error *err)
{
	struct lu *lu = f->lu;

	for (size_t i = 0; i < f->n; i++) {
		const json_t *inst = f->insts[i];
		int64_t size = f->guests[i].size;

		if (size == before[i])
			continue;
		if (!lu_plans(lu))
			retake(f, inst_uuid(inst), size);
		if (lu_balloon_set_size(lu, inst, f->node, size, err) < 0) {
			error_wrap(err,
				   "Could not change the memory of "
				   "instance %s on node %s",
				   inst_name(inst), lu_node_name(lu, f->node));
			if (needed)
				return -1;
			lu_warn(lu, "%s", err->text);
			continue;
		}
		lu_info(lu, "Memory of instance %s: %jd MiB, was %jd MiB",
			inst_name(inst), (intmax_t)size, (intmax_t)before[i]);
		json_array_append_new(rows,
				      json_make("[s, I, I]", inst_name(inst),
						(json_int_t)before[i],
						(json_int_t)size));
	}
	return 0;
}

int64_t *floor_sizes(const struct floor *f)
{
	int64_t *sizes = xcalloc(f->n + 1, sizeof(*sizes));

	for (size_t i = 0; i < f->n; i++)
		sizes[i] = f->guests[i].size;
	return sizes;
}

int lu_balloon_refuse(struct lu *lu, const struct balloon_want *w,
		      int64_t needed, int64_t mib, struct error *err)
{
	error_set(err, ERR_PREREQ, ECODE_NORES,
		  "Not enough free memory to fit instance %s on node %s (have "
		  "%jd MiB, need %jd MiB)",
		  inst_name(w->inst), lu_node_name(lu, w->node),
		  (intmax_t)(mib > 0 ? mib : 0), (intmax_t)needed);
	return w->keep ? error_wrap(err, "Memory ballooning not allowed") : -1;
}

bool lu_balloon_is_tight(struct lu *lu, const char *node)
{
	struct node_memory m;

	resources_memory(lu->m->config, node, NULL, &m);
	return m.recorded && resources_mem_free(&m) < 0;
}

WAITS int lu_balloon_take_turn(struct lu *lu, const char *node,
			       struct error *err)
{
	if (lu_plans(lu) || balloon_turns_take(lu->m->turns, node))
		return 0;
	return error_set(err, ERR_CANCELED, NULL, "Job was killed");
}

void lu_balloon_give_turn(struct lu *lu, const char *node)
{
	if (!lu_plans(lu))
		balloon_turns_give(lu->m->turns, node);
}
