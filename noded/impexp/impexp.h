/* SPDX-License-Identifier: BSD-2-Clause */
/* gantry-impexp: copies one disk between two nodes, with a process on each of
 * them (Ganeti's import/export daemon).
 *
 * The importing process listens, the exporting one connects.  Both show
 * certificates, and each accepts only the one that it expects.  The stream
 * begins with "M=<magic>", by which a connection is known to belong to this
 * disk.  Then the bytes of the disk follow, possibly compressed by a program.
 *
 * Instead of another node's disk there may be an image: a file of this node, or
 * a URL (impexp_image.c).
 *
 * A supervisor (main.c) starts up to three children, joined by pipes: the end
 * (impexp_end.c), which reads or writes the disk; a program that compresses;
 * and the network (impexp_net.c) or the image.  Where only the first and the
 * last are needed, the network is the end's own, as a pipe between the two
 * costs as much as the encryption.  They report through shared memory. */
#ifndef NODED_IMPEXP_H
#define NODED_IMPEXP_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Beside the status file, in the folder of one transfer. */
#define IMPEXP_STATUS "status"
#define IMPEXP_PID "pid"
#define IMPEXP_ASKED                                                           \
	"asked"		 /* touched whenever somebody asks how far it is       \
			  */
#define IMPEXP_LOG "log" /* what programs say */

/* What is moved at once. */
#define IMPEXP_CHUNK (256 * 1024)

enum impexp_child { IMPEXP_END, IMPEXP_TOOL, IMPEXP_NET, IMPEXP_N };

/* The kind of end. */
enum impexp_kind {
	IMPEXP_RAW,    /* a device or a disk's file, which is there */
	IMPEXP_FILE,   /* a file of an export; importing makes it */
	IMPEXP_SCRIPT, /* a program's standard input or output */
};

/* What to do, as read from the text of a job (impexp_spec_read()); the strings
 * are those of the JSON object. */
struct impexp_spec {
	bool import;
	const char *address; /* to listen on or to connect to */
	int port;	     /* 0: any */
	const char *key_file;
	const char *ca_file; /* its certificate is the peer's */
	bool alone;	     /* nobody here asks the peer how it has ended */
	const char *magic;   /* NULL: none */
	const char *image;   /* a path or a URL, no peer; NULL: none */
	bool url;
	const char *schemes;	    /* of URLs, as libcurl has them */
	const json_t *closed;	    /* folders from which no image comes */
	const char *instance_disks; /* links to disks that are in use */
	int64_t limit;		    /* the size of the disk; 0: no limit */
	int connect_timeout_s;
	int64_t bandwidth_mib; /* of the network, in a second; 0: no limit */
	const json_t *tool;    /* argv, or NULL */
	enum impexp_kind kind;
	const char *path; /* raw, file */
	/* Where what is in the image at `path` is shown (lend.h); NULL: it is
	 * no image. */
	const char *lent_at;
	const char *snapshot; /* of the image; NULL: as it is now */
	bool sparse;	      /* zeros are not sent (impexp_copy.c) */
	const json_t *argv;   /* script */
	const json_t *env;
	const char *cwd;
};

/* What the children report. */
struct impexp_shared {
	_Atomic int port;
	_Atomic bool connected;
	_Atomic int64_t bytes; /* done so far */
	_Atomic int64_t total; /* of so many; 0: not known */
	/* Those who gave the network what it sends have ended well, so that was
	 * all. */
	_Atomic bool complete;
	char why[IMPEXP_N][512]; /* written before a child ends with 1 */
};

int impexp_spec_read(const json_t *object, struct impexp_spec *ret,
		     struct error *err);

/* Copy all bytes between the disk and fd or, where that is -1, the peer; counts
 * them in s->bytes.  -1 with err; *ret_net: the connection has failed. */
int impexp_end_run(const struct impexp_spec *spec, int fd,
		   struct impexp_shared *s, bool *ret_net, struct error *err);

/* Copy all bytes between fd and the peer. */
int impexp_net_run(const struct impexp_spec *spec, int fd, bool count,
		   struct impexp_shared *s, struct error *err);

/* Copy an image into fd.  A file must be readable for everybody, a
 * device must not be in use: a user who may only have a disk made must not be
 * able to read this node's own data. */
int impexp_image_run(const struct impexp_spec *spec, int fd,
		     struct impexp_shared *s, struct error *err);

/* The size of the URL's image, as its server says without sending it; -1.  This
 * process then runs as nobody. */
int64_t impexp_image_size(const struct impexp_spec *spec, struct error *err);

/* All of it, or -1; as read() and write() but for short counts. */
int impexp_write_all(int fd, const void *data, size_t len);

#endif
