/* SPDX-License-Identifier: BSD-2-Clause */
/* Xen: making a domain, and changing one that runs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/hv/xen/hv_xen.h"

/* A busy host's own domain takes its time. */
#define CREATE_MS 600000
#define REBOOT_WAIT_US INT64_C(600000000)
#define REBOOT_POLL_MS 1000
#define CONFIG_MAX (256 * 1024)

static WAITS int destroy(const char *name, struct error *err)
{
	const char *const words[] = {"destroy", name, NULL};

	return xen_xl(words, XEN_COMMAND_MS, NULL, err);
}

/* Destroy what is left of one that was shut down; nothing that runs. */
int xen_cleanup(const struct paths *p, const char *name, struct error *err)
{
	auto_free char *file = xen_config_file(p, name);
	struct hv_info info = {0};
	int rc;

	if (!hv_has_program(XEN_COMMAND)) {
		xen_forget(p, name);
		return 0;
	}
	rc = xen_look(name, &info, NULL, err);
	if (rc == 1 && info.state == HV_RUNNING)
		return 0;
	if (rc < 0 || (rc == 1 && destroy(name, err) < 0))
		return -1;
	xen_forget(p, name);
	return 0;
}

/* Where a file is kept from which no domain could be made; to be freed. */
static char *kept_name(const struct paths *p, const char *name)
{
	char when[32];
	time_t now = clock_wall_us() / 1000000;
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d_%H_%M_%S", &tm);
	return xprintf("%s/%s-%s", path(p, PATH_XEN_LOG_DIR), name, when);
}

static int keep_config(const struct paths *p, const char *name,
		       struct error *err)
{
	auto_free char *file = xen_config_file(p, name);
	auto_free char *kept = kept_name(p, name);
	struct error ignored;

	if (fs_mkdirs(path(p, PATH_XEN_LOG_DIR), 0750, &ignored) < 0 ||
	    rename(file, kept) < 0)
		return -1;
	xen_forget(p, name);
	snprintf(err->text + strlen(err->text),
		 sizeof(err->text) - strlen(err->text),
		 " (moved its configuration to %s)", kept);
	return -1;
}

static WAITS int create(const struct paths *p, const char *name, bool paused,
			struct error *err)
{
	auto_free char *file = xen_config_file(p, name);
	const char *const running[] = {"create", file, NULL};
	const char *const waiting[] = {"create", "-p", file, NULL};

	if (xen_create(p, name, paused ? waiting : running, CREATE_MS, err) ==
	    0)
		return 0;
	return keep_config(p, name, err);
}

static WAITS int free_memory(int64_t *ret, struct error *err)
{
	static const char *const words[] = {"info", NULL};
	auto_domains struct xen_domains domains = {0};
	auto_free char *out = NULL;
	auto_json json_t *info = NULL;

	if (xen_xl(words, XEN_COMMAND_MS, &out, err) < 0 ||
	    xen_list(&domains, err) < 0)
		return -1;
	info = xen_parse_info(out, &domains, err);
	if (info == NULL)
		return -1;
	*ret = json_int(info, "memory_free", 0);
	return 0;
}

int xen_start(const struct paths *p, const json_t *instance,
	      const struct hv_disk *disks, size_t n_disks, bool paused,
	      const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *text = NULL;
	struct hv_info info = {0};
	int64_t memory = 0;
	int rc = xen_look(name, &info, NULL, err);

	/* Its file must stay as it is. */
	if (rc == 1 && info.state == HV_RUNNING)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	if (rc < 0)
		return error_wrap(err, "Failed to start instance %s", name);
	/* Of one that its user has shut down. */
	if (xen_cleanup(p, name, err) == 0 && free_memory(&memory, err) == 0)
		text = xen_config(instance, hv_startup_memory(instance, memory),
				  disks, n_disks, err);
	if (text != NULL && xen_write_config(p, name, text, err) == 0 &&
	    xen_write_nics(p, instance, err) == 0 &&
	    hv_in_force(caller, err) == 0 && create(p, name, paused, err) == 0)
		return 0;
	return error_wrap(err, "Failed to start instance %s", name);
}

/* --- while it runs --- */

/* A rebooted domain has another number, or has used less of the CPU. */
static WAITS int wait_reboot(const json_t *instance, int64_t old_id,
			     double old_time, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	bool exits = strcmp(json_str(json_get(instance, "hvparams"),
				     "reboot_behavior", "reboot"),
			    "reboot") != 0;
	int64_t deadline = clock_mono_us() + REBOOT_WAIT_US;

	while (clock_mono_us() < deadline) {
		struct hv_info info = {0};
		int64_t id = 0;
		int rc = xen_look(name, &info, &id, err);

		if (rc < 0)
			return -1;
		/* With reboot_behavior=exit that is all it does. */
		if (rc == 0 && exits)
			return 0;
		if (rc == 1 && (id != old_id || info.time < old_time))
			return 0;
		task_sleep(REBOOT_POLL_MS);
	}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "instance did not reboot in the expected interval");
}

int xen_reboot(const struct paths *p, const json_t *instance, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *const reboot[] = {"reboot", name, NULL};
	const char *const button[] = {"reboot", "-F", name, NULL};
	struct hv_info info = {0};
	int64_t id = 0;
	int rc = xen_look(name, &info, &id, err);

	(void)p;
	if (rc == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to reboot instance %s, not running",
				 name);
	if (rc == 1 &&
	    xen_xl(xen_is_hvm(instance) ? button : reboot, XEN_COMMAND_MS, NULL,
		   err) == 0 &&
	    wait_reboot(instance, id, info.time, err) == 0)
		return 0;
	return error_wrap(err, "Failed to reboot instance %s", name);
}

/* Its file says so, too, as a migration carries it along. */
static int note_memory(const struct paths *p, const char *name, int64_t memory,
		       struct error *err)
{
	auto_free char *file = xen_config_file(p, name);
	auto_free char *text = fs_read(file, CONFIG_MAX, NULL, err);
	auto_free char *changed =
		text == NULL ? NULL : xen_with_memory(text, memory);

	return changed == NULL ? -1 : xen_write_config(p, name, changed, err);
}

int xen_balloon(const struct paths *p, const json_t *instance, int64_t memory,
		struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *mib = xprintf("%" PRId64, memory);
	const char *const words[] = {"mem-set", name, mib, NULL};

	if (xen_xl(words, XEN_COMMAND_MS, NULL, err) < 0 ||
	    note_memory(p, name, memory, err) < 0)
		return error_wrap(err, "Failed to balloon instance %s", name);
	return 0;
}
