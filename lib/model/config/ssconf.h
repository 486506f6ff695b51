/* SPDX-License-Identifier: BSD-2-Clause */
/* The ssconf files: what every node knows of the cluster (the 34 of
 * Ganeti 3.0). */
#ifndef MODEL_CONFIG_SSCONF_H
#define MODEL_CONFIG_SSCONF_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* At most so much of a file is read, in bytes; no node call brings more. */
#define SSCONF_READ_MAX (64 * 1024 * 1024)
/* Ganeti's node daemon refuses a file that is longer, and with it the whole
 * call. */
#define SSCONF_GANETI_MAX (128 * 1024)

/* All ssconf values of a configuration (the whole document as in config.data):
 * {key: [line, ...]}, as the node call write_ssconf_files carries them.  To be
 * freed. */
json_t *ssconf_values(const json_t *config);

/* A value as text, lines joined, without a newline at the end; to be freed. */
char *ssconf_text(const json_t *value);

/* The values without those that are too long for Ganeti's node daemon, to be
 * freed; the names of these are added to ret_left_out. */
json_t *ssconf_for_ganeti(const json_t *values, struct strv *ret_left_out);

/* Whether key is one of the 34. */
bool ssconf_is_key(const char *key);

/* Read one value on this node, without the newline, to be freed; NULL when it
 * is not there. */
char *ssconf_read(const struct paths *p, const char *key);
char *ssconf_read_on(struct disk *d, const struct paths *p, const char *key);
void ssconf_read_lines(const struct paths *p, const char *key,
		       struct strv *ret);

/* Whether this node is a master candidate, which the master is, too. */
bool ssconf_is_candidate(const struct paths *p);

/* Write the files of values (lists of lines, or texts) on this node, each
 * atomically, mode 0444, under the ssconf lock; those that would not change are
 * left alone.  ERR_PREREQ for unknown keys, then nothing is written. */
int ssconf_write(struct disk *d, const struct paths *p, const json_t *values,
		 struct error *err);

/* The primary IP of a node by its name, from node_primary_ips; NULL. */
char *ssconf_node_ip(const struct paths *p, const char *node_name);

/* Where a daemon of this node listens by default, to be freed.  It is the "any"
 * address of the cluster's family, since secondary addresses and the master's
 * are used, too; in a virtual cluster, where nodes share the machine, it is the
 * node's primary address.  NULL where that is not known. */
char *ssconf_listen_address(const struct paths *p);

#endif
