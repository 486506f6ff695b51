/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: TAP devices, the host's side of NICs.  A device lives as long as
 * somebody has it open: this daemon until QEMU has its queues, then QEMU
 * alone. */
#ifndef NODED_HV_KVM_HV_KVM_TAP_H
#define NODED_HV_KVM_HV_KVM_TAP_H

#include <jansson.h>
#include <net/if.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/model/files/paths.h"

#define KVM_QUEUES_MAX 8
#define KVM_VHOST_DEVICE "/dev/vhost-net"

struct kvm_tap {
	char name[IFNAMSIZ];
	size_t n_queues;
	size_t n_vhost; /* n_queues, or 0 without vhost_net */
	int queues[KVM_QUEUES_MAX];
	int vhost[KVM_QUEUES_MAX];
};

/* The devices of all NICs of an instance, in their order; none in a virtual
 * cluster, where NICs are networks inside the process. */
struct kvm_taps {
	struct kvm_tap *items;
	size_t n;
};

#define auto_taps __attribute__((cleanup(kvm_taps_close), unused))

/* How many queues the parameters ask for: one without virtio-net. */
size_t kvm_queues(const json_t *hv);

/* Whether packets are to go past QEMU, through the kernel alone. */
bool kvm_wants_vhost(const json_t *hv);

/* Make a device for these parameters; the kernel chooses its name. */
int kvm_tap_open(const json_t *hv, struct kvm_tap *ret, struct error *err);
void kvm_tap_close(struct kvm_tap *tap);

int kvm_taps_open(const struct paths *p, const json_t *instance,
		  struct kvm_taps *ret, struct error *err);
void kvm_taps_close(struct kvm_taps *taps);

/* The device of the i-th NIC, or NULL. */
const struct kvm_tap *kvm_taps_get(const struct kvm_taps *taps, size_t i);

/* All descriptors in the order in which a command line numbers them (from
 * KVM_FIRST_FD): of each NIC its queues, then its vhost ones.  To be freed;
 * *ret_n their number. */
#define KVM_FIRST_FD 3
int *kvm_taps_fds(const struct kvm_taps *taps, size_t *ret_n);

#endif
