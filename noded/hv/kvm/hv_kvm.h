/* SPDX-License-Identifier: BSD-2-Clause */
/* KVM: what the class (hv_kvm.c) and its parts (hv_kvm_*.c) share.
 *
 * Below the kvm-hypervisor folder a running instance has pid/<name>, written
 * by QEMU, ctrl/<name>.qmp and ctrl/<name>.serial, sockets, and
 * conf/<name>.runtime, our notes of what it was started with: size (MiB that
 * its hardware has), memory (what the balloon leaves of it), vcpus, hvparams
 * (those that make the machine), nics, places, taps ({id of a NIC: its device
 * on the host}), disks ({id: mark of the one that it was started or plugged
 * with}), uid (of the pool, or 0), confined; of one that Ganeti has started
 * also command (hv_kvm_ganeti.c). */
#ifndef NODED_HV_KVM_HV_KVM_H
#define NODED_HV_KVM_HV_KVM_H

#include <sys/types.h>

#include "noded/hv/hv.h"
#include "noded/hv/kvm/hv_kvm_tap.h"

#define VNC_BASE_PORT 5900
#define KVM_DEFAULT_PROGRAM "/usr/bin/kvm"

/* What QEMU is started with, beside the instance and its disks. */
struct kvm_start {
	int64_t size;	/* MiB that the machine has */
	int64_t memory; /* of these, MiB that the guest gets first */
	bool paused;
	const char *incoming;  /* "tcp:address:port" to wait for a migration */
	const json_t *command; /* that Ganeti has made it by; NULL: ours */
	json_t *places; /* of its devices, see hv_kvm_devices.h; added to */
	const struct kvm_taps *taps;	     /* NULL: closed networks */
	const char *run_as;		     /* the user; NULL: the daemon's */
	bool run_with_chroot, run_with_user; /* see kvm_find_run_with() */
	const struct hv_caller *caller;	     /* or NULL */
};

/* --- the process and its files (hv_kvm_process.c) --- */

/* kvm-hypervisor/<folder>/<name><suffix>; to be freed. */
char *kvm_file(const struct paths *p, const char *folder, const char *name,
	       const char *suffix);
/* What QEMU says while it runs; to be freed. */
char *kvm_log_file(const struct paths *p, const char *name);
int kvm_make_folders(const struct paths *p, struct error *err);

/* The pid if the process runs and is this instance's, else 0. */
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

/* As struct hv_class (hv_kvm_snapshot.c). */
WAITS int kvm_snapshot(const struct paths *p, const char *name,
		       const json_t *disk, const char *snapshot, bool keep,
		       struct error *err);

WAITS int kvm_resize(const struct paths *p, const char *name,
		     const json_t *disk, int64_t bytes, struct error *err);

/* Several on one connection. */
struct qmp_step;
WAITS int kvm_orders(const struct paths *p, const char *name,
		     const struct qmp_step *steps, size_t n, struct error *err);

/* The notes of a running instance, to be freed (NULL: there are none, or they
 * cannot be read).  Those of Ganeti are made ours. */
json_t *kvm_read_notes(const struct paths *p, const char *name);
int kvm_write_notes(const struct paths *p, const char *name,
		    const json_t *notes, struct error *err);
/* Set these members of the notes.  The others stay as they are by now: who has
 * waited since it read them may not write them all. */
int kvm_note(const struct paths *p, const char *name, const json_t *members,
	     struct error *err);

/* --- those that Ganeti has started (hv_kvm_ganeti.c) --- */

/* Our notes from its list, to be freed.  How much memory the balloon has taken
 * is not among them. */
json_t *kvm_ganeti_notes(const struct paths *p, const char *name,
			 const json_t *list);
bool kvm_is_ganetis(const json_t *notes);
/* -1 with err if the machine cannot be made again on another node. */
int kvm_ganeti_check_move(const char *name, const json_t *notes,
			  struct error *err);

/* --- starting (hv_kvm_start.c) --- */

/* Those of its parameters that make the machine, to be freed.  They stay as
 * they are until it ends, also after a migration. */
json_t *kvm_guest_params(const json_t *hvparams);

/* Start QEMU and wait until it is in the background; tell it by its monitor
 * what must not be on a command line; write the notes. */
WAITS int kvm_launch(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const struct kvm_start *start, struct error *err);
WAITS int kvm_start(const struct paths *p, const json_t *instance,
		    const struct hv_disk *disks, size_t n_disks, bool paused,
		    const struct hv_caller *caller, struct error *err);

