/* SPDX-License-Identifier: BSD-2-Clause */
/* Disk templates and the storage that they lie on: the rows of templates.def.
 *
 * Who has the name of a template asks template_get() for what it needs or can;
 * nobody compares names but the code that a template has for itself (DRBD's
 * ports and minors).  The type of a disk ("dev_type") is the name of a
 * template, also that of the volumes below a mirror. */
#ifndef LIB_MODEL_KINDS_TEMPLATE_H
#define LIB_MODEL_KINDS_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- storage --- */

enum storage {
#define STORAGE(id, ...) STORAGE_##id,
#define DISK_TEMPLATE(id, ...)
#include "lib/model/kinds/templates.def"
#undef STORAGE
#undef DISK_TEMPLATE
	STORAGE_COUNT,
};

struct storage_info {
	const char *name; /* "lvm-vg": as opcodes and node calls name it */
	/* The member of the cluster that says where it is: a folder, or a
	 * volume group.  NULL: the cluster says nothing of it. */
	const char *place;
	/* The word under which the state of record has its space (also the
	 * name of a template on it); NULL: its space is not recorded. */
	const char *recorded_as;
	/* The type under which node_info is asked for its space; NULL: nodes
	 * cannot tell.  Ganeti's node daemon fails the whole call for other
	 * words than "file" and those of LVM; a folder of shared files is one
	 * like any other to it. */
	const char *unit;
	/* Its folders must be below those of /etc/ganeti/file-storage-paths. */
	bool guarded;
	/* What node_verify is asked about its folder, and the code of the
	 * error; NULL: nothing. */
	const char *verify, *verify_code;
	/* The storage that it is a part of, as physical volumes are parts of
	 * volume groups; NULL: none.  Disks lie on the whole only. */
	const char *part_of;
};

extern const struct storage_info storage_table[STORAGE_COUNT];

/* The names of all, sorted, and of those that have space to list; NULL ends. */
extern const char *const storage_names[];
extern const char *const storage_listed_names[];

/* The row of that name, or NULL (also for NULL). */
const struct storage_info *storage_find(const char *name);

/* --- templates --- */

/* Who has a copy of the disk: its node alone; two nodes, which keep the copies
 * equal themselves; or storage that all nodes reach. */
enum mirror { MIRROR_NONE, MIRROR_EXTERNAL, MIRROR_INTERNAL };

/* How a new disk is called on its nodes, which is its logical id.  Mirrors in
 * two nodes have one of their own kind. */
enum template_naming {
	NAMED_NOT,	   /* a mirror, or no disks */
	NAMED_AS_FILE,	   /* [driver, folder of the instance/name] */
	NAMED_AS_INSTANCE, /* [driver, a path made of the instance] */
	NAMED_AS_VOLUME,   /* [volume group, name] */
	NAMED_AS_IMAGE,	   /* [template, name] */
	NAMED_BY_PROVIDER, /* [provider, name] */
	NAMED_BY_USER,	   /* ["manual", the device that is adopted] */
	NAMED_COUNT,
};

/* Whether a new disk may be something that is there already. */
enum template_adoption { ADOPTS_NEVER, ADOPTS_WHAT_IS_SAID, ADOPTS_ALWAYS };

enum template {
#define STORAGE(id, ...)
#define DISK_TEMPLATE(id, class, driver, number, ...) TEMPLATE_##id = number,
#include "lib/model/kinds/templates.def"
#undef STORAGE
#undef DISK_TEMPLATE
};

#define STORAGE(id, ...)
#define DISK_TEMPLATE(id, ...) +1
enum {
	TEMPLATE_COUNT = 0
#include "lib/model/kinds/templates.def"
};
#undef STORAGE
#undef DISK_TEMPLATE

struct template_info {
	const char *name;
	const char *planners_name; /* as Ganeti's planners print it */
	enum storage storage;	   /* what its disks lie on */
	enum mirror mirror;
	enum template_naming named;
	enum template_adoption adopts;
	/* What a mirror's disks are made of on each node, a template as well:
	 * "plain".  NULL: of nothing. */
	const char *below;
	int64_t overhead_mib; /* on each node, besides the size of the disk */
	bool no_disks;	      /* instances of it have none */
	bool file;	      /* its disks are files in folders */
	bool access;	      /* disks say how they are reached ("access") */
	bool provider;	      /* disks name a program that makes them */
	bool snapshots;	      /* what is on a disk can be kept as it is now */
	bool formats; /* a file may be an image of a format ("format") */
	/* Volumes may have whole physical volumes for themselves. */
	bool exclusive;
	/* Of storage that all nodes reach: hosts may keep data in their page
	 * cache, as the storage keeps the views of two hosts the same. */
	bool cache_is_safe;
};

extern const struct template_info template_table[TEMPLATE_COUNT];

/* All names, sorted; NULL ends. */
extern const char *const template_names[];

/* The row of that name, or NULL (also for NULL). */
const struct template_info *template_find(const char *name);

/* The same for what comes from a configuration: never NULL.  An unknown name
 * has the row of a template with a local disk that can do nothing. */
const struct template_info *template_get(const char *name);

/* Of a row from here: what the disk's data is, also of a mirror (its volumes'
 * template). */
const char *template_of_data(const struct template_info *t);

/* The storage below it; never NULL. */
const struct storage_info *template_storage(const struct template_info *t);

/* Of names; unknown ones are nothing of all this. */
bool template_is_file(const char *name);       /* files in folders */
bool template_is_mirrored(const char *name);   /* can fail over */
bool template_is_everywhere(const char *name); /* all nodes reach it */
/* Its disks have a copy on each of two nodes; their logical id begins with
 * these two. */
bool template_is_pair(const char *name);
bool template_is_on_volumes(const char *name); /* needs a volume group */
bool template_is_volume(const char *name);     /* a disk is one volume */

#endif
