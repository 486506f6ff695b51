/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of the connection between the two sides of mirrors.  A node that
 * connects waits for the other side, so both have to be asked at once: one
 * after the other, the first would wait for a call that is not yet made. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"

#define SETTLE_PAUSE_MS 2000

typedef struct rpc_request make_request(const json_t *disks);

static struct rpc_request leave(const json_t *disks)
{
	return rpc_drbd_disconnect_net(json_deep_copy(disks));
}

static struct rpc_request join(const json_t *disks)
{
	return rpc_drbd_attach_net(json_deep_copy(disks), false);
}

static struct rpc_request join_both(const json_t *disks)
{
	return rpc_drbd_attach_net(json_deep_copy(disks), true);
}

static struct rpc_request wait_sync(const json_t *disks)
{
	return rpc_drbd_wait_sync(json_deep_copy(disks));
}

/* The results of both, to be freed by node_results_free(). */
static WAITS struct node_result *ask_both(struct lu *lu, const json_t *disks,
					  const char *const nodes[2],
					  make_request *make)
{
	struct node_result *results = node_results_new(2);

	for (size_t i = 0; i < 2; i++) {
		results[i].node = json_ref(
			config_get(lu->m->config, CONFIG_NODE, nodes[i]));
		results[i].own = make(disks);
	}
	noderpc_call_each(lu->m->rpc, results, 2);
	return results;
}

/* -1 with the first error. */
static int check_both(const struct node_result *results, const char *what,
		      struct error *err)
{
	for (size_t i = 0; i < 2; i++) {
		if (results[i].payload != NULL)
			continue;
		*err = *results[i].err;
		return error_wrap(err, "Can't %s on node %s", what,
				  node_name(results[i].node));
	}
	return 0;
}

static WAITS int on_both(struct lu *lu, const json_t *disks,
			 const char *const nodes[2], make_request *make,
			 const char *what, struct error *err)
{
	struct node_result *results = ask_both(lu, disks, nodes, make);
	int rc = check_both(results, what, err);

	node_results_free(results, 2);
	return rc;
}

WAITS int disks_mirror_leave(struct lu *lu, const json_t *disks,
			     const char *const nodes[2], struct error *err)
{
	return on_both(lu, disks, nodes, leave, "disconnect the drbd disks",
		       err);
}

WAITS int disks_mirror_join(struct lu *lu, const json_t *disks,
			    const char *const nodes[2], bool two_primaries,
			    struct error *err)
{
	return on_both(lu, disks, nodes, two_primaries ? join_both : join,
		       "attach drbd disks", err);
}

/* After a split brain one side may only see that the other has gone. */
WAITS int disks_mirror_check(struct lu *lu, const json_t *disks,
			     const char *const nodes[2], struct error *err)
{
	struct node_result *results = ask_both(lu, disks, nodes, wait_sync);
	auto_strv struct strv said = {0};
	auto_free char *text = NULL;

	for (size_t i = 0; i < 2; i++)
		if (results[i].payload == NULL)
			strv_add(&said, results[i].err->text);
	node_results_free(results, 2);
	if (said.n == 0)
		return 0;
	text = strv_join(&said, "; ");
	return error_set(err, ERR_EXEC, ECODE_STATE, "%s", text);
}

/* There is no time limit, as for each sync; a user kills the job. */
WAITS int disks_mirror_settle(struct lu *lu, const json_t *disks,
			      const char *const nodes[2], struct error *err)
{
	double told = -1;

	lu_feedback(lu, "* wait until resync is done");
	for (;;) {
		struct node_result *results =
			ask_both(lu, disks, nodes, wait_sync);
		int rc = check_both(results, "wait for the sync of the disks",
				    err);
		double lowest = 100;
		bool done = true;

		for (size_t i = 0; i < 2 && rc == 0; i++) {
			const json_t *answer = results[i].payload;
			double percent =
				json_number_value(json_array_get(answer, 1));

			done &= json_is_true(json_array_get(answer, 0));
			lowest = percent < lowest ? percent : lowest;
		}
		node_results_free(results, 2);
		if (rc < 0 || done)
			return rc;
		if (lu_check_killed(lu, err) < 0)
			return -1;
		if (lowest < 100 && lowest >= told + 1) {
			lu_feedback(lu, "   - progress: %.1f%%", lowest);
			told = lowest;
		}
		task_sleep(SETTLE_PAUSE_MS);
	}
}
