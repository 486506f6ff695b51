/* SPDX-License-Identifier: BSD-2-Clause */
/* A device has a line " 0: cs:Connected ro:Primary/Secondary ds:UpToDate/..."
 * and below it lines of counters and, during a sync, of its progress.  The
 * lines of one device are read together, up to the line of the next. */
#include "noded/storage/drbd_status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"

#define MINOR_MAX 1048575 /* of the kernel */
#define LEFT_MAX_S 1e9	  /* more is no estimate */

/* --- the version --- */

int drbd_status_version(const char *text, struct drbd_version *ret,
			struct error *err)
{
	size_t len = strcspn(text, "\n");
	struct drbd_version v = {0};
	int at = 0;

	if (sscanf(text, "version: %d.%d.%d%n", &v.major, &v.minor, &v.point,
		   &at) == 3 &&
	    at > 0 && v.major > 0) {
		const char *rest = text + strlen("version: ");
		const char *end = memchr(rest, ')', len);

		snprintf(v.text, sizeof(v.text), "%.*s",
			 end != NULL ? (int)(end + 1 - rest)
				     : (int)strcspn(rest, " \n"),
			 rest);
		*ret = v;
		return 0;
	}
	return error_set(err, ERR_BLOCKDEV, NULL,
			 "Can't parse DRBD version from '%.*s'", (int)len,
			 text);
}

/* --- 8.4's text --- */

/* The minor if a device's line begins here, or -1. */
static int64_t minor_of_line(const char *line)
{
	char *end;
	long minor;

	while (*line == ' ')
		line++;
	if (!isdigit((unsigned char)*line))
		return -1;
	minor = strtol(line, &end, 10);
	if (minor < 0 || minor > MINOR_MAX || strncmp(end, ": cs:", 5) != 0)
		return -1;
	return minor;
}

static const char *next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at == '\n' ? at + 1 : at;
}

/* The lines of the device, to be freed; NULL: there are none. */
static char *lines_of(const char *text, int64_t minor)
{
	for (const char *at = text; *at != '\0'; at = next_line(at)) {
		const char *end;

		if (minor_of_line(at) != minor)
			continue;
		for (end = next_line(at);
		     *end != '\0' && minor_of_line(end) < 0;)
			end = next_line(end);
		return xstrndup(at, (size_t)(end - at));
	}
	return NULL;
}

/* Copy the word behind a mark, up to a blank or '/'; what follows, or NULL. */
static const char *take(const char *at, const char *mark, char *ret)
{
	size_t n;

	at = at == NULL ? NULL : strstr(at, mark);
	if (at == NULL)
		return NULL;
	at += strlen(mark);
	n = strcspn(at, " /\n");
	if (n == 0 || n >= DRBD_WORD_MAX)
		return NULL;
	memcpy(ret, at, n);
	ret[n] = '\0';
	return at + n;
}

/* "Primary/Secondary" behind a mark. */
static const char *take_pair(const char *at, const char *mark, char *ret_own,
			     char *ret_peer)
{
	at = take(at, mark, ret_own);
	return at != NULL && *at == '/' ? take(at, "/", ret_peer) : NULL;
}

/* "sync'ed: 12.5% (57/64)M finish: 0:00:03 speed: ..." */
static void take_progress(const char *lines, struct drbd_status *ret)
{
	const char *at = strstr(lines, "sync'ed:");
	int hours, minutes, seconds;
	double percent;

	if (at == NULL || sscanf(at, "sync'ed: %lf%%", &percent) != 1 ||
	    !(percent >= 0 && percent <= 100))
		return;
	ret->percent = percent;
	at = strstr(at, "finish:");
	if (at != NULL &&
	    sscanf(at, "finish: %d:%d:%d", &hours, &minutes, &seconds) == 3 &&
	    hours >= 0 && minutes >= 0 && seconds >= 0)
		ret->left_s = hours * INT64_C(3600) + minutes * 60 + seconds;
}

/* A sync without figures is one at its beginning. */
static void note_sync(struct drbd_status *s)
{
	if (s->percent < 0 && drbd_status_is_syncing(s))
		s->percent = 0;
}

