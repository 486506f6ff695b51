/* SPDX-License-Identifier: BSD-2-Clause */
/* The order: record the temporary disk as the first one, create it, write the
 * image, start the instance, poll until it is down; then stop it, remove the
 * disk, and remove it from the configuration.  The record comes first so that
 * after a crash it shows what to clean up. */
#include "masterd/lu/disks/lu_helper.h"

#include <math.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/units.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/kinds/hypervisor.h"
#include "lib/model/kinds/template.h"
#include "lib/model/opcode/os_image.h"
#include "masterd/failover/recover.h"
#include "masterd/lu/disks/lu_disks.h"
#include "masterd/lu/parts/lu_instance.h"
#include "masterd/rpc/noderpc.h"

#define POLL_MS 2000
/* The largest image size that is believed of a server: a PiB. */
#define SIZE_MAX_MIB (INT64_C(1024) * 1024 * 1024)

/* Pauses between polls, in seconds; the last one is repeated. */
#define STARTUP_S 300
#define SHUTDOWN_S 7200
#define ZEROING_S 300
#define ZEROING_PER_MIB_S 0.05
#define LIMIT_MAX_S (30 * 86400)

/* The texts for each kind of work, and its image. */
static const struct use {
	const char *key, *option, *name, *what, *for_whom, *more_time,
		*slow_start;
} uses[] = {
	[HELPER_INSTALL] = {"install_image", "--install-image", "install",
			    "run OS scripts in a virtualized environment",
			    "This OS has only a create_untrusted script",
			    "--helper-shutdown-timeout",
			    "; give it more with --helper-startup-timeout"},
	[HELPER_ZERO] = {"zeroing_image", "--zeroing-image", "zeroing",
			 "zero the free space of disks",
			 "Free space is zeroed by a helper machine",
			 "--zeroing-timeout-fixed and "
			 "--zeroing-timeout-per-mib",
			 ""},
};

/* --- is it possible? --- */

/* Rows of os_diagnose: name, ..., at the eighth place whether it is trusted. */
#define OS_NAME 0
#define OS_TRUSTED 7

int helper_is_needed(struct lu *lu, const char *node_uuid, const char *os,
		     bool *ret, struct error *err)
{
	auto_json json_t *rows = lu_call(lu, node_uuid, rpc_os_diagnose(), err);
	auto_free char *name = xstrndup(os, strcspn(os, "+"));
	json_t *row;
	size_t i;

	if (rows == NULL)
		return -1;
	*ret = false;
	json_array_foreach (rows, i, row) {
		if (!str_eq(json_string_value(json_array_get(row, OS_NAME)),
			    name))
			continue;
		*ret = json_is_false(json_array_get(row, OS_TRUSTED));
		break; /* the first in the search path counts */
	}
	return 0;
}

static int64_t limit(int64_t given_s, int64_t or_else_s)
{
	int64_t s = given_s == OP_UNSET ? or_else_s : given_s;

	return s < LIMIT_MAX_S ? s : LIMIT_MAX_S;
}

int helper_set_limits(struct helper *h, int64_t startup_s, int64_t shutdown_s,
		      struct error *err)
{
	h->startup_s = limit(startup_s, STARTUP_S);
	h->work_s = limit(shutdown_s, SHUTDOWN_S);
	if (h->startup_s >= 0 && h->work_s >= 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The time limits of the helper machine "
			 "(helper_startup_timeout, helper_shutdown_timeout) "
			 "must not be negative");
}

int helper_set_zeroing_limits(struct helper *h, int64_t fixed_s,
			      double per_mib_s, int64_t mib, struct error *err)
{
	double more_s = (isnan(per_mib_s) ? ZEROING_PER_MIB_S : per_mib_s) *
			(double)mib;

	h->startup_s = STARTUP_S;
	h->work_s = limit(fixed_s, ZEROING_S);
	if (h->work_s < 0 || more_s < 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The time limits of zeroing "
				 "(zeroing_timeout_fixed, "
				 "zeroing_timeout_per_mib) must not be "
				 "negative");
	h->work_s = more_s < LIMIT_MAX_S ? limit(h->work_s + (int64_t)more_s, 0)
					 : LIMIT_MAX_S;
	return 0;
}

