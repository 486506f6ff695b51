/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations without a running master: make a cluster, prepare a node for it,
 * start and stop daemons. */
#ifndef CLI_REMOTE_BOOTSTRAP_H
#define CLI_REMOTE_BOOTSTRAP_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/model/config/cluster.h"
#include "lib/model/files/paths.h"

enum bootstrap_daemon { DAEMON_NODED, DAEMON_MASTERD, DAEMON_RAPI };

/* How long a daemon may take to start or to stop: a master waits a minute for
 * votes. */
#define BOOTSTRAP_DAEMON_S 90

/* Make the folders of a node below p. */
int bootstrap_folders(const struct paths *p, struct error *err);

/* Whether a cluster can be made here: ERR_PREREQ when this node is already in
 * one. */
int bootstrap_check_new(const struct paths *p, struct error *err);

/* Make a new cluster whose first node is this one: keys, config.data, ssconf,
 * daemons, first job.  candidate_cert of init is set here.  ERR_PREREQ when
 * this node is already in a cluster. */
int bootstrap_init(const struct paths *p, const struct cluster_init *init,
		   struct error *err);

/* The same; ready(arg) is called when all files are there, before the daemons
 * start: for init->more_nodes, whose daemons the master looks for at once. */
int bootstrap_init_many(const struct paths *p, const struct cluster_init *init,
			int (*ready)(void *arg, struct error *err), void *arg,
			struct error *err);

/* Write a new random secret to the file, as text. */
int bootstrap_write_secret(const char *file, mode_t mode, struct error *err);

/* Write a new certificate with its key for SPICE, and beside it the authority
 * that clients check it with: the certificate alone, which signed itself. */
int bootstrap_make_spice(const char *file, const char *ca_file,
			 struct error *err);

/* The secrets and ssconf files that every node of the cluster has, from one of
 * its nodes: {"files": {name: content}, "ssconf": {name: content}}, to be
 * freed. They are sent over SSH, and must get into no log and no argument
 * list. */
json_t *bootstrap_secrets(const struct paths *from, struct error *err);

/* Write these on a node, and make its own client certificate.  ERR_REQUEST when
 * secrets is not valid. */
int bootstrap_take_secrets(const struct paths *to, const json_t *secrets,
			   struct error *err);

/* Whether the node has the cluster certificate of these secrets. */
bool bootstrap_has_certificate(const struct paths *to, const json_t *secrets);

/* Whether the node has a certificate that belongs to another cluster, not to an
 * earlier state of this one. */
bool bootstrap_is_foreign(const struct paths *to, const json_t *secrets);

/* Reads from one node and writes on the other, for virtual clusters, whose
 * nodes are on one machine. */
int bootstrap_join_local(const struct paths *from, const struct paths *to,
			 struct error *err);

/* Start a daemon in the background, by its unit where systemd has one; returns
 * the pid of a process that ends when
 * the daemon is ready or has failed, -1 with err.  bind: the address of noded
 * in a virtual cluster, NULL: from ssconf; otherwise it listens everywhere. */
int bootstrap_launch(const struct paths *p, enum bootstrap_daemon which,
		     const char *bind);

/* The same, waiting until it is ready. */
int bootstrap_start(const struct paths *p, enum bootstrap_daemon which,
		    const char *bind, struct error *err);

/* End a daemon by the pid file it holds, with SIGTERM or (kill) SIGKILL, and
 * wait until it is gone.  Not running is no error. */
int bootstrap_stop(const struct paths *p, enum bootstrap_daemon which,
		   bool kill, struct error *err);

/* Wait for a daemon that ends by itself: 0 when it is gone, or is a standby of
 * the master daemon, in whose place one can be started; 1 when it serves (by
 * its address, for noded), -1 with err when neither happens within
 * BOOTSTRAP_DAEMON_S.  Prints on stdout that it waits. */
int bootstrap_await_end(const struct paths *p, enum bootstrap_daemon which,
			const char *address, struct error *err);

/* Whether systemd starts it at boot, as it does from the packages. */
bool bootstrap_is_enabled(const struct paths *p, enum bootstrap_daemon which);

/* The pid of the running daemon, 0 if it does not run. */
int bootstrap_pid(const struct paths *p, enum bootstrap_daemon which);

/* Remove this node's part of a cluster: configuration, queue, keys, ssconf.
 * The daemons must be down. */
int bootstrap_forget(const struct paths *p, struct error *err);

#endif
