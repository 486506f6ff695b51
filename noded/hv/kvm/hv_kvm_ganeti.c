/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: instances that Ganeti's node daemon has started.  It notes a list,
 * [command line, NICs, hvparams, [[disk, link, URI]...]], of which ours are
 * made when they are read.  The machine is not the one that we would make: it
 * has QEMU's default devices.  So the command line is kept, and where the
 * instance migrates the same is run, with its disks and NICs in their places.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/hv_kvm_net.h"

#define DEVICE_NAME_MAX 64

/* --- the command line --- */

/* What stands behind this option; to be freed, NULL: it is not there. */
static char *value_of(const json_t *words, const char *option)
{
	for (size_t i = 0; i + 1 < json_array_size(words); i++) {
		const json_t *word = json_array_get(words, i);
		const json_t *next = json_array_get(words, i + 1);

		if (json_is_string(word) &&
		    str_eq(json_string_value(word), option))
			return json_is_string(next)
				       ? xstrdup(json_string_value(next))
				       : json_text(next);
	}
	return NULL;
}

static int64_t number_of(const json_t *words, const char *option)
{
	auto_free char *value = value_of(words, option);

	return value == NULL ? 0 : strtoll(value, NULL, 10);
}

/* Whether it says how a disk is found: by its id, on a bus where it has a
 * number. */
static bool is_placed(const char *kind, const json_t *device)
{
	auto_free char *id = kvm_device_id(kind, device, 0);

	return str_eq(json_str(json_get(device, "hvinfo"), "id", ""), id);
}

/* Old versions of Ganeti gave other ids, and IDE disks have none. */
static bool all_are_placed(const json_t *list)
{
	const json_t *nics = json_array_get(list, 1);
	const json_t *disks = json_array_get(list, 3);
	const char *type = json_str(json_array_get(list, 2), "disk_type", "");

	for (size_t i = 0; i < json_array_size(nics); i++)
		if (!is_placed("nic", json_array_get(nics, i)))
			return false;
	for (size_t i = 0; i < json_array_size(disks); i++)
		if (str_eq(type, "ide") ||
		    !is_placed("disk",
			       json_array_get(json_array_get(disks, i), 0)))
			return false;
	return true;
}

/* The words that make the machine, [] where that is not known.  Who it runs as,
 * in which folder, and whether it waits is said by who starts it. */
static json_t *machine_of(const json_t *list)
{
	const json_t *words = json_array_get(list, 0);
	const json_t *hv = json_array_get(list, 2);
	json_t *ret = json_array();

	if (!all_are_placed(list))
		return ret;
	for (size_t i = 1; i < json_array_size(words); i++) {
		json_t *word = json_array_get(words, i);
		const char *text = json_string_value(word);

		if (str_eq(text, "-chroot"))
			i++;
		else if (text == NULL)
			json_array_append_new(
				ret, json_sprintf("%jd",
						  (intmax_t)json_integer_value(
							  word)));
		else if (!str_eq(text, "-S"))
			json_array_append(ret, word);
	}
	if (*json_str(hv, "kernel_path", "") == '\0' &&
	    str_eq(json_str(hv, "boot_order", ""), "disk")) {
		json_array_append_new(ret, json_string("-boot"));
		json_array_append_new(ret, json_string("c"));
	}
	return ret;
}

/* --- our notes --- */

/* As they make this machine: what to boot is said by the command line, which
 * also has it that there is a password; and there are queues with vhost_net
 * alone. */
static json_t *params_of(const json_t *hv)
{
	static const char *const passwords[] = {"vnc_password_file",
						"spice_password_file"};
	json_t *seen = kvm_guest_params(hv);

	json_set_str(seen, "kernel_path", "");
	json_set_str(seen, "boot_order", "");
	for (size_t i = 0; i < 2; i++)
		json_set_str(seen, passwords[i],
			     json_str(hv, passwords[i], ""));
	if (!json_bool(hv, "vhost_net", false))
		json_set_int(seen, "virtio_net_queues", 1);
	return seen;
}

static void note_place(json_t *places, const char *kind, const json_t *device)
{
	const json_t *info = json_get(device, "hvinfo");
	const char *slot = json_str(info, "addr", NULL);
	auto_free char *id = kvm_device_id(kind, device, 0);

	if (is_placed(kind, device))
		json_set_int(places, id,
			     slot != NULL
				     ? strtoll(slot, NULL, 16)
				     : json_int(info, "scsi-id", KVM_NO_PLACE));
}

static void note_disks(json_t *notes, const json_t *disks)
{
	json_t *marks = json_object();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *entry = json_array_get(disks, i);
		const json_t *disk = json_array_get(entry, 0);
		const char *link = json_string_value(json_array_get(entry, 1));
		auto_free char *id = kvm_device_id("disk", disk, i);
		auto_free char *mark =
			link == NULL ? NULL : kvm_disk_mark(link);

		note_place(json_object_get(notes, "places"), "disk", disk);
		if (mark != NULL)
			json_set_str(marks, id, mark);
	}
	json_object_set_new(notes, "disks", marks);
}

/* The names of their devices are in files.  Of an instance that does not run
 * they may be another one's by now. */
static void note_nics(const struct paths *p, const char *name, json_t *notes,
		      const json_t *nics)
{
	bool runs = kvm_running_pid(p, name) != 0;

	json_object_set_new(notes, "taps", json_object());
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		auto_free char *suffix = xprintf("/%zu", i);
		auto_free char *file = kvm_file(p, "nic", name, suffix);
		auto_free char *id = kvm_device_id("nic", nic, i);
		struct error ignored;
		auto_free char *tap =
			fs_read(file, DEVICE_NAME_MAX, NULL, &ignored);

		note_place(json_object_get(notes, "places"), "nic", nic);
		if (tap == NULL || !runs)
			continue;
		tap[strcspn(tap, "\n")] = '\0';
		kvm_net_note(notes, id, tap);
	}
}

json_t *kvm_ganeti_notes(const struct paths *p, const char *name,
			 const json_t *list)
{
	const json_t *words = json_array_get(list, 0);
	const json_t *hv = json_array_get(list, 2);
	json_int_t size = number_of(words, "-m");
	json_t *nics = json_array_get(list, 1);
	json_t *notes = json_make(
		"{s:I, s:I, s:I, s:o, s:{}, s:b, s:o}", "size", size, "memory",
		size, "vcpus", (json_int_t)number_of(words, "-smp"), "hvparams",
		params_of(hv), "places", "confined", kvm_is_confined(hv),
		"command", machine_of(list));

	note_disks(notes, json_array_get(list, 3));
	note_nics(p, name, notes, nics);
	json_object_set(notes, "nics", nics);
	return notes;
}

bool kvm_is_ganetis(const json_t *notes)
{
	return json_get(notes, "command") != NULL;
}

int kvm_ganeti_check_move(const char *name, const json_t *notes,
			  struct error *err)
{
	if (!kvm_is_ganetis(notes) ||
	    json_array_size(json_get(notes, "command")) > 0)
		return 0;
	return error_set(
		err, ERR_HYPERVISOR, NULL,
		"Instance %s was started by Ganeti, with devices whose "
		"places are not known; stop and start it, then it can "
		"migrate",
		name);
}
