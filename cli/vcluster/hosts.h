/* SPDX-License-Identifier: BSD-2-Clause */
/* What clusters have in common whose nodes are hosts: containers and virtual
 * machines.  Their nodes have Ganeti's layout below their own /, addresses of
 * their own, and SSH; they are made a cluster as an admin does it, by commands
 * on the first one.
 *
 * What is kept of them lies in the folder ".machine" of the cluster, which only
 * its owner can read: the key of the cluster's admin, the host keys, and a
 * folder for each node. */
#ifndef CLI_VCLUSTER_HOSTS_H
#define CLI_VCLUSTER_HOSTS_H

#include "cli/vcluster/vcluster.h"
#include "lib/base/error.h"
#include "lib/base/str.h"

/* Addresses that documentation has for itself; no packet with one leaves this
 * machine. */
#define HOSTS_NODE_IP "192.0.2.%zu"    /* of node 1: 192.0.2.11 */
#define HOSTS_BACK_IP "198.51.100.%zu" /* in the second network */
#define HOSTS_NODE_FIRST 10
#define HOSTS_OUTSIDE_IP "192.0.2.1"
#define HOSTS_MASTER_IP "192.0.2.10"
#define HOSTS_GUEST_IP "192.0.2.%d"
#define HOSTS_GUEST_FIRST 240
#define HOSTS_CLUSTER "cluster.example.com"
#define HOSTS_PATH                                                             \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define HOSTS_SHARED_DIR "/srv/ganeti/shared-file-storage"

/* --- hosts.c --- */

/* The folder of our programs; to be freed. */
char *hosts_programs(void);

/* Where this node's things are, "<dir>/.machine/node1"; to be freed. */
char *hosts_folder(const struct vcluster *v, const struct vcluster_node *node);

/* A file in ".machine"; to be freed. */
char *hosts_file(const struct vcluster *v, const char *name);

/* Make ".machine" with the keys of the admin and of all nodes. */
int hosts_keys(const struct vcluster *v, struct error *err);

/* Add the words of a login of the cluster's admin, by the ssh program, to the
 * node, which is at that address.  mux: the socket of a connection that is kept
 * for others; NULL: none is. */
void hosts_ssh_words(const struct vcluster *v, const struct vcluster_node *node,
		     const char *address, int port, const char *mux,
		     struct strv *argv);

/* Write below root what a node begins with: names, keys, the configuration of
 * its SSH server, folders and scripts as packages have them.  programs: where
 * ours are on the node; NULL: where packages put them. */
int hosts_stage(const struct vcluster *v, const struct vcluster_node *node,
		const struct vcluster_options *o, const char *programs,
		const char *root, struct error *err);

/* --- hosts_run.c --- */

/* Run argv on the node and wait: its exit status, or -1 with err.
 * *ret_output: what it prints, to be freed (NULL: it is not kept). */
int hosts_run(const struct vcluster *v, const struct vcluster_node *node,
	      const char *const *argv, char **ret_output, struct error *err);

/* The same; another status than 0 is an error with what was printed. */
int hosts_do(const struct vcluster *v, const struct vcluster_node *node,
	     const char *const *argv, struct error *err);

/* Start, stop or kill (way) one daemon of a node: "noded", "masterd", "rapi".
 */
int hosts_daemon(const struct vcluster *v, const struct vcluster_node *node,
		 const char *way, const char *name, struct error *err);

/* The first node that is up, says it is the master, and that most nodes name;
 * the first node if there is none. */
struct vcluster_node *hosts_master(struct vcluster *v);

/* vcluster_start() and vcluster_stop() of such a cluster: a node that is off is
 * switched on first.  what: "start", "stop", "kill". */
int hosts_daemons(struct vcluster *v, const char *what, char *const *words,
		  int n, struct error *err);

/* --- hosts_form.c --- */

/* Make the cluster on the first node and add the others, over SSH. */
int hosts_form(struct vcluster *v, const struct vcluster_options *o,
	       struct error *err);

#endif