/* Set how much of its memory a running guest may use. */
WAITS int kvm_balloon(const struct paths *p, const json_t *instance,
		      int64_t memory, struct error *err);

/* --- cpu_mask (hv_kvm_cpu.c) --- */

/* -1 with err if it names CPUs that this node does not have. */
int kvm_check_mask(const json_t *hv, struct error *err);
/* Bind the threads of a running process to the CPUs. */
WAITS int kvm_pin(const struct paths *p, const json_t *instance,
		  struct error *err);

/* --- under whose name, in which folder (hv_kvm_user.c) --- */

struct kvm_user {
	char *run_as; /* NULL: ours */
	int64_t uid;  /* of the pool, else 0 */
	int lock;     /* held while it starts, else -1 */
};
#define auto_user __attribute__((cleanup(kvm_user_done), unused))

int kvm_user_take(const struct paths *p, const json_t *instance,
		  struct kvm_user *ret, struct error *err);
void kvm_user_done(struct kvm_user *user);
/* Give a uid of the pool back (0: none), unless another has taken it over. */
void kvm_user_release(const struct paths *p, const char *name, int64_t uid);

/* Make an empty root folder, if the process is to have one. */
int kvm_make_chroot(const struct paths *p, const json_t *instance,
		    struct error *err);
/* What it has left goes to the folder chroot-quarantine. */
void kvm_remove_chroot(const struct paths *p, const char *name);
/* QEMU 9 has no -chroot any more, and -runas is to go: newer ones have
 * -run-with chroot=FOLDER,user=NAME.  Of a process that is to be confined, find
 * out by the program's -help which of both it knows. */
WAITS int kvm_find_run_with(const json_t *hv, struct kvm_start *start,
			    struct error *err);
void kvm_add_confinement(const struct paths *p, struct strv *argv,
			 const json_t *instance, const struct kvm_start *start);
/* A confined process cannot open files of the host; it is given descriptors
 * (noted as "confined"). */
bool kvm_is_confined(const json_t *hv);

int kvm_check_user_params(const json_t *hv, struct error *err);
int kvm_check_user_node(const struct paths *p, const json_t *hv,
			struct error *err);

/* --- user_shutdown (hv_kvm_events.c) --- */

/* Open the files for events, if they are wanted; *ret_fd (or -1) has to stay
 * open until the process runs. */
int kvm_events_open(const struct paths *p, const json_t *instance, int *ret_fd,
		    struct error *err);
void kvm_add_events(const struct paths *p, struct strv *argv,
		    const json_t *instance, char *(*quoted)(const char *));
/* Whether these events, a line each, end with a shutdown from inside. */
bool kvm_events_tell_user(const char *text);
/* Whether it does not run because its user has shut it down. */
bool kvm_user_has_shut_down(const struct paths *p, const char *name);
void kvm_list_shut_down(const struct paths *p, struct strv *ret_names);
void kvm_events_trim(const struct paths *p, const char *name);

/* --- soundhw (hv_kvm_sound.c) --- */

/* ERR_HYPERVISOR names a card that QEMU does not have; then the devices for
 * those that are asked for. */
int kvm_check_sound(const json_t *hv, struct error *err);
void kvm_add_sound(struct strv *argv, const json_t *hv);

/* --- the parameters (hv_kvm_check.c) --- */

/* -1 with err when they contradict each other, or are not supported. */
int kvm_check_params(const json_t *hv, struct error *err);

/* -1 with err when nobody may ask for them, although an instance that has them
 * starts: what was recorded before stays usable. */
int kvm_check_new(const json_t *hv, struct error *err);

/* -1 with err when the node's QEMU does not have this machine_version; an
 * instance that has it fails to start by itself. */
WAITS int kvm_check_machine(const json_t *hv, struct error *err);

/* -1 with err when they name something that this node does not have. */
WAITS int kvm_check_node(const struct paths *p, const json_t *hv,
			 struct error *err);

/* --- VNC or SPICE, graphics, mouse, keyboard (hv_kvm_display.c) --- */

int kvm_add_display(const struct paths *p, struct strv *argv,
		    const json_t *instance, const json_t *hv,
		    struct error *err);

/* The graphics card, as -vga names it: the parameter, or what goes with the
 * viewer.  It is noted as the parameter vga. */
const char *kvm_card(const json_t *instance, const json_t *hv);
/* The card of one that was started by a version that did not note it, nor gave
 * it one without a viewer. */
