/* SPDX-License-Identifier: BSD-2-Clause */
/* A device is a JSON object of QEMU's properties, with the driver or type as
 * its first member, since kvm_option() prints that one without its key.  Its
 * PCI slot or SCSI target is the one noted under its id, or else the first free
 * number. */
#include "noded/hv/kvm/hv_kvm_devices.h"

#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/kinds/template.h"
#include "lib/model/params/params.h"
#include "noded/hv/kvm/hv_kvm.h"

/* Slots of the first PCI bus; those below kvm_pci_reservations are QEMU's. */
#define PCI_SLOTS 32
#define PCI_RESERVED 12

void kvm_add(struct strv *argv, const char *option, const char *value)
{
	strv_add(argv, option);
	if (value != NULL)
		strv_add(argv, value);
}

char *kvm_quoted(const char *value)
{
	struct buf b = {0};

	for (; *value != '\0'; value++) {
		if (*value == ',')
			buf_addc(&b, ',');
		buf_addc(&b, *value);
	}
	return buf_steal(&b);
}

char *kvm_option(const json_t *properties)
{
	struct buf b = {0};
	const char *key;
	json_t *value;

	json_object_foreach (json_unconst(properties), key, value) {
		auto_free char *text = NULL;

		if (json_is_boolean(value))
			text = xstrdup(json_is_true(value) ? "on" : "off");
		else if (json_is_string(value))
			text = kvm_quoted(json_string_value(value));
		else
			text = json_text(value);
		if (b.len == 0)
			buf_adds(&b, text);
		else
			buf_addf(&b, ",%s=%s", key, text);
	}
	return buf_steal(&b);
}

/* The whole UUID would be too long for QEMU. */
char *kvm_device_id(const char *kind, const json_t *device, size_t i)
{
	auto_free char *head = xstrdup(json_str(device, "uuid", ""));

	for (int n = 0; n < 2; n++) {
		char *dash = strrchr(head, '-');

		if (dash == NULL)
			return xprintf("%s%zu", kind, i);
		*dash = '\0';
	}
	return xprintf("%s-%s", kind, head);
}

/* --- places --- */

static bool is_taken(const json_t *places, int64_t number)
{
	const char *id;
	json_t *value;

	json_object_foreach (json_unconst(places), id, value)
		if (json_integer_value(value) == number)
			return true;
	return false;
}

/* The slot that is noted for the device, or the first free one; -1 with err. */
static int64_t take_place(json_t *places, const char *id, int64_t first,
			  struct error *err)
{
	int64_t number = json_int(places, id, -1);

	if (number >= 0)
		return number;
	for (number = first; number < PCI_SLOTS; number++)
		if (!is_taken(places, number)) {
			json_set_int(places, id, number);
			return number;
		}
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "There is no free slot for device %s (see "
			 "kvm_pci_reservations)",
			 id);
}

static int take_pci(json_t *device, const json_t *hv, json_t *places,
		    struct error *err)
{
	int64_t slot = take_place(
		places, json_str(device, "id", ""),
		json_int(hv, "kvm_pci_reservations", PCI_RESERVED), err);
	auto_free char *address = xprintf("0x%jx", (uintmax_t)slot);

	if (slot < 0)
		return -1;
	json_set_str(device, "addr", address);
	return 0;
}

static int take_scsi(json_t *device, json_t *places, struct error *err)
{
	int64_t target = take_place(places, json_str(device, "id", ""), 0, err);

	if (target < 0)
		return -1;
	json_set_str(device, "bus", "scsi.0");
	json_set_int(device, "scsi-id", target);
	return 0;
}

/* --- disks --- */

enum bus { BUS_PCI, BUS_SCSI, BUS_IDE };

