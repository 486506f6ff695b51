/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration: config.data in memory, the one truth of the cluster.
 *
 * Objects are JSON documents that never change: a change puts a new one in the
 * place of the old, which lives on for whoever holds a reference
 * (json_incref).  Borrowed pointers are good until the next wait.  A change is
 * in memory at once; config_commit() returns when it is safe: config.data is on
 * disk and the candidates have it.  Many changes share one write.
 */
#ifndef MASTERD_CONFIG_CONFIG_H
#define MASTERD_CONFIG_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"

/* The containers of config.data; objects in them are found by UUID. */
enum config_kind {
	CONFIG_NODE,
	CONFIG_GROUP,
	CONFIG_INSTANCE,
	CONFIG_DISK,
	CONFIG_NETWORK,
	CONFIG_FILTER,
	CONFIG_KIND_COUNT
};

struct config;
struct state;

/* Called in the configuration's own task after each change that is safe: bring
 * the ssconf values that changed to all nodes (NULL if none did; all of them
 * the first time and for config_redistribute()). */
typedef WAITS void config_distribute_fn(void *arg, const json_t *ssconf);

/* Read config.data; NULL with ERR_CONFIG when there is none or it is damaged
 * (doc/design/config.md): the sentence names the place. fatal() is called when
 * a write fails: the daemon must go down. */
struct config *config_load(struct disk *disk, const struct paths *paths,
			   struct error *err);
/* The same from the replicated state, which then gets all changes as records
 * (state_commit_config()); the state outlives the configuration. */
struct config *config_of_state(struct disk *disk, const struct paths *paths,
			       struct state *state, struct error *err);
/* Whether a text is a configuration that config_load() would take. */
int config_check_text(const char *text, size_t len, struct error *err);
void config_free(struct config *c);
void config_set_distribute(struct config *c, config_distribute_fn *fn,
			   void *arg);
void config_set_fatal(struct config *c,
		      void (*fatal)(void *arg, const struct error *err),
		      void *arg);

/* lost() is called each time that changes were undone because the disk is full;
 * it must not wait. */
void config_set_lost(struct config *c, void (*lost)(void *arg), void *arg);
/* Whether the last write failed because the disk is full. */
bool config_is_full(const struct config *c);

/* A copy in memory that is never written; committed() is called in place of a
 * write.  The copy shares the objects, so it costs some time and little
 * memory. */
typedef void config_committed_fn(void *arg);
struct config *config_copy(const struct config *c, config_committed_fn *fn,
			   void *arg);
/* Of a copy: whether anything that is in ssconf files has changed since the
 * last call of this function. */
bool config_take_ssconf(struct config *c);

/* --- reading --- */

const json_t *config_cluster(const struct config *c);
int64_t config_serial(const struct config *c);
/* The whole document, assembled; to be freed.  References, no copies. */
json_t *config_document(const struct config *c);

/* By UUID; NULL if unknown. */
const json_t *config_get(const struct config *c, enum config_kind kind,
			 const char *uuid);
/* By name (nodes, groups, instances, networks): exact, or for nodes and
 * instances a prefix up to a dot that fits only one ("node1"); NULL otherwise.
 * A UUID is found too. */
const json_t *config_find(const struct config *c, enum config_kind kind,
			  const char *name);
/* ERR_PREREQ/ECODE_INVAL for a new name that looks like a UUID: config_find
 * would find it in place of the object that has this UUID. */
int config_check_new_name(const char *name, struct error *err);
/* The forthcoming instance of this name that was booked for this job
 * (masterd/lu/spec/instance_booking.h); NULL. */
const json_t *config_find_reserved(const struct config *c, const char *name,
				   uint64_t job);
/* As config_find, but ERR_PREREQ/ECODE_NOENT "Node 'x' not known" instead of
 * NULL. */
const json_t *config_expect(const struct config *c, enum config_kind kind,
			    const char *name, struct error *err);

/* All objects of a kind {uuid: object}, for json_object_foreach. */
const json_t *config_all(const struct config *c, enum config_kind kind);
/* UUIDs in nice order of the objects' names. */
void config_sorted(const struct config *c, enum config_kind kind,
		   struct strv *ret_uuids);

/* The objects themselves in that order, a list to be freed. */
json_t *config_sorted_objects(const struct config *c, enum config_kind kind);

/* The name of the object, or the UUID itself if it is not there. */
const char *config_name(const struct config *c, enum config_kind kind,
			const char *uuid);

/* --- derived --- */