const char *kvm_unnoted_card(const json_t *instance, const json_t *hv);

/* Add the commands that set passwords, {execute, arguments}; the passwords are
 * read from their files here. */
int kvm_display_orders(const json_t *instance, const json_t *hv, json_t *orders,
		       struct error *err);

/* As the class's unpause(). */
WAITS int kvm_unpause(const struct paths *p, const char *name,
		      const struct hv_caller *caller, struct error *err);

/* As the class's console_socket(). */
char *kvm_console_socket(const struct paths *p, const json_t *instance,
			 const json_t *hvparams, const char *kind,
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

/* Add the node of a file that the process cannot open itself: it is given the
 * descriptor, on one connection, since QEMU forgets a file that nobody uses
 * when the last one ends.  Its set has the mark of the file as number. */
WAITS int kvm_add_given(const struct paths *p, const char *name,
			const char *path, json_t *node STEALS,
			struct error *err);

/* --- copies of disks (hv_kvm_mirror.c), as in hv.h --- */

WAITS int kvm_mirror_start(const struct paths *p, const json_t *instance,
			   const struct hv_mirror *m, struct error *err);
WAITS json_t *kvm_mirror_status(const struct paths *p, const json_t *instance,
				const struct hv_mirror *m, struct error *err);
WAITS int kvm_mirror_end(const struct paths *p, const json_t *instance,
			 const struct hv_mirror *m, enum hv_mirror_end how,
			 struct error *err);
/* The name of the node that the guest uses as the disk with this id, to be
 * freed; NULL with err. */
WAITS char *kvm_disk_root(const struct paths *p, const char *name,
			  const char *id, struct error *err);
bool kvm_mirror_open(const struct paths *p, const char *name);
/* What tells this file or device from the others of an instance, seven
 * characters; to be freed.  Links are followed. */
char *kvm_disk_mark(const char *path);
/* How many copies there are; and their end, with the new disks complete. */
WAITS size_t kvm_mirrors(const struct paths *p, const char *name);
WAITS int kvm_end_mirrors(const struct paths *p, const char *name,
			  struct error *err);
/* Close what it has opened for this disk and does not use any more. */
WAITS void kvm_close_unused(const struct paths *p, const char *name,
			    const char *id);

/* --- disks over the network (hv_kvm_nbd.c) --- */

WAITS json_t *kvm_mirror_serve(const struct paths *p, const json_t *instance,
			       const struct hv_disk *disks, size_t n_disks,
			       const char *address, struct error *err);
/* Close the port; that there is none is no error. */
WAITS void kvm_nbd_stop(const struct paths *p, const char *name);
/* The node of a disk that such a process serves; NULL with err. */
WAITS json_t *kvm_nbd_node(const struct paths *p, const char *name,
			   const char *id, const char *node, const json_t *peer,
			   struct error *err);
/* It was deleted, and its key goes. */
WAITS void kvm_nbd_forget(const struct paths *p, const char *name,
			  const char *id);
void kvm_remove_keys(const struct paths *p, const char *name);

/* --- migration (hv_kvm_migrate.c), as in hv.h --- */

char *kvm_migration_info(const struct paths *p, const json_t *instance,
			 struct error *err);
WAITS int kvm_accept(const struct paths *p, const json_t *instance,
		     const struct hv_disk *disks, size_t n_disks,
		     const char *info, const char *target, struct error *err);
WAITS int kvm_migrate(const struct paths *p, const char *cluster_name,
		      const json_t *instance, const char *target, bool live,
		      const struct hv_caller *caller, struct error *err);
WAITS int kvm_finalize_dst(const struct paths *p, const json_t *instance,
			   const char *info, bool success,
			   const struct hv_caller *caller, struct error *err);
WAITS int kvm_finalize_src(const struct paths *p, const json_t *instance,
			   bool success, bool live,
			   const struct hv_caller *caller, struct error *err);
/* Where the target listens, to be freed. */
char *kvm_migration_uri(const json_t *instance, const char *target);
/* The arguments of migrate-set-parameters. */
json_t *kvm_migration_limits(const json_t *hv);
/* The arguments of migrate-set-capabilities; NULL: none are wanted. */
json_t *kvm_capabilities(const json_t *hv);
int kvm_check_capabilities(const json_t *hv, struct error *err);
WAITS json_t *kvm_migration_status(const struct paths *p,
				   const json_t *instance,
				   const struct hv_caller *caller,
				   struct error *err);

#endif
