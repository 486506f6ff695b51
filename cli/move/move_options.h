/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of move-instance. */
#ifndef CLI_MOVE_OPTIONS_H
#define CLI_MOVE_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* How to get into one of the clusters. */
struct move_access {
	const char *cluster;
	int64_t port;
	const char *ca_file; /* NULL: the authorities of the system */
	const char *user;    /* NULL: none */
	const char *password_file;
};

struct move_options {
	bool help, version;
	int verbose, debug;
	struct move_access source, dest;
	const char *dest_name; /* NULL: as on the source */
	const char *primary, *secondary, *allocator;
	const char *disk_template; /* NULL: as on the source */
	const char *compress;
	json_t *beparams, *hvparams, *osparams; /* objects, or NULL */
	json_t *nics; /* list of [index as text, object], or NULL */
	int64_t parallel;
	int64_t tries, delay_s; /* of opportunistic creations */
	int64_t shutdown_s;	/* -1: the clusters' own */
	bool keep_source;
	char **instances;
	int n_instances;
};

/* Read the words of the command line, which the result points into; -1 with err
 * for one that makes no sense.  With help or version nothing else is checked.
 */
int move_options_read(struct move_options *o, int argc, char **argv,
		      struct error *err);
void move_options_done(struct move_options *o);

/* What --help prints. */
void move_options_help(FILE *out);

/* The password in a file: its first line.  To be freed; NULL with err. */
char *move_options_password(const char *path, struct error *err);

#endif
