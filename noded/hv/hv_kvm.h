/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what the class (hv_kvm.c) and the command line (hv_kvm_args.c) share.
 *
 * Below the kvm-hypervisor folder a running instance has pid/<name>, written
 * by QEMU, ctrl/<name>.qmp and ctrl/<name>.serial, sockets, and
 * conf/<name>.runtime, our notes of what it was started with. */
#ifndef NODED_HV_HV_KVM_H
#define NODED_HV_HV_KVM_H

#include "noded/hv/hv.h"

/* kvm-hypervisor/<folder>/<name><suffix>; to be freed. */
char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix);

/* What QEMU is started with, beside the instance and its disks. */
struct kvm_start {
	int64_t memory; /* MiB */
	bool paused;
	const char *incoming; /* "tcp:address:port" to wait for a migration */
};

/* Whether the parameters ask for no protection that would be missing. */
int kvm_check_protection(const json_t *hv, struct error *err);

/* The whole command line for an instance, NULL-ended after the last item. */
int kvm_args(const struct paths *p, const json_t *instance,
	     const struct hv_disk *disks, size_t n_disks,
	     const struct kvm_start *start, struct strv *ret_argv,
	     struct error *err);

#endif
