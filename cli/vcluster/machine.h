/* SPDX-License-Identifier: BSD-2-Clause */
/* Nodes as containers: namespaces of this kernel.
 *
 * A cluster has a machine: a process that holds a network, a mount and a PID
 * namespace for all its nodes.  In the network is a switch (a bridge), in the
 * mount namespace the file system of each node.  A node is a first process with
 * namespaces of its own inside of these.  So the end of the machine's process
 * ends everything, and no mount or interface is ever one of the host's; what is
 * left are folders below the cluster's and control groups, whose names are in
 * vcluster.json before they are made. */
#ifndef CLI_VCLUSTER_MACHINE_H
#define CLI_VCLUSTER_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/vcluster/vcluster.h"
#include "lib/base/error.h"

/* --- machine.c --- */

/* A process that is the first in namespaces of its own. */
struct machine_birth {
	const char *pid_file; /* which it keeps locked */
	const char *log;      /* what it and its programs print */
	pid_t within;	      /* whose namespaces it is born in; 0: ours */
	int spaces;	      /* CLONE_NEW*: those that it gets anew */
	/* Called in `within`, before the new ones are made; may be NULL. */
	int (*before)(void *arg, struct error *err);
	/* Called in the new ones. */
	int (*inside)(void *arg, struct error *err);
	void *arg;
};

/* Let it be born; returns when `inside` has ended.  From then on it does
 * nothing but to reap, until it is killed.  Nothing runs after a failure. */
int machine_bear(const struct machine_birth *b, struct error *err);

/* End the process of this pid file and all in its PID namespace; that there is
 * none is no error. */
int machine_end(const char *pid_file, struct error *err);

/* Go into these namespaces of a process, all at once.  The PID namespace is
 * that of children which are made then. */
int machine_enter(pid_t pid, int spaces, struct error *err);

/* Run argv in the network namespace that net is a descriptor of, -1: in ours,
 * with this input (NULL: none). */
int machine_run(int net, const char *const *argv, const char *input,
		struct error *err);

/* --- machine_tree.c --- */

/* Write what the file system of a node begins with. */
int machine_tree_stage(const struct vcluster *v,
		       const struct vcluster_node *node,
		       const struct vcluster_options *o, struct error *err);

/* Mount the file system of a node at its folder "root": changes of its own on
 * top of what this machine has.  Runs in the machine. */
int machine_tree(const struct vcluster *v, const struct vcluster_node *node,
		 struct error *err);

/* Make that the root of this process, in a mount namespace of its own. */
int machine_tree_enter(const struct vcluster *v,
		       const struct vcluster_node *node, struct error *err);

/* Whether a cluster can lie in this folder; else err says where it can. */
int machine_tree_check(const char *dir, struct error *err);

/* --- machine_net.c --- */

/* The switches, in the machine. */
int machine_net_make(const struct vcluster *v, struct error *err);

/* Runs in the machine: give this process a network namespace of its own, joined
 * to the switches. */
int machine_net_join(const struct vcluster *v, const struct vcluster_node *node,
		     struct error *err);

/* Runs in the machine: let no frame pass between the nodes of these pairs, and
 * all others. */
int machine_net_cut(const struct vcluster *v, struct error *err);

/* --- machine_cgroup.c --- */

/* Put this process into the control groups of the node, made with its limits.
 */
int machine_cgroup_join(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err);

/* Put this process into the groups that the node's first process is in.  With
 * version 1 these are below those of whoever switched the node on, so limits
 * count all processes of the node, from whatever session they are started. */
int machine_cgroup_follow(const struct vcluster *v,
			  const struct vcluster_node *node, pid_t pid,
			  struct error *err);

/* Mount those of this process below /sys/fs/cgroup. */
void machine_cgroup_mount(void);

/* Remove all groups of the cluster, whose processes have ended. */
int machine_cgroup_remove(const struct vcluster *v, struct error *err);

#endif
