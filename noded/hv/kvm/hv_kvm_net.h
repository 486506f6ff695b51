/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: connects TAP devices.  If the site has a script, that does it; otherwise
 * it depends on the NIC's mode: to a bridge, to a switch of Open vSwitch, or as
 * a route in the table that the link names.  The NIC for metadata is connected
 * to this node. */
#ifndef NODED_HV_KVM_HV_KVM_NET_H
#define NODED_HV_KVM_HV_KVM_NET_H

#include "noded/hv/hv.h"

/* The site's script, below the folder of settings: run without arguments, with
 * the environment that Ganeti's has. */
#define KVM_NET_SCRIPT "kvm-vif-bridge"

/* A NIC of an instance, and its TAP device. */
struct kvm_nic {
	const json_t *instance;
	const json_t *nic; /* its object, with filled nicparams */
	size_t seq;
	const char *tap;
};

/* Connect it; -1 with err. */
WAITS int kvm_net_up(const struct paths *p, const struct kvm_nic *nic,
		     struct error *err);

/* Note the device of the NIC with this id: its name, and its number, which no
 * other device gets; the device is there. */
void kvm_net_note(json_t *notes, const char *id, const char *tap);
/* The NIC has none any more. */
void kvm_net_forget(json_t *notes, const char *id);

/* Write nic/<name>/<seq> below the kvm-hypervisor folder for the site's
 * scripts: the device of that NIC; NULL: it has none any more. */
void kvm_net_show(const struct paths *p, const char *name, size_t seq,
		  const char *tap);
/* None of its NICs has one. */
void kvm_net_show_none(const struct paths *p, const char *name);

/* Remove settings that do not vanish with the device; nics: those that were
 * connected, notes: of kvm_net_note().  The kernel gives a name away again:
 * what a device with another number has is left alone. */
WAITS void kvm_net_down(const json_t *nics, const json_t *notes);

/* Whether it is connected only at the end of a migration: only one node may
 * have the route. */
bool kvm_net_is_late(const json_t *nic);

/* The environment of the script, "NAME=value". */
void kvm_net_env(const struct kvm_nic *nic, struct strv *env);

/* The command lines that connect it, [[word...]...], to be freed; NULL with err
 * when it cannot be connected.  mac: the device's present one; mtu: of its
 * link, 0: unchanged. */
json_t *kvm_net_commands(const struct kvm_nic *nic, const char *mac, int mtu,
			 struct error *err);

#endif
