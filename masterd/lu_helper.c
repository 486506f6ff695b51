/* SPDX-License-Identifier: BSD-2-Clause */
#include "masterd/lu_helper.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/model/os_image.h"
#include "masterd/lu_instance.h"
#include "masterd/recover.h"

#define POLL_MS 2000
#define MIB (INT64_C(1024) * 1024)

/* --- may it be? --- */

/* Rows of os_diagnose: name, ..., at the eighth place whether it is trusted. */
#define OS_NAME 0
#define OS_TRUSTED 7

int helper_is_needed(struct lu *lu, const char *node_uuid, const char *os,
		     bool *ret, struct error *err)
{
	auto_json json_t *rows =
		lu_call(lu, node_uuid, "os_diagnose", json_array(), err);
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

static WAITS int find_size(struct lu *lu, const char *node, struct helper *h,
			   struct error *err)
{
	auto_json json_t *answer = lu_call(lu, node, "get_file_info",
					   json_make("[s]", h->image), err);
	int64_t bytes = json_int(json_array_get(answer, 1), "size", 0);

	if (answer == NULL)
		return -1;
	h->size_mib = (bytes + MIB - 1) / MIB;
	if (bytes > 0)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_ENVIRON,
			 "The install image %s is not there on node %s, or is "
			 "empty",
			 h->image, lu_node_name(lu, node));
}

int helper_check(struct lu *lu, const char *node_uuid, const char *hypervisor,
		 struct helper *ret, struct error *err)
{
	const char *image =
		json_str(config_cluster(lu->m->config), "install_image", "");

	if (strcmp(hypervisor, "kvm") != 0 && strcmp(hypervisor, "fake") != 0)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "Cannot run OS scripts in a virtualized "
				 "environment for hypervisor '%s'",
				 hypervisor);
	if (*image == '\0')
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "This OS has only a create_untrusted script, "
				 "for which the cluster needs an install image "
				 "(gnt-cluster modify --install-image)");
	if (os_image_is_url(image))
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "The install image %s is a URL; only a file "
				 "on the nodes can be started",
				 image);
	ret->image = lu_keep_str(lu, xstrdup(image));
	return find_size(lu, node_uuid, ret, err);
}

/* --- its disk --- */

static const json_t *now(struct lu *lu, const char *uuid)
{
	return lu_keep(lu, config_get(lu->m->config, CONFIG_INSTANCE, uuid));
}

/* Beside the first of its disks; of mirrors only a volume on the primary. */
static json_t *temporary_disk(struct lu *lu, const json_t *inst,
			      const struct helper *h, struct error *err)
{
	auto_json json_t *disks = config_instance_disks(lu->m->config, inst);
	const json_t *first = json_array_get(disks, 0);
	const json_t *id = json_get(first, "logical_id");
	const char *type = json_str(first, "dev_type", "");
	bool mirrored = strcmp(type, "drbd") == 0;
	const char *place = json_string_value(json_array_get(id, 0));
	const char *path = json_string_value(json_array_get(id, 1));
	const char *slash = path == NULL ? NULL : strrchr(path, '/');
	auto_free char *folder =
		slash == NULL ? xstrdup("")
			      : xstrndup(path, (size_t)(slash - path));
	auto_json json_t *wanted = json_make(
		"{s:I, s:s}", "size", (json_int_t)h->size_mib, "mode", "rw");
	const struct new_disk new = {
		.template = mirrored ? "plain" : type,
		.folder = folder,
		.driver = place,
		.instance = json_str(inst, "uuid", ""),
		.primary = inst_primary(inst),
	};
	json_t *disk;

	if (!mirrored && strcmp(type, "plain") == 0)
		json_set_str(wanted, "vg", place);
	if (strcmp(type, "ext") == 0)
		json_set_str(wanted, "provider", place);
	disk = inst_new_disk(lu, &new, wanted, json_array_size(disks), err);
	if (disk != NULL)
		json_set_int(disk, "reserved_by_job", (int64_t)lu->job_id);
	return disk;
}

/* Put the list of the instance's disks, with this one in front or not. */
static WAITS int record(struct lu *lu, const char *inst_uuid,
			const json_t *disk, bool there, struct error *err)
{
	const char *uuid = json_str(disk, "uuid", "");
	struct config *c = lu->m->config;
	json_t *inst = config_edit(config_get(c, CONFIG_INSTANCE, inst_uuid));
	json_t *list = json_array(), *one;
	size_t i;

	if (there)
		json_array_append_new(list, json_string(uuid));
	json_array_foreach (json_get(inst, "disks"), i, one)
		if (!str_eq(json_string_value(one), uuid))
			json_array_append(list, one);
	json_object_set_new(inst, "disks", list);
	if (there)
		config_put(c, CONFIG_DISK, json_copy((json_t *)disk));
	config_put(c, CONFIG_INSTANCE, inst);
	if (!there)
		config_remove(c, CONFIG_DISK, uuid);
	return config_commit(c, err);
}

