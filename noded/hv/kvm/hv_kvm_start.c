/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: starting an instance: its process, and our notes about what it was
 * started with. */
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/event/proc.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/hv_kvm_net.h"
#include "noded/hv/scope.h"

#define START_TIMEOUT_MS 60000
#define COMPLAINT_MAX 65536
/* How QEMU's names of types of machines end. */
#define MACHINE_TYPE "-machine"

/* Parameters that begin so are of this node, of the way to another one, or of
 * those who look at the guest from outside; each host takes them as they are
 * set when it starts the process. */
static bool is_outside(const char *key)
{
	static const char *const outside[] = {
		"keymap",
		"kvm_path",
		"mem_path",
		"migration_",
		"security_",
		"spice_image_compression",
		"spice_ip_version",
		"spice_jpeg_wan_compression",
		"spice_password_file",
		"spice_playback_compression",
		"spice_streaming_video",
		"spice_tls_ciphers",
		"spice_use_tls",
		"spice_zlib_glz_wan_compression",
		"use_chroot",
		"user_shutdown",
		"vnc_password_file",
		"vnc_tls",
		"vnc_x509_",
	};

	for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
		if (str_starts(key, outside[i]))
			return true;
	return false;
}

json_t *kvm_guest_params(const json_t *hvparams)
{
	json_t *seen = json_object();
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(hvparams), key, value)
		if (!is_outside(key))
			json_object_set(seen, key, value);
	return seen;
}

/* The devices of the NICs. */
static void note_taps(const struct paths *p, const char *name, json_t *notes,
		      const json_t *nics, const struct kvm_taps *taps)
{
	json_object_set_new(notes, "taps", json_object());
	for (size_t i = 0; i < taps->n; i++) {
		auto_free char *id =
			kvm_device_id("nic", json_array_get(nics, i), i);

		kvm_net_note(notes, id, taps->items[i].name);
		kvm_net_show(p, name, i, taps->items[i].name);
	}
}

/* Which disks it has, {id: mark}. */
static json_t *disk_marks(const struct hv_disk *disks, size_t n)
{
	json_t *marks = json_object();

	for (size_t i = 0; i < n; i++) {
		auto_free char *id = kvm_device_id("disk", disks[i].disk, i);
		auto_free char *mark = kvm_disk_mark(disks[i].path);

		json_set_str(marks, id, mark);
	}
	return marks;
}

static int note_start(const struct paths *p, const json_t *instance,
		      const struct kvm_start *start, int64_t uid,
		      json_t *disks STEALS, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = json_make(
		"{s:I, s:I, s:I, s:o, s:O}", "size", (json_int_t)start->size,
		"memory", (json_int_t)start->memory, "vcpus",
		(json_int_t)json_int(json_get(instance, "beparams"), "vcpus",
				     1),
		"hvparams", kvm_guest_params(json_get(instance, "hvparams")),
		"places", start->places);
	json_t *nics = json_object_get(instance, "nics");

	json_set_str(json_object_get(notes, "hvparams"), "vga",
		     kvm_card(instance, json_get(instance, "hvparams")));
	json_object_set_new(notes, "disks", disks);
	json_set_int(notes, "uid", uid);
	json_set_bool(notes, "confined",
		      kvm_is_confined(json_get(instance, "hvparams")));
	if (start->command != NULL)
		json_object_set(notes, "command", json_unconst(start->command));
	note_taps(p, name, notes, nics, start->taps);
	json_object_set_new(notes, "nics",
			    nics == NULL ? json_array() : json_incref(nics));
	return kvm_write_notes(p, name, notes, err);
}

/* Why it did not start: QEMU writes to its log as soon as it has read of it,
 * and begins that anew. */
static char *complaint(const struct paths *p, const char *name,
		       const struct proc_result *result)
{
	auto_free char *file = kvm_log_file(p, name);
	struct error ignored;
	char *log = str_empty(result->err)
			    ? fs_read(file, COMPLAINT_MAX, NULL, &ignored)
			    : NULL;

	return log != NULL ? log : xstrdup(result->err);
}

