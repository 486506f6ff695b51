/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of DRBD 8.4, with Ganeti's options.  The one that has a secret
 * is drbd_connect.c's.
 *
 * The rate of a sync is what resync-rate says only where the kernel's own
 * controller is off, so without dynamic-resync its plan is set to 0; and so
 * that a device which runs changes back. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/json/json.h"
#include "noded/storage/bdev_device.h"
#include "noded/storage/drbd.h"
#include "noded/storage/drbd_connect.h"
#include "noded/storage/drbd_dev.h"
#include "noded/storage/storage_tool.h"

/* What is zeroed of a metadata volume, and its least size. */
#define META_MIB 128
/* It may be larger by whole stripes. */
#define META_MAX_MIB 1024
/* Of a state that changes soon after a command. */
#define CHANGE_US 60000000
#define CHANGE_MIN_MS 50
#define CHANGE_MAX_MS 2000

/* --- options --- */

/* Words as a shell has them: blanks part, quotes and backslashes keep. */
static void add_words(struct strv *ret, const char *text)
{
	auto_buf struct buf word = {0};
	char quote = '\0';
	bool inside = false;

	for (; *text != '\0'; text++) {
		if (quote == '\0' && isspace((unsigned char)*text)) {
			if (inside)
				strv_add(ret,
					 word.data != NULL ? word.data : "");
			buf_done(&word);
			word = (struct buf){0};
			inside = false;
			continue;
		}
		inside = true;
		if (*text == quote) {
			quote = '\0';
		} else if (quote == '\0' && strchr("'\"", *text) != NULL) {
			quote = *text;
		} else {
			if (*text == '\\' && quote != '\'' && text[1] != '\0')
				text++;
			buf_addc(&word, *text);
		}
	}
	if (inside)
		strv_add(ret, word.data != NULL ? word.data : "");
}

static void add_yes_no(struct strv *argv, const char *option, bool no,
		       bool both)
{
	if (no || both)
		strv_addf(argv, "--%s=%s", option, no ? "no" : "yes");
}

/* both: also those that are not turned off, to turn them on again. */
static void add_barriers(struct strv *argv, const json_t *params, bool both)
{
	const char *off = json_str(params, "disabled-barriers", "n");

	add_yes_no(argv, "md-flushes",
		   json_bool(params, "disable-meta-flush", false), both);
	add_yes_no(argv, "disk-flushes", strchr(off, 'f') != NULL, both);
	add_yes_no(argv, "disk-drain", strchr(off, 'd') != NULL, both);
	/* 8.4 does without these by itself. */
	add_yes_no(argv, "disk-barrier", strchr(off, 'b') != NULL, false);
}

static void add_sync(struct strv *argv, const json_t *params)
{
	static const char *const dynamic[] = {"c-plan-ahead", "c-fill-target",
					      "c-delay-target", "c-max-rate",
					      "c-min-rate"};

	if (!json_bool(params, "dynamic-resync", false)) {
		strv_add(argv, "--c-plan-ahead");
		strv_add(argv, "0");
		strv_add(argv, "--resync-rate");
		strv_addf(argv, "%" PRId64,
			  json_int(params, "resync-rate", 61440));
		return;
	}
	for (size_t i = 0; i < sizeof(dynamic) / sizeof(dynamic[0]); i++) {
		if (json_get(params, dynamic[i]) == NULL)
			continue;
		strv_addf(argv, "--%s", dynamic[i]);
		strv_addf(argv, "%" PRId64, json_int(params, dynamic[i], 0));
	}
}

/* --- the local side --- */

/* What failed, and what the state of the device says about it. */
static WAITS int explain(const struct paths *p, const struct drbd_dev *d,
			 const char *what, struct error *err)
{
	struct drbd_status s;
	struct error ignored;
	auto_free char *advice = NULL;

	error_wrap(err, "%s: can't %s", d->name, what);
	if (drbd_dev_status(p, d->minor, NULL, &s, &ignored) == 1)
		advice = drbd_status_advice(&s, d->minor);
	if (advice != NULL) {
		auto_free char *text = xstrdup(err->text);

		error_set(err, ERR_BLOCKDEV, NULL, "%s; %s", text, advice);
	}
	return -1;
}

