/* SPDX-License-Identifier: BSD-2-Clause */
/* A note beside config.data, in a file of ours: digest, serial number and time
 * of what this node wrote there last.  By it the daemon distinguishes three
 * cases: the file is what this node wrote; the file is damaged; somebody else
 * has written it since, such as Ganeti or a person with an editor
 * (doc/design/config.md). */
#ifndef MODEL_CONFIG_CONFIG_DIGEST_H
#define MODEL_CONFIG_CONFIG_DIGEST_H

#include <stdint.h>

#include "lib/base/disk.h"
#include "lib/base/error.h"
#include "lib/base/mem.h"
#include "lib/model/files/paths.h"

enum config_origin {
	CONFIG_UNKNOWN, /* there is no note */
	CONFIG_WHOLE,	/* just as it was written */
	CONFIG_NEWER,	/* somebody has written a later serial since */
	CONFIG_EDITED,	/* somebody has written another text under a serial
			 * number that was used before: with an editor, or an
			 * old copy */
	CONFIG_DAMAGED, /* damaged: another text, and nobody has written it */
};

/* Note that config.data now has this text; to be called when it is written and
 * has its times.  Durable when it returns 0.  Blocks. */
int config_digest_note(struct disk *disk, const struct paths *paths,
		       const char *text, size_t len, struct error *err);

/* Before it is written: note that config.data will have this text, so that
 * after a crash both that and what it has now count as written here; so does
 * what was announced before, when it came to be there without its note.
 * Durable when it returns 0.  Blocks. */
int config_digest_announce(struct disk *disk, const struct paths *paths,
			   const char *text, size_t len, struct error *err);

/* What config.data with this text is.  *ret_serial is the serial number of the
 * note, -1 when there is none.  Blocks. */
enum config_origin config_digest_judge(struct disk *disk,
				       const struct paths *paths,
				       const char *text, size_t len,
				       int64_t *ret_serial);

/* The serial number in a text, also one that is no JSON any more: -1 when it
 * is not found.  Much faster than parsing. */
int64_t config_digest_text_serial(const char *text, size_t len);

#endif