/* Run QEMU until it has gone to the background. */
static WAITS int run_program(const struct paths *p, const char *name,
			     const struct strv *argv,
			     const struct kvm_taps *taps, struct error *err)
{
	auto_proc struct proc_result result = {0};
	auto_strv struct strv words = {0};
	size_t n_fds;
	auto_free int *fds = kvm_taps_fds(taps, &n_fds);
	struct proc_spec spec = {
		.fds = fds,
		.n_fds = n_fds,
		.timeout_ms = START_TIMEOUT_MS,
	};
	auto_free char *why = NULL;
	char how[PROC_HOW_MAX];

	scope_of_instance(p, name, (const char *const *)argv->items, &words);
	spec.argv = (const char *const *)words.items;
	if (proc_run(&spec, &result, err) < 0)
		return -1;
	if (result.status != 0) {
		why = complaint(p, name, &result);
		return error_set(err, ERR_HYPERVISOR, NULL, "%s %s: %s",
				 argv->items[0], proc_how(&result, how), why);
	}
	if (kvm_running_pid(p, name) == 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "its process ended at once");
	return 0;
}

static WAITS int give_orders(const struct paths *p, const char *name,
			     json_t *orders, struct error *err)
{
	for (size_t i = 0; i < json_array_size(orders); i++) {
		json_t *order = json_array_get(orders, i);

		if (kvm_order(p, name, json_str(order, "execute", ""),
			      json_incref(json_object_get(order, "arguments")),
			      err) < 0)
			return -1;
	}
	return 0;
}

static void add_order(json_t *orders, const char *command,
		      json_t *arguments STEALS)
{
	json_array_append_new(orders,
			      json_make("{s:s, s:o}", "execute", command,
					"arguments", arguments));
}

/* Source and target need the same settings before the first byte is sent. */
static void migration_orders(const json_t *hv, const struct kvm_start *start,
			     json_t *orders)
{
	json_t *capabilities = kvm_capabilities(hv);

	if (start->incoming == NULL) {
		json_decref(capabilities);
		return;
	}
	if (capabilities != NULL)
		add_order(orders, "migrate-set-capabilities", capabilities);
	add_order(orders, "migrate-incoming",
		  json_make("{s:s}", "uri", start->incoming));
}

/* Connect the NICs; for an instance that migrates here, routes stay on the
 * source until it has arrived. */
static WAITS int connect_nics(const struct paths *p, const json_t *instance,
			      const struct kvm_start *start, struct error *err)
{
	const json_t *nics = json_get(instance, "nics");

	for (size_t i = 0; i < start->taps->n; i++) {
		const struct kvm_nic nic = {
			.instance = instance,
			.nic = json_array_get(nics, i),
			.seq = i,
			.tap = start->taps->items[i].name,
		};

		if (start->incoming != NULL && kvm_net_is_late(nic.nic))
			continue;
		if (kvm_net_up(p, &nic, err) < 0)
			return -1;
	}
	return 0;
}

/* "pc" is another machine with each version of QEMU.  Which one it is here is
 * noted, as the target of a migration has to make the same.  Where QEMU does
 * not tell, the target takes its own. */
