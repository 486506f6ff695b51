/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtual cluster as the double of a real one in the tests of other programs:
 * one that exists in their documents (--preset), jobs and answers that take
 * their time, a node that fails, and a record of what went over the network. */
#ifndef CLI_VCLUSTER_VCLUSTER_DOUBLE_H
#define CLI_VCLUSTER_VCLUSTER_DOUBLE_H

#include <jansson.h>

#include "lib/base/error.h"
#include "lib/model/files/test_double.h"

struct cli;
struct cluster_init;
struct opt;
struct vcluster;
struct vcluster_node;
struct vcluster_options;

/* --- vcluster_preset.c --- */

/* A cluster with nodes and instances of given names. */
struct vcluster_preset {
	const char *name;
	const char *cluster, *node; /* node: a number follows */
	size_t n_nodes;
	const char *base_ip; /* preferred, where nobody has it */
	const char *user;    /* of the remote API: NAME:PASSWORD:RIGHTS */
	const char *const *templates;
	const char *const *instances; /* diskless and down, without NICs */
};

/* The names of all, for the option; NULL ends. */
extern const char *const vcluster_preset_names[];

/* The one of this name, which is among the names; NULL for NULL. */
const struct vcluster_preset *vcluster_preset_find(const char *name);

/* Make a cluster of this kind out of it; NULL: leave it. */
void vcluster_preset_shape(const struct vcluster_preset *preset,
			   struct cluster_init *init);

/* Add its instances; NULL: none. */
int vcluster_preset_fill(const struct vcluster_preset *preset,
			 const struct vcluster *v, struct error *err);

/* --- vcluster_double.c --- */

struct vcluster_double {
	struct test_double all; /* of all nodes */
	const char *fixtures;	/* a folder; NULL: none are written */
	const json_t *fails;	/* a list of NODE@SECONDS; NULL: none */
};

/* Read a time with its unit, "50ms", "3s" or "2m", of at most max_ms; option:
 * for the error. */
int vcluster_double_time(const char *option, const char *text, unsigned max_ms,
			 unsigned *ret_ms, struct error *err);

/* 0 if all that is named there can be had; before the cluster is made.  The
 * file of the record is made, and its name made absolute. */
int vcluster_double_check(struct vcluster *v, struct vcluster_double *d,
			  struct error *err);

/* On a cluster that runs: from now on it behaves so.  The remote API is started
 * after that, as it reads this once. */
int vcluster_double_start(struct vcluster *v, const struct vcluster_double *d,
			  struct error *err);

/* --- vcluster_options.c --- */

extern const struct opt vcluster_opt_rapi, vcluster_opt_rapi_on,
	vcluster_opt_user, vcluster_opt_preset, vcluster_opt_jobs_take,
	vcluster_opt_latency, vcluster_opt_fail, vcluster_opt_record_http,
	vcluster_opt_dump_fixtures;

/* What these say; the users, the folder and the number of nodes are there
 * already.  The caller frees *ret's test_double.all. */
int vcluster_options_read(const struct cli *cli, struct vcluster_options *ret,
			  struct error *err);

/* --- vcluster_fail.c --- */

/* Read NODE@SECONDS. */
int vcluster_fail_read(struct vcluster *v, const char *text,
		       const struct vcluster_node **ret_node,
		       unsigned *ret_after_ms, struct error *err);

/* Kill the node daemon when that time has passed, in a process of its own,
 * which ends as soon as the daemon does. */
int vcluster_fail_later(const struct vcluster_node *node, unsigned after_ms,
			struct error *err);

#endif
