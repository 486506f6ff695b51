/* SPDX-License-Identifier: BSD-2-Clause */
/* What running jobs have taken but not yet put into the configuration: MAC
 * addresses, IP addresses, instance names, ports, minors.  Each belongs to a
 * job and goes when it ends. */
#ifndef MASTERD_CONFIG_RESERVE_H
#define MASTERD_CONFIG_RESERVE_H

#include <jansson.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

struct config;
struct reserve;

struct reserve *reserve_create(struct config *config);
/* A copy, for a copy of the configuration. */
struct reserve *reserve_copy(const struct reserve *r, struct config *config);
void reserve_destroy(struct reserve *r);

/* A new MAC with the cluster's (or the network's, if not NULL) prefix that
 * nobody has; to be freed. */
char *reserve_mac_generate(struct reserve *r, uint64_t job, const char *prefix,
			   struct error *err);
/* Take this one: ERR_RESERVATION if somebody has it. */
int reserve_mac(struct reserve *r, uint64_t job, const char *mac,
		struct error *err);
int reserve_name(struct reserve *r, uint64_t job, const char *instance_name,
		 struct error *err);
/* An IP address of a NIC on this link; neither another NIC there, nor a node
 * nor the cluster has it. */
int reserve_ip(struct reserve *r, uint64_t job, const char *ip,
	       const char *link, struct error *err);
/* What tells the links of NICs apart: the network, or mode and link; to be
 * freed. */
char *reserve_link(const json_t *cluster, const json_t *nic);
/* A TCP port 11000..14999 for VNC or DRBD; 0 with err when all are taken. */
int reserve_port(struct reserve *r, uint64_t job, struct error *err);
/* The lowest DRBD minor that nobody has on the node. */
int64_t reserve_minor(struct reserve *r, uint64_t job, const char *node_uuid);

/* Forget what the job has. */
void reserve_release(struct reserve *r, uint64_t job);

#endif