static WAITS int find_size(struct lu *lu, const char *node, struct helper *h,
			   struct error *err)
{
	auto_free char *shown = os_image_shown(h->image);
	auto_json json_t *answer =
		lu_call(lu, node, rpc_get_file_info(h->image), err);
	int64_t bytes = json_int(json_array_get(answer, 1), "size", 0);

	if (answer == NULL) {
		error_as(err, ERR_PREREQ, ECODE_ENVIRON);
		return error_wrap(err, "The %s image %s", uses[h->work].name,
				  shown);
	}
	h->size_mib = bytes / MIB + (bytes % MIB > 0);
	if (h->size_mib > SIZE_MAX_MIB)
		return error_set(err, ERR_PREREQ, ECODE_NORES,
				 "The %s image %s has %jd bytes, which is no "
				 "size of a disk",
				 uses[h->work].name, shown, (intmax_t)bytes);
	if (bytes > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			 "The %s image %s is not there on node %s, or is "
			 "empty",
			 uses[h->work].name, shown, lu_node_name(lu, node));
}

int helper_check(struct lu *lu, const char *node_uuid, const char *hypervisor,
		 enum helper_work work, struct helper *ret, struct error *err)
{
	const struct use *use = &uses[work];
	const char *image =
		json_str(config_cluster(lu->m->config), use->key, "");

	if (!hypervisor_get(hypervisor)->helper_machines)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot %s for hypervisor '%s'", use->what,
				 hypervisor);
	if (*image == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "%s, for which the cluster needs an image "
				 "(gnt-cluster modify %s)",
				 use->for_whom, use->option);
	if (os_image_check(image, err) < 0)
		return error_wrap(err, "gnt-cluster modify %s", use->option);
	ret->work = work;
	ret->image = lu_keep_str(lu, xstrdup(image));
	return find_size(lu, node_uuid, ret, err);
}

/* --- its disk --- */

static const json_t *now(struct lu *lu, const char *uuid)
{
	return lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE, uuid));
}

/* Where the other disks are; for mirrored disks, a single volume on the
 * primary. */
static json_t *temporary_disk(struct lu *lu, const json_t *inst,
			      const struct helper *h, struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	const json_t *first = json_array_get(disks, 0);
	const json_t *id = disk_logical_id(first);
	const char *type = disk_dev_type(first);
	const struct template_info *t = template_get(type);
	const char *place = json_string_value(json_array_get(id, 0));
	const char *path = json_string_value(json_array_get(id, 1));
	const char *slash = path == NULL ? NULL : strrchr(path, '/');
	auto_free char *folder =
		slash == NULL ? xstrdup("")
			      : xstrndup(path, (size_t)(slash - path));
	auto_json json_t *wanted = json_make(
		"{s:I, s:s}", "size", (json_int_t)h->size_mib, "mode", "rw");
	const struct new_disk new = {
		.template = template_of_data(t),
		.folder = folder,
		.driver = place,
		.instance = inst_uuid(inst),
		.hypervisor = inst_hypervisor(inst),
		.primary = inst_primary_node(inst),
	};
	json_t *disk;

	if (t->named == NAMED_AS_VOLUME)
		json_set_str(wanted, "vg", place);
	if (t->provider)
		json_set_str(wanted, "provider", place);
	disk = disks_new(lu, &new, wanted, json_array_size(disks), err);
	if (disk != NULL)
		disk_set_reserved_by_job(disk, (int64_t)lu->job_id);
	return disk;
}

/* Store the instance's list of disks, with the temporary one in front or
 * without it. */
