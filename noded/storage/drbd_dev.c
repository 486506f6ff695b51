/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads disks and the state of devices.  DRBD 9 tells its devices by a program
 * of its own; they can be looked at, but not changed here, as its commands are
 * others (doc/design/storage.md). */
#include "noded/storage/drbd_dev.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>

#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "noded/storage/drbd.h"
#include "noded/storage/storage_tool.h"

#define PROC "/proc/drbd"
#define PROC_TEXT_MAX ((size_t)4 * 1024 * 1024)
#define HELPER "/sys/module/drbd/parameters/usermode_helper"
#define HELPER_MAX 4096
#define MINOR_MAX 1048575
#define SIZE_MIB_MAX (INT64_C(1) << 40)
#define KERNEL_LOG "/var/log/kern.log" /* of a virtual node */
#define KERNEL_LOG_MAX ((size_t)4 * 1024 * 1024)
/* Of klogctl(). */
enum { LOG_READ_ALL = 3, LOG_SIZE = 10 };

/* --- what the configuration says --- */

static int bad_disk(struct error *err, const char *what)
{
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "A mirrored disk of this call has no %s", what);
}

static int read_dynamic(const json_t *disk, struct drbd_dev *d,
			struct error *err)
{
	const json_t *dynamic = json_get(disk, "dynamic_params");

	d->minor = json_int(dynamic, "local-minor", -1);
	d->local = json_str(dynamic, "local-ip", NULL);
	d->remote = json_str(dynamic, "remote-ip", NULL);
	if (d->minor < 0 || d->minor > MINOR_MAX)
		return bad_disk(err, "local-minor: it is not one of this node");
	if (d->port != 0 && (d->local == NULL || d->remote == NULL))
		return bad_disk(err, "addresses of its two nodes");
	return 0;
}

int drbd_dev_read(const json_t *disk, struct drbd_dev *ret, struct error *err)
{
	const json_t *id = json_get(disk, "logical_id");
	const json_t *children = json_get(disk, "children");
	const json_t *port = json_array_get(id, 2);
	struct drbd_dev d = {
		.size_mib = json_int(disk, "size", -1),
		.params = json_get(disk, "params"),
		.secret = json_string_value(json_array_get(id, 5)),
		.port = (int)json_integer_value(port),
	};

	if (json_array_size(id) != 6 || d.secret == NULL)
		return bad_disk(err, "logical_id of six parts");
	if (d.port < 0 || d.port > 65535)
		return bad_disk(err, "port that can be");
	if (d.size_mib < 0 || d.size_mib > SIZE_MIB_MAX)
		return bad_disk(err, "size that can be");
	if (json_array_size(children) == 2) {
		d.data = json_array_get(children, 0);
		d.meta = json_array_get(children, 1);
	}
	if (read_dynamic(disk, &d, err) < 0)
		return -1;
	snprintf(d.name, sizeof(d.name), "drbd%" PRId64, d.minor);
	snprintf(d.path, sizeof(d.path), "/dev/drbd%" PRId64, d.minor);
	snprintf(d.resource, sizeof(d.resource), "resource%" PRId64, d.minor);
	*ret = d;
	return 0;
}

char *drbd_dev_child_path(const json_t *child)
{
	const json_t *id = json_get(child, "logical_id");

	return xprintf("/dev/%s/%s",
		       json_string_value(json_array_get(id, 0)) ?: "",
		       json_string_value(json_array_get(id, 1)) ?: "");
}

/* --- what the kernel says --- */

char *drbd_dev_proc(const struct paths *p, struct error *err)
{
	auto_free char *file = paths_local(p, PROC);
	char *text = fs_read(file, PROC_TEXT_MAX, NULL, err);

	if (text == NULL)
		error_wrap_as(err, ERR_BLOCKDEV,
			      "DRBD does not answer, is its module loaded?");
	return text;
}

bool drbd_dev_is_loaded(const struct paths *p)
{
	auto_free char *file = paths_local(p, PROC);

	return fs_exists(file);
}

int drbd_dev_check_version(const char *proc, struct error *err)
{
	struct drbd_version v;

	if (drbd_status_version(proc, &v, err) < 0)
		return -1;
	if (v.major == 8 && v.minor >= 4)
		return 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "The kernel has DRBD %s, and this node daemon drives "
			 "8.4 alone",
			 v.text);
}

static WAITS json_t *status9(const struct paths *p, struct error *err)
{
	return storage_tool_json(
		p, (const char *const[]){"drbdsetup", "status", "--json", NULL},
		err);
}

static bool is_nine(const char *proc)
{
	struct drbd_version v;
	struct error ignored;

	return drbd_status_version(proc, &v, &ignored) == 0 && v.major >= 9;
}

