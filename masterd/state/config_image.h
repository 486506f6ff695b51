/* SPDX-License-Identifier: BSD-2-Clause */
/* The configuration as texts: what the records of the log make of it, and what
 * config.data is written from.
 *
 * A name is that of a member of config.data ("cluster", "serial_no"), or, where
 * the member is a container of objects, its name and the object's UUID
 * ("nodes/9b27..."); its text is JSON.  A change costs what it changes: no
 * server of the log parses or writes the whole for one object.  Pure memory. */
#ifndef MASTERD_STATE_CONFIG_IMAGE_H
#define MASTERD_STATE_CONFIG_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

struct config_image;

/* Empty: no configuration at all. */
struct config_image *config_image_create(void);
void config_image_free(struct config_image *i); /* NULL: nothing */

/* From the text of a config.data.  -1 with err: it is none; then the image is
 * as before. */
int config_image_load(struct config_image *i, const char *text, size_t len,
		      struct error *err);
/* The text of config.data, always the same for the same state, to be freed. */
char *config_image_text(const struct config_image *i, size_t *ret_len);
bool config_image_is_empty(const struct config_image *i);

/* The text of a name, borrowed until the next change; NULL: there is none. */
const char *config_image_get(const struct config_image *i, const char *name);
/* Call fn for each object of a container, with its UUID; in no order. */
void config_image_each(const struct config_image *i, const char *container,
		       void (*fn)(void *arg, const char *uuid,
				  const char *text),
		       void *arg);

/* --- records --- */

/* Add to a record: this name has that text now; NULL: it is gone.  `all` stands
 * first in a record that is the whole configuration: what was before is
 * forgotten. */
void config_image_record_all(struct buf *record);
void config_image_record(struct buf *record, const char *name,
			 const char *text);
/* The whole image as a record. */
void config_image_record_image(const struct config_image *i,
			       struct buf *record);
/* Make the changes of a record.  *ret_nodes is set where the cluster or a node
 * is another now.  -1 with err: these bytes are no record. */
int config_image_take(struct config_image *i, const void *record, size_t len,
		      bool *ret_nodes, struct error *err);
/* Call fn for each change of a record, in order: the name, and its text (with
 * its length; no NUL is behind it), NULL: it is gone.  -1: the rest is no
 * record. */
int config_image_read_record(const void *record, size_t len,
			     void (*fn)(void *arg, const char *name,
					const char *text, size_t len),
			     void *arg);

#endif
