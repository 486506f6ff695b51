/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of node_verify about SSH (doc/design/ssh.md).  Each has the value
 * of the request, and gives what it found. */
#ifndef NODED_CALLS_VERIFY_SSH_H
#define NODED_CALLS_VERIFY_SSH_H

#include <jansson.h>

#include "noded/calls/calls.h"

/* [[[uuid, name, candidate, capable, online], ...], key type, {uuid: [line]}]
 * -> sentences.  The last are the keys as the master knows them
 * (ssh-public-keys of the request); without them those in ganeti_pub_keys
 * count. */
json_t *verify_ssh_setup(struct call *c, const json_t *what,
			 const json_t *all_hvparams);

/* -> sentences about users and hosts with several keys in authorized_keys. */
json_t *verify_ssh_clutter(struct call *c, const json_t *what,
			   const json_t *all_hvparams);

/* [[node, ...], {node: [node, ...]}, [candidate, ...]] -> {node: what is wrong
 * with logging in there}.  Candidates try; nodes of a virtual cluster only when
 * there is an ssh_config for them. */
WAITS json_t *verify_ssh_nodes(struct call *c, const json_t *what,
			       const json_t *all_hvparams);

#endif
