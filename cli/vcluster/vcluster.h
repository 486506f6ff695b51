/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-vcluster: clusters of several nodes on one machine, for tests and for
 * trying things out.  Each node is a root folder DIR/<name> with daemons of its
 * own on a loopback address of its own; the environment variables
 * GANETI_ROOTDIR and GANETI_HOSTNAME choose the node for every command.  Or it
 * is a host: a container or a virtual machine (kind.h, hosts.h).
 *
 * DIR/vcluster.json says what there is; all roots share the folder
 * DIR/shared-file-storage. */
#ifndef CLI_VCLUSTER_VCLUSTER_H
#define CLI_VCLUSTER_VCLUSTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/vcluster/vcluster_double.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

#define VCLUSTER_NODES_MAX 1000
#define VCLUSTER_CUTS_MAX 1000 /* pairs of nodes that are parted */

struct vcluster_node {
	char *name; /* "node1.example.com" */
	char *ip;
	char *ip2;	     /* in the second network; NULL: there is none */
	struct paths *paths; /* as seen from outside */
};

/* Two nodes, by their places in the list, between which nothing passes. */
struct vcluster_cut {
	size_t a, b;
};

struct vcluster_kind;

struct vcluster {
	char *dir;	  /* absolute */
	char *hypervisor; /* names with commas */
	int rapi_port;	  /* of the remote API; 0: it does not run */
	char *rapi_on;	  /* where besides the master: names with commas, or
			   * VCLUSTER_RAPI_ON; "" for nowhere else */
	struct vcluster_node *nodes;
	size_t n;

	const struct vcluster_kind *kind;
	char *id;	/* in the names of what is outside of dir */
	int memory_mib; /* of a node; 0: no limit */
	bool second;	/* there is a second network */
	json_t *disks;	/* of a virtual machine besides its root, in MiB */
	char *image;	/* the folder with its root; "" without one */
	struct vcluster_cut *cuts;
	size_t n_cuts;
};

struct vcluster_options {
	const char *dir;
	size_t n_nodes;
	const char
		*hypervisor; /* names with commas, the first is the default */
	const char *base_ip; /* NULL: choose a free block */
	bool ssh;	     /* nodes get SSH keys, below their roots */
	int rapi_port;	     /* 0: no remote API */
	const char *rapi_on; /* as in struct vcluster; NULL: nowhere else */
	const json_t *users; /* of it: a list of NAME:PASSWORD:RIGHTS */

	const struct vcluster_kind *kind;
	int memory_mib;	       /* 0: as the kind has it */
	bool second;	       /* a second network */
	const json_t *disks;   /* sizes in MiB; NULL: as the kind has it */
	const char *cache;     /* for images; NULL: in ~/.cache */
	const char *packages;  /* of Debian for the image, besides its own */
	const char *templates; /* of disks, with commas; NULL: the kind's */
	const char *debs; /* our packages; NULL: our programs as they are */
	const struct vcluster_preset *preset; /* NULL: none */
	struct vcluster_double test_double;
};

/* --- vcluster_state.c --- */

/* Names, roots and addresses for a new cluster; nothing is made yet. */
struct vcluster *vcluster_plan(const struct vcluster_options *o,
			       struct error *err);
int vcluster_save(const struct vcluster *v, struct error *err);
struct vcluster *vcluster_load(const char *dir, struct error *err);
void vcluster_free(struct vcluster *v);

/* By full name, or what stands before the first dot. */
struct vcluster_node *vcluster_node(struct vcluster *v, const char *name,
				    struct error *err);
/* The present master: the node that most nodes' ssconf files name.  After a
 * failover without a vote two may be named equally often; then it is the one
 * whose daemon runs.  The first node if that is not known. */
struct vcluster_node *vcluster_master(struct vcluster *v);

/* --- vcluster_daemons.c --- */

/* The words are [NODE [masterd|noded|rapi]]: all nodes without one.  Node
 * daemons start before the master daemon, which only the master gets unless it
 * is named, and that before the remote API, of which the same is true. */
int vcluster_start(struct vcluster *v, char *const *words, int n,
		   struct error *err);
int vcluster_stop(struct vcluster *v, char *const *words, int n, bool with_kill,
		  struct error *err);

/* Start the node daemons from this node on, side by side; those that run stay.
 */
int vcluster_launch(const struct vcluster *v, size_t first, struct error *err);

/* --- vcluster_each.c --- */

/* Call fn for each node from this one on, by several processes side by side:
 * what it changes in memory is lost. */
typedef int vcluster_fn(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err);
int vcluster_each(const struct vcluster *v, size_t first, vcluster_fn *fn,
		  struct error *err);

/* --- vcluster_rapi.c --- */

/* Read "[PORT]" of --rapi; *ret is 5080 without one. */
int vcluster_rapi_port(const char *text, int *ret, struct error *err);

/* Write the users (a list of NAME:PASSWORD:RIGHTS; NULL: none), and the one of
 * a preset, on all nodes, as each may become the master.  Without a cluster
 * they are only checked. */
int vcluster_rapi_users(const struct vcluster *v, const json_t *users,
			const char *own, struct error *err);

/* Each node that may become the master. */
#define VCLUSTER_RAPI_ON "candidates"

/* Whether all nodes that shall have the daemon besides the master are there. */
int vcluster_rapi_check(struct vcluster *v, struct error *err);

/* The same on one node. */
int vcluster_rapi_write(const struct paths *p, const json_t *users,
			const char *own, struct error *err);

/* Start the daemon on this node; one that runs stays. */
int vcluster_rapi_start(const struct vcluster *v,
			const struct vcluster_node *node, struct error *err);

/* Start it, all at once, on those of these nodes (NULL: all) that shall have
 * it. */
int vcluster_rapi_start_all(struct vcluster *v,
			    const struct vcluster_node *only,
			    struct error *err);

/* --- vcluster_create.c --- */

/* What a package and an admin would have made on a node: folders, an OS that
 * installs nothing, allocators. */
int vcluster_furnish(const struct paths *p, struct error *err);

/* The bounds of instances in a test cluster; to be freed. */
json_t *vcluster_policy(void);

/* The way to QEMU on this machine. */
const char *vcluster_qemu(void);

/* Make the folders of all nodes and the cluster on the first one, and add the
 * others; on failure everything is removed. */
int vcluster_create(struct vcluster_options *o, struct error *err);

/* Submit these jobs to its master, which is the first node, and wait until all
 * have succeeded. */
int vcluster_run_jobs(const struct vcluster *v, json_t *jobs STEALS,
		      struct error *err);

/* --- vcluster_logs.c --- */

/* Write the last lines of the logs of the nodes that the text of an error names
 * to stderr; of the first one where it names none. */
void vcluster_tell_logs(const struct vcluster *v, const char *text);

/* --- vcluster_end.c --- */

/* End all daemons and guests of a node that is a folder, at once, as a power
 * cut does: what lies in /run is gone, too. */
int vcluster_crash(struct vcluster *v, const struct vcluster_node *node,
		   struct error *err);

/* Stop all daemons and guests of all nodes, and remove everything that create
 * has made. */
int vcluster_destroy(struct vcluster *v, struct error *err);

#endif
