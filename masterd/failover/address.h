/* SPDX-License-Identifier: BSD-2-Clause */
/* The master's address: it is up on the node whose master daemon serves.  The
 * node daemon there does it (and leaves it when the address is up already). */
#ifndef MASTERD_FAILOVER_ADDRESS_H
#define MASTERD_FAILOVER_ADDRESS_H

#include <jansson.h>

struct config;
struct noderpc;

/* The arguments of node_activate_master_ip and node_deactivate_master_ip. */
json_t *address_args(const json_t *cluster);

/* Turn it up here, in a task of its own.  A failure is logged: a master without
 * its address still serves those who know the node. */
void address_turn_up(const struct config *config, struct noderpc *rpc);

#endif
