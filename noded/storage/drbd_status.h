/* SPDX-License-Identifier: BSD-2-Clause */
/* What DRBD tells of its devices: the text of /proc/drbd (8.4) and the JSON of
 * `drbdsetup status --json` (9), as one struct; and what a state means to who
 * has to do something about it. */
#ifndef NODED_STORAGE_DRBD_STATUS_H
#define NODED_STORAGE_DRBD_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

#define DRBD_WORD_MAX 32
#define DRBD_VERSION_MAX 64

struct drbd_version {
	int major, minor, point;
	char text[DRBD_VERSION_MAX]; /* "8.4.11 (api:1/proto:86-101)" */
};

/* The words are DRBD's: "Connected", "UpToDate".  Of a device that is not in
 * use the state is "Unconfigured" and the other words are empty. */
struct drbd_status {
	char state[DRBD_WORD_MAX];
	char role[DRBD_WORD_MAX], peer_role[DRBD_WORD_MAX];
	char disk[DRBD_WORD_MAX], peer_disk[DRBD_WORD_MAX];
	double percent;	  /* of a sync; -1: there is none */
	int64_t left_s;	  /* until it ends; -1: not known */
	bool split_brain; /* the kernel has said so */
};

/* The version in the first line of /proc/drbd. */
int drbd_status_version(const char *text, struct drbd_version *ret,
			struct error *err);

/* 1: the minor is in use; 0: it is not; -1: its line makes no sense. */
int drbd_status_find(const char *text, int64_t minor, struct drbd_status *ret,
		     struct error *err);

/* The minors in use, to be freed. */
json_t *drbd_status_minors(const char *text);

/* The same of DRBD 9's JSON, of which /proc/drbd tells no devices. */
int drbd_status_find9(const json_t *resources, int64_t minor,
		      struct drbd_status *ret, struct error *err);
json_t *drbd_status_minors9(const json_t *resources);

bool drbd_status_is(const struct drbd_status *s, const char *state);
bool drbd_status_is_synced_here(const struct drbd_status *s);
bool drbd_status_is_diskless(const struct drbd_status *s);
/* It is known whether the data of the disk here count, if there is one. */
bool drbd_status_is_settled(const struct drbd_status *s);
/* Connected, and nothing is to be done; the kernel may compare both sides. */
bool drbd_status_is_connected(const struct drbd_status *s);
/* On the way to being equal, or in a handshake that leads there. */
bool drbd_status_is_syncing(const struct drbd_status *s);
/* Connected, perhaps syncing. */
bool drbd_status_is_linked(const struct drbd_status *s);

/* Whether the kernel's log has told of a split brain of this minor since it was
 * last connected.  `log` is the text of the kernel's log. */
bool drbd_status_split_brain(const char *log, int64_t minor);

/* What is wrong with it and what to do, to be freed; NULL: nothing is. */
char *drbd_status_advice(const struct drbd_status *s, int64_t minor);

#endif