WAITS int drbd_dev_run(const struct paths *p, const struct drbd_dev *d,
		       const char *verb, const char *option, struct error *err)
{
	auto_free char *minor = xprintf("%" PRId64, d->minor);
	const char *const argv[] = {"drbdsetup", verb, minor, option, NULL};

	if (storage_tool_check(p, argv, err) == 0)
		return 0;
	return explain(p, d, verb, err);
}

WAITS int drbd_dev_make(const struct paths *p, const struct drbd_dev *d,
			struct error *err)
{
	auto_free char *minor = xprintf("%" PRId64, d->minor);
	const char *const resource[] = {"drbdsetup", "new-resource",
					d->resource, NULL};
	const char *const device[] = {"drbdsetup", "new-minor", d->resource,
				      minor,	   "0",		NULL};

	if (storage_tool_check(p, resource, err) < 0 ||
	    storage_tool_check(p, device, err) < 0)
		return error_wrap(err, "%s: can't make the device", d->name);
	return 0;
}

WAITS int drbd_dev_make_meta(const struct paths *p, const struct drbd_dev *d,
			     const json_t *meta, struct error *err)
{
	auto_free char *device = drbd_dev_child_path(meta);
	auto_free char *local = paths_local(p, device);
	int64_t mib = bdev_device_bytes(local, err);

	if (mib < 0)
		return -1;
	mib /= MIB;
	if (mib < META_MIB || mib > META_MAX_MIB)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "%s: the volume for metadata has %" PRId64
				 " MiB, and not %d to %d",
				 device, mib, META_MIB, META_MAX_MIB);
	/* Zeros, or drbdmeta finds what was there before and asks. */
	if (bdev_device_wipe(local, 0, META_MIB, err) < 0)
		return -1;
	if (storage_tool_check(p,
			       (const char *const[]){"drbdmeta", "--force",
						     d->path, "v08", device,
						     "flex-external",
						     "create-md", NULL},
			       err) < 0)
		return error_wrap(err, "Can't initialize meta device %s",
				  device);
	return 0;
}

/* Another device that has this volume below it, or -1. */
static WAITS int64_t holder_of(const struct paths *p, const struct drbd_dev *d,
			       const char *data)
{
	struct error ignored;
	auto_json json_t *minors = drbd_minors(p, &ignored);
	auto_free char *text = storage_tool_read(
		p, (const char *const[]){"drbdsetup", "show", NULL}, &ignored);

	for (size_t i = 0; i < json_array_size(minors) && text != NULL; i++) {
		auto_show struct drbd_show show = {0};
		int64_t minor = json_integer_value(json_array_get(minors, i));

		if (minor != d->minor &&
		    drbd_show_parse(text, minor, &show, &ignored) == 1 &&
		    str_eq(show.data, data))
			return minor;
	}
	return -1;
}

/* What has failed, and who has the volume: a job that was cut off, for example,
 * leaves a device that no disk of the configuration is. */
static WAITS int cannot_attach(const struct paths *p, const struct drbd_dev *d,
			       const char *data, struct error *err)
{
	int64_t minor = holder_of(p, d, data);
	auto_free char *text = xstrdup(err->text);

	if (minor >= 0)
		error_set(err, ERR_BLOCKDEV, NULL,
			  "%s; drbd%jd has %s already: if gnt-cluster verify "
			  "knows no disk of that minor, 'drbdsetup down "
			  "resource%jd' on this node frees the volume",
			  text, (intmax_t)minor, data, (intmax_t)minor);
	return error_wrap(err, "%s: can't attach local disk", d->name);
}

static WAITS bool pause_until(int64_t deadline_us, unsigned *pause_ms)
{
	if (clock_mono_us() > deadline_us || task_interrupted())
		return false;
	task_sleep(*pause_ms);
	if (*pause_ms < CHANGE_MAX_MS)
		*pause_ms *= 2;
	return true;
}

