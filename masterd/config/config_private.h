/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of the configuration, for config*.c alone. */
#ifndef MASTERD_CONFIG_CONFIG_PRIVATE_H
#define MASTERD_CONFIG_CONFIG_PRIVATE_H

#include "lib/base/str.h"
#include "lib/base/table.h"
#include "masterd/config/config.h"
#include "masterd/state/state.h"

#define CONFIG_BYTES_MAX (256u * 1024 * 1024)
#define CONFIG_FILE_MODE 0640

/* What is derived from the objects and kept up to date with each change.
 * Sets are JSON objects whose keys are the members. */
struct config_index {
	struct table names[CONFIG_KIND_COUNT]; /* name -> object */
	json_t *primaries;		       /* {node: {instance: true}} */
	json_t *secondaries;		       /* {node: {instance: true}} */
	json_t *members;		       /* {group: {node: true}} */
	json_t *disk_owner;		       /* {disk: instance} */
	json_t *instance_mirrors; /* {instance: [secondary node]} */
};

struct config {
	struct disk *disk;
	const struct paths *paths;

	json_t *top; /* the document; all containers exist */
	json_t *objects[CONFIG_KIND_COUNT];    /* borrowed from top */
	struct table texts[CONFIG_KIND_COUNT]; /* uuid -> JSON text */
	char *cluster_text;
	struct config_index index;

	/* Where changes become safe; NULL: in config.data (tools, tests). */
	struct state *state;

	/* The writer: config_write.c. */
	uint64_t changes, durable; /* counts of changes */
	bool writing, failed;
	bool edited;	   /* its serial number is another copy's too */
	bool ssconf_dirty; /* something changed that is in ssconf files */
	bool redistribute;
	json_t *ssconf; /* as distribute got them last, or NULL */
	struct error failure;
	struct cond written;

	/* The changes that are not durable, to be undone when the disk is full,
	 * and the tasks that made undone changes: config_undo.c. */
	struct config_undo *undo;
	size_t n_undo, cap_undo;
	uint64_t *losers;
	size_t n_losers;
	struct error loss;
	void (*lost)(void *arg);
	void *lost_arg;
	bool full; /* the disk was full at the last write */

	struct config_booking *booked;
	size_t n_booked;

	config_distribute_fn *distribute;
	void *distribute_arg;
	void (*fatal)(void *arg, const struct error *err);
	void *fatal_arg;

	config_committed_fn *committed; /* of a copy that is never written */
	void *committed_arg;
};

/* Of a kind: the name of its container, its name in a sentence, whether its
 * objects have names, and whether the part of a name before a dot is enough. */
struct config_kind_info {
	const char *container;
	const char *title;
	bool named;
	bool short_names;
};
extern const struct config_kind_info config_kinds[CONFIG_KIND_COUNT];

/* The kind with that container, or -1. */
int config_kind_by_container(const char *container);

void config_index_init(struct config_index *x);
void config_index_done(struct config_index *x);
/* The object was added to the document, or is about to be removed; when one is
 * replaced call leave first. */
void config_index_enter(struct config *c, enum config_kind kind,
			const json_t *object);
void config_index_leave(struct config *c, enum config_kind kind,
			const json_t *object);
/* A disk came, changed, or is gone. */
void config_index_disk_changed(struct config *c, const char *disk);

/* ERR_CONFIG_VERSION when it is a document of another version. */
int config_check_version(const json_t *top, struct error *err);

/* Whether the parsed document can be used at all: version, types, UUIDs and
 * names.  Adds containers that are missing. */
int config_validate(json_t *top, struct error *err);

/* Take the next serial number, so that copies with the present one count as
 * older. */
void config_raise_serial(struct config *c);

/* Note that the object's text is out of date. */
void config_text_forget(struct config *c, enum config_kind kind,
			const char *uuid);

/* --- config_undo.c --- */

/* Note the version before a change (NULL: there was none), so that it can be
 * undone.  The last one notes a change that only has to be written. */
void config_undo_object(struct config *c, enum config_kind kind,
			const char *uuid, const json_t *before);
void config_undo_cluster(struct config *c);
void config_undo_nothing(struct config *c);
/* All changes up to this number are durable. */
void config_undo_forget(struct config *c, uint64_t durable);
/* Add the present state of all that changed since the last durable write to a
 * record (masterd/state/config_image.h). */
void config_undo_record(struct config *c, struct buf *record);
/* Undo all changes that are not durable. */
void config_undo_all(struct config *c, const struct error *why);
/* Whether a change of the running task was undone; then err says why.  It is
 * reported once. */
bool config_undo_was_mine(struct config *c, struct error *err);
void config_undo_done(struct config *c);

/* --- config_booked.c --- */

/* The bookings of c for another configuration; free those of c. */
void config_booked_copy(struct config *copy, const struct config *c);
void config_booked_done(struct config *c);

/* --- config_networks.c --- */

/* An instance has changed (before or after may be NULL): reserve the addresses
 * of its NICs in their networks, or give them back. */
void config_networks_follow(struct config *c, const json_t *before,
			    const json_t *after);

/* --- config_conflicts.c --- */

/* Add a sentence for each address, port, minor or disk that more than one
 * has. */
void config_verify_conflicts(const struct config *c, struct strv *ret_problems);

/* --- config_twice.c --- */

/* Add a sentence for each network whose reservations are not the addresses of
 * its NICs, and each instance whose disks are not named by their places. */
void config_verify_twice(const struct config *c, struct strv *ret_problems);

/* --- config_devices.c --- */

/* The volumes below a mirror get the members that all objects have, where they
 * have none: Ganeti's luxid does not read a configuration without them. */
void config_stamp_volumes(json_t *disk, double now);
bool config_has_stamps(const json_t *disk);

#endif