/* The kernel's log, to be freed; empty where it cannot be read. */
static char *kernel_log(const struct paths *p)
{
	auto_free char *file = paths_local(p, KERNEL_LOG);
	struct error ignored;
	char *text = NULL;
	int size, n;

	if (*p->root != '\0') {
		text = fs_read(file, KERNEL_LOG_MAX, NULL, &ignored);
		return text != NULL ? text : xstrdup("");
	}
	size = klogctl(LOG_SIZE, NULL, 0);
	if (size <= 0)
		return xstrdup("");
	text = xalloc((size_t)size + 1);
	n = klogctl(LOG_READ_ALL, text, size);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static WAITS int read_status(const struct paths *p, int64_t minor,
			     const char *proc, struct drbd_status *ret,
			     struct error *err)
{
	auto_json json_t *nine = NULL;

	if (!is_nine(proc))
		return drbd_status_find(proc, minor, ret, err);
	nine = status9(p, err);
	return nine == NULL ? -1 : drbd_status_find9(nine, minor, ret, err);
}

WAITS int drbd_dev_status(const struct paths *p, int64_t minor,
			  struct bdev_look *look, struct drbd_status *ret,
			  struct error *err)
{
	auto_look struct bdev_look own = {0};
	int rc;

	if (look == NULL)
		look = &own;
	if (look->drbd == NULL)
		look->drbd = drbd_dev_proc(p, err);
	if (look->drbd == NULL)
		return -1;
	rc = read_status(p, minor, look->drbd, ret, err);
	if (rc == 1 && drbd_status_is(ret, "StandAlone")) {
		auto_free char *log = kernel_log(p);

		ret->split_brain = drbd_status_split_brain(log, minor);
	}
	return rc;
}

char *drbd_version(const struct paths *p, struct error *err)
{
	auto_free char *proc = drbd_dev_proc(p, err);
	struct drbd_version v;

	if (proc == NULL || drbd_status_version(proc, &v, err) < 0)
		return NULL;
	return xstrdup(v.text);
}

WAITS json_t *drbd_minors(const struct paths *p, struct error *err)
{
	auto_free char *proc = drbd_dev_proc(p, err);
	auto_json json_t *nine = NULL;

	if (proc == NULL)
		return NULL;
	if (!is_nine(proc))
		return drbd_status_minors(proc);
	nine = status9(p, err);
	return nine == NULL ? NULL : drbd_status_minors9(nine);
}

char *drbd_helper(const struct paths *p, struct error *err)
{
	auto_free char *file = paths_local(p, HELPER);
	char *text = fs_read(file, HELPER_MAX, NULL, err);

	if (text == NULL) {
		error_wrap_as(err, ERR_BLOCKDEV,
			      "DRBD's helper is not known, is its module "
			      "loaded?");
		return NULL;
	}
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* --- whose it is --- */

/* "ipv4 10.0.0.1:11000" or "ipv6 [fd00::1]:11000". */
static char *address_text(const char *ip, int port)
{
	return strchr(ip, ':') != NULL ? xprintf("ipv6 [%s]:%d", ip, port)
				       : xprintf("ipv4 %s:%d", ip, port);
}

static bool is_address(const char *shown, const char *ip, int port)
{
	auto_free char *wanted = address_text(ip, port);

	return str_eq(shown, wanted);
}

bool drbd_dev_has_net(const struct drbd_dev *d, const struct drbd_show *show)
{
	return d->port != 0 && show->local != NULL &&
	       is_address(show->local, d->local, d->port) &&
	       is_address(show->remote, d->remote, d->port);
}

/* A device with other volumes, or without any and another peer. */
static bool is_foreign(const struct drbd_dev *d, const struct drbd_show *show)
{
	auto_free char *data =
		d->data != NULL ? drbd_dev_child_path(d->data) : NULL;

	if (show->data != NULL && data != NULL)
		return strcmp(show->data, data) != 0;
	return show->remote != NULL && d->port != 0 &&
	       !drbd_dev_has_net(d, show);
}

/* What is shown of the device, whose line in /proc/drbd was seen. */
static int parse_show(const struct drbd_dev *d, const char *text,
		      struct drbd_show *ret, struct error *err)
{
	int rc = drbd_show_parse(text, d->minor, ret, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "%s: in use, but drbdsetup show does not tell by whom",
			 d->name);
}

static WAITS int read_show(const struct paths *p, const struct drbd_dev *d,
			   struct drbd_show *ret, struct error *err)
{
	auto_free char *minor = xprintf("%" PRId64, d->minor);
	auto_free char *text = storage_tool_read(
		p, (const char *const[]){"drbdsetup", "show", minor, NULL},
		err);

	return text == NULL ? -1 : parse_show(d, text, ret, err);
}

WAITS int drbd_dev_find(const struct paths *p, const struct drbd_dev *d,
			struct drbd_status *ret, struct drbd_show *ret_show,
			struct error *err)
{
	struct drbd_show show = {0};
	int rc = drbd_dev_status(p, d->minor, NULL, ret, err);

	if (rc <= 0)
		return rc;
	if (read_show(p, d, &show, err) < 0)
		return -1;
	if (!is_foreign(d, &show)) {
		*ret_show = show;
		return 1;
	}
	error_set(err, ERR_BLOCKDEV, ECODE_EXISTS,
		  "%s: the minor is in use by another device (disk %s, peer "
		  "%s), which is left alone; gnt-cluster verify tells whose "
		  "it is",
		  d->name, show.data != NULL ? show.data : "none",
		  show.remote != NULL ? show.remote : "none");
	drbd_show_done(&show);
	return -1;
}

WAITS int drbd_dev_look(const struct paths *p, const struct drbd_dev *d,
			struct bdev_look *look, struct drbd_status *ret,
			struct error *err)
{
	auto_look struct bdev_look own = {0};
	auto_show struct drbd_show show = {0};
	int rc;

	if (look == NULL)
		look = &own;
	rc = drbd_dev_status(p, d->minor, look, ret, err);
	if (rc <= 0)
		return rc;
	if (look->drbd_show == NULL)
		look->drbd_show = storage_tool_read(
			p, (const char *const[]){"drbdsetup", "show", NULL},
			err);
	if (look->drbd_show == NULL ||
	    parse_show(d, look->drbd_show, &show, err) < 0)
		return -1;
	return !is_foreign(d, &show);
}

WAITS int drbd_dev_need(const struct paths *p, const struct drbd_dev *d,
			struct drbd_status *ret, struct drbd_show *ret_show,
			struct error *err)
{
	int rc = drbd_dev_find(p, d, ret, ret_show, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Can't find device %s: it is not active (gnt-instance "
			 "activate-disks)",
			 d->name);
}
