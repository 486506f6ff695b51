/* SPDX-License-Identifier: BSD-2-Clause */
/* One of the two clusters: its remote API. */
#ifndef CLI_MOVE_CLUSTER_H
#define CLI_MOVE_CLUSTER_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"

struct move_access;
struct rapi;

struct move_cluster {
	const char *name;
	bool debug; /* show requests */
	const struct move_access *access;
	char *password;	   /* read once: the file may be a pipe */
	struct rapi *rapi; /* NULL: not connected */
};

/* Begin: reads the password; -1 with err.  The access must outlive it. */
int move_cluster_init(struct move_cluster *c, const struct move_access *access,
		      bool debug, struct error *err);
void move_cluster_done(struct move_cluster *c);

/* End the connection.  The next request makes another one: processes do not
 * share one. */
void move_cluster_leave(struct move_cluster *c);

/* Another client of the same cluster; to be freed. */
struct rapi *move_cluster_client(const struct move_cluster *c);

/* One request; its answer, to be freed, or NULL with err. */
json_t *move_cluster_ask(struct move_cluster *c, const char *method,
			 const char *resource, const json_t *body,
			 struct error *err);

/* The same for one that is answered with the number of a job: that, to be
 * freed. */
char *move_cluster_submit(struct move_cluster *c, const char *method,
			  const char *resource, const json_t *body,
			  struct error *err);

/* End a job; whether the cluster says that it has done so.  One of Ganeti's
 * ends only those that have not begun. */
bool move_cluster_cancel(struct move_cluster *c, const char *job);

/* Show a request, if such are shown. */
void move_cluster_show(const struct move_cluster *c, const char *method,
		       const char *resource);

#endif
