/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: plugging devices while the machine runs.  QEMU answers a removal at once
 * and completes it when the guest releases the device, so we poll until it is
 * gone. The devices after a change are noted, for the migration. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "noded/hv/kvm/hv_kvm.h"
#include "noded/hv/kvm/hv_kvm_devices.h"
#include "noded/hv/kvm/hv_kvm_net.h"
#include "noded/hv/kvm/qmp.h"

#define GONE_WAIT_MS 100
#define GONE_WAITS 100 /* ten seconds for the guest to let it go */

/* The data of one plug or unplug. */
struct plugging {
	const struct paths *p;
	const json_t *instance;
	const char *name;
	const char *kind; /* "disk", "nic" */
	const struct hv_plug *plug;
	json_t *notes, *hv, *places; /* of the running machine */
	char *id;
};

static WAITS int command(const struct plugging *g, const char *what,
			 json_t *arguments STEALS, struct error *err)
{
	return kvm_order(g->p, g->name, what, arguments, err);
}

/* 1 if QEMU has the device, 0, or -1. */
static WAITS int is_there(const struct plugging *g, struct error *err)
{
	auto_json json_t *list = kvm_monitor(
		g->p, g->name, "qom-list",
		json_make("{s:s}", "path", "/machine/peripheral"), err);

	if (list == NULL)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (str_eq(json_str(json_array_get(list, i), "name", ""),
			   g->id))
			return 1;
	return 0;
}

/* --- adding --- */

/* Pass these descriptors to QEMU; returns their names with ':' between, to be
 * freed. */
static WAITS char *give_fds(const struct plugging *g, const char *kind,
			    const int *fds, size_t n, struct error *err)
{
	auto_buf struct buf names = {0};

	for (size_t i = 0; i < n; i++) {
		auto_free char *name = xprintf("%s-%s%zu", g->id, kind, i);
		auto_json json_t *arguments =
			json_make("{s:s}", "fdname", name);
		const struct qmp_step step = {"getfd", arguments, fds[i]};

		if (kvm_orders(g->p, g->name, &step, 1, err) < 0)
			return NULL;
		buf_addf(&names, "%s%s", i == 0 ? "" : ":", name);
	}
	return buf_steal(&names);
}

static WAITS int add_tap(const struct plugging *g, const struct kvm_tap *tap,
			 struct error *err)
{
	const struct kvm_nic nic = {
		.instance = g->instance,
		.nic = g->plug->device,
		.seq = g->plug->seq,
		.tap = tap->name,
	};
	auto_free char *fds = NULL, *vhost_fds = NULL;

	if (kvm_net_up(g->p, &nic, err) < 0)
		return -1;
	fds = give_fds(g, "queue", tap->queues, tap->n_queues, err);
	if (fds == NULL)
		return -1;
	vhost_fds = give_fds(g, "vhost", tap->vhost, tap->n_vhost, err);
	if (vhost_fds == NULL)
		return -1;
	kvm_net_note(g->notes, g->id, tap->name);
	kvm_net_show(g->p, g->name, g->plug->seq, tap->name);
	return command(
		g, "netdev_add",
		kvm_netdev(g->id, fds, tap->n_vhost > 0 ? vhost_fds : NULL),
		err);
}

static WAITS int add_netdev(const struct plugging *g, struct error *err)
{
	struct kvm_tap tap = {0};
	int rc;

	if (*g->p->root != '\0')
		return command(g, "netdev_add", kvm_netdev(g->id, NULL, NULL),
			       err);
	if (kvm_tap_open(g->hv, &tap, err) < 0)
		return -1;
	rc = add_tap(g, &tap, err);
	kvm_tap_close(&tap);
	return rc;
}