typedef bool status_fits(const struct drbd_status *s);

/* Wait until the device is so, or is no more; wrong: what is said when it takes
 * too long. */
static WAITS int await_disk(const struct paths *p, const struct drbd_dev *d,
			    status_fits *fits, const char *wrong,
			    struct error *err)
{
	int64_t deadline_us = clock_mono_us() + CHANGE_US;
	unsigned pause_ms = CHANGE_MIN_MS;

	for (;;) {
		struct drbd_status s;
		int rc = drbd_dev_status(p, d->minor, NULL, &s, err);

		if (rc <= 0 || fits(&s))
			return rc < 0 ? -1 : 0;
		if (!pause_until(deadline_us, &pause_ms))
			return error_set(err, ERR_BLOCKDEV, NULL, "%s: %s (%s)",
					 d->name, wrong, s.disk);
	}
}

WAITS int drbd_dev_attach(const struct paths *p, const struct drbd_dev *d,
			  const json_t *data, const json_t *meta,
			  struct error *err)
{
	auto_free char *data_path = drbd_dev_child_path(data);
	auto_free char *meta_path = drbd_dev_child_path(meta);
	const char *const log[] = {"drbdmeta", d->path,		"v08",
				   meta_path,  "flex-external", "apply-al",
				   NULL};
	auto_strv struct strv argv = {0};

	strv_add(&argv, "drbdsetup");
	strv_add(&argv, "attach");
	strv_addf(&argv, "%" PRId64, d->minor);
	strv_add(&argv, data_path);
	strv_add(&argv, meta_path);
	strv_add(&argv, "flexible");
	strv_add(&argv, "--on-io-error=detach");
	if (d->size_mib > 0) {
		strv_add(&argv, "--size");
		strv_addf(&argv, "%" PRId64 "m", d->size_mib);
	}
	add_barriers(&argv, d->params, false);
	add_words(&argv, json_str(d->params, "disk-custom", ""));
	if (storage_tool_check(p, log, err) < 0 ||
	    storage_tool_check_strv(p, &argv, err) < 0)
		return cannot_attach(p, d, data_path, err);
	return drbd_dev_tune(p, d, err);
}

WAITS int drbd_dev_tune(const struct paths *p, const struct drbd_dev *d,
			struct error *err)
{
	auto_strv struct strv argv = {0};

	strv_add(&argv, "drbdsetup");
	strv_add(&argv, "disk-options");
	strv_addf(&argv, "%" PRId64, d->minor);
	add_sync(&argv, d->params);
	add_barriers(&argv, d->params, true);
	/* A device that is connected asks its peer about a disk that it is
	 * given, and takes no options for it until that has answered. */
	if (await_disk(p, d, drbd_status_is_settled,
		       "its peer does not say whose data count", err) == 0 &&
	    storage_tool_check_strv(p, &argv, err) == 0)
		return 0;
	return error_wrap(err, "%s: can't set the synchronization parameters",
			  d->name);
}

WAITS int drbd_dev_customize_disk(const struct paths *p,
				  const struct drbd_dev *d, struct error *err)
{
	auto_strv struct strv argv = {0};

	strv_add(&argv, "drbdsetup");
	strv_add(&argv, "disk-options");
	strv_addf(&argv, "%" PRId64, d->minor);
	add_words(&argv, json_str(d->params, "disk-custom", ""));
	if (argv.n == 3 || storage_tool_check_strv(p, &argv, err) == 0)
		return 0;
	return error_wrap(err, "%s: can't set the options of disk-custom",
			  d->name);
}

WAITS int drbd_dev_detach(const struct paths *p, const struct drbd_dev *d,
			  struct error *err)
{
	if (drbd_dev_run(p, d, "detach", NULL, err) < 0)
		return -1;
	return await_disk(p, d, drbd_status_is_diskless,
			  "it does not let go of its disk", err);
}

WAITS int drbd_dev_down(const struct paths *p, const struct drbd_dev *d,
			struct error *err)
{
	const char *const argv[] = {"drbdsetup", "down", d->resource, NULL};

