/* SPDX-License-Identifier: BSD-2-Clause */
/* Disks that are images (their parameter "format"), shown as raw files to
 * programs that know nothing of images: gantry-impexp does it while the program
 * runs (noded/impexp/lend.h). */
#ifndef NODED_SCRIPTS_LENT_H
#define NODED_SCRIPTS_LENT_H

#include <jansson.h>
#include <stdbool.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/model/files/paths.h"

/* Whether a program has to have it shown. */
bool lent_needed(const json_t *disk);

/* The snapshot that the disk is, from a logical_id [driver, path, snapshot]; ""
 * for what is in the image now. */
const char *lent_snapshot(const json_t *disk);

/* Where the disk is shown, a local path; to be freed. */
char *lent_path(const struct paths *p, const json_t *disk);

/* Add to the words in front of a program: first lent_begin() with the path of
 * gantry-impexp, lent_add() for each disk with the local path of its image, and
 * lent_end(). */
int lent_begin(const struct paths *p, const char *impexp, struct strv *argv,
	       struct error *err);
void lent_add(const struct paths *p, const json_t *disk, const char *image,
	      struct strv *argv);
void lent_end(struct strv *argv);

#endif
