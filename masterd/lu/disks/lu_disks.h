/* SPDX-License-Identifier: BSD-2-Clause */
/* The disks of an instance: made, removed, started and stopped, copied
 * (lu_disks.c, lu_disks_copies.c), the objects of new ones (lu_new_disks.c),
 * images and zeros on them (lu_disks_image.c, lu_disks_wipe.c), and mirrors
 * until both halves agree (lu_disks_sync.c), on other nodes (lu_disks_pair.c),
 * their sizes (lu_disks_size.c). */
#ifndef MASTERD_LU_DISKS_LU_DISKS_H
#define MASTERD_LU_DISKS_LU_DISKS_H

#include "masterd/lu/frame/lu.h"

/* ERR_PREREQ when the wanted disk has spindles and storage is not exclusive, or
 * (required) it has none and storage is exclusive. */
int disks_check_spindles(const json_t *wanted, bool exclusive, bool required,
			 struct error *err);
/* Whether the storage of one of its nodes is exclusive. */
bool disks_exclusive(struct lu *lu, const json_t *inst);

/* The object of a new disk with this index, from what spec_disk() has read; to
 * be freed.  Ports, minors and secrets of mirrors are reserved for the job;
 * NULL with err when there are none left. */
struct new_disk {
	const char *template;
	const char *folder;   /* of files */
	const char *driver;   /* NULL: loop */
	const char *instance; /* UUID */
	const char *hypervisor;
	const char *primary;   /* UUID */
	const char *secondary; /* UUID, of mirrors; else NULL */
};
json_t *disks_new(struct lu *lu, const struct new_disk *new,
		  const json_t *wanted, size_t i, struct error *err);

/* Make the device of one disk, whose names are new, on the primary; after a
 * failure nothing of it is left, and what was in the way is left alone.  Remove
 * one: a failure is a warning and -1.  When the job was killed, a task removes
 * it. */
WAITS int disks_create_one(struct lu *lu, const json_t *inst,
			   const json_t *disk, size_t i, struct error *err);
WAITS int disks_remove_one(struct lu *lu, const json_t *inst,
			   const json_t *disk, size_t i);

/* "512M", "1.5G"; to be freed. */
char *disks_size_text(int64_t mib);

/* Say in the job's log which disks will be made (as Ganeti, nothing for
 * mirrors). */
void disks_say_one(struct lu *lu, const json_t *disk, size_t i);
void disks_say(struct lu *lu, const json_t *inst);
/* Make the devices of all its disks on the primary; after a failure those made
 * are removed. */
WAITS int disks_create(struct lu *lu, const json_t *inst, struct error *err);
/* The same on another node, which has no devices with these names yet, for a
 * copy. */
WAITS int disks_copy_on(struct lu *lu, const json_t *inst,
			const char *node_uuid, struct error *err);
/* Make the wanted disks anew; one that exists already is an error and is left
 * alone.  After a failure what was made is removed, also a part of a mirror. */
WAITS int disks_recreate(struct lu *lu, const json_t *inst, const bool *wanted,
			 struct error *err);
/* Remove them everywhere; failures are warnings, -1 if there were any. */
WAITS int disks_remove(struct lu *lu, const json_t *inst);
/* The same for these disks, in the form of node calls, on one node. */
WAITS int disks_remove_on(struct lu *lu, const json_t *disks,
			  const char *node_uuid);
/* Note in the disks' "nodes" that a copy of them is on another node and not in
 * use; and remove a copy there, as far as the node answers.  Both commit.  What
 * could not be removed is a warning and stays noted. */
WAITS int disks_note_copy(struct lu *lu, const json_t *inst,
			  const char *node_uuid, struct error *err);
WAITS void disks_drop_copies(struct lu *lu, const json_t *inst);
/* ERR_PREREQ when the instance runs on a node that has such a copy: a move has
 * brought it there, and that is not recorded; or, unless may_be_silent, when
 * the node does not say so and is not offline. */
WAITS int disks_check_copies(struct lu *lu, const json_t *inst,
			     bool may_be_silent, struct error *err);
/* Record that the instance and its disks have moved from its primary to this
 * node, and note the old disks as copies there; commits. */
WAITS int disks_record_move(struct lu *lu, const json_t *inst,
			    const char *node_uuid, struct error *err);
/* The UUIDs of the other nodes that have copies of the instance's disks
 * (config_instance_disks()); *ret is empty or has some already. */
void disks_copy_nodes(const json_t *inst, const json_t *disks,
		      struct strv *ret);
/* Whether such a node cannot be asked: it is offline, or was removed. */
bool disks_copy_is_gone(struct lu *lu, const char *node_uuid);
/* Activate its disks on the node (NULL: its primary), mirrors on both nodes;
 * deactivate them on the node, or everywhere when NULL. */
WAITS int disks_start(struct lu *lu, const json_t *inst, const char *node_uuid,
		      struct error *err);
/* The same on its primary.  Where secondaries are ignored, one that cannot be
 * prepared is a warning. */
WAITS int disks_start_primary(struct lu *lu, const json_t *inst,
			      bool ignore_secondaries, struct error *err);
/* Both sides of its mirrors are there and connected, none made a primary. */
WAITS int disks_connect(struct lu *lu, const json_t *inst, struct error *err);
WAITS int disks_stop(struct lu *lu, const json_t *inst, const char *node_uuid,
		     bool ignore_failures, struct error *err);
