/* SPDX-License-Identifier: BSD-2-Clause */
/* How a device is configured, as `drbdsetup show` prints it. */
#ifndef NODED_STORAGE_DRBD_SHOW_H
#define NODED_STORAGE_DRBD_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

struct drbd_show {
	char *data, *meta;    /* paths; NULL: no disk is attached */
	char *local, *remote; /* "ipv4 10.0.0.1:11000"; NULL: no network */
	bool two_primaries;
	char protocol; /* 'A', 'B', 'C' */
};

#define auto_show __attribute__((cleanup(drbd_show_done), unused))

/* 1: the resource that has this minor, of all in the text; 0: it has none; -1:
 * the text makes no sense.  It contains the shared secret: it is in no error.
 */
int drbd_show_parse(const char *text, int64_t minor, struct drbd_show *ret,
		    struct error *err);
void drbd_show_done(struct drbd_show *s);

#endif