int drbd_status_find(const char *text, int64_t minor, struct drbd_status *ret,
		     struct error *err)
{
	auto_free char *lines = lines_of(text, minor);
	struct drbd_status s = {.percent = -1, .left_s = -1};
	const char *at;

	if (lines == NULL)
		return 0;
	at = take(lines, "cs:", s.state);
	if (at != NULL && strcmp(s.state, "Unconfigured") == 0)
		return 0;
	at = take_pair(at, "ro:", s.role, s.peer_role);
	at = take_pair(at, "ds:", s.disk, s.peer_disk);
	if (at == NULL)
		return error_set(err, ERR_BLOCKDEV, NULL,
				 "drbd%jd: /proc/drbd has a line that makes no "
				 "sense: '%.*s'",
				 (intmax_t)minor, (int)strcspn(lines, "\n"),
				 lines);
	take_progress(at, &s);
	note_sync(&s);
	*ret = s;
	return 1;
}

json_t *drbd_status_minors(const char *text)
{
	json_t *list = json_array();

	for (const char *at = text; *at != '\0'; at = next_line(at)) {
		int64_t minor = minor_of_line(at);

		if (minor >= 0 &&
		    strstr(at, ": cs:Unconfigured") != strchr(at, ':'))
			json_array_append_new(list, json_integer(minor));
	}
	return list;
}

/* --- 9's JSON --- */

static void copy_word(char *ret, const char *word)
{
	snprintf(ret, DRBD_WORD_MAX, "%s", word);
}

/* The peer is the first connection: there are no more than two nodes. */
static void read_peer(const json_t *resource, int64_t volume,
		      struct drbd_status *s)
{
	const json_t *peer =
		json_array_get(json_get(resource, "connections"), 0);
	const json_t *devices = json_get(peer, "peer_devices"), *one;
	size_t i;

	copy_word(s->state, json_str(peer, "connection-state", "StandAlone"));
	copy_word(s->peer_role, json_str(peer, "peer-role", "Unknown"));
	copy_word(s->peer_disk, "DUnknown");
	if (strcmp(s->state, "Connecting") == 0)
		copy_word(s->state, "WFConnection");
	json_array_foreach (devices, i, one) {
		const char *sync =
			json_str(one, "replication-state", "Established");
		double percent = json_num(one, "percent-in-sync", -1);
		double left = json_num(one, "estimated-seconds-to-finish", -1);

		if (json_int(one, "volume", 0) != volume)
			continue;
		copy_word(s->peer_disk,
			  json_str(one, "peer-disk-state", "DUnknown"));
		if (strcmp(s->state, "Connected") != 0 ||
		    strcmp(sync, "Established") == 0 ||
		    strcmp(sync, "Off") == 0)
			continue;
		copy_word(s->state, sync);
		if (!drbd_status_is_syncing(s))
			continue;
		s->percent = percent >= 0 && percent <= 100 ? percent : -1;
		s->left_s =
			left >= 0 && left <= LEFT_MAX_S ? (int64_t)left : -1;
	}
}

static const json_t *device_of(const json_t *resource, int64_t minor)
{
	const json_t *device;
	size_t i;

	json_array_foreach (json_get(resource, "devices"), i, device)
		if (json_int(device, "minor", -1) == minor)
			return device;
	return NULL;
}

int drbd_status_find9(const json_t *resources, int64_t minor,
		      struct drbd_status *ret, struct error *err)
{
	struct drbd_status s = {.percent = -1, .left_s = -1};
	const json_t *resource;
	size_t i;

	json_array_foreach (resources, i, resource) {
		const json_t *device = device_of(resource, minor);

		if (device == NULL)
			continue;
		copy_word(s.role, json_str(resource, "role", ""));
		copy_word(s.disk, json_str(device, "disk-state", ""));
		if (*s.role == '\0' || *s.disk == '\0')
			return error_set(err, ERR_BLOCKDEV, NULL,
					 "drbd%jd: drbdsetup status tells no "
					 "role or state of the disk",
					 (intmax_t)minor);
		read_peer(resource, json_int(device, "volume", 0), &s);
		note_sync(&s);
		*ret = s;
		return 1;
	}
	return 0;
}