static const struct disk_type {
	const char *type, *driver;
	enum bus bus;
} disk_types[] = {
	{"paravirtual", "virtio-blk-pci", BUS_PCI},
	{"ide", "ide-hd", BUS_IDE},
	{"scsi", "scsi-hd", BUS_SCSI},
	{"scsi-hd", "scsi-hd", BUS_SCSI},
	{"scsi-block", "scsi-block", BUS_SCSI},
	{"scsi-generic", "scsi-generic", BUS_SCSI},
	{"scsi-cd", "scsi-cd", BUS_SCSI},
};

static const struct disk_type *type_named(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(disk_types); i++)
		if (strcmp(disk_types[i].type, type) == 0)
			return &disk_types[i];
	return NULL;
}

static const struct disk_type *disk_type(const json_t *hv)
{
	return type_named(json_str(hv, "disk_type", "paravirtual"));
}

/* The type of the disks by default; but paravirtual, which the guest finds
 * before its disks, only on demand. */
static const struct disk_type *cdrom_type(const json_t *hv)
{
	const char *type = json_str(hv, "cdrom_disk_type", "");
	const struct disk_type *disks = disk_type(hv);

	if (*type != '\0')
		return type_named(type);
	return disks != NULL && disks->bus == BUS_SCSI ? disks
						       : type_named("ide");
}

static bool has_cdrom(const json_t *hv)
{
	return *json_str(hv, "cdrom_image_path", "") != '\0' ||
	       *json_str(hv, "cdrom2_image_path", "") != '\0';
}

bool kvm_is_scsi(const json_t *hv)
{
	const struct disk_type *type = disk_type(hv);
	const struct disk_type *cdrom = has_cdrom(hv) ? cdrom_type(hv) : NULL;

	return (type != NULL && type->bus == BUS_SCSI) ||
	       (cdrom != NULL && cdrom->bus == BUS_SCSI);
}

static int check_type(const char *key, const char *value, struct error *err)
{
	if (type_named(value) != NULL)
		return 0;
	return error_set(err, ERR_HYPERVISOR, NULL,
			 "%s '%s' is not supported: QEMU's PCs have no such "
			 "disks",
			 key, value);
}

int kvm_check_disk_types(const json_t *hv, struct error *err)
{
	const char *cdrom = json_str(hv, "cdrom_disk_type", "");

	if (check_type("disk_type", json_str(hv, "disk_type", "paravirtual"),
		       err) < 0)
		return -1;
	return *cdrom == '\0' ? 0 : check_type("cdrom_disk_type", cdrom, err);
}

bool kvm_can_plug(const json_t *hv, const char *kind)
{
	const struct disk_type *type = disk_type(hv);

	if (strcmp(kind, "nic") == 0)
		return strcmp(json_str(hv, "nic_type", "paravirtual"),
			      "paravirtual") == 0;
	return type != NULL && type->bus != BUS_IDE;
}

json_t *kvm_disk_device(const json_t *hv, const char *id, json_t *places,
			struct error *err)
{
	const struct disk_type *type = disk_type(hv);
	auto_json json_t *device = NULL;
	int rc = 0;

	if (type == NULL) {
		error_set(err, ERR_HYPERVISOR, NULL,
			  "Disk type '%s' is not supported here",
			  json_str(hv, "disk_type", ""));
		return NULL;
	}
	device = json_make("{s:s, s:s, s:s}", "driver", type->driver, "drive",
			   id, "id", id);
	if (type->bus == BUS_PCI)
		rc = take_pci(device, hv, places, err);
	else if (type->bus == BUS_SCSI)
		rc = take_scsi(device, places, err);
	else
		json_set_int(places, id, KVM_NO_PLACE);
	return rc < 0 ? NULL : steal(&device);
}

