/* SPDX-License-Identifier: BSD-2-Clause */
/* The slow part of a creation, under the instance's lock: disks, installation,
 * first start; and the undo. */
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/failover/recover.h"
#include "masterd/lu/create/instance_create_private.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_balloon.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/lu/spec/instance_adopt.h"
#include "masterd/lu/spec/instance_booking.h"

static const json_t *current(struct lu *lu)
{
	return config_get(lu->m->config, CONFIG_INSTANCE, create_of(lu)->uuid);
}

/* A killed job makes no node calls any more, so another job removes what it has
 * made. */
static WAITS void leave_to_other(struct lu *lu, const json_t *inst)
{
	struct error err;
	uint64_t id;

	if (recover_remove(lu->m->queue, inst, &id, &err) < 0)
		lu_warn(lu,
			"The instance is left half made, remove it with "
			"gnt-instance remove --force --ignore-failures: %s",
			err.text);
	else
		lu_warn(lu, "The job was killed; job %ju removes what it made",
			(uintmax_t)id);
}

/* The place that a bulk creation has booked for this job, which has failed
 * before it took it over. */
static WAITS void drop_booked(struct lu *lu)
{
	const json_t *inst = config_find_reserved(
		lu->m->config, create_of(lu)->name, lu->job_id);
	struct error ignored;

	if (inst == NULL)
		return;
	booking_drop(lu->m->config, inst);
	config_commit(lu->m->config, &ignored);
}

WAITS void create_undo(struct lu *lu)
{
	struct create *c = create_of(lu);
	const json_t *inst = c->recorded && !c->finished ? current(lu) : NULL;
	struct error ignored;

	if (!c->recorded)
		drop_booked(lu);
	if (inst == NULL)
		return;
	if (lu->run->killed && !spec_adopts(&c->spec)) {
		leave_to_other(lu, lu_keep(lu, inst));
		return;
	}
	lu_keep(lu, inst);
	if (c->adopts)
		adopt_undo(lu, &c->spec, inst);
	else if (c->has_disks)
		disks_remove(lu, inst);
	if (c->commits)
		booking_keep(lu->m->config, inst);
	else
		booking_drop(lu->m->config, inst);
	config_commit(lu->m->config, &ignored);
}

/* Remove the job's mark before adopting disks: after a crash the next master
 * removes instances with a mark, and with them data that existed before. */
static WAITS int adopt(struct lu *lu, const json_t *inst, struct error *err)
{
	json_t *edited = config_edit(current(lu));

	inst_drop_reserved_by_job(edited);
	config_put(lu->m->config, CONFIG_INSTANCE, edited);
	if (config_commit(lu->m->config, err) < 0)
		return -1;
	create_of(lu)->adopts = true;
	return adopt_disks(lu, &create_of(lu)->spec, inst, err);
}

static WAITS int make_disks(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);
	const json_t *inst = lu_keep(lu, current(lu));

	disks_say(lu, inst);
	if (spec_adopts(&c->spec)) {
		if (adopt(lu, inst, err) < 0)
			return -1;
	} else {
		lu_feedback(lu, "* creating instance disks...");
		if (disks_create(lu, inst, err) < 0)
			return -1;
	}
	c->has_disks = json_array_size(c->spec.disks) > 0;
	return 0;
}

/* The instance is no longer forthcoming; the job's mark stays until its system
 * is installed. */
static WAITS int put_real(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);
	json_t *inst = config_edit(current(lu));

	lu_feedback(lu, "adding instance %s to cluster config", c->spec.name);
	lu_feedback(lu, "adding disks to cluster config");
	inst_drop_forthcoming(inst);
	inst_set_disks_active(inst, c->has_disks);
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
	return config_commit(lu->m->config, err);
}

static WAITS int wait_sync(struct lu *lu, const json_t *inst, struct error *err)
{
	bool waits = create_op(lu)->wait_for_sync;
	bool mirrored = create_of(lu)->nodes.secondary != NULL;

	if (mirrored && disks_start(lu, inst, NULL, err) < 0)
		return -1;
	if (mirrored && !waits)
		lu_feedback(lu, "* checking mirrors status");
	/* Called twice, as in Ganeti: before and after the installation. */
	if (waits && disks_wait_sync(lu, inst, NULL, false, err) < 0)
		return -1;
	return waits || mirrored ? disks_wait_sync(lu, inst, NULL, !waits, err)
				 : 0;
}