int kvm_add_given(const struct paths *p, const char *name, const char *path,
		  json_t *node STEALS, struct error *err)
{
	auto_json json_t *made = node;
	auto_free char *mark = kvm_disk_mark(path);
	json_int_t set = (json_int_t)strtoul(mark, NULL, 16);
	auto_free char *file = xprintf("/dev/fdset/%jd", (intmax_t)set);
	auto_json json_t *given =
		json_make("{s:I, s:s}", "fdset-id", set, "opaque",
			  json_str(node, "node-name", ""));
	bool read_only = json_bool(node, "read-only", false);
	auto_close int fd =
		open(path, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	const struct qmp_step steps[] = {{"add-fd", given, fd},
					 {"blockdev-add", made, -1}};

	if (fd < 0)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot open %s: %s", path, strerror(errno));
	json_set_str(json_object_get(made, "file"), "filename", file);
	return kvm_orders(p, name, steps, 2, err);
}

static WAITS int add_backend(const struct plugging *g, struct error *err)
{
	const struct hv_disk disk = {.disk = g->plug->device,
				     .path = mem_unconst(g->plug->path),
				     .uri = mem_unconst(g->plug->uri)};
	json_t *node;

	if (!g->plug->is_disk)
		return add_netdev(g, err);
	if (g->plug->path == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Disk %zu of instance %s has no path to add",
				 g->plug->seq, g->name);
	node = kvm_blockdev(g->p, g->hv, &disk, g->id);
	if (json_bool(g->notes, "confined", false) && disk.uri == NULL)
		return kvm_add_given(g->p, g->name, disk.path, node, err);
	return command(g, "blockdev-add", node, err);
}

static WAITS int remove_backend(const struct plugging *g, struct error *err)
{
	return g->plug->is_disk
		       ? command(g, "blockdev-del",
				 json_make("{s:s}", "node-name", g->id), err)
		       : command(g, "netdev_del",
				 json_make("{s:s}", "id", g->id), err);
}

static json_t *new_device(const struct plugging *g, struct error *err)
{
	size_t n_queues = *g->p->root == '\0' ? kvm_queues(g->hv) : 1;
	json_t *device = g->plug->is_disk
				 ? kvm_disk_device(g->hv, g->id, g->places, err)
				 : kvm_nic_device(g->hv, g->plug->device, g->id,
						  n_queues, g->places, err);

	if (device != NULL && g->plug->is_disk &&
	    str_eq(json_str(g->hv, "disk_cache", ""), "writethrough"))
		json_set_str(device, "write-cache", "off");
	return device;
}

static WAITS int add(const struct plugging *g, struct error *err)
{
	auto_json json_t *device = NULL;
	struct error ignored;

	if (is_there(g, err) != 0)
		return is_there(g, err) < 0 ? -1 : 0; /* done before */
	device = new_device(g, err);
	if (device == NULL || add_backend(g, err) < 0)
		return -1;
	if (command(g, "device_add", steal(&device), err) == 0)
		return 0;
	remove_backend(g, &ignored);
	return -1;
}

/* --- removing --- */

static WAITS int wait_gone(const struct plugging *g, struct error *err)
{
	for (int i = 0; i < GONE_WAITS; i++) {
		int rc = is_there(g, err);

		if (rc <= 0)
			return rc;
		task_sleep(GONE_WAIT_MS);
	}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "Device %s should have been removed but is still "
			 "there; does the system inside listen to hotplug?",
			 g->id);
}

static WAITS void disconnect(const struct plugging *g)
{
	auto_json json_t *nics = json_make("[O]", g->plug->device);

	kvm_net_down(nics, g->notes);
	kvm_net_forget(g->notes, g->id);
	kvm_net_show(g->p, g->name, g->plug->seq, NULL);
}

static WAITS int take_out(const struct plugging *g, struct error *err)
{
	struct error ignored;

	if (json_get(g->places, g->id) == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Cannot find runtime info for %s with UUID %s",
				 g->kind,
				 json_str(g->plug->device, "uuid", ""));
	if (command(g, "device_del", json_make("{s:s}", "id", g->id), err) <
		    0 &&
	    is_there(g, &ignored) == 1)
		return -1;
	if (wait_gone(g, err) < 0 || hv_in_force(g->plug->caller, err) < 0)
		return -1;
	/* A drive from the command line is removed with its device; what a copy
	 * has put in its place is not. */
	if (g->plug->is_disk) {
		kvm_close_unused(g->p, g->name, g->id);
	} else {
		remove_backend(g, &ignored);
		disconnect(g);
	}
	return 0;
}

