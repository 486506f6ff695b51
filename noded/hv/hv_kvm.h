/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what the class (hv_kvm.c) and the command line (hv_kvm_args.c) share.
 *
 * Below the kvm-hypervisor folder a running instance has pid/<name>, written
 * by QEMU, ctrl/<name>.qmp and ctrl/<name>.serial, sockets, and
 * conf/<name>.runtime, our notes of what it was started with: memory (MiB),
 * vcpus, hvparams (those that the guest sees), nics, places. */
#ifndef NODED_HV_HV_KVM_H
#define NODED_HV_HV_KVM_H

#include "noded/hv/hv.h"

#define VNC_BASE_PORT 5900

/* kvm-hypervisor/<folder>/<name><suffix>; to be freed. */
char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix);

/* What QEMU is started with, beside the instance and its disks. */
struct kvm_start {
	int64_t memory; /* MiB */
	bool paused;
	const char *incoming; /* "tcp:address:port" to wait for a migration */
	json_t *places; /* of its devices, see hv_kvm_devices.h; added to */
};

/* Run a command of its monitor; the "return" value, to be freed. */
WAITS json_t *kvm_monitor(const struct paths *p, const char *name,
			  const char *command, json_t *arguments STEALS,
			  struct error *err);

/* The notes of a running instance, to be freed (NULL: none, or unreadable). */
json_t *kvm_read_notes(const struct paths *p, const char *name);
int kvm_write_notes(const struct paths *p, const char *name,
		    const json_t *notes, struct error *err);

/* Devices that come and go while it runs (hv_kvm_hotplug.c), as in hv.h. */
WAITS int kvm_hotplug_supported(const struct paths *p, const json_t *instance,
				struct error *err);
WAITS int kvm_hotplug(const struct paths *p, const json_t *instance,
		      const struct hv_plug *plug, struct error *err);

/* Whether the parameters ask for no protection that would be missing. */
int kvm_check_protection(const json_t *hv, struct error *err);

/* VNC or SPICE, graphics, mouse and keyboard (hv_kvm_display.c). */
void kvm_add_display(struct strv *argv, const json_t *instance,
		     const json_t *hv);

/* The whole command line for an instance, NULL-ended after the last item. */
int kvm_args(const struct paths *p, const json_t *instance,
	     const struct hv_disk *disks, size_t n_disks,
	     const struct kvm_start *start, struct strv *ret_argv,
	     struct error *err);

#endif
