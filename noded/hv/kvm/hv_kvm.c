/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: an instance is a QEMU process that outlives the daemon.  It is known by
 * its pid file, and by its command line, so that a reused pid is never taken
 * for it; everything else is asked over its monitor.  The class; its parts are
 * in hv_kvm_*.c. */
#include "noded/hv/kvm/hv_kvm.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/qmp.h"

#define MIB (1024 * 1024)

/* --- looking --- */

static json_t *kvm_node_info(const struct paths *p, const json_t *hvparams,
			     struct error *err)
{
	(void)p;
	(void)hvparams;
	return hv_linux_node_info(err);
}

static int kvm_verify(const struct paths *p, const json_t *hvparams,
		      struct error *err)
{
	const char *program =
		json_str(hvparams, "kvm_path", KVM_DEFAULT_PROGRAM);

	if (!fs_is_executable(program))
		return error_set(
			err, ERR_HYPERVISOR, NULL,
			"The KVM binary ('%s') does not exist (install "
			"qemu-system-x86, or set kvm_path)",
			program);
	return kvm_make_folders(p, err);
}

static WAITS int kvm_validate(const struct paths *p, const json_t *hvparams,
			      struct error *err)
{
	if (kvm_verify(p, hvparams, err) < 0 ||
	    kvm_check_params(hvparams, err) < 0 ||
	    kvm_check_new(hvparams, err) < 0 ||
	    kvm_check_machine(hvparams, err) < 0)
		return -1;
	return kvm_check_node(p, hvparams, err);
}

static int kvm_list(const struct paths *p, const json_t *hvparams,
		    struct strv *ret_names, struct error *err)
{
	auto_free char *folder =
		xprintf("%s/pid", path(p, PATH_KVM_HYPERVISOR_DIR));
	auto_strv struct strv names = {0};

	(void)hvparams;
	if (!fs_is_dir(folder))
		return 0;
	if (fs_list(folder, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		if (kvm_running_pid(p, names.items[i]) != 0)
			strv_add(ret_names, names.items[i]);
	kvm_list_shut_down(p, ret_names);
	return 0;
}

/* MiB.  Ganeti does not note what the balloon has taken. */
static WAITS int64_t memory_of(const struct paths *p, const char *name,
			       const json_t *notes)
{
	int64_t noted = json_int(notes, "memory", 0);
	auto_json json_t *balloon = NULL;
	struct error ignored;

	if (!kvm_is_ganetis(notes))
		return noted;
	balloon = kvm_monitor(p, name, "query-balloon", NULL, &ignored);
	return json_int(balloon, "actual", noted * MIB) / MIB;
}

static WAITS int kvm_info(const struct paths *p, const char *name,
			  const json_t *hvparams, struct hv_info *ret,
			  struct error *err)
{
	pid_t pid = kvm_running_pid(p, name);
	auto_json json_t *notes = NULL;

	(void)hvparams;
	(void)err;
	if (pid == 0) {
		*ret = (struct hv_info){.state = HV_SHUTDOWN};
		return kvm_user_has_shut_down(p, name) ? 1 : 0;
	}
	kvm_events_trim(p, name);
	notes = kvm_read_notes(p, name);
	*ret = (struct hv_info){
		.memory = memory_of(p, name, notes),
		.vcpus = json_int(notes, "vcpus", 0),
		.time = kvm_cpu_seconds(pid),
	};
	return 1;
}

/* --- starting and stopping --- */

/* QEMU has ended, and with it all use of the disks. */
static WAITS int class_cleanup(const struct paths *p, const char *name,
			       struct error *err)
{
	(void)err;
	kvm_cleanup(p, name);
	return 0;
}

static WAITS int kvm_stop(const struct paths *p, const json_t *instance,
			  bool force, bool retry, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	bool acpi = json_bool(json_get(instance, "hvparams"), "acpi", true);

	if (kvm_running_pid(p, name) == 0) {
		kvm_cleanup(p, name);
		return 0;
	}
	if (force || !acpi)
		return kvm_end_process(p, name, err);
	/* Ask again each time: a guest that is still booting does not notice
	 * the button. */
	(void)retry;
	return kvm_order(p, name, "system_powerdown", NULL, err);
}

/* With reboot_behavior "exit" it ends where its user reboots it, which would
 * hold for our order, too. */
static WAITS int kvm_reboot(const struct paths *p, const json_t *instance,
			    struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = kvm_read_notes(p, name);
	const char *behavior =
		json_str(json_get(notes, "hvparams"), "reboot_behavior",
			 json_str(json_get(instance, "hvparams"),
				  "reboot_behavior", ""));
	auto_json json_t *begin = json_make("{s:s}", "reboot", "reset");
	auto_json json_t *end = json_make("{s:s}", "reboot", "shutdown");
	const struct qmp_step steps[] = {{"set-action", begin, -1},
					 {"system_reset", NULL, -1},
					 {"set-action", end, -1}};

	if (str_eq(behavior, "exit"))
		return kvm_orders(p, name, steps, ARRAY_SIZE(steps), err);
	return kvm_order(p, name, "system_reset", NULL, err);
}

const struct hv_class hv_kvm = {
	.name = "kvm",
	.node_info = kvm_node_info,
	.verify = kvm_verify,
	.validate = kvm_validate,
	.list = kvm_list,
	.info = kvm_info,
	.start = kvm_start,
	.stop = kvm_stop,
	.cleanup = class_cleanup,
	.reboot = kvm_reboot,
	.balloon = kvm_balloon,
	.hotplug_supported = kvm_hotplug_supported,
	.hotplug = kvm_hotplug,
	.snapshot = kvm_snapshot,
	.resize = kvm_resize,
	.console = kvm_console,
	.console_socket = kvm_console_socket,
	.unpause = kvm_unpause,
	.migration_info = kvm_migration_info,
	.accept = kvm_accept,
	.migrate = kvm_migrate,
	.finalize_dst = kvm_finalize_dst,
	.finalize_src = kvm_finalize_src,
	.migration_status = kvm_migration_status,
	.mirror_start = kvm_mirror_start,
	.mirror_status = kvm_mirror_status,
	.mirror_end = kvm_mirror_end,
	.mirror_serve = kvm_mirror_serve,
	.mirror_open = kvm_mirror_open,
};