/* --- the notes --- */

static void note_nic(const struct plugging *g)
{
	json_t *nics = json_object_get(g->notes, "nics");
	const char *uuid = json_str(g->plug->device, "uuid", "");
	size_t end = json_array_size(nics), i = 0;

	while (i < end &&
	       !str_eq(json_str(json_array_get(nics, i), "uuid", ""), uuid))
		i++;
	if (i < end)
		json_array_remove(nics, i);
	else
		i = g->plug->seq < end ? g->plug->seq : end;
	if (g->plug->action != PLUG_REMOVE)
		json_array_insert(nics, i, json_unconst(g->plug->device));
}

static void note_disk(const struct plugging *g)
{
	json_t *disks = json_object_get(g->notes, "disks");
	auto_free char *mark = NULL;

	if (g->plug->action == PLUG_REMOVE || g->plug->path == NULL) {
		json_object_del(disks, g->id);
		return;
	}
	mark = kvm_disk_mark(g->plug->path);
	json_set_str(disks, g->id, mark);
}

static int take_note(const struct plugging *g, struct error *err)
{
	static const char *const ours[] = {"nics", "disks", "places", "taps",
					   "tap_indexes"};
	auto_json json_t *changed = json_object();

	if (g->plug->is_disk)
		note_disk(g);
	else
		note_nic(g);
	if (g->plug->action == PLUG_REMOVE)
		json_object_del(g->places, g->id);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		json_object_set(changed, ours[i],
				json_object_get(g->notes, ours[i]));
	return kvm_note(g->p, g->name, changed, err);
}

/* --- the class's functions --- */

int kvm_hotplug_supported(const struct paths *p, const json_t *instance,
			  struct error *err)
{
	auto_json json_t *version = kvm_monitor(
		p, json_str(instance, "name", ""), "query-version", NULL, err);

	if (version != NULL)
		return 0;
	return error_wrap(err, "Instance is probably down");
}

static WAITS int act(const struct plugging *g, struct error *err)
{
	if (!kvm_can_plug(g->hv, g->kind))
		return error_set(
			err, ERR_HYPERVISOR, NULL,
			"Hotplug is not supported for device type %s",
			json_str(g->hv,
				 g->plug->is_disk ? "disk_type" : "nic_type",
				 ""));
	if (g->plug->action == PLUG_ADD)
		return add(g, err);
	if (take_out(g, err) < 0)
		return -1;
	if (g->plug->action != PLUG_MODIFY)
		return 0;
	return hv_in_force(g->plug->caller, err) < 0 ? -1 : add(g, err);
}

int kvm_hotplug(const struct paths *p, const json_t *instance,
		const struct hv_plug *plug, struct error *err)
{
	const char *name = json_str(instance, "name", "");
	const char *kind = plug->is_disk ? "disk" : "nic";
	auto_json json_t *notes = kvm_read_notes(p, name);
	auto_json json_t *hv = json_overlay(json_get(instance, "hvparams"),
					    json_get(notes, "hvparams"));
	auto_free char *id = kvm_device_id(kind, plug->device, plug->seq);
	const struct plugging g = {
		.p = p,
		.instance = instance,
		.name = name,
		.kind = kind,
		.plug = plug,
		.notes = notes,
		.hv = hv,
		.places = json_object_get(notes, "places"),
		.id = id,
	};

	if (g.places == NULL || json_get(notes, "taps") == NULL)
		return error_set(err, ERR_HYPERVISOR, NULL,
				 "Instance %s was started without notes of its "
				 "devices; start it again to use hotplug",
				 name);
	if (plug->is_disk && plug->action == PLUG_MODIFY)
		return 0; /* a plugged disk cannot be changed */
	return act(&g, err) < 0 ? -1 : take_note(&g, err);
}
