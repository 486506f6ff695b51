/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what the class (hv_kvm.c) and its parts (hv_kvm_*.c) share.
 *
 * Below the kvm-hypervisor folder a running instance has pid/<name>, written
 * by QEMU, ctrl/<name>.qmp and ctrl/<name>.serial, sockets, and
 * conf/<name>.runtime, our notes of what it was started with: memory (MiB),
 * vcpus, hvparams (those that the guest sees), nics, places, taps ({id of a
 * NIC: its device on the host}). */
#ifndef NODED_HV_HV_KVM_H
#define NODED_HV_HV_KVM_H

#include <sys/types.h>

#include "noded/hv/hv.h"
#include "noded/hv/hv_kvm_tap.h"

#define VNC_BASE_PORT 5900
#define KVM_DEFAULT_PROGRAM "/usr/bin/kvm"

/* What QEMU is started with, beside the instance and its disks. */
struct kvm_start {
	int64_t memory; /* MiB */
	bool paused;
	const char *incoming; /* "tcp:address:port" to wait for a migration */
	json_t *places; /* of its devices, see hv_kvm_devices.h; added to */
	const struct kvm_taps *taps; /* NULL: closed networks */
};

/* --- the process and its files (hv_kvm_process.c) --- */

/* kvm-hypervisor/<folder>/<name><suffix>; to be freed. */
char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix);
int kvm_make_folders(const struct paths *p, struct error *err);

/* The pid if it runs and is that instance's, else 0. */
pid_t kvm_running_pid(const struct paths *p, const char *name);
double kvm_cpu_seconds(pid_t pid);

/* Kill it and wait until it is gone. */
WAITS int kvm_end_process(const struct paths *p, const char *name,
			  struct error *err);

/* Remove the files of an instance that does not run. */
WAITS void kvm_cleanup(const struct paths *p, const char *name);

/* Run a command of its monitor; the "return" value, to be freed. */
WAITS json_t *kvm_monitor(const struct paths *p, const char *name,
			  const char *command, json_t *arguments STEALS,
			  struct error *err);
/* The same for commands that return nothing. */
WAITS int kvm_order(const struct paths *p, const char *name,
		    const char *command, json_t *arguments STEALS,
		    struct error *err);

/* Give it an open file, which later commands call fd_name. */
WAITS int kvm_give_fd(const struct paths *p, const char *name,
		      const char *fd_name, int fd, struct error *err);

/* The notes of a running instance, to be freed (NULL: none, or unreadable). */
json_t *kvm_read_notes(const struct paths *p, const char *name);
int kvm_write_notes(const struct paths *p, const char *name,
		    const json_t *notes, struct error *err);

/* --- starting (hv_kvm_start.c) --- */

/* Run QEMU until it has gone to the background, tell it what does not belong
 * on a command line, and take notes. */
WAITS int kvm_launch(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const struct kvm_start *start, struct error *err);
WAITS int kvm_start(const struct paths *p, const json_t *instance,
		    const struct hv_disk *disks, size_t n_disks, bool paused,
		    struct error *err);

/* --- the parameters (hv_kvm_check.c) --- */

/* Do they fit each other, and can they be served at all? */
int kvm_check_params(const json_t *hv, struct error *err);

/* Is there on this node what they name? */
int kvm_check_node(const struct paths *p, const json_t *hv, struct error *err);

/* --- VNC or SPICE, graphics, mouse, keyboard (hv_kvm_display.c) --- */

int kvm_add_display(const struct paths *p, struct strv *argv,
		    const json_t *instance, const json_t *hv,
		    struct error *err);

/* Add what the monitor has to be told of passwords, {execute, arguments}; they
 * are read from their files here. */
int kvm_display_orders(const json_t *instance, const json_t *hv, json_t *orders,
		       struct error *err);

/* Where to look at it, as the class's console(). */
json_t *kvm_console(const struct paths *p, const json_t *instance,
		    const json_t *node, const json_t *hvparams,
		    struct error *err);

/* --- the command line (hv_kvm_args.c) --- */

/* The whole command line for an instance, NULL-ended after the last item. */
int kvm_args(const struct paths *p, const json_t *instance,
	     const struct hv_disk *disks, size_t n_disks,
	     const struct kvm_start *start, struct strv *ret_argv,
	     struct error *err);

/* --- devices that come and go (hv_kvm_hotplug.c), as in hv.h --- */

WAITS int kvm_hotplug_supported(const struct paths *p, const json_t *instance,
				struct error *err);
WAITS int kvm_hotplug(const struct paths *p, const json_t *instance,
		      const struct hv_plug *plug, struct error *err);

/* --- migration (hv_kvm_migrate.c), as in hv.h --- */

WAITS char *kvm_migration_info(const struct paths *p, const json_t *instance,
			       struct error *err);
WAITS int kvm_accept(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const char *info, const char *target, struct error *err);
WAITS int kvm_migrate(const struct paths *p, const char *cluster_name,
		      const json_t *instance, const char *target, bool live,
		      struct error *err);
WAITS int kvm_finalize_dst(const struct paths *p, const json_t *instance,
			   const char *info, bool success, struct error *err);
WAITS int kvm_finalize_src(const struct paths *p, const json_t *instance,
			   bool success, bool live, struct error *err);
WAITS json_t *kvm_migration_status(const struct paths *p,
				   const json_t *instance, struct error *err);

#endif
