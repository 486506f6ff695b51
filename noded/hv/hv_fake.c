/* SPDX-License-Identifier: BSD-2-Clause */
/* The fake hypervisor: a running instance is a file in the fake-hypervisor
 * folder with its id (always 0), memory and number of CPUs, a line each, as in
 * Ganeti; then a line for each of its devices, "nic UUID" or "disk UUID".
 * A test may add a line "deaf": such a guest does not end when it is asked to,
 * which is noted as "asked".
 * Everything else about instances works as with a real hypervisor, so test
 * clusters need no virtual machines.
 *
 * Its consoles are UNIX sockets in the run folder, fake-consoles/INSTANCE.KIND,
 * if somebody listens there.
 *
 * Migration moves the file: the target makes a new one when it is told that the
 * migration succeeded, and the source removes its own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/hv.h"

#define STATE_FILE_MAX 4096
#define DEAF "deaf"
#define ASKED "asked"

static char *state_file(const struct paths *p, const char *name)
{
	return xprintf("%s/%s", path(p, PATH_FAKE_HYPERVISOR_DIR), name);
}

/* ret_devices: the lines of its devices, may be NULL. */
static int read_state(const char *file, struct hv_info *ret,
		      struct strv *ret_devices, struct error *err)
{
	auto_free char *text = fs_read(file, STATE_FILE_MAX, NULL, err);
	auto_strv struct strv lines = {0};
	struct hv_info info = {0};

	if (text == NULL)
		return -1;
	str_split(&lines, text, '\n');
	if (lines.n < 3 || !str_to_int64(lines.items[1], &info.memory) ||
	    !str_to_int64(lines.items[2], &info.vcpus))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "%s is not a file of the fake hypervisor; "
				 "remove it",
				 file);
	*ret = info;
	for (size_t i = 3; ret_devices != NULL && i < lines.n; i++)
		if (*lines.items[i] != '\0')
			strv_add(ret_devices, lines.items[i]);
	return 0;
}

/* The new state is written beside the folder and renamed into it, so that a
 * listing of the folder finds only complete files.  In the run folder an fsync
 * is not needed. */
static int write_state(const struct paths *p, const char *name,
		       const struct hv_info *info, const struct strv *devices,
		       struct error *err)
{
	auto_free char *file = state_file(p, name);
	auto_free char *temporary =
		xprintf("%s.new", path(p, PATH_FAKE_HYPERVISOR_DIR));
	FILE *f;
	bool failed;

	if (fs_mkdirs(path(p, PATH_FAKE_HYPERVISOR_DIR), 0775, err) < 0)
		return -1;
	f = fopen(temporary, "we");
	if (f != NULL) {
		fprintf(f, "0\n%" PRId64 "\n%" PRId64 "\n", info->memory,
			info->vcpus);
		for (size_t i = 0; i < devices->n; i++)
			fprintf(f, "%s\n", devices->items[i]);
		failed = ferror(f);
		if (fclose(f) == 0 && !failed && rename(temporary, file) == 0)
			return 0;
	}
	return error_set(err, ERR_HYPERVISOR, NULL, "Cannot write %s: %s", file,
			 strerror(errno));
}

static int fake_info(const struct paths *p, const char *name,
		     const json_t *hvparams, struct hv_info *ret,
		     struct error *err)
{
	auto_free char *file = state_file(p, name);

	(void)hvparams;
	if (read_state(file, ret, NULL, err) == 0)
		return 1;
	return fs_exists(file) ? -1 : 0;
}

static int fake_list(const struct paths *p, const json_t *hvparams,
		     struct strv *ret_names, struct error *err)
{
	const char *folder = path(p, PATH_FAKE_HYPERVISOR_DIR);
	auto_strv struct strv names = {0};