json_t *kvm_cdrom_device(const json_t *hv, const char *id, int boot_place,
			 json_t *places, struct error *err)
{
	static const char *const drivers[] = {[BUS_PCI] = "virtio-blk-pci",
					      [BUS_SCSI] = "scsi-cd",
					      [BUS_IDE] = "ide-cd"};
	const struct disk_type *type = cdrom_type(hv);
	auto_json json_t *device =
		type == NULL
			? NULL
			: json_make("{s:s, s:s, s:s}", "driver",
				    drivers[type->bus], "drive", id, "id", id);
	int rc = 0;

	if (device == NULL) {
		check_type("cdrom_disk_type",
			   json_str(hv, "cdrom_disk_type", ""), err);
		return NULL;
	}
	if (type->bus == BUS_PCI)
		rc = take_pci(device, hv, places, err);
	else if (type->bus == BUS_SCSI)
		rc = take_scsi(device, places, err);
	if (boot_place > 0)
		json_set_int(device, "bootindex", boot_place);
	return rc < 0 ? NULL : steal(&device);
}

/* If both hosts of a migration cached a disk that both can see, data that one
 * of them has not written yet would be lost.  Nodes of a virtual cluster are
 * one host. */
static const char *disk_cache(const struct paths *p, const json_t *hv,
			      const json_t *disk)
{
	const char *type = json_str(disk, "dev_type", "");

	if (strcmp(json_str(hv, "disk_aio", "threads"), "native") == 0)
		return "none";
	if (*p->root == '\0' && template_is_everywhere(type) &&
	    !template_get(type)->cache_is_safe)
		return "none";
	return json_str(hv, "disk_cache", "default");
}

static const char *disk_aio(const json_t *hv)
{
	const char *aio = json_str(hv, "disk_aio", "");

	return *aio == '\0' ? "threads" : aio;
}

static bool is_read_only(const json_t *disk)
{
	return strcmp(json_str(disk, "mode", "rw"), "ro") == 0;
}

/* Given, never guessed from data that a guest has written. */
static const char *disk_format(const json_t *disk)
{
	return json_str(json_get(disk, "params"), "format", "raw");
}

char *kvm_drive(const struct paths *p, const json_t *hv,
		const struct hv_disk *disk, const char *id)
{
	const char *cache = disk_cache(p, hv, disk->disk);
	const char *discard = json_str(hv, "disk_discard", "default");
	auto_free char *file =
		kvm_quoted(disk->uri != NULL ? disk->uri : disk->path);
	struct buf drive = {0};

	buf_addf(&drive, "file=%s,format=%s,if=none,id=%s,aio=%s", file,
		 disk_format(disk->disk), id, disk_aio(hv));
	if (strcmp(cache, "default") != 0)
		buf_addf(&drive, ",cache=%s", cache);
	if (strcmp(discard, "default") != 0)
		buf_addf(&drive, ",discard=%s", discard);
	if (is_read_only(disk->disk))
		buf_adds(&drive, ",readonly=on");
	/* QEMU would open it again when somebody begins or ends to write to it,
	 * which it cannot do from there. */
	else if (kvm_is_confined(hv))
		buf_adds(&drive, ",auto-read-only=off");
	return buf_steal(&drive);
}

static bool is_device(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode);
}

/* "rbd:POOL/IMAGE" as QEMU's QMP has it; to be freed. */
static json_t *ceph_node(const char *uri)
{
	const char *pool = uri + strlen("rbd:");
	size_t len = strcspn(pool, "/");
	auto_free char *name = xstrndup(pool, len);

	return json_make("{s:s, s:s, s:s}", "driver", "rbd", "pool", name,
			 "image", pool[len] == '/' ? pool + len + 1 : "");
}

