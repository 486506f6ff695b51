/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes an OS image to the first disk of an instance.
 *
 * One node call does it, however long that takes.  A task of its own waits for
 * the call, while the job asks from time to time how far it is. */
#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/opcode/os_image.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/rpc/noderpc.h"

/* The time limit of the call, longer than Ganeti's hour. */
#define TIMEOUT_MS (86400u * 1000)

/* The call; used by the task that waits for it, and by the job. */
struct dump {
	int owners;
	struct noderpc *rpc;
	json_t *node;
	struct rpc_request request;
	struct cond changed;
	bool ended;
	json_t *done;
	struct error err;
};

static void dump_leave(struct dump **at)
{
	struct dump *d = *at;

	if (--d->owners > 0)
		return;
	json_decref(d->node);
	json_decref(d->request.args);
	json_decref(d->done);
	free(d);
}
#define auto_dump __attribute__((cleanup(dump_leave)))

static WAITS void wait_for_call(void *arg)
{
	auto_dump struct dump *d = arg;

	struct rpc_request request = d->request;

	d->request.args = NULL;
	d->done = noderpc_call(d->rpc, d->node, rpc_within(request, TIMEOUT_MS),
			       &d->err);
	d->ended = true;
	cond_signal(&d->changed);
}

static struct dump *dump_start(struct lu *lu, const char *node,
			       struct rpc_request request)
{
	struct dump *d = xalloc(sizeof(*d));

	*d = (struct dump){
		.owners = 2,
		.rpc = lu->m->rpc,
		.node = json_ref(config_get(lu->m->config, CONFIG_NODE, node)),
		.request = request,
	};
	cond_init(&d->changed);
	task_spawn("image", wait_for_call, d);
	return d;
}

/* If the node does not answer this time, it is asked again later. */
static WAITS void look(struct lu *lu, const struct dump *d, const char *name,
		       struct progress *progress)
{
	struct error ignored;
	auto_json json_t *all = noderpc_call(
		lu->m->rpc, d->node,
		rpc_within(rpc_impexp_status(json_make("[s]", name)),
			   NODERPC_LOOK_MS),
		&ignored);
	double percent =
		json_num(json_array_get(all, 0), "progress_percent", 0);

	if (percent > 0)
		progress_tell(progress, lu, percent / 100);
}

/* Tell the node to stop: otherwise the transfer could go on and write to a disk
 * that belongs to another instance by then. */
static WAITS void take_back(struct lu *lu, const char *node, const char *name,
			    const struct error *err)
{
	auto_json json_t *done = NULL;
	struct error ignored;

	if (lu->run->killed)
		aftermath_call(lu->m, node, rpc_impexp_cleanup(name));
	else if (err->kind == ERR_RPC) /* if not, the node has ended it */
		done = lu_call(lu, node, rpc_impexp_cleanup(name), &ignored);
}

static WAITS int follow(struct lu *lu, struct dump *d, const char *name,
			struct error *err)
{
	struct progress progress;

	progress_begin(&progress, "imaging");
	while (!d->ended) {
		cond_wait_until(&d->changed,
				clock_mono_us() + PROGRESS_EVERY_US);
		if (lu_check_killed(lu, err) < 0)
			return -1;
		if (!d->ended)
			look(lu, d, name, &progress);
	}
	if (d->done == NULL)
		*err = d->err;
	return d->done == NULL ? -1 : 0;
}

static WAITS int dump(struct lu *lu, const char *node, const json_t *disk,
		      const char *image, struct error *err)
{
	auto_free char *name = os_image_transfer(disk_uuid(disk));
	auto_dump struct dump *d = dump_start(
		lu, node,
		rpc_blockdev_image(json_ref(disk), image, disk_size_mib(disk)));
	int rc = follow(lu, d, name, err);

	if (rc < 0)
		take_back(lu, node, name, err);
	return rc;
}

int disks_image(struct lu *lu, const json_t *inst, const char *image,
		struct error *err)
{
	auto_json json_t *kept = json_ref(inst);
	auto_json json_t *disks = inst_rpc_disks(lu, inst);
	const json_t *disk = json_array_get(disks, 0);
	const char *node = inst_primary_node(inst);
	int rc;

	if (disk == NULL)
		return error_set(err, ERR_EXEC, NULL,
				 "Instance '%s' has no disk for an image",
				 inst_name(inst));
	lu_info(lu, "Imaging disk '0' for instance '%s' on node '%s'",
		inst_name(inst), lu_node_name(lu, node));
	disks_pause_mirror(lu, node, disk, true);
	rc = dump(lu, node, disk, image, err);
	disks_pause_mirror(lu, node, disk, false);
	if (rc == 0)
		return 0;
	return error_wrap(err,
			  "Could not image disk '0' for instance '%s' on node "
			  "'%s'",
			  inst_name(inst), lu_node_name(lu, node));
}