/* Stop the disk with this index on all its nodes; -1 with err when its primary
 * could not, others are a warning. */
WAITS int disks_stop_one(struct lu *lu, const json_t *inst, const json_t *disk,
			 size_t i, struct error *err);
/* Make the folder of a file-based disk on the primary; does nothing for
 * others. */
WAITS int disks_make_folder(struct lu *lu, const json_t *inst,
			    const json_t *disk, struct error *err);
/* Where the cluster wants new space wiped, wipe that of a disk on the primary,
 * from an offset on up to the end that the node tells; elsewhere nothing
 * happens. */
WAITS int disks_wipe_one(struct lu *lu, const json_t *inst, const json_t *disk,
			 size_t i, int64_t from_mib, struct error *err);
/* From where on, if it grows then: it is as large as its primary says, rounded
 * up, as somebody may have used all of that.  Where the cluster does not want
 * it wiped, nothing is asked, and *ret_mib lies behind its end. */
WAITS int disks_wipe_begin(struct lu *lu, const json_t *inst,
			   const json_t *disk, size_t i, int64_t *ret_mib,
			   struct error *err);
/* Wipe all of its disks, completely. */
WAITS int disks_wipe(struct lu *lu, const json_t *inst, struct error *err);
/* Write an OS image to its first disk, which is active on the primary; the
 * job's log tells the progress.  If the job is killed or the node does not
 * answer, the node is told to stop writing. */
WAITS int disks_image(struct lu *lu, const json_t *inst, const char *image,
		      struct error *err);
/* Pause the sync of a mirror while a lot is written to it, or resume it; does
 * nothing for other disks (one disk, in the form of node calls).  A failure
 * only costs time: a warning. */
WAITS void disks_pause_mirror(struct lu *lu, const char *node,
			      const json_t *disk, bool pause);
/* Those of its disks that are mirrors, in the form of node calls; to be
 * freed. */
json_t *disks_mirrors_of(struct lu *lu, const json_t *inst);
/* Wait until its mirrors are in sync, with the progress in the job's log (these
 * disks, in the form of node calls; NULL: all its disks); `once` only looks
 * once. ERR_EXEC when they are degraded and stay so. */
WAITS int disks_wait_sync(struct lu *lu, const json_t *inst,
			  const json_t *disks, bool once, struct error *err);
/* The connection between the two sides of mirrors (these disks, in the form of
 * node calls), on both nodes at the same time: let go, or connect, with both
 * sides as primaries if wanted, and wait until both nodes say that all are
 * connected. */
WAITS int disks_mirror_leave(struct lu *lu, const json_t *disks,
			     const char *const nodes[2], struct error *err);
WAITS int disks_mirror_join(struct lu *lu, const json_t *disks,
			    const char *const nodes[2], bool two_primaries,
			    struct error *err);
/* 0 if both nodes say that they are connected, or become so soon; else -1 with
 * what each of them says. */
WAITS int disks_mirror_check(struct lu *lu, const json_t *disks,
			     const char *const nodes[2], struct error *err);
/* Wait until both nodes say that they are equal; the job's log tells the
 * progress. */
WAITS int disks_mirror_settle(struct lu *lu, const json_t *disks,
			      const char *const nodes[2], struct error *err);
/* The status of each mirror on a node; to be freed. */
WAITS json_t *disks_mirror_status(struct lu *lu, const char *node,
				  const json_t *disks, struct error *err);
/* ERR_PREREQ unless the primary's side of each of its mirrors, which are
 * active, has all data: for who reads the volume below and not the mirror.
 * Other disks have no sides. */
WAITS int disks_mirror_check_primary(struct lu *lu, const json_t *inst,
				     struct error *err);
/* Mirrors (in the form of node calls) as they will be when another node has one
 * side of each: a list, to be freed.  Volumes, port and secret stay. */
struct disks_pair {
	const char *stays, *comes; /* UUIDs of nodes */
	const int64_t *minors;	   /* on the one that comes */
	bool connected;		   /* with a port; else it stands alone */
};
json_t *disks_paired(struct lu *lu, const json_t *inst, const json_t *disks,
		     const struct disks_pair *pair);
/* Put this version of them into the configuration, without a commit. */
void disks_put_pairs(struct lu *lu, const json_t *disks);
/* Set the size of a disk that may be changed; a mirror's volume with the data
 * is as large as the mirror. */
void disks_set_size(json_t *disk, int64_t mib);
/* What a node says of one disk (blockdev_getdimensions: [bytes, spindles]) in
 * MiB, rounded up; -1: it does not tell. */
int64_t disks_told_mib(const json_t *answer);
/* What these disks (in the form of node calls) really have on a node, in MiB,
 * in their order; what the node does not tell is as recorded.  To be freed. */
WAITS json_t *disks_real_sizes(struct lu *lu, const char *node,
			       const json_t *disks);
/* Record what the primary says of its disks, none of them a mirror. */
WAITS int disks_record_sizes(struct lu *lu, const json_t *inst,
			     struct error *err);
/* The folder of its file-based disks: below base, with the instance's name. */
char *disks_file_dir(struct lu *lu, const char *name, const char *template,
		     const char *sub_dir);

#endif