static WAITS int put_image(struct lu *lu, const json_t *inst, struct error *err)
{
	const char *image = create_of(lu)->spec.os_image;

	if (image == NULL)
		return 0;
	lu_feedback(lu, "* imaging instance disks...");
	return disks_start(lu, inst, NULL, err) < 0
		       ? -1
		       : disks_image(lu, inst, image, err);
}

/* An image takes the place of the scripts; it is written even with no_install,
 * as in Ganeti. */
static WAITS int install(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	const json_t *inst = lu_keep(lu, current(lu));

	if (!c->has_disks)
		return 0;
	if ((!spec_adopts(&c->spec) && disks_wipe(lu, inst, err) < 0) ||
	    put_image(lu, inst, err) < 0 || wait_sync(lu, inst, err) < 0)
		return -1;
	if (spec_adopts(&c->spec))
		return 0;
	if (c->imports)
		return disks_start(lu, inst, NULL, err) < 0
			       ? -1
			       : import_disks(lu, &c->import, inst, err);
	if (c->receives)
		return disks_start(lu, inst, NULL, err) < 0
			       ? -1
			       : receive_disks(lu, op, &c->receive, inst, err);
	if (op->no_install == 1 || c->spec.os == NULL ||
	    c->spec.os_image != NULL)
		return 0;
	return install_run(lu, &c->install, &c->spec, inst, err);
}

/* The instance is complete: remove the mark, and record whether it is up. */
static WAITS int finish(struct lu *lu, bool up, struct error *err)
{
	json_t *inst = config_edit(current(lu));

	inst_drop_reserved_by_job(inst);
	inst_set_admin_state(inst, up ? "up" : "down");
	inst_set_disks_active(inst, up);
	config_put(lu->m->config, CONFIG_INSTANCE, inst);
	return config_commit(lu->m->config, err);
}

static WAITS int start(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);
	const json_t *inst = lu_keep(lu, current(lu));
	const struct balloon_start how = {.node = c->nodes.primary};

	lu_feedback(lu, "* starting instance...");
	if (disks_start(lu, inst, NULL, err) < 0)
		return -1;
	return lu_start_instance(lu, inst, &how, err) < 0
		       ? error_wrap(err, "Could not start instance")
		       : 0;
}

static WAITS int stop_disks(struct lu *lu, struct error *err)
{
	const json_t *inst = lu_keep(lu, current(lu));

	return create_of(lu)->has_disks ? disks_stop(lu, inst, NULL, true, err)
					: 0;
}

static WAITS int create_steps(struct lu *lu, bool starts, struct error *err)
{
	if (lu_check_killed(lu, err) < 0 || make_disks(lu, err) < 0 ||
	    lu_check_killed(lu, err) < 0 || put_real(lu, err) < 0 ||
	    install(lu, err) < 0 || lu_check_killed(lu, err) < 0)
		return -1;
	if (!starts && stop_disks(lu, err) < 0)
		return -1;
	return finish(lu, starts, err);
}

/* --forthcoming: only book the resources. */
static WAITS json_t *stay_forthcoming(struct lu *lu, struct error *err)
{
	struct create *c = create_of(lu);

	lu_feedback(lu, "Instance is forthcoming, not creating disks");
	lu_feedback(lu, "adding instance %s to cluster config", c->spec.name);
	lu_feedback(lu, "adding disks to cluster config");
	booking_keep(lu->m->config, current(lu));
	if (config_commit(lu->m->config, err) < 0)
		return NULL;
	lu_feedback(lu, "Instance is forthcoming; not creating the actual "
			"instance");
	c->finished = true;
	return create_node_names(lu);
}

json_t *create_exec(struct lu *lu, struct error *err)
{
	const struct op_instance_create *op = create_op(lu);
	struct create *c = create_of(lu);
	bool starts = op->start && op->no_install != 1;

	if (op->forthcoming)
		return stay_forthcoming(lu, err);
	if (create_steps(lu, starts, err) < 0)
		return NULL;
	/* From here on the instance exists.  A failed start leaves it for the
	 * admin to look at, as in Ganeti. */
	c->finished = true;
	if (starts && start(lu, err) < 0)
		return NULL;
	return create_node_names(lu);
}
