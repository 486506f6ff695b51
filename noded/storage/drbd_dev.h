/* SPDX-License-Identifier: BSD-2-Clause */
/* One DRBD device: what the configuration says of it, what it is at present,
 * and the commands that change it.  For the other files of DRBD. */
#ifndef NODED_STORAGE_DRBD_DEV_H
#define NODED_STORAGE_DRBD_DEV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/str.h"
#include "lib/event/task.h"
#include "lib/model/files/paths.h"
#include "noded/storage/bdev.h"
#include "noded/storage/drbd_show.h"
#include "noded/storage/drbd_status.h"

/* The kernel's number of its block devices. */
#define DRBD_MAJOR 147

struct drbd_dev {
	int64_t minor;
	int64_t size_mib;	    /* 0: as large as its volumes allow */
	const char *local, *remote; /* addresses */
	int port;		    /* 0: it is to stay alone */
	const char *secret;
	const json_t *data, *meta; /* the volumes below, or NULL */
	const json_t *params;
	char name[32];	   /* "drbd0" */
	char path[40];	   /* "/dev/drbd0" */
	char resource[40]; /* "resource0" */
};

/* Read a disk; its strings are borrowed from it. */
int drbd_dev_read(const json_t *disk, struct drbd_dev *ret, struct error *err);

/* The path of a volume below, "/dev/xenvg/x", to be freed. */
char *drbd_dev_child_path(const json_t *child);

/* The text of /proc/drbd, to be freed. */
char *drbd_dev_proc(const struct paths *p, struct error *err);

/* Whether the kernel has DRBD: without it no device is in use. */
bool drbd_dev_is_loaded(const struct paths *p);

/* Fail unless the kernel's DRBD is one whose devices can be changed here. */
int drbd_dev_check_version(const char *proc, struct error *err);

/* 1 with the state; 0: the minor is not in use.  Whose it is is not asked.
 * `look`, which may be NULL, keeps what was read. */
WAITS int drbd_dev_status(const struct paths *p, int64_t minor,
			  struct bdev_look *look, struct drbd_status *ret,
			  struct error *err);

/* 1 with the state; 0: this disk's device is not active, and its minor not in
 * use or somebody else's. */
WAITS int drbd_dev_look(const struct paths *p, const struct drbd_dev *d,
			struct bdev_look *look, struct drbd_status *ret,
			struct error *err);

/* 1 with state and configuration of this disk's device (show is to be freed by
 * drbd_show_done()); 0: the minor is not in use; -1: it is somebody else's, or
 * that cannot be found out. */
WAITS int drbd_dev_find(const struct paths *p, const struct drbd_dev *d,
			struct drbd_status *ret, struct drbd_show *ret_show,
			struct error *err);

/* The same, and an error if it is not in use. */
WAITS int drbd_dev_need(const struct paths *p, const struct drbd_dev *d,
			struct drbd_status *ret, struct drbd_show *ret_show,
			struct error *err);

/* Whether the device has the network that the disk has. */
bool drbd_dev_has_net(const struct drbd_dev *d, const struct drbd_show *show);

/* --- commands --- */

/* The resource and the minor, without anything below or behind them; it may be
 * there. */
WAITS int drbd_dev_make(const struct paths *p, const struct drbd_dev *d,
			struct error *err);
/* Fresh metadata on a volume that is active. */
WAITS int drbd_dev_make_meta(const struct paths *p, const struct drbd_dev *d,
			     const json_t *meta, struct error *err);
WAITS int drbd_dev_attach(const struct paths *p, const struct drbd_dev *d,
			  const json_t *data, const json_t *meta,
			  struct error *err);
/* The parameters of disk and sync in force, on a device with a disk: it waits
 * until the kernel has made up its mind about that. */
WAITS int drbd_dev_tune(const struct paths *p, const struct drbd_dev *d,
			struct error *err);
/* What the site wants besides, on a device that runs. */
WAITS int drbd_dev_customize_disk(const struct paths *p,
				  const struct drbd_dev *d, struct error *err);
/* The same of its connection, and the protocol; not while both sides are
 * primaries, who need protocol C. */
WAITS int drbd_dev_customize_net(const struct paths *p,
				 const struct drbd_dev *d,
				 const struct drbd_show *show,
				 struct error *err);
WAITS int drbd_dev_connect(const struct paths *p, const struct drbd_dev *d,
			   bool two_primaries, struct error *err);
/* Leave the peer that it has, and wait for the end of that. */
WAITS int drbd_dev_disconnect(const struct paths *p, const struct drbd_dev *d,
			      struct error *err);
WAITS int drbd_dev_detach(const struct paths *p, const struct drbd_dev *d,
			  struct error *err);
WAITS int drbd_dev_down(const struct paths *p, const struct drbd_dev *d,
			struct error *err);
/* `drbdsetup <verb> <minor> [option]`; the error says what state it is in and
 * what can be done. */
WAITS int drbd_dev_run(const struct paths *p, const struct drbd_dev *d,
		       const char *verb, const char *option, struct error *err);

#endif
