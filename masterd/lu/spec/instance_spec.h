/* SPDX-License-Identifier: BSD-2-Clause */
/* A new instance as an OP_INSTANCE_CREATE describes it: checked, with defaults,
 * not placed yet.  For create and multi-alloc. */
#ifndef MASTERD_LU_SPEC_INSTANCE_SPEC_H
#define MASTERD_LU_SPEC_INSTANCE_SPEC_H

#include "masterd/lu/frame/lu.h"

/* The limits of Ganeti 3.0.2. */
#define SPEC_NICS_MAX 8
#define SPEC_DISKS_MAX 16

struct inst_spec {
	/* The first two are the resolver's; NULL: as given, unknown. */
	const char *name, *ip;
	const char *os, *hypervisor, *template, *group_name;
	json_t *beparams, *filled_be; /* custom; complete */
	json_t *hvparams, *filled_hv;
	const char *os_image; /* for its first disk; NULL: none */
	json_t *osparams, *osparams_private;
	const json_t *osparams_secret; /* the opcode's, stored nowhere */
	json_t *nics; /* as stored; without MACs until spec_reserve_macs() */
	bool has_macs;
	json_t *disks; /* as spec_disk() gives them */
	int port;      /* of its console, from spec_reserve_port(); 0: none */
	json_t *tags;  /* each once */
};

/* Its nodes, UUIDs; secondary: for mirrored disks (else NULL). */
struct inst_nodes {
	const char *primary, *secondary;
};

/* Free what it holds, not the struct itself. */
void spec_done(struct inst_spec *s);

/* The name in lower case, in which all names are stored; valid as long as the
 * LU. */
const char *spec_name(struct lu *lu, const struct op_instance_create *op);

/* Fill *s from the opcode (its strings must outlive *s).  ERR_PREREQ names what
 * is wrong.  Looks at the configuration, asks no node. */
int spec_read(struct lu *lu, const struct op_instance_create *op,
	      struct inst_spec *s, struct error *err);

/* One NIC as given, number i, in the form in which it is stored; to be freed,
 * NULL with err. */
json_t *spec_nic(struct lu *lu, const json_t *given, size_t i,
		 struct error *err);
/* One disk as given, for disks_new(): what was given, with size (0 where it
 * is adopted) and mode, checked; to be freed, NULL with err. */
json_t *spec_disk(const char *template, const json_t *given, size_t i,
		  struct error *err);
/* Whether its disks are devices that exist already. */
bool spec_adopts(const struct inst_spec *s);

/* Give the NIC its MAC: generated, or the asked one; ERR_PREREQ if that is
 * taken.
 */
int spec_reserve_mac(struct lu *lu, json_t *nic, size_t i, struct error *err);

/* Give each NIC its MAC, if that was not done. */
int spec_reserve_macs(struct lu *lu, struct inst_spec *s, struct error *err);

/* Give each NIC its addresses: a MAC that is generated or the asked one, the IP
 * address if there is one; ERR_PREREQ if somebody has them. */
int spec_reserve_addresses(struct lu *lu, const struct op_instance_create *op,
			   struct inst_spec *s, const char *pnode,
			   struct error *err);

/* The part of that for one NIC on a node: of a network it gets mode and link as
 * the node's group has them, and a free address for "pool". */
int spec_nic_address(struct lu *lu, json_t *nic, const char *pnode,
		     bool conflicts_check, struct error *err);

/* Set the NIC's mode and link from its network's connection to the node's
 * group. */
int spec_nic_link(struct lu *lu, json_t *nic, const char *pnode,
		  struct error *err);

/* The same for all NICs that have a network; ERR_PREREQ when it has gone, or is
 * not connected to the node's group any more. */
int spec_link_nics(struct lu *lu, struct inst_spec *s, const char *pnode,
		   struct error *err);

/* Whether the NIC is routed and has no address, of its own or from a
 * network. */
bool spec_nic_lacks_ip(struct lu *lu, const json_t *nic);

/* The NIC over which an instance talks to its node: its name, and what it is
 * asked to be; to be freed. */
char *spec_communication_nic(const char *instance);
json_t *spec_communication_params(struct lu *lu, const char *name);

/* ERR_PREREQ when a NIC has a network and also a mode or link. */
int spec_check_nic_network(const json_t *given, size_t i, struct error *err);

/* --- for the files of the specification --- */

#define SPEC_MAC_AUTO "auto"

/* A copy in lower case. */
char *spec_lowered(const char *text);
/* ERR_PREREQ when number i of these has an unknown parameter (the list of known
 * ones ends with NULL). */
int spec_check_keys(const char *what, size_t i, const json_t *given,
		    const char *const *known, struct error *err);

int spec_read_disks(struct lu *lu, const struct op_instance_create *op,
		    struct inst_spec *s, struct error *err);

/* Give it a port for its console if its hypervisor shows one;
 * ERR_PREREQ/ECODE_NORES when all are in use. */
int spec_reserve_port(struct lu *lu, struct inst_spec *s, struct error *err);

/* Fill in the standard sizes of the cluster's policy where nothing is given: in
 * the instance's own backend parameters (only sizes that somebody has set, as
 * the cluster has defaults, too), and in a disk as given (the result to be
 * freed). */
void spec_std_backend(const json_t *cluster, json_t *beparams);
json_t *spec_std_disk(const json_t *cluster, const json_t *given);
/* Complete a submitted OP_INSTANCE_CREATE that has no disks or NICs: as many as
 * the cluster's standard instance has; for an import those of the export; for a
 * forthcoming instance that is made real the disks that it has. */
void spec_complete(const struct master *m, json_t *op);

/* ERR_PREREQ when the policy of the node's group forbids it; without .filled_be
 * its memory and CPUs are not looked at. */
int spec_check_policy(struct lu *lu, const struct inst_spec *s,
		      const char *node_uuid, struct error *err);

/* A sentence with the groups whose policies forbid it, its own group or all; to
 * be freed, NULL: none. */
char *spec_forbidden(struct lu *lu, const struct inst_spec *s);

/* Its part of an allocator's request, with the MACs that it will have; to be
 * freed.  NULL when these cannot be reserved. */
json_t *spec_request(struct lu *lu, struct inst_spec *s, struct error *err);

#endif