static WAITS int record(struct lu *lu, const char *inst_uuid,
			const json_t *disk, bool there, struct error *err)
{
	const char *uuid = disk_uuid(disk);
	struct config *c = lu->m->config;
	json_t *inst = config_edit(config_get(c, CONFIG_INSTANCE, inst_uuid));
	json_t *list = json_array(), *one;
	size_t i;

	if (there)
		json_array_append_new(list, json_string(uuid));
	json_array_foreach (inst_disks(inst), i, one)
		if (!str_eq(json_string_value(one), uuid))
			json_array_append(list, one);
	inst_set_disks(inst, list);
	if (there)
		config_put(c, CONFIG_DISK, json_copy(json_unconst(disk)));
	config_put(c, CONFIG_INSTANCE, inst);
	if (!there)
		config_remove(c, CONFIG_DISK, uuid);
	return config_commit(c, err);
}

/* --- its life --- */

/* Boot from its own disk, whatever the instance boots from otherwise. */
static WAITS int start(struct lu *lu, const json_t *inst, unsigned limit_ms,
		       struct error *err)
{
	bool kvm = strcmp(inst_hypervisor(inst), "kvm") == 0;
	auto_json json_t *hv =
		kvm ? json_make("{s:s, s:s, s:s, s:s}", "boot_order", "disk",
				"kernel_path", "", "initrd_path", "",
				"cdrom_image_path", "")
		    : json_object();
	auto_json json_t *done = lu_call(
		lu, inst_primary_node(inst),
		rpc_within(rpc_instance_start(inst_rpc(lu, inst, hv, NULL),
					      false, lu_reason(lu)),
			   limit_ms),
		err);

	return done != NULL
		       ? 0
		       : error_wrap(err,
				    "Could not start the helper machine of "
				    "instance %s",
				    inst_name(inst));
}

/* The call's time limit is not shortened: an instance that came up after we
 * gave up would use disks that we take for free. */
static WAITS int come_up(struct lu *lu, const json_t *inst,
			 const struct helper *h, struct error *err)
{
	unsigned limit_ms = rpc_procedure_instance_start.timeout_ms;
	int64_t limit_us = h->startup_s * 1000000;
	int64_t begin_us = clock_mono_us();

	if (limit_ms < h->startup_s * 1000)
		limit_ms = (unsigned)(h->startup_s * 1000);
	if (start(lu, inst, limit_ms, err) < 0)
		return -1;
	if (clock_mono_us() - begin_us <= limit_us)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "The helper machine of instance %s has not come up "
			 "within %jd seconds%s",
			 inst_name(inst), (intmax_t)h->startup_s,
			 uses[h->work].slow_start);
}

/* Zeroing only saves space: an export continues without it. */
static int ran_out(struct lu *lu, const json_t *inst, const struct helper *h,
		   struct error *err)
{
	const char *more_time = uses[h->work].more_time;

	if (h->work != HELPER_ZERO)
		return error_set(err, ERR_EXEC, NULL,
				 "The helper machine of instance %s has not "
				 "shut itself down within %jd seconds; give it "
				 "more with %s",
				 inst_name(inst), (intmax_t)h->work_s,
				 more_time);
	lu_warn(lu,
		"The helper machine of instance %s has not zeroed its free "
		"space within %jd seconds and is ended; what it has written "
		"may fill the file systems of the instance; give it more with "
		"%s",
		inst_name(inst), (intmax_t)h->work_s, more_time);
	return 0;
}

/* A node that does not answer now may answer later; the machine continues to
 * work. */
static WAITS int wait_for_end(struct lu *lu, const json_t *inst,
			      const struct helper *h, struct error *err)
{
	int64_t end = clock_mono_us() + h->work_s * 1000000;

	while (!lu_plans(lu)) {
		bool running = true;

		if (lu_check_killed(lu, err) < 0 ||
		    (inst_is_running(lu, inst, NULL, &running, err) < 0 &&
		     err->kind != ERR_RPC))
			return -1;
		if (!running)
			return 0;
		if (clock_mono_us() >= end)
			return ran_out(lu, inst, h, err);
		task_sleep(POLL_MS);
	}
	return 0;
}

