/* SPDX-License-Identifier: BSD-2-Clause */
/* A shutdown asks the instance, polls with growing pauses and asks again
 * every few seconds until its time is over; then the instance is ended by
 * force.  An instance that its user has shut down from inside does not count
 * as running. */
#include "noded/instance/instance.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/kinds/hypervisor.h"
#include "noded/hv/hv.h"
#include "noded/scripts/lent.h"
#include "noded/storage/bdev.h"

/* How often a shutdown looks and asks again. */
#define POLL_FIRST_MS 20
#define POLL_MAX_MS 1000
#define ASK_AGAIN_US 5000000
/* After the instance was ended by force. */
#define FORCE_WAIT_US 10000000

/* 1 if it runs, 0, -1. */
static WAITS int instance_is_running(const struct paths *p,
				     const json_t *instance, struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);
	struct hv_info info = {0};
	int rc;

	if (hv == NULL)
		return -1;
	rc = hv->info(p, json_str(instance, "name", ""),
		      json_get(instance, "hvparams"), &info, err);
	return rc == 1 && info.state == HV_SHUTDOWN ? 0 : rc;
}

WAITS int instance_need_running(const struct paths *p, const json_t *instance,
				struct error *err)
{
	int rc = instance_is_running(p, instance, err);

	if (rc == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s is not running",
				 json_str(instance, "name", ""));
	return rc < 0 ? -1 : 0;
}

void instance_disks_free(struct hv_disk *disks, size_t n)
{
	for (size_t i = 0; disks != NULL && i < n; i++)
		free(disks[i].path), free(disks[i].uri);
	free(disks);
}

static WAITS int find_disk(const struct paths *p, const json_t *disk,
			   char **ret_file, struct error *err)
{
	const struct bdev_class *class = bdev_of(disk, err);
	int rc = class == NULL ? -1 : class->find(p, disk, ret_file, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Block device '%s' is not set up",
			 json_str(disk, "iv_name", "?"));
}

static WAITS int look_up_disk(const struct paths *p, const char *instance,
			      size_t index, const json_t *disk, char **ret_link,
			      struct error *err)
{
	auto_free char *file = NULL;

	if (find_disk(p, disk, &file, err) < 0)
		return -1;
	if (bdev_link(p, instance, (int64_t)index, file, err) < 0)
		return error_wrap(err, "Cannot create block device symlink");
	*ret_link = bdev_link_path(p, instance, (int64_t)index);
	return 0;
}

struct hv_disk *instance_disks(const struct paths *p, const json_t *instance,
			       size_t *ret_n, struct error *err)
{
	const json_t *infos = json_get(instance, "disks_info"), *disk;
	const char *name = json_str(instance, "name", "");
	size_t n = json_array_size(infos), i;
	struct hv_disk *disks = xcalloc(n + 1, sizeof(*disks));

	json_array_foreach (infos, i, disk) {
		disks[i].disk = disk;
		disks[i].uri = bdev_uri(disk);
		if (look_up_disk(p, name, i, disk, &disks[i].path, err) < 0) {
			instance_disks_free(disks, n);
			return NULL;
		}
	}
	*ret_n = n;
	return disks;
}

/* Whether its configuration says where it is (osdef_instance_env()). */
static bool has_own_path(const json_t *disk)
{
	const char *file = json_string_value(
		json_array_get(json_get(disk, "logical_id"), 1));

	return file != NULL && *file == '/';
}

int instance_disk_env(const struct paths *p, const json_t *instance,
		      struct strv *env, struct error *err)
{
	const json_t *infos = json_get(instance, "disks_info"), *disk;
	size_t i;

	json_array_foreach (infos, i, disk) {
		auto_free char *file = NULL;

		if (has_own_path(disk))
			continue;
		if (find_disk(p, disk, &file, err) < 0)
			return -1;
		strv_addf(env, "DISK_%zu_PATH=%s", i, file);
	}
	return 0;
}

/* Others than QEMU would take an image itself for the guest's data. */
static int check_formats(const json_t *instance, struct error *err)
{
	const char *hypervisor = json_str(instance, "hypervisor", "");
	const json_t *disks = json_get(instance, "disks_info"), *disk;
	size_t i;

	json_array_foreach (disks, i, disk)
		if (lent_needed(disk) && !hypervisor_get(hypervisor)->formats)
			return error_set(err, ERR_HYPERVISOR, NULL,
					 "The hypervisor %s cannot open disk "
					 "%zu, which is an image of the format "
					 "%s",
					 hypervisor, i,
					 json_str(json_get(disk, "params"),
						  "format", "?"));
	return 0;
}