static WAITS void note_machine(const struct paths *p, const char *name)
{
	struct error err;
	auto_json json_t *type = kvm_monitor(
		p, name, "qom-get",
		json_make("{s:s, s:s}", "path", "/machine", "property", "type"),
		&err);
	auto_json json_t *notes = kvm_read_notes(p, name);
	json_t *hv = json_object_get(notes, "hvparams");
	const char *options = strchr(json_str(hv, "machine_version", ""), ',');
	auto_free char *type_name = NULL, *machine = NULL;

	if (!json_is_string(type) || notes == NULL ||
	    !str_ends(json_string_value(type), MACHINE_TYPE))
		return;
	type_name = xstrndup(json_string_value(type),
			     json_string_length(type) - strlen(MACHINE_TYPE));
	machine = xprintf("%s%s", type_name, options == NULL ? "" : options);
	json_set_str(hv, "machine_version", machine);
	if (kvm_write_notes(p, name, notes, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

static WAITS int run(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const struct kvm_start *start, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const json_t *hv = json_get(instance, "hvparams");
	auto_json json_t *orders = json_array();
	auto_strv struct strv argv = {0};
	auto_user struct kvm_user user = {.lock = -1};
	auto_close int events = -1;
	struct kvm_start as = *start;

	if (kvm_check_node(p, hv, err) < 0 ||
	    kvm_user_take(p, instance, &user, err) < 0)
		return -1;
	as.run_as = user.run_as;
	if (kvm_find_run_with(hv, &as, err) < 0 ||
	    kvm_args(p, instance, disks, n_disks, &as, &argv, err) < 0 ||
	    kvm_display_orders(instance, hv, orders, err) < 0)
		return -1;
	migration_orders(hv, start, orders);
	/* Written before it runs, so that everything can be undone. */
	if (note_start(p, instance, start, user.uid, disk_marks(disks, n_disks),
		       err) < 0 ||
	    kvm_make_chroot(p, instance, err) < 0 ||
	    kvm_events_open(p, instance, &events, err) < 0 ||
	    connect_nics(p, instance, start, err) < 0 ||
	    hv_in_force(start->caller, err) < 0 ||
	    run_program(p, name, &argv, start->taps, err) < 0 ||
	    kvm_pin(p, instance, err) < 0 ||
	    give_orders(p, name, orders, err) < 0)
		return -1;
	note_machine(p, name);
	return 0;
}

int kvm_launch(const struct paths *p, const json_t *instance,
	       const struct hv_disk *disks, size_t n_disks,
	       const struct kvm_start *start, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_taps struct kvm_taps taps = {0};
	struct kvm_start with_taps = *start;
	struct error ignored;

	with_taps.taps = &taps;
	if (kvm_make_folders(p, err) < 0)
		return -1;
	kvm_cleanup(p, name); /* of a process that died */
	if (kvm_taps_open(p, instance, &taps, err) == 0 &&
	    run(p, instance, disks, n_disks, &with_taps, err) == 0)
		return 0;
	kvm_end_process(p, name, &ignored); /* half ready is not started */
	return error_wrap(err, "Failed to start instance %s", name);
}

int kvm_balloon(const struct paths *p, const json_t *instance, int64_t memory,
		struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *notes = kvm_read_notes(p, name);
	auto_json json_t *changed = NULL;
	int64_t size = json_int(notes, "size", 0);

	if (memory > size)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s was started with %jd MiB of "
				 "memory, which is the most it can have until "
				 "it is stopped and started",
				 name, (intmax_t)size);
	if (kvm_order(p, name, "balloon",
		      json_make("{s:I}", "value",
				(json_int_t)memory * 1024 * 1024),
		      err) < 0)
		return -1;
	changed = json_make("{s:I}", "memory", (json_int_t)memory);
	return kvm_note(p, name, changed, err);
}

/* The machine always gets the memory that it may ever have, so that it can
 * grow; the balloon takes what is not free now. */
int kvm_start(const struct paths *p, const json_t *instance,
	      const struct hv_disk *disks, size_t n_disks, bool paused,
	      const struct hv_caller *caller, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	auto_json json_t *node = hv_linux_node_info(err);
	auto_json json_t *places = json_object();
	struct kvm_start start = {
		.paused = paused, .places = places, .caller = caller};

	if (node == NULL)
		return -1;
	if (kvm_running_pid(p, name) != 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Failed to start instance %s: already running",
				 name);
	start.size = hv_startup_memory(instance, INT64_MAX);
	start.memory =
		hv_startup_memory(instance, json_int(node, "memory_free", 0));
	if (kvm_launch(p, instance, disks, n_disks, &start, err) < 0)
		return -1;
	return start.memory < start.size
		       ? kvm_balloon(p, instance, start.memory, err)
		       : 0;
}