	(void)hvparams;
	if (!fs_is_dir(folder))
		return 0;
	if (fs_list(folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (str_valid_hostname(names.items[i]))
			strv_add(ret_names, names.items[i]);
	return 0;
}

/* The sum of the instances' memory; a file that cannot be read does not count
 * (the instance may just have ended). */
static int64_t used_memory(const struct paths *p)
{
	auto_strv struct strv names = {0};
	struct hv_info info;
	struct error err;
	int64_t sum = 0;

	if (fake_list(p, NULL, &names, &err) < 0)
		return 0;
	for (size_t i = 0; i < names.n; i++)
		if (fake_info(p, names.items[i], NULL, &info, &err) == 1)
			sum += info.memory;
	return sum;
}

static json_t *fake_node_info(const struct paths *p, const json_t *hvparams,
			      struct error *err)
{
	json_t *info = hv_linux_node_info(err);
	int64_t free_memory;

	(void)hvparams;
	if (info == NULL)
		return NULL;
	/* The files take no memory, so count the memory that they represent. */
	free_memory = json_int(info, "memory_free", 0) - used_memory(p);
	json_set_int(info, "memory_free", free_memory > 0 ? free_memory : 0);
	return info;
}

static int fake_verify(const struct paths *p, const json_t *hvparams,
		       struct error *err)
{
	const char *folder = path(p, PATH_FAKE_HYPERVISOR_DIR);

	(void)hvparams;
	return fs_mkdirs(folder, 0775, err);
}

static int fake_validate(const struct paths *p, const json_t *hvparams,
			 struct error *err)
{
	const char *mode = json_str(hvparams, "migration_mode", "live");

	(void)p;
	if (strcmp(mode, "live") == 0 || strcmp(mode, "non-live") == 0)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Hypervisor parameter migration_mode of fake must be "
			 "live or non-live, not '%s'",
			 mode);
}

static char *device_line(const char *kind, const json_t *device)
{
	return xprintf("%s %s", kind, json_str(device, "uuid", "?"));
}

static void add_devices(struct strv *ret, const char *kind, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		auto_free char *line =
			device_line(kind, json_array_get(list, i));

		strv_add(ret, line);
	}
}

/* memory 0: as much as is free. */
static int mark_up(const struct paths *p, const json_t *instance,
		   int64_t memory, struct error *err)
{
	auto_json json_t *node = fake_node_info(p, NULL, err);
	const json_t *be = json_get(instance, "beparams");
	auto_strv struct strv devices = {0};
	struct hv_info info;

	if (node == NULL)
		return -1;
	add_devices(&devices, "nic", json_get(instance, "nics"));
	add_devices(&devices, "disk", json_get(instance, "disks_info"));
	info = (struct hv_info){
		.memory = memory > 0
				  ? memory
				  : hv_startup_memory(
					    instance,
					    json_int(node, "memory_free", 0)),
		.vcpus = json_int(be, "vcpus", 1),
	};
	return write_state(p, json_str(instance, "name", ""), &info, &devices,
			   err);
}

static int fake_start(const struct paths *p, const json_t *instance,
		      const struct hv_disk *disks, size_t n_disks, bool paused,
		      const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *file = state_file(p, name);

	(void)disks, (void)n_disks, (void)paused, (void)caller;
	if (fs_exists(file))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	return mark_up(p, instance, 0, err);
}

static int fake_stop(const struct paths *p, const json_t *instance, bool force,
		     bool retry, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_free char *file = state_file(p, name);
	auto_strv struct strv devices = {0};
	struct hv_info info;

	(void)retry;
	if (!force && read_state(file, &info, &devices, err) == 0 &&
	    strv_has(&devices, DEAF)) {
		if (!strv_has(&devices, ASKED))
			strv_add(&devices, ASKED);
		return write_state(p, name, &info, &devices, err);
	}
	if (unlink(file) == 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to stop instance %s: not running",
				 name);
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Failed to stop instance %s: %s: %s", name, file,
			 strerror(errno));
}

static int fake_reboot(const struct paths *p, const json_t *instance,
		       struct error *err)
{
	(void)p, (void)instance, (void)err;
	return 0; /* there is no guest to notice it */
}

/* The state of one that runs. */
static int need_state(const struct paths *p, const char *name, const char *what,
		      struct hv_info *ret, struct strv *ret_devices,
		      struct error *err)
{
	auto_free char *file = state_file(p, name);

	if (!fs_exists(file))
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to %s for %s: not running", what,
				 name);
	return read_state(file, ret, ret_devices, err);
}

static int fake_balloon(const struct paths *p, const json_t *instance,
			int64_t memory, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_strv struct strv devices = {0};
	struct hv_info info;

	if (need_state(p, name, "balloon memory", &info, &devices, err) < 0)
		return -1;
	info.memory = memory;
	return write_state(p, name, &info, &devices, err);
}

static int fake_hotplug_supported(const struct paths *p, const json_t *instance,
				  struct error *err)
{
	auto_free char *file = state_file(p, json_str(instance, "name", ""));

	return fs_exists(file) ? 0
			       : error_set(err, ERR_HYPERVISOR, NULL,
					   "Instance is probably down");
}