json_t *drbd_status_minors9(const json_t *resources)
{
	json_t *list = json_array();
	const json_t *resource, *device;
	size_t i, k;

	json_array_foreach (resources, i, resource)
		json_array_foreach (json_get(resource, "devices"), k, device)
			if (json_int(device, "minor", -1) >= 0)
				json_array_append_new(
					list, json_integer(json_int(
						      device, "minor", -1)));
	return list;
}

/* --- what it means --- */

bool drbd_status_is(const struct drbd_status *s, const char *state)
{
	return strcmp(s->state, state) == 0;
}

bool drbd_status_is_synced_here(const struct drbd_status *s)
{
	return strcmp(s->disk, "UpToDate") == 0;
}

bool drbd_status_is_diskless(const struct drbd_status *s)
{
	return strcmp(s->disk, "Diskless") == 0;
}

bool drbd_status_is_settled(const struct drbd_status *s)
{
	return strcmp(s->disk, "Attaching") != 0 &&
	       strcmp(s->disk, "Negotiating") != 0;
}

static bool is_one_of(const struct drbd_status *s, const char *const *states,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (drbd_status_is(s, states[i]))
			return true;
	return false;
}

bool drbd_status_is_syncing(const struct drbd_status *s)
{
	static const char *const states[] = {
		"WFReportParams", "StartingSyncS", "StartingSyncT",
		"WFBitMapS",	  "WFBitMapT",	   "WFSyncUUID",
		"SyncSource",	  "SyncTarget",	   "PausedSyncS",
		"PausedSyncT",	  "Ahead",	   "Behind",
	};

	return is_one_of(s, states, ARRAY_SIZE(states));
}

bool drbd_status_is_connected(const struct drbd_status *s)
{
	static const char *const states[] = {"Connected", "VerifyS", "VerifyT"};

	return is_one_of(s, states, ARRAY_SIZE(states));
}

bool drbd_status_is_linked(const struct drbd_status *s)
{
	return drbd_status_is_connected(s) || drbd_status_is_syncing(s);
}

static const char *last_of(const char *text, const char *part)
{
	const char *last = NULL;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		last = at;
	return last;
}

bool drbd_status_split_brain(const char *log, int64_t minor)
{
	auto_free char *bad =
		xprintf("drbd%jd: Split-Brain detected but unresolved",
			(intmax_t)minor);
	auto_free char *good =
		xprintf("drbd%jd: peer( Unknown ->", (intmax_t)minor);
	const char *at = last_of(log, bad);

	return at != NULL && strstr(at, good) == NULL;
}

char *drbd_status_advice(const struct drbd_status *s, int64_t minor)
{
	intmax_t n = minor;

	if (s->split_brain)
		return xprintf(
			"split brain: both sides of drbd%jd were written to "
			"without the other. Choose whose changes are to be "
			"lost: gnt-instance replace-disks -s fills the "
			"secondary anew from the primary; if the secondary's "
			"data are to stay, gnt-instance failover "
			"--ignore-consistency comes before",
			n);
	if (drbd_status_is_diskless(s))
		return xprintf("drbd%jd has no disk of its own here (Diskless)"
			       ": if its volumes are whole, gnt-instance "
			       "activate-disks attaches them, else gnt-"
			       "instance replace-disks makes new ones",
			       n);
	if (drbd_status_is(s, "StandAlone"))
		return xprintf("drbd%jd does not look for its peer "
			       "(StandAlone): gnt-instance activate-disks "
			       "connects it; if it stays so, the kernel's log "
			       "(dmesg) says why",
			       n);
	if (!drbd_status_is_linked(s))
		return xprintf("drbd%jd waits for its peer (%s): see whether "
			       "the other node is up and its disks are active "
			       "(gnt-instance activate-disks)",
			       n, s->state);
	if (drbd_status_is_syncing(s))
		return xprintf("drbd%jd is in sync in a while (%s, %.1f%%)", n,
			       s->state, s->percent);
	if (!drbd_status_is_synced_here(s))
		return xprintf("the data of drbd%jd here are not the newest "
			       "(%s): gnt-instance replace-disks fills them "
			       "from the other node",
			       n, s->disk);
	return NULL;
}
