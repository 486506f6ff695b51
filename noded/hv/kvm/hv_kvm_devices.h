/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: disks and NICs as QEMU knows them, the same whether they are there from
 * the start (-drive, -netdev, -device) or come later (blockdev-add, netdev_add,
 * device_add).
 *
 * A device's id is made from its UUID, as Ganeti's.  Its place on the bus is
 * written down in `places`, {id: number}, so that it has the same one after a
 * migration, whatever came and went before. */
#ifndef NODED_HV_KVM_HV_KVM_DEVICES_H
#define NODED_HV_KVM_HV_KVM_DEVICES_H

#include "noded/hv/hv.h"

/* The slot number for a device whose slot QEMU chooses. */
#define KVM_NO_PLACE (-1)

/* kind: "disk" or "nic"; i: for one without UUID.  To be freed. */
char *kvm_device_id(const char *kind, const json_t *device, size_t i);

/* The properties of a device, its driver first, with a place from `places`,
 * where it is noted; NULL and err when the type is not supported or the bus is
 * full. */
json_t *kvm_nic_device(const json_t *hv, const json_t *nic, const char *id,
		       size_t n_queues, json_t *places, struct error *err);
json_t *kvm_disk_device(const json_t *hv, const char *id, json_t *places,
			struct error *err);

/* The netdev of a NIC: its properties, the type first; to be freed.  fds: the
 * queues of a TAP device, numbers or names with ':' between; vhost_fds: their
 * vhost descriptors (NULL: none).  Without fds it is a network inside the
 * process (user mode, closed to the outside). */
json_t *kvm_netdev(const char *id, const char *fds, const char *vhost_fds);

/* The drive of a disk, for -drive and for blockdev-add; to be freed. */
char *kvm_drive(const struct paths *p, const json_t *hv,
		const struct hv_disk *disk, const char *id);
json_t *kvm_blockdev(const struct paths *p, const json_t *hv,
		     const struct hv_disk *disk, const char *id);

/* Add an option to a command line; value may be NULL: it has none. */
void kvm_add(struct strv *argv, const char *option, const char *value);

/* Properties as the value of an option: the first alone, then key=value, with
 * commas doubled; to be freed. */
char *kvm_option(const json_t *properties);
/* A value with commas doubled; to be freed. */
char *kvm_quoted(const char *value);

/* Whether such a device can be plugged while the machine runs. */
bool kvm_can_plug(const json_t *hv, const char *kind);

/* Disks or CD-ROMs of these types need a SCSI controller. */
bool kvm_is_scsi(const json_t *hv);

/* The properties of a CD-ROM, its driver first, as for disks. */
json_t *kvm_cdrom_device(const json_t *hv, const char *id, int boot_place,
			 json_t *places, struct error *err);

/* -1 with err unless disk_type and cdrom_disk_type are known. */
int kvm_check_disk_types(const json_t *hv, struct error *err);

#endif
