/* SPDX-License-Identifier: BSD-2-Clause */
/* Where things are on a node.
 *
 * A real node has Ganeti's layout below /.  With GANETI_ROOTDIR set the same
 * layout lies below that folder (its last component must be the node's name,
 * GANETI_HOSTNAME).  Paths in the configuration, in opcodes and on the wire
 * never have the root in front ("virtual" paths); the node that touches the
 * file system puts its own root before them with paths_local(). */
#ifndef MODEL_FILES_PATHS_H
#define MODEL_FILES_PATHS_H

#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

enum path_id {
#define PATH(name, path) PATH_##name,
#include "lib/model/files/paths.def"
#undef PATH
	PATH_COUNT
};

struct paths {
	char *root;	/* "" on a real node, else absolute without last '/' */
	char *hostname; /* this node's name */
	char *items[PATH_COUNT];
};

/* From GANETI_ROOTDIR and GANETI_HOSTNAME, or the machine's host name. */
struct paths *paths_from_env(struct error *err);

/* For that root ("" or absolute) and node name. */
struct paths *paths_create(const char *root, const char *hostname);
void paths_destroy(struct paths *p);

/* The full path, borrowed for as long as p lives. */
static inline const char *path(const struct paths *p, enum path_id id)
{
	return p->items[id];
}

/* The file with the certificates that the cluster's daemons may show: the
 * cluster's own one, and during its renewal both the old and the new one.
 * Borrowed. */
const char *paths_trusted(const struct paths *p);

/* path() without any root, as it travels; a literal. */
const char *paths_plain(enum path_id id);

/* root + virtual path; to be freed.  A path that begins with Ganeti's own mark
 * "/###-VIRTUAL-PATH-###," has that taken off first. */
char *paths_local(const struct paths *p, const char *virtual_path);

/* The reverse: take our root off the front if it is there; to be freed. */
char *paths_virtual(const struct paths *p, const char *local_path);

/* "ssconf_<key>" in the data folder; to be freed. */
char *paths_ssconf(const struct paths *p, const char *key);

/* Search folders, root in front: OS definitions, allocators (the list set at
 * configure time), in the order of search. */
void paths_os_search(const struct paths *p, struct strv *ret);
void paths_iallocator_search(const struct paths *p, struct strv *ret);
/* The same for providers of external storage: the folders that Debian uses. */
void paths_extstorage_search(const struct paths *p, struct strv *ret);

/* Normalised absolute path without "..", "." and empty parts? */
bool paths_is_normal(const char *path);

/* Is p the folder itself or below it (both normal)? */
bool paths_is_below(const char *path, const char *folder);

/* The port of the node daemons: 1811, or GANETI_NODED_PORT.  (The address is
 * the node's primary IP, which the caller has to find.) */
int paths_noded_port(void);

/* The port of the remote API: 5080, or GANETI_RAPI_PORT. */
#define PATHS_RAPI_PORT 5080

/* A damaged log is kept as the log's folder with this and a time. */
#define PATHS_DAMAGED_LOG ".damaged-"
int paths_rapi_port(void);

#endif