/* --- its life --- */

/* From its own disk, whatever the instance is started from otherwise. */
static WAITS int start(struct lu *lu, const json_t *inst, struct error *err)
{
	bool kvm = strcmp(json_str(inst, "hypervisor", ""), "kvm") == 0;
	auto_json json_t *hv =
		kvm ? json_make("{s:s, s:s, s:s, s:s}", "boot_order", "disk",
				"kernel_path", "", "initrd_path", "",
				"cdrom_image_path", "")
		    : json_object();
	auto_json json_t *done =
		lu_call(lu, inst_primary(inst), "instance_start",
			json_make("[o, b, o]", inst_rpc(lu, inst, hv, NULL), 0,
				  lu_reason(lu)),
			err);

	return done != NULL ? 0
			    : error_wrap(err, "Could not start the helper "
					      "machine");
}

/* A node that does not answer now may do so later: the machine works on. */
static WAITS int wait_for_end(struct lu *lu, const json_t *inst,
			      int64_t timeout_s, struct error *err)
{
	int64_t end = clock_mono_us() + timeout_s * 1000000;

	for (;;) {
		bool running = true;

		if (lu_check_killed(lu, err) < 0 ||
		    (inst_is_running(lu, inst, NULL, &running, err) < 0 &&
		     err->kind != ERR_RPC))
			return -1;
		if (!running)
			return 0;
		if (clock_mono_us() >= end)
			return error_set(err, ERR_EXEC, NULL,
					 "The helper machine has not shut "
					 "itself down within %jd seconds",
					 (intmax_t)timeout_s);
		task_sleep(POLL_MS);
	}
}

static WAITS int work(struct lu *lu, const json_t *inst, const json_t *disk,
		      const struct helper *h, struct error *err)
{
	if (inst_create_disk(lu, inst, disk, 0, err) < 0 ||
	    inst_start_disks(lu, inst, NULL, err) < 0 ||
	    inst_image_disk(lu, inst, h->image, err) < 0)
		return -1;
	lu_feedback(lu, "* starting the helper machine...");
	if (start(lu, inst, err) < 0)
		return -1;
	lu_feedback(lu,
		    "* waiting up to %jd seconds for the helper machine to "
		    "shut itself down...",
		    (intmax_t)h->timeout_s);
	return wait_for_end(lu, inst, h->timeout_s, err);
}

/* Also for one that has ended: its node forgets what it was told. */
static WAITS int stop(struct lu *lu, const json_t *inst, struct error *err)
{
	auto_json json_t *done =
		lu_call(lu, inst_primary(inst), "instance_shutdown",
			json_make("[o, i, o]", inst_rpc(lu, inst, NULL, NULL),
				  0, lu_reason(lu)),
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
	    inst_stop_disks(lu, inst, NULL, true, err) < 0)
		return -1;
	inst_remove_disk(lu, inst, disk, 0);
	return record(lu, inst_uuid, disk, false, err);
}

/* A killed job asks no node any more. */
static WAITS void leave_to_other(struct lu *lu, const char *inst_uuid,
				 const json_t *disk)
{
	const json_t *inst = now(lu, inst_uuid);
	struct error err;
	uint64_t id;

	if (json_get(inst, "reserved_by_job") != NULL)
		return; /* all of it is taken back */
	if (recover_helper(lu->m, inst_name(inst), json_str(disk, "uuid", ""),
			   &id, &err) < 0)
		lu_warn(lu, "The temporary disk 0 is left: %s", err.text);
	else
		lu_warn(lu,
			"The job was killed; job %ju removes the temporary "
			"disk",
			(uintmax_t)id);
}

int helper_run(struct lu *lu, const char *inst_uuid, const struct helper *h,
	       struct error *err)
{
	auto_json json_t *disk = NULL;
	const json_t *inst = now(lu, inst_uuid);
	struct error ignored;

	disk = temporary_disk(lu, inst, h, err);
	if (disk == NULL || inst_stop_disks(lu, inst, NULL, true, err) < 0 ||
	    record(lu, inst_uuid, disk, true, err) < 0)
		return -1;
	if (work(lu, now(lu, inst_uuid), disk, h, err) == 0)
		return put_away(lu, inst_uuid, disk, err);
	if (lu->run->killed)
		leave_to_other(lu, inst_uuid, disk);
	else if (put_away(lu, inst_uuid, disk, &ignored) < 0)
		lu_warn(lu, "The temporary disk 0 is left: %s", ignored.text);
	return -1;
}