	if (storage_tool_check(p, argv, err) == 0)
		return 0;
	return error_wrap(err, "%s: can't shut it down", d->name);
}

/* --- the connection --- */

static char *address_arg(const char *ip, int port)
{
	return strchr(ip, ':') != NULL ? xprintf("ipv6:[%s]:%d", ip, port)
				       : xprintf("ipv4:%s:%d", ip, port);
}

/* Options that the site wants; none of them is a secret.  protocol: another one
 * than it has, or 0. */
static WAITS int customize(const struct paths *p, const struct drbd_dev *d,
			   char protocol, struct error *err)
{
	auto_free char *local = address_arg(d->local, d->port);
	auto_free char *remote = address_arg(d->remote, d->port);
	auto_strv struct strv argv = {0};

	strv_add(&argv, "drbdsetup");
	strv_add(&argv, "net-options");
	strv_add(&argv, local);
	strv_add(&argv, remote);
	if (protocol != '\0')
		strv_addf(&argv, "--protocol=%c", protocol);
	add_words(&argv, json_str(d->params, "net-custom", ""));
	if (argv.n == 4 || storage_tool_check_strv(p, &argv, err) == 0)
		return 0;
	return error_wrap(err, "%s: can't set the options of net-custom",
			  d->name);
}

WAITS int drbd_dev_customize_net(const struct paths *p,
				 const struct drbd_dev *d,
				 const struct drbd_show *show,
				 struct error *err)
{
	char protocol = *json_str(d->params, "protocol", "C");

	if (show->two_primaries)
		return 0;
	return customize(p, d, protocol != show->protocol ? protocol : '\0',
			 err);
}

WAITS int drbd_dev_connect(const struct paths *p, const struct drbd_dev *d,
			   bool two_primaries, struct error *err)
{
	const char *protocol = json_str(d->params, "protocol", "C");
	struct drbd_peer peer = {
		.resource = d->resource,
		.local = d->local,
		.remote = d->remote,
		.port = d->port,
		/* Two primaries need the one that waits for the peer. */
		.protocol = two_primaries ? 'C' : *protocol,
		.two_primaries = two_primaries,
		.secret = d->secret,
	};

	if (drbd_connect(p, &peer, err) < 0)
		return error_wrap(err, "%s: can't setup network", d->name);
	return customize(p, d, '\0', err);
}

/* "ipv4 10.0.0.1:11000" as it is shown, "ipv4:10.0.0.1:11000" as it is given;
 * to be freed. */
static char *shown_arg(const char *shown)
{
	char *text = xstrdup(shown);

	text[strcspn(text, " ")] = ':';
	return text;
}

/* As it is connected, whatever the disk says. */
static WAITS int leave_peer(const struct paths *p, const struct drbd_show *show,
			    struct error *err)
{
	auto_free char *local = shown_arg(show->local);
	auto_free char *remote = shown_arg(show->remote);

	return storage_tool_check(p,
				  (const char *const[]){"drbdsetup",
							"disconnect", local,
							remote, NULL},
				  err);
}

/* A command that comes while the peer disconnects as well may be lost, so it is
 * repeated. */
WAITS int drbd_dev_disconnect(const struct paths *p, const struct drbd_dev *d,
			      struct error *err)
{
	int64_t deadline_us = clock_mono_us() + CHANGE_US;
	unsigned pause_ms = CHANGE_MIN_MS;
	struct error last = {0};

	for (;;) {
		auto_show struct drbd_show show = {0};
		struct drbd_status s;
		int rc = drbd_dev_find(p, d, &s, &show, err);

		if (rc <= 0 || show.remote == NULL)
			return rc < 0 ? -1 : 0;
		if (leave_peer(p, &show, &last) < 0)
			log_warning("%s: %s", d->name, last.text);
		if (!pause_until(deadline_us, &pause_ms))
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "%s: it does not leave its peer (%s)"
					 "%s%s",
					 d->name, s.state,
					 *last.text != '\0' ? ": " : "",
					 last.text);
	}
}
