/* SPDX-License-Identifier: BSD-2-Clause */
/* What the nodes of a virtual cluster can be, and what each kind can do.  The
 * commands are the same for all; a kind is a row of functions. */
#ifndef CLI_VCLUSTER_KIND_H
#define CLI_VCLUSTER_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/vcluster/vcluster.h"
#include "lib/base/error.h"

struct vcluster_kind {
	const char *name;
	size_t nodes_max;
	/* Its nodes are hosts (hosts.h), and the functions below are there;
	 * otherwise they are folders, which vcluster_create() knows. */
	bool are_hosts;
	/* Of its clusters, where options do not say it. */
	const char *templates;
	int memory_mib; /* 0: no limit */
	int disk_mib;	/* of the one disk for volumes; 0: none */

	/* Whether this machine and user can have it; ERR_PREREQ says what is
	 * missing. */
	int (*check)(const struct vcluster_options *o, struct error *err);
	/* Make what nodes need before the first of them is on. */
	int (*make)(struct vcluster *v, const struct vcluster_options *o,
		    struct error *err);
	/* Switch on; returns when its SSH server answers.  All of them:
	 * started side by side where that is quicker. */
	int (*start)(const struct vcluster *v, const struct vcluster_node *node,
		     struct error *err);
	int (*start_all)(const struct vcluster *v, struct error *err);
	/* As a power cut does it; that it is off is no error. */
	int (*crash)(const struct vcluster *v, const struct vcluster_node *node,
		     struct error *err);
	bool (*runs)(const struct vcluster *v,
		     const struct vcluster_node *node);
	/* Become argv on the node; returns only with err, or the status. */
	int (*exec)(const struct vcluster *v, const struct vcluster_node *node,
		    const char *const *argv, struct error *err);
	/* The words of a login, with the admin's key, as a new array that ends
	 * with NULL; each behind the program's place in its network. */
	int (*ssh)(const struct vcluster *v, const struct vcluster_node *node,
		   char *const *words, int n, struct error *err);
	int (*console)(const struct vcluster *v,
		       const struct vcluster_node *node, struct error *err);
	/* The file with what its first processes say; to be freed. */
	char *(*log_file)(const struct vcluster *v,
			  const struct vcluster_node *node);
	/* Part the nodes of v->cuts, and no others. */
	int (*cut)(const struct vcluster *v, struct error *err);
	/* End all of it, also what a create has made that was killed. */
	int (*remove)(const struct vcluster *v, struct error *err);
};

extern const struct vcluster_kind kind_process, kind_container, kind_vm;

/* By its name; NULL: there is no such kind. */
const struct vcluster_kind *kind_find(const char *name);

#endif
