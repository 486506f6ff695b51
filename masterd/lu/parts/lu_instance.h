/* SPDX-License-Identifier: BSD-2-Clause */
/* What the LUs of instances share: the form of an instance in node calls, its
 * hook variables, checks of nodes, disks started and stopped. */
#ifndef MASTERD_LU_PARTS_LU_INSTANCE_H
#define MASTERD_LU_PARTS_LU_INSTANCE_H

#include "masterd/lu/frame/lu.h"

const char *inst_name(const json_t *inst);
const char *inst_primary(const json_t *inst); /* UUID */

/* Name of a node by UUID. */
const char *lu_node_name(struct lu *lu, const char *uuid);

/* The instance as node calls carry it: parameters filled, disks_info and
 * secondary_nodes present; hv and be on top of its own (may be NULL).  To be
 * freed. */
json_t *inst_rpc(struct lu *lu, const json_t *inst, const json_t *hv,
		 const json_t *be);
/* The same for the scripts of its OS, with these parameters of its own in place
 * of the recorded ones.  Secret ones come among the public, as Ganeti's node
 * daemons expect it.  To be freed. */
struct params_os;
json_t *inst_rpc_os(struct lu *lu, const json_t *inst,
		    const struct params_os *own);
/* Whether it has a NIC over which it can ask its node. */
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
/* Its disks in that form, a list; to be freed. */
json_t *inst_rpc_disks(struct lu *lu, const json_t *inst);
/* All its backend and hypervisor parameters, from every level; to be freed. */
json_t *inst_filled_be(struct lu *lu, const json_t *inst);
json_t *inst_filled_hv(struct lu *lu, const json_t *inst);

/* Standard hook variables; status as "up", "down". */
void inst_hook_env(struct lu *lu, const json_t *inst, json_t *ret_env);
/* Python's str() of a value, as hook variables have it; to be freed. */
char *inst_env_text(const json_t *value);
/* The master, the primary and the secondaries. */
void inst_hook_nodes(struct lu *lu, const json_t *inst, struct strv *ret);

/* ERR_PREREQ unless the node is online (and not drained, and can run
 * instances). */
int inst_check_node(struct lu *lu, const char *node_uuid, bool for_new,
		    struct error *err);
/* Whether it runs on its primary (or the node given). */
WAITS int inst_is_running(struct lu *lu, const json_t *inst,
			  const char *node_uuid, bool *ret_running,
			  struct error *err);

/* ERR_PREREQ/ECODE_STATE when its primary is online and it runs; why: "cannot
 * rename". */
WAITS int inst_check_stopped(struct lu *lu, const json_t *inst, const char *why,
			     struct error *err);
/* The same, or when it is not marked down (or offline). */
WAITS int inst_check_down(struct lu *lu, const json_t *inst, const char *why,
			  struct error *err);

/* What a name stands for: its whole name and its address, which live as long as
 * the LU.  ERR_PREREQ/ECODE_RESOLVER when it has none, ECODE_INVAL when it is
 * another name's; a longer name goes into the job's log. */
WAITS int inst_resolve(struct lu *lu, const char *name, const char **ret_name,
		       const char **ret_ip, struct error *err);
/* ERR_PREREQ/ECODE_NOTUNIQUE when somebody answers at the address. */
WAITS int inst_check_ip(struct lu *lu, const char *name, const char *ip,
			struct error *err);
/* The bridges of bridged NICs are there on the node; ERR_PREREQ. */
WAITS int inst_check_bridges(struct lu *lu, const json_t *nics,
			     const char *node_uuid, struct error *err);
/* Whether a node call failed because the node does not answer: then the error
 * says so, and what can not be checked. */
bool inst_silent(struct lu *lu, const char *node_uuid, const char *what,
		 struct error *err);
/* What a node said of an OS (os_validate) or of bridges (bridges_exist), as the
 * error of a check: says whether it is not there, or the node does not answer.
 * -1. */
int inst_os_refused(struct lu *lu, const char *node_uuid, const char *os,
		    struct error *err);
int inst_bridges_refused(struct lu *lu, const char *node_uuid,
			 struct error *err);

/* ERR_PREREQ unless the OS may be used, and the node can install it with these
 * parameters of the instance on top of the cluster's. */
WAITS int inst_check_os(struct lu *lu, const char *node_uuid, const char *os,
			const struct params_os *own, bool force_variant,
			struct error *err);

/* ERR_PREREQ where the node's definition of the OS is not for the hypervisor or
 * has not the script ("import", "export", "rename") for what is wanted; each
 * may be NULL.  required: that it has one at all. */
WAITS int inst_check_os_supports(struct lu *lu, const char *node_uuid,
				 const char *os, const char *hypervisor,
				 const char *script, bool required,
				 struct error *err);

/* Change admin_state ("up" "down" "offline"), where NULL leaves it, and
 * disks_active; committed. */
WAITS int inst_mark(struct lu *lu, const char *name, const char *admin_state,
		    int disks_active, struct error *err);

/* --- disks (masterd/lu/disks/lu_new_disks.c, lu_disks.c, lu_disks_image.c,
 * lu_disks_sync.c, lu_disks_wipe.c) --- */

