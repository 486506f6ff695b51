/* SPDX-License-Identifier: BSD-2-Clause */
/* The node starts each copy and ends it; in between it is asked how far they
 * are.  There is no time limit, as for each copy; a user kills the job, which
 * leaves the instance with its old disks. */
#include "masterd/lu/disks/live_copy.h"

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"

#define POLL_MS 1000
#define POLL_FIRST_MS 100
#define POLL_FAST_ROUNDS 10

#define PIVOT_TRIES 30
#define PIVOT_WAIT_MS 1000

WAITS int live_copy_can(struct lu *lu, const json_t *inst, bool *ret_can,
			struct error *err)
{
	const json_t *node =
		config_get(lu->m->config, CONFIG_NODE, inst_primary_node(inst));

	*ret_can = false;
	if (!str_eq(inst_hypervisor(inst), "kvm") || node_offline(node) ||
	    !str_eq(inst_admin_state(inst), "up"))
		return 0;
	return inst_is_running(lu, inst, NULL, ret_can, err);
}

static WAITS int call(struct lu *lu, const char *node,
		      struct rpc_request request, struct error *err)
{
	auto_json json_t *done = lu_call(lu, node, request, err);

	return done == NULL ? -1 : 0;
}

static WAITS int start_all(struct lu *lu, const struct live_copy *c,
			   struct error *err)
{
	for (size_t i = 0; i < json_array_size(c->disks); i++) {
		json_t *peer =
			c->peer == NULL ? json_object() : json_ref(c->peer);

		if (call(lu, c->node,
			 rpc_instance_mirror_start(
				 inst_rpc(lu, c->inst, NULL, NULL),
				 json_ref(json_array_get(c->disks, i)),
				 (int64_t)(c->first + i), peer, c->speed_mib),
			 err) < 0)
			return error_wrap(err,
					  "Cannot copy disk %zu of instance %s",
					  i, inst_name(c->inst));
	}
	return 0;
}

static WAITS json_t *state_of(struct lu *lu, const struct live_copy *c,
			      size_t i, struct error *err)
{
	return lu_call(lu, c->node,
		       rpc_instance_mirror_status(
			       inst_rpc(lu, c->inst, NULL, NULL),
			       json_ref(json_array_get(c->disks, i)),
			       (int64_t)(c->first + i)),
		       err);
}

static bool uses_it(const json_t *state)
{
	return str_eq(json_str(state, "uses", ""), "this");
}

struct state {
	bool ready;
	int64_t bytes, total;
};

/* Add how far one is. */
static WAITS int ask(struct lu *lu, const struct live_copy *c, size_t i,
		     struct state *s, struct error *err)
{
	auto_json json_t *state = state_of(lu, c, i, err);
	const char *status = json_str(state, "status", "");
	const char *why = json_str(state, "error", "");

	if (state == NULL)
		return error_wrap(err, "Could not follow the copy of disk %zu",
				  i);
	/* An earlier job has brought it there. */
	if (c->peer == NULL && uses_it(state) && str_eq(status, "none"))
		return 0;
	if (!str_eq(status, "ready") && !str_eq(status, "active"))
		return error_set(err, ERR_EXEC, NULL,
				 "The copy of disk %zu of instance %s ended: "
				 "%s",
				 i, inst_name(c->inst),
				 *why != '\0' ? why : status);
	s->ready &= str_eq(status, "ready");
	s->bytes += json_int(state, "done", 0);
	s->total += json_int(state, "total", 0);
	return 0;
}

static WAITS int follow(struct lu *lu, const struct live_copy *c,
			struct error *err)
{
	struct progress progress;

	progress_begin(&progress, "copy of the disks");
	for (unsigned round = 0;; round++) {
		struct state s = {.ready = true};

		for (size_t i = 0; i < json_array_size(c->disks); i++)
			if (ask(lu, c, i, &s, err) < 0)
				return -1;
		if (s.ready)
			return lu_check_killed(lu, err);
		if (s.total > 0 && s.bytes <= s.total)
			progress_tell(&progress, lu,
				      (double)s.bytes / (double)s.total);
		task_sleep(round < POLL_FAST_ROUNDS ? POLL_FIRST_MS : POLL_MS);
	}
}

WAITS int live_copy_run(struct lu *lu, const struct live_copy *c,
			struct error *err)
{
	lu_feedback(lu, "* copying %zu disk(s) while the instance runs",
		    json_array_size(c->disks));
	if (start_all(lu, c, err) == 0 && follow(lu, c, err) == 0) {
		lu_feedback(lu, "* the copies are complete");
		return 0;
	}
	live_copy_cancel(lu, c);
	return -1;
}

static struct rpc_request end(struct lu *lu, const struct live_copy *c,
			      size_t i, const char *how)
{
	return rpc_instance_mirror_end(inst_rpc(lu, c->inst, NULL, NULL),
				       json_ref(json_array_get(c->disks, i)),
				       (int64_t)(c->first + i), how);
}

WAITS int live_copy_end(struct lu *lu, const struct live_copy *c,
			const char *how, struct error *err)
{
	for (size_t i = 0; i < json_array_size(c->disks); i++)
		if (call(lu, c->node, end(lu, c, i, how), err) < 0)
			return -1;
	return 0;
}

/* *ret_going: all copies may still come to their end. */
static WAITS enum live_copy_use look(struct lu *lu, const struct live_copy *c,
				     bool *ret_going)
{
	size_t n = json_array_size(c->disks), n_new = 0, n_old = 0;
	struct error ignored;

	*ret_going = true;
	for (size_t i = 0; i < n; i++) {
		auto_json json_t *state = state_of(lu, c, i, &ignored);
		bool is_new = uses_it(state);

		n_new += is_new;
		n_old += state != NULL && !is_new;
		if (state != NULL && !is_new &&
		    !str_eq(json_str(state, "status", ""), "ready"))
			*ret_going = false;
	}
	if (n_new == n)
		return LIVE_COPY_NEW;
	return n_old == n ? LIVE_COPY_OLD : LIVE_COPY_BOTH;
}

WAITS int live_copy_pivot(struct lu *lu, const struct live_copy *c,
			  enum live_copy_use *ret_use, struct error *err)
{
	struct error again;
	bool going = true;

	if (live_copy_end(lu, c, "pivot", err) == 0) {
		*ret_use = LIVE_COPY_NEW;
		return 0;
	}
	*ret_use = LIVE_COPY_BOTH;
	for (int i = 0; i < PIVOT_TRIES && going && !lu->run->killed; i++) {
		task_sleep(PIVOT_WAIT_MS);
		*ret_use = look(lu, c, &going);
		if (*ret_use == LIVE_COPY_NEW ||
		    (going && live_copy_end(lu, c, "pivot", &again) == 0)) {
			*ret_use = LIVE_COPY_NEW;
			return 0;
		}
	}
	return -1;
}

static void cancel_later(struct lu *lu, const struct live_copy *c)
{
	struct aftermath *later = aftermath_create(lu->m);

	for (size_t i = 0; i < json_array_size(c->disks); i++)
		aftermath_add(later, c->node, end(lu, c, i, "cancel"));
	aftermath_begin(later);
}

WAITS void live_copy_cancel(struct lu *lu, const struct live_copy *c)
{
	struct error err;

	if (lu->run->killed) {
		cancel_later(lu, c);
		return;
	}
	for (size_t i = 0; i < json_array_size(c->disks); i++)
		if (call(lu, c->node, end(lu, c, i, "cancel"), &err) < 0)
			lu_warn(lu, "Could not end the copy of disk %zu: %s", i,
				err.text);
}
