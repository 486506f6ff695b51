/* SPDX-License-Identifier: BSD-2-Clause */
/* What running jobs have reserved and not yet put into the configuration: MAC
 * addresses, IP addresses, instance names, ports, minors, paths of disks,
 * detached disks.  A reservation belongs to a job and ends with it. */
#ifndef MASTERD_CONFIG_RESERVE_H
#define MASTERD_CONFIG_RESERVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"

struct config;
struct reserve;

struct reserve *reserve_create(struct config *config);
/* A copy, for a copy of the configuration. */
struct reserve *reserve_copy(const struct reserve *r, struct config *config);
void reserve_destroy(struct reserve *r);

/* Reserve a new MAC address that nobody has, with the prefix of the cluster (or
 * this one, of a network, if not NULL); to be freed. */
char *reserve_mac_generate(struct reserve *r, uint64_t job, const char *prefix,
			   struct error *err);
/* Reserve this address: ERR_RESERVATION if somebody has it. */
int reserve_mac(struct reserve *r, uint64_t job, const char *mac,
		struct error *err);
int reserve_name(struct reserve *r, uint64_t job, const char *instance_name,
		 struct error *err);
/* Reserve an IP address for a NIC on this link: no other NIC on it, no node and
 * not the cluster may have it. */
int reserve_ip(struct reserve *r, uint64_t job, const char *ip,
	       const char *link, struct error *err);
/* The key by which links of NICs are distinguished: the network, or mode and
 * link; to be freed. */
char *reserve_link(const json_t *cluster, const json_t *nic);
/* Reserve a TCP port 11000..14999 for VNC or DRBD; 0 with err when none is
 * free. */
int reserve_port(struct reserve *r, uint64_t job, struct error *err);
/* Reserve the lowest DRBD minor that nobody has on the node. */
int64_t reserve_minor(struct reserve *r, uint64_t job, const char *node_uuid);
/* Reserve this path for a new disk; false if a disk or a job has it. */
bool reserve_path(struct reserve *r, uint64_t job, const char *path);
/* Reserve this disk for an instance that it is attached to; false if an
 * instance or a job has it. */
bool reserve_disk(struct reserve *r, uint64_t job, const char *uuid);

/* End all reservations of the job. */
void reserve_release(struct reserve *r, uint64_t job);

#endif