int instance_start(const struct paths *p, const json_t *instance, bool paused,
		   const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	int rc = instance_is_running(p, instance, err);
	struct hv_disk *disks;
	size_t n;

	if (rc < 0)
		return -1;
	if (rc == 1) {
		log_info("instance %s already running, not starting", name);
		return 0;
	}
	if (check_formats(instance, err) < 0)
		return -1;
	disks = instance_disks(p, instance, &n, err);
	if (disks == NULL)
		return -1;
	rc = hv_in_force(caller, err);
	if (rc == 0)
		rc = hv_of(instance, err)
			     ->start(p, instance, disks, n, paused, caller,
				     err);
	instance_disks_free(disks, n);
	return rc;
}

/* Wait until it is gone; 1 if so, 0 when the time is over, -1. */
static WAITS int wait_gone(const struct paths *p, const json_t *instance,
			   int64_t deadline_us, struct error *err)
{
	unsigned ms = POLL_FIRST_MS;

	for (;;) {
		int rc = instance_is_running(p, instance, err);

		if (rc <= 0)
			return rc < 0 ? -1 : 1;
		if (clock_mono_us() >= deadline_us)
			return 0;
		task_sleep(ms);
		ms = ms * 2 < POLL_MAX_MS ? ms * 2 : POLL_MAX_MS;
	}
}

/* Ask, and again from time to time, until the deadline.  As wait_gone(). */
static WAITS int ask_until(const struct paths *p, const json_t *instance,
			   int64_t deadline_us, const struct hv_caller *caller,
			   struct error *err)
{
	const struct hv_class *hv = hv_of(instance, err);
	bool retry = false;

	for (;;) {
		int64_t now = clock_mono_us();
		int64_t next = now + ASK_AGAIN_US;
		int rc = 0;

		if (hv_in_force(caller, err) < 0)
			return -1;
		/* It may have ended by itself just now. */
		if (hv->stop(p, instance, false, retry, err) < 0)
			return instance_is_running(p, instance, err) == 0 ? 1
									  : -1;
		retry = true;
		rc = wait_gone(p, instance,
			       next < deadline_us ? next : deadline_us, err);
		if (rc != 0 || clock_mono_us() >= deadline_us)
			return rc;
	}
}

static WAITS int force(const struct paths *p, const json_t *instance,
		       struct error *err)
{
	const char *name = json_str(instance, "name", "");
	int rc;

	log_warning("instance %s does not shut down, ending it by force", name);
	if (hv_of(instance, err)->stop(p, instance, true, true, err) < 0 &&
	    instance_is_running(p, instance, err) != 0)
		return -1;
	rc = wait_gone(p, instance, clock_mono_us() + FORCE_WAIT_US, err);
	if (rc == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Could not shutdown instance '%s' even by "
				 "destroy",
				 name);
	return rc < 0 ? -1 : 0;
}

/* Wait for the end of one that runs, in order or by force. */
static WAITS int end(const struct paths *p, const json_t *instance,
		     int64_t timeout_s, const struct hv_caller *caller,
		     struct error *err)
{
	int rc = 0;

	if (timeout_s > INSTANCE_SHUTDOWN_MAX_S)
		timeout_s = INSTANCE_SHUTDOWN_MAX_S;
	if (timeout_s > 0)
		rc = ask_until(p, instance,
			       clock_mono_us() + timeout_s * 1000000, caller,
			       err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return hv_in_force(caller, err) < 0 ? -1 : force(p, instance, err);
}

int instance_shutdown(const struct paths *p, const json_t *instance,
		      int64_t timeout_s, const struct hv_caller *caller,
		      struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const struct hv_class *hv = hv_of(instance, err);
	int rc = instance_is_running(p, instance, err);

	if (rc < 0)
		return -1;
	if (rc == 0)
		log_info("instance %s not running, doing nothing", name);
	else if (end(p, instance, timeout_s, caller, err) < 0)
		return error_wrap(err, "Failed to stop instance %s", name);
	if (hv->cleanup == NULL)
		return 0;
	if (hv_in_force(caller, err) < 0)
		return -1;
	if (hv->cleanup(p, name, err) < 0)
		return error_wrap(err,
				  "Instance %s has ended, but its disks are "
				  "still in use",
				  name);
	return 0;
}

WAITS int instance_list_all(const struct paths *p, const json_t *hypervisors,
			    const json_t *hvparams, struct strv *ret_names,
			    struct error *err)
{
	bool known = json_array_size(hypervisors) == 0;
	const json_t *name;
	size_t i;

	json_array_foreach (hypervisors, i, name) {
		const char *hypervisor = json_string_value(name);
		const struct hv_class *hv;

		hv = hv_find(hypervisor != NULL ? hypervisor : "", err);
		if (hv == NULL)
			continue;
		known = true;
		if (hv->list(p, json_get(hvparams, hv->name), ret_names, err) <
		    0)
			return -1;
	}
	return known ? 0 : -1;
}