static int fake_hotplug(const struct paths *p, const json_t *instance,
			const struct hv_plug *plug, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *kind = plug->is_disk ? "disk" : "nic";
	auto_free char *line = device_line(kind, plug->device);
	auto_strv struct strv devices = {0}, after = {0};
	struct hv_info info;
	bool has;

	if (need_state(p, name, "plug a device", &info, &devices, err) < 0)
		return -1;
	has = strv_has(&devices, line);
	if (plug->action != PLUG_ADD && !has)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot find runtime info for %s with UUID %s",
				 kind, json_str(plug->device, "uuid", ""));
	for (size_t i = 0; i < devices.n; i++)
		if (plug->action != PLUG_REMOVE ||
		    strcmp(devices.items[i], line) != 0)
			strv_add(&after, devices.items[i]);
	if (!has)
		strv_add(&after, line);
	return write_state(p, name, &info, &after, err);
}

static json_t *fake_console(const struct paths *p, const json_t *instance,
			    const json_t *node, const json_t *hvparams,
			    struct error *err)
{
	(void)p, (void)instance, (void)node, (void)hvparams, (void)err;
	return json_make("{s:s, s:s}", "kind", "msg", "message",
			 "Console not available for fake hypervisor");
}

/* A test may listen there. */
static char *fake_console_socket(const struct paths *p, const json_t *instance,
				 const json_t *hvparams, const char *kind,
				 struct error *err)
{
	(void)hvparams, (void)err;
	return xprintf("%s/fake-consoles/%s.%s", path(p, PATH_RUN_DIR),
		       json_str(instance, "name", ""), kind);
}

static char *fake_migration_info(const struct paths *p, const json_t *instance,
				 struct error *err)
{
	struct hv_info info;

	if (fake_info(p, json_str(instance, "name", ""), NULL, &info, err) != 1)
		return xstrdup("");
	return xprintf("%" PRId64, info.memory);
}

static int fake_accept(const struct paths *p, const json_t *instance,
		       const struct hv_disk *disks, size_t n_disks,
		       const char *info, const char *target, struct error *err)
{
	(void)p, (void)instance, (void)disks, (void)n_disks;
	(void)info, (void)target, (void)err;
	return 0;
}

static int fake_migrate(const struct paths *p, const char *cluster_name,
			const json_t *instance, const char *target, bool live,
			const struct hv_caller *caller, struct error *err)
{
	(void)p, (void)cluster_name, (void)instance;
	(void)target, (void)live, (void)caller, (void)err;
	return 0;
}

static int fake_finalize_dst(const struct paths *p, const json_t *instance,
			     const char *info, bool success,
			     const struct hv_caller *caller, struct error *err)
{
	auto_free char *file = state_file(p, json_str(instance, "name", ""));
	int64_t memory = 0;

	(void)caller;
	/* Its size on the source; Ganeti's nodes do not tell. */
	if (!str_to_int64(info, &memory))
		memory = 0;
	if (success)
		return mark_up(p, instance, memory, err);
	return fs_remove(file, err); /* it never ran here */
}

static int fake_finalize_src(const struct paths *p, const json_t *instance,
			     bool success, bool live,
			     const struct hv_caller *caller, struct error *err)
{
	auto_free char *file = state_file(p, json_str(instance, "name", ""));

	(void)live, (void)caller;
	return success ? fs_remove(file, err) : 0;
}

static json_t *fake_migration_status(const struct paths *p,
				     const json_t *instance,
				     const struct hv_caller *caller,
				     struct error *err)
{
	(void)p, (void)instance, (void)caller, (void)err;
	return json_make("{s:s}", "status", "completed");
}

const struct hv_class hv_fake = {
	.name = "fake",
	.node_info = fake_node_info,
	.verify = fake_verify,
	.validate = fake_validate,
	.list = fake_list,
	.info = fake_info,
	.start = fake_start,
	.stop = fake_stop,
	.reboot = fake_reboot,
	.balloon = fake_balloon,
	.hotplug_supported = fake_hotplug_supported,
	.hotplug = fake_hotplug,
	.console = fake_console,
	.console_socket = fake_console_socket,
	.migration_info = fake_migration_info,
	.accept = fake_accept,
	.migrate = fake_migrate,
	.finalize_dst = fake_finalize_dst,
	.finalize_src = fake_finalize_src,
	.migration_status = fake_migration_status,
};
