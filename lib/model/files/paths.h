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

/* The certificates that the daemons of the cluster may show: the cluster's own,
 * and while it is renewed the old and the new one; borrowed. */
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
/* The same for providers of external storage, where Debian has them. */
void paths_extstorage_search(const struct paths *p, struct strv *ret);

/* Normalised absolute path without "..", "." and empty parts? */
bool paths_is_normal(const char *path);

/* Is p the folder itself or below it (both normal)? */
bool paths_is_below(const char *path, const char *folder);

/* The address and port noded listens on: the node's primary IP from ssconf
 * is the caller's business; the port is 1811 unless GANETI_NODED_PORT. */
int paths_noded_port(void);

#endif
