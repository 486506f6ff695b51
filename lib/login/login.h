/* SPDX-License-Identifier: BSD-2-Clause */
/* How hosts are logged in to by SSH, for all programs: which user, which keys,
 * which host keys are good (doc/design/ssh.md).
 *
 * The cluster's /etc/ganeti/ssh_config, where it exists, comes before all of
 * it.  Nodes of a virtual cluster are on one machine and use SSH only if they
 * have that file. */
#ifndef LOGIN_LOGIN_H
#define LOGIN_LOGIN_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"
#include "lib/ssh/ssh.h"

/* Who is logged in to; private but for the target. */
struct login {
	struct ssh_target target; /* for ssh_open(); points into this struct */
	struct strv keys, known_hosts;
	struct ssh_person person;
	char *name, *address, *user, *agent, *key_alias, *remember;
};

/* Whether the nodes of this cluster use SSH. */
bool login_is_used(const struct paths *p);

/* Where somebody wants to go. */
struct login_place {
	const char *name;    /* the host's */
	const char *address; /* where it is; NULL: look for the name */
	int port;	     /* of its SSH daemon; 0: the usual one */
	bool ipv6;
};

/* To a node: with root's keys of this node, to a host that has one of the host
 * keys in the cluster's known_hosts.  Nobody is asked.  -1 with err;
 * login_done() in any case.  Reads files. */
int login_to_node(struct login *l, const struct paths *p, const char *cluster,
		  const struct login_place *place, struct error *err);

/* To a host that is no node yet: with the keys, the agent, the configuration
 * and the known hosts of whoever runs this program.  A key that the person
 * trusts is added to his known_hosts. */
int login_to_host(struct login *l, const struct paths *p,
		  const struct login_place *place,
		  const struct ssh_person *person, struct error *err);
void login_done(struct login *l);

#endif