/* "gluster://HOST:PORT/VOLUME/PATH"; a HOST with ':' is in brackets. */
static json_t *gluster_node(const char *uri)
{
	const char *host = uri + strlen("gluster://");
	bool six = *host == '[';
	size_t len = strcspn(host + six, six ? "]" : ":");
	const char *port = host + six + len + six;
	const char *volume = port + strcspn(port, "/");
	size_t volume_len = *volume == '/' ? strcspn(volume + 1, "/") : 0;
	const char *path = volume + (*volume == '/') + volume_len;
	auto_free char *host_name = xstrndup(host + six, len);
	auto_free char *port_text =
		xstrndup(port + (*port == ':'),
			 (size_t)(volume - port) - (*port == ':'));
	auto_free char *volume_name =
		xstrndup(volume + (*volume == '/'), volume_len);

	return json_make("{s:s, s:s, s:s, s:[{s:s, s:s, s:s}]}", "driver",
			 "gluster", "volume", volume_name, "path",
			 path + (*path == '/'), "server", "type", "inet",
			 "host", host_name, "port", port_text);
}

/* What the data of a disk are in: a file, a device, or storage that QEMU
 * reaches itself. */
static json_t *protocol_node(const json_t *hv, const struct hv_disk *disk)
{
	if (disk->uri != NULL && str_starts(disk->uri, "rbd:"))
		return ceph_node(disk->uri);
	if (disk->uri != NULL && str_starts(disk->uri, "gluster://"))
		return gluster_node(disk->uri);
	return json_make("{s:s, s:s, s:s}", "driver",
			 is_device(disk->path) ? "host_device" : "file",
			 "filename", disk->path, "aio", disk_aio(hv));
}

json_t *kvm_blockdev(const struct paths *p, const json_t *hv,
		     const struct hv_disk *disk, const char *id)
{
	bool direct = strcmp(disk_cache(p, hv, disk->disk), "none") == 0;
	bool read_only = is_read_only(disk->disk);
	const char *discard = json_str(hv, "disk_discard", "default");
	json_t *below = protocol_node(hv, disk);
	json_t *node =
		json_make("{s:s, s:s, s:b, s:{s:b}, s:o}", "driver",
			  disk_format(disk->disk), "node-name", id, "read-only",
			  read_only, "cache", "direct", direct, "file", below);

	json_set_bool(below, "read-only", read_only);
	json_object_set_new(below, "cache",
			    json_make("{s:b}", "direct", direct));

	if (strcmp(discard, "default") != 0) {
		json_set_str(node, "discard", discard);
		json_set_str(json_object_get(node, "file"), "discard", discard);
	}
	return node;
}

/* --- NICs --- */

json_t *kvm_nic_device(const json_t *hv, const json_t *nic, const char *id,
		       size_t n_queues, json_t *places, struct error *err)
{
	const char *type = json_str(hv, "nic_type", "paravirtual");
	bool paravirtual = strcmp(type, "paravirtual") == 0;
	auto_json json_t *device =
		json_make("{s:s, s:s, s:s, s:s}", "driver",
			  paravirtual ? "virtio-net-pci" : type, "netdev", id,
			  "mac", json_str(nic, "mac", ""), "id", id);

	if (strcmp(type, "ne2k_isa") == 0) {
		json_set_int(places, id, KVM_NO_PLACE);
		return steal(&device);
	}
	if (take_pci(device, hv, places, err) < 0)
		return NULL;
	if (n_queues > 1) {
		json_set_str(device, "mq", "on");
		/* Two interrupts for each queue, one for the configuration, one
		 * for the control queue. */
		json_set_int(device, "vectors", (int64_t)(2 * n_queues + 2));
	}
	/* The option ROM only delays the start. */
	if (*json_str(hv, "kernel_path", "") != '\0')
		json_set_str(device, "romfile", "");
	return steal(&device);
}

json_t *kvm_netdev(const char *id, const char *fds, const char *vhost_fds)
{
	json_t *netdev;

	if (fds == NULL)
		return json_make("{s:s, s:s, s:b}", "type", "user", "id", id,
				 "restrict", 1);
	netdev = json_make("{s:s, s:s, s:s}", "type", "tap", "id", id, "fds",
			   fds);
	if (vhost_fds != NULL) {
		json_set_bool(netdev, "vhost", true);
		json_set_str(netdev, "vhostfds", vhost_fds);
	}
	return netdev;
}