const json_t *config_master(const struct config *c); /* its node object */
bool config_is_master(const struct config *c, const char *node_uuid);
/* UUIDs of instances that have the node as primary / as secondary. */
void config_node_primaries(const struct config *c, const char *node_uuid,
			   struct strv *ret);
void config_node_secondaries(const struct config *c, const char *node_uuid,
			     struct strv *ret);
void config_group_nodes(const struct config *c, const char *group_uuid,
			struct strv *ret);
/* Secondary nodes of an instance (from its DRBD disks; mostly none). */
void config_instance_secondaries(const struct config *c, const json_t *instance,
				 struct strv *ret);
/* The other nodes that have the disk (DRBD; otherwise none). */
void config_disk_secondaries(const json_t *disk, const char *primary,
			     struct strv *ret);
/* The UUID of the instance that has the disk, NULL for a detached one. */
const char *config_disk_owner(const struct config *c, const char *disk_uuid);
/* The template of its disks, "diskless" without. */
const char *config_instance_template(const struct config *c,
				     const json_t *instance);
/* Its disk objects, a new array; to be freed. */
json_t *config_instance_disks(const struct config *c, const json_t *instance);
/* Whether a NIC of an instance has the address of this network (a UUID). */
bool config_has_address(const struct config *c, const char *network,
			const char *ip);
/* How many nodes are candidates, could be, and should be (pool size bound by
 * those that can). */
void config_candidate_stats(const struct config *c, size_t *ret_now,
			    size_t *ret_max, size_t *ret_should);

/* Add a sentence for each reference that leads nowhere and each rule that an
 * object breaks, for gnt-cluster verify. */
void config_verify(const struct config *c, struct strv *ret_problems);

/* --- changing: in memory at once, to be followed by config_commit --- */

/* Insert or replace an object (by its "uuid"); sets serial_no, mtime (and ctime
 * of a new one) where the kind has them.  Returns the stored object, borrowed.
 */
const json_t *config_put(struct config *c, enum config_kind kind,
			 json_t *object STEALS);
void config_remove(struct config *c, enum config_kind kind, const char *uuid);
void config_put_cluster(struct config *c, json_t *cluster STEALS);

/* Resources of a node that a job has booked for an instance which will come
 * there; they count as booked until the instance is there
 * (masterd/resources/resources.h).  Only in memory, so none is left after a
 * crash; the end of the job gives them back. */
enum {
	BOOK_MEMORY = 1,  /* memory and CPUs */
	BOOK_DISKS = 2,	  /* its disks */
	BOOK_COPY = 4,	  /* its disks again, where they already are */
	BOOK_RUNTIME = 8, /* memory it will run with: `runtime` */
};
struct config_booking {
	uint64_t job;
	char *instance, *node; /* UUIDs */
	unsigned what;
	int64_t runtime; /* MiB that it is about to get there; 0: unknown */
};
void config_book(struct config *c, uint64_t job, const char *instance,
		 const char *node, unsigned what);
/* Book BOOK_RUNTIME, so many MiB; and read how much any jobs have booked of it
 * for the instance there. */
void config_book_runtime(struct config *c, uint64_t job, const char *instance,
			 const char *node, int64_t mib);
void config_rebook_runtime(struct config *c, const char *instance,
			   const char *node, int64_t mib);
void config_unbook(struct config *c, uint64_t job, const char *instance,
		   const char *node, unsigned what);
/* Give back all bookings of the job. */
void config_unbook_job(struct config *c, uint64_t job);
const struct config_booking *config_bookings(const struct config *c,
					     size_t *ret_n);

/* Objects that were written without members that Ganeti's programs want are put
 * with them; how many, to be committed.  These are the volumes below mirrors,
 * which have a serial number and times of their own, and the cluster, whose
 * parameters and policy have a value for each there is. */
size_t config_complete(struct config *c);

/* Make a copy to change and put: shallow, members are shared (replace them,
 * do not change them). */
json_t *config_edit(const json_t *object);

/* From now on set *flag when the running task changes something; NULL: stop
 * that.  The flag must live until then. */
void config_note_changes(bool *flag);

/* Wait until everything changed so far is safe. */
WAITS int config_commit(struct config *c, struct error *err);

/* Write everything again, also what has not changed, and bring it to all nodes
 * (gnt-cluster redist-conf). */
WAITS int config_redistribute(struct config *c, struct error *err);

/* Put into the arguments of a call to a node what its mirrored disks are there:
 * their `dynamic_params`.  For noderpc_set_fill(), with the config as its
 * arg. */
void config_fill_devices(void *config, const json_t *node, json_t *args);

#endif