static WAITS int work(struct lu *lu, const json_t *inst, const json_t *disk,
		      const struct helper *h, struct error *err)
{
	if (disks_create_one(lu, inst, disk, 0, err) < 0 ||
	    disks_start(lu, inst, NULL, err) < 0 ||
	    disks_image(lu, inst, h->image, err) < 0)
		return -1;
	lu_feedback(lu, "* starting the helper machine...");
	if (come_up(lu, inst, h, err) < 0)
		return -1;
	lu_feedback(lu,
		    "* waiting up to %jd seconds for the helper machine to "
		    "shut itself down...",
		    (intmax_t)h->work_s);
	return wait_for_end(lu, inst, h, err);
}

/* Also if the machine has ended by itself: its node has to forget about it. */
static WAITS int stop(struct lu *lu, const json_t *inst, struct error *err)
{
	auto_json json_t *done =
		lu_call(lu, inst_primary_node(inst),
			rpc_instance_shutdown(inst_rpc(lu, inst, NULL, NULL), 0,
					      lu_reason(lu)),
			err);

	return done != NULL ? 0
			    : error_wrap(err, "Could not stop the helper "
					      "machine");
}

static WAITS int put_away(struct lu *lu, const char *inst_uuid,
			  const json_t *disk, struct error *err)
{
	const json_t *inst = now(lu, inst_uuid);

	if (stop(lu, inst, err) < 0 ||
	    disks_stop(lu, inst, NULL, true, err) < 0)
		return -1;
	disks_remove_one(lu, inst, disk, 0);
	if (lu_check_killed(lu, err) < 0)
		return -1;
	return record(lu, inst_uuid, disk, false, err);
}

/* why: NULL for a killed job, which makes no node calls any more. */
static WAITS void leave_to_other(struct lu *lu, const char *inst_uuid,
				 const json_t *disk, const struct error *why)
{
	const json_t *inst = now(lu, inst_uuid);
	const char *reason = why == NULL ? "the job was killed" : why->text;
	struct error err;
	uint64_t id;

	if (inst_has_reserved_by_job(inst))
		return; /* all of it is taken back */
	if (recover_helper(lu->m->queue, inst, disk_uuid(disk), &id, &err) < 0)
		lu_warn(lu,
			"The temporary disk 0 of instance %s is left (%s); "
			"shut the instance down and remove the disk with "
			"gnt-instance modify --disk 0:remove: %s",
			inst_name(inst), reason, err.text);
	else
		lu_warn(lu,
			"The temporary disk 0 of instance %s is left (%s); job "
			"%ju removes it",
			inst_name(inst), reason, (uintmax_t)id);
}

bool helper_is_left(struct lu *lu, const char *inst_uuid)
{
	auto_json json_t *disks = config_instance_disks(
		lu->m->config,
		config_get(lu->m->config, CONFIG_INSTANCE, inst_uuid));

	return disk_has_reserved_by_job(json_array_get(disks, 0));
}

int helper_run(struct lu *lu, const char *inst_uuid, const struct helper *h,
	       struct error *err)
{
	auto_json json_t *disk = NULL;
	const json_t *inst = now(lu, inst_uuid);
	struct error why;
	int rc;

	disk = temporary_disk(lu, inst, h, err);
	if (disk == NULL || disks_stop(lu, inst, NULL, true, err) < 0 ||
	    record(lu, inst_uuid, disk, true, err) < 0)
		return -1;
	rc = work(lu, now(lu, inst_uuid), disk, h, err);
	if (put_away(lu, inst_uuid, disk, &why) == 0)
		return rc;
	leave_to_other(lu, inst_uuid, disk, lu->run->killed ? NULL : &why);
	if (rc == 0)
		*err = why;
	return -1;
}
