/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as virtual machines under QEMU.  Nothing of this needs root but to
 * build an image: the nodes' network is a switch of ours over UNIX sockets, and
 * each is logged in to through a port on loopback that QEMU forwards.  So no
 * packet leaves this machine.
 *
 * QEMU and the switch are found again by what their command lines and their
 * locked pid files say, so a destroy ends also what a create that was killed
 * has begun. */
#ifndef CLI_VCLUSTER_VM_H
#define CLI_VCLUSTER_VM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/vcluster/vcluster.h"
#include "lib/base/error.h"

#define VM_MEMORY_MIB 384
#define VM_XEN_MEMORY_MIB 768 /* half of it is for guests */
#define VM_DISK_MIB 4096
#define VM_PROGRAMS "/opt/gantry/bin" /* in the machine */
#define MKE2FS "/usr/sbin/mke2fs"     /* users have no path to it */

/* Files of a node: the archive with what it is; an empty one of that size. */
#define VM_SEED "seed.tar"
#define VM_BLANK "blank.tar"
/* The name of the state in the disks of a machine that begins with one. */
#define VM_STATE "warm"

/* --- vm_image.c --- */

/* Whether one of these names is a hypervisor of Xen, which then boots below the
 * node's kernel. */
bool vm_wants_xen(const char *hypervisors);

/* Run it; other than status 0 is an error with what it printed.  *ret_output is
 * that, to be freed; NULL: it is not wanted. */
int vm_run(const char *const *argv, char **ret_output, struct error *err);

/* Find the image for these options, or build it; its folder, to be freed. */
char *vm_image(const struct vcluster_options *o, struct error *err);

/* Make the disks of all nodes: on top of v->image, or of a state of a machine
 * that has booted, with what each begins with; and the one with our programs.
 */
int vm_disks(const struct vcluster *v, const struct vcluster_options *o,
	     struct error *err);

/* The disks of one node that boots: empty, the root on top of the image. */
int vm_disks_empty(const struct vcluster *v, const struct vcluster_node *node,
		   struct error *err);

/* --- vm_warm.c --- */

/* Give all nodes, whose disks are empty, the state of a machine that has booted
 * this image.  Where there is none for these options it is made, by booting the
 * first node without what makes it a node, which takes a minute or two, and
 * kept beside the image.  Where machines boot fast (KVM), or that is not
 * possible, nothing is done, and they boot; -1 only when the disks cannot be
 * used. */
int vm_warm(const struct vcluster *v, const struct vcluster_options *o,
	    struct error *err);

/* Switch the node on: with the state it was given, or it boots. */
int vm_warm_start(const struct vcluster *v, const struct vcluster_node *node,
		  struct error *err);

/* --- vm_accel.c --- */

/* How QEMU runs this image here: "kvm" where it does, else "tcg,...".  Tried
 * once after each start of this machine, and noted beside the image. */
const char *vm_accel(const char *image);

/* --- vm_qemu.c --- */

/* How a machine begins: it boots; with the state in its disks; it boots as the
 * machine whose state others begin with, which is in no network and has no
 * seed.
 */
enum vm_start { VM_BOOT, VM_WARM, VM_TEMPLATE };

/* Start QEMU for a node. */
int vm_qemu_start(const struct vcluster *v, const struct vcluster_node *node,
		  enum vm_start how, struct error *err);

/* The address of node number n (from 1) in a network; to be freed. */
char *vm_qemu_mac(size_t n, int network);

/* The pid of a node's QEMU, 0 if there is none. */
pid_t vm_qemu_pid(const struct vcluster *v, const struct vcluster_node *node);

/* End it at once. */
int vm_qemu_kill(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err);

/* The port on loopback that leads to the node's SSH server; 0: not known. */
int vm_qemu_port(const struct vcluster *v, const struct vcluster_node *node);

/* A file of the node; to be freed. */
char *vm_qemu_file(const struct vcluster *v, const struct vcluster_node *node,
		   const char *name);

/* --- vm_monitor.c --- */

/* Have QEMU of a node run a command of its human monitor; what it says is an
 * error. */
int vm_monitor(const struct vcluster *v, const struct vcluster_node *node,
	       const char *command, struct error *err);

/* --- vm_switch.c --- */

/* Whether the switch of the nodes runs. */
bool vm_switch_runs(const struct vcluster *v);

/* Start the switch unless it runs. */
int vm_switch_start(const struct vcluster *v, struct error *err);
int vm_switch_stop(const struct vcluster *v, struct error *err);

/* Part the nodes of v->cuts from now on. */
int vm_switch_cut(const struct vcluster *v, struct error *err);

/* The socket of a node's interface: network 0, or 1 for the second; to be
 * freed.
 */
char *vm_switch_socket(const struct vcluster *v,
		       const struct vcluster_node *node, int network);

#endif