/* ERR_PREREQ when a disk as it is wanted has spindles where storage is not
 * exclusive, or (required) none where it is. */
int inst_check_spindles(const json_t *wanted, bool exclusive, bool required,
			struct error *err);
/* Whether the storage of one of its nodes is exclusive. */
bool inst_exclusive(struct lu *lu, const json_t *inst);

/* The object of a new disk, number i, for what spec_disk() read; to be freed.
 * The ports, minors and secrets of mirrors are reserved for the job: NULL with
 * err where there are none. */
struct new_disk {
	const char *template;
	const char *folder;    /* of files */
	const char *driver;    /* NULL: loop */
	const char *instance;  /* UUID */
	const char *primary;   /* UUID */
	const char *secondary; /* UUID, of mirrors; else NULL */
};
json_t *inst_new_disk(struct lu *lu, const struct new_disk *new,
		      const json_t *wanted, size_t i, struct error *err);

/* Make the device file of one disk on the primary; remove one, a failure is a
 * warning and -1. */
WAITS int inst_create_disk(struct lu *lu, const json_t *inst,
			   const json_t *disk, size_t i, struct error *err);
WAITS int inst_remove_disk(struct lu *lu, const json_t *inst,
			   const json_t *disk, size_t i);

/* "512M", "1.5G"; to be freed. */
char *inst_disk_size_text(int64_t mib);

/* Say in the job's log what disks there will be (as upstream, of mirrors
 * nothing). */
void inst_say_disk(struct lu *lu, const json_t *disk, size_t i);
void inst_say_disks(struct lu *lu, const json_t *inst);
/* Make the device files of all its disks on the primary; on failure those made
 * are removed again. */
WAITS int inst_create_disks(struct lu *lu, const json_t *inst,
			    struct error *err);
/* The same on another node, where a copy of them shall be; what has their names
 * there already stays. */
WAITS int inst_copy_disks_on(struct lu *lu, const json_t *inst,
			     const char *node_uuid, struct error *err);
/* Make those of its disks anew that are wanted; one that is there already is
 * an error and stays. */
WAITS int inst_recreate_disks(struct lu *lu, const json_t *inst,
			      const bool *wanted, struct error *err);
/* Remove them everywhere; failures are warnings, -1 if there were any. */
WAITS int inst_remove_disks(struct lu *lu, const json_t *inst);
/* The same with these disks, as node calls carry them, on one node. */
WAITS int inst_remove_disks_on(struct lu *lu, const json_t *disks,
			       const char *node_uuid);
/* A copy of its disks is on another node, not in use yet: noted in their
 * "nodes", and removed there again, as far as that node answers; committed.
 * What a removal leaves is a warning and stays noted. */
WAITS int inst_note_copy(struct lu *lu, const json_t *inst,
			 const char *node_uuid, struct error *err);
WAITS void inst_drop_copies(struct lu *lu, const json_t *inst);
/* Make them usable on the node (its primary when NULL), mirrors on both; stop
 * them on the node, or everywhere when NULL. */
WAITS int inst_start_disks(struct lu *lu, const json_t *inst,
			   const char *node_uuid, struct error *err);
WAITS int inst_stop_disks(struct lu *lu, const json_t *inst,
			  const char *node_uuid, bool ignore_failures,
			  struct error *err);
/* The folder of a file based disk on the primary; nothing for others. */
WAITS int inst_make_folder(struct lu *lu, const json_t *inst,
			   const json_t *disk, struct error *err);
/* Where the cluster wants new space wiped, wipe that of a disk on the primary,
 * from an offset on; elsewhere nothing happens. */
WAITS int inst_wipe_disk(struct lu *lu, const json_t *inst, const json_t *disk,
			 size_t i, int64_t from_mib, struct error *err);
/* The same with all of its disks, from their beginning. */
WAITS int inst_wipe_disks(struct lu *lu, const json_t *inst, struct error *err);
/* Put an OS image onto its first disk, which is active on the primary; the
 * job's log says how far it is.  When the job is killed or the node is lost,
 * the node is told to stop writing. */
WAITS int inst_image_disk(struct lu *lu, const json_t *inst, const char *image,
			  struct error *err);
/* The other half of a mirror gets what is written once all is there; nothing
 * happens to other disks (one, as node calls carry it).  A failure only costs
 * time: a warning. */
WAITS void inst_pause_mirror(struct lu *lu, const char *node,
			     const json_t *disk, bool pause);
/* Wait until its mirrors are in sync (these disks, as node calls carry them;
 * NULL: all that it has), and say so; `once` only looks how they are.
 * ERR_EXEC when they are and stay degraded. */
WAITS int inst_wait_sync(struct lu *lu, const json_t *inst, const json_t *disks,
			 bool once, struct error *err);
/* How the mirrors are on a node, a status each; to be freed. */
WAITS json_t *inst_mirror_status(struct lu *lu, const char *node,
				 const json_t *disks, struct error *err);
/* The folder of file based disks: below base, named like the instance. */
char *inst_file_dir(struct lu *lu, const char *name, const char *template,
		    const char *sub_dir);

#endif
