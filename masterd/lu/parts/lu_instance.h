/* SPDX-License-Identifier: BSD-2-Clause */
/* What the LUs of instances share: the form of an instance in node calls, its
 * hook variables, checks of nodes, disks started and stopped. */
#ifndef MASTERD_LU_PARTS_LU_INSTANCE_H
#define MASTERD_LU_PARTS_LU_INSTANCE_H

#include "masterd/lu/frame/lu.h"

/* Name of a node by UUID. */
const char *lu_node_name(struct lu *lu, const char *uuid);

/* The instance in the form of node calls: parameters filled, with disks_info
 * and secondary_nodes; hv and be (may be NULL) override its own parameters.  To
 * be freed. */
json_t *inst_rpc(struct lu *lu, const json_t *inst, const json_t *hv,
		 const json_t *be);
/* The same for the scripts of its OS; `own` replaces its recorded OS
 * parameters. Secret ones are among the public ones, as Ganeti's node daemons
 * expect.  To be freed. */
struct params_os;
json_t *inst_rpc_os(struct lu *lu, const json_t *inst,
		    const struct params_os *own);
/* Whether it has a NIC over which it can talk to its node. */
bool inst_communicates(const json_t *inst);
/* Tell its primary what to answer when the instance asks
 * (noded/metad/metad.h).  own: OS parameters in place of the recorded ones,
 * with the secret ones apart; NULL: those that are recorded, and no secret
 * ones. */
WAITS int inst_feed_metadata(struct lu *lu, const json_t *inst,
			     const struct params_os *own, struct error *err);
/* One of its disks as node calls carry it: with all parameters of its template
 * that are in force in the node group of its primary, its own on top, and the
 * same for the volumes that it is made of.  To be freed. */
json_t *inst_rpc_disk(struct lu *lu, const json_t *inst, const json_t *disk);
/* A NIC with all its parameters and its network ("netinfo"), to be freed. */
json_t *inst_rpc_nic(struct lu *lu, const json_t *nic);
/* A list of all its disks in that form; to be freed. */
json_t *inst_rpc_disks(struct lu *lu, const json_t *inst);
/* All its backend and hypervisor parameters, from every level; to be freed. */
json_t *inst_filled_be(struct lu *lu, const json_t *inst);
json_t *inst_filled_hv(struct lu *lu, const json_t *inst);

/* Standard hook variables; status as "up", "down". */
void inst_hook_env(struct lu *lu, const json_t *inst, json_t *ret_env);
/* The part of those for disk number i, but for where it is. */
void inst_env_disk(size_t i, const json_t *disk, json_t *ret_env);
/* Python's str() of a value, as hook variables have it; to be freed. */
char *inst_env_text(const json_t *value);
/* The master, the primary and the secondaries. */
void inst_hook_nodes(struct lu *lu, const json_t *inst, struct strv *ret);

/* ERR_PREREQ unless the node is online (and not drained, and can run
 * instances). */
int inst_check_node(struct lu *lu, const char *node_uuid, bool for_new,
		    struct error *err);
/* ERR_PREREQ/ECODE_EXISTS if an instance has this name, or has it as its UUID:
 * who asks for that one by its UUID would get the other.  A longer name that
 * begins with this one is another name. */
int inst_check_name_is_free(const struct lu *lu, const char *name,
			    struct error *err);
/* Warn when the two nodes of a mirrored instance are of different groups, which
 * verify calls an error, and Ganeti allows. */
void inst_warn_of_split(struct lu *lu, const char *primary,
			const char *secondary);
/* Whether it runs, by the answer of instance_info (NULL: there was none). */
bool inst_info_runs(const json_t *info);
/* Whether it runs on its primary (or the node given). */
WAITS int inst_is_running(struct lu *lu, const json_t *inst,
			  const char *node_uuid, bool *ret_running,
			  struct error *err);

/* ERR_PREREQ/ECODE_STATE when its primary is online and it runs; why: "cannot
 * rename". */
WAITS int inst_check_stopped(struct lu *lu, const json_t *inst, const char *why,
			     struct error *err);
/* As inst_check_stopped(), but ERR_PREREQ also when it is not marked down (or
 * offline). */
WAITS int inst_check_down(struct lu *lu, const json_t *inst, const char *why,
			  struct error *err);

/* Resolve a name: the full name and the address, both valid as long as the LU.
 * ERR_PREREQ/ECODE_RESOLVER when it has no address, ECODE_INVAL when the
 * resolver gives another name; a longer name is noted in the job's log. */
WAITS int inst_resolve(struct lu *lu, const char *name, const char **ret_name,
		       const char **ret_ip, struct error *err);
/* ERR_PREREQ/ECODE_NOTUNIQUE when a machine answers at the address. */
WAITS int inst_check_ip(struct lu *lu, const char *name, const char *ip,
			struct error *err);
/* ERR_PREREQ unless the node has the bridges of all bridged NICs. */
WAITS int inst_check_bridges(struct lu *lu, const json_t *nics,
			     const char *node_uuid, struct error *err);
/* Whether a node call has failed because the node does not answer; then err
 * says that, and what cannot be checked. */
bool inst_silent(struct lu *lu, const char *node_uuid, const char *what,
		 struct error *err);
/* For a check: turn a failed call about an OS (os_validate) or bridges
 * (bridges_exist) into an error that says whether it is missing or the node
 * does not answer.  Returns -1. */
int inst_os_refused(struct lu *lu, const char *node_uuid, const char *os,
		    struct error *err);
int inst_bridges_refused(struct lu *lu, const char *node_uuid,
			 struct error *err);

/* ERR_PREREQ unless the OS may be used and the node can install it with these
 * parameters of the instance on top of the cluster's. */
WAITS int inst_check_os(struct lu *lu, const char *node_uuid, const char *os,
			const struct params_os *own, bool force_variant,
			struct error *err);

/* ERR_PREREQ if the node's definition of the OS does not support the
 * hypervisor, or lacks the script ("import", "export", "rename"); each may be
 * NULL. required: also if the node has no definition at all. */
WAITS int inst_check_os_supports(struct lu *lu, const char *node_uuid,
				 const char *os, const char *hypervisor,
				 const char *script, bool required,
				 struct error *err);

/* Set admin_state ("up" "down" "offline"; NULL: unchanged) and disks_active;
 * committed. */
WAITS int inst_mark(struct lu *lu, const char *name, const char *admin_state,
		    int disks_active, struct error *err);

#endif
