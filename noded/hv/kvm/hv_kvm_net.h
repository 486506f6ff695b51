/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what a TAP device is connected to.  A site's own script decides, if
 * there is one; else the NIC's mode: to a bridge, to a switch of Open vSwitch,
 * or as a route in the table that the link names.  The NIC over which an
 * instance asks for its metadata has this node at its other end. */
#ifndef NODED_HV_KVM_HV_KVM_NET_H
#define NODED_HV_KVM_HV_KVM_NET_H

#include "noded/hv/hv.h"

/* The site's script, below the folder of settings: run without arguments, with
 * the environment that Ganeti's has. */
#define KVM_NET_SCRIPT "kvm-vif-bridge"

/* A NIC of an instance whose host end is there. */
struct kvm_nic {
	const json_t *instance;
	const json_t *nic; /* its object, with filled nicparams */
	size_t seq;
	const char *tap;
};

/* Connect it, or say why not. */
WAITS int kvm_net_up(const struct paths *p, const struct kvm_nic *nic,
		     struct error *err);

/* Take away what does not go with the device.  taps: {id: name}, as noted;
 * nics: the NICs that have been connected. */
WAITS void kvm_net_down(const json_t *nics, const json_t *taps);

/* Does it wait for the end of a migration?  The route has to be here alone. */
bool kvm_net_is_late(const json_t *nic);

/* The environment of the script, "NAME=value". */
void kvm_net_env(const struct kvm_nic *nic, struct strv *env);

/* What the modes do, as command lines [[word...]...]; NULL and err when the NIC
 * cannot be connected.  mac: of the device now; mtu: of its link, 0: as it is.
 * To be freed. */
json_t *kvm_net_commands(const struct kvm_nic *nic, const char *mac, int mtu,
			 struct error *err);

#endif
