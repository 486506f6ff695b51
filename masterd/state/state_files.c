/* SPDX-License-Identifier: BSD-2-Clause */
/* config.data follows the image.  It is written at once after a change, by one
 * task; what changes meanwhile shares the next write.  A large file is written
 * less often, so that writing takes a small share of the time. */
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/model/config/config_digest.h"
#include "masterd/state/state_private.h"

#define CONFIG_MODE 0640
#define CONFIG_MAX (256u * 1024 * 1024)

/* After the write of a large file the next one waits so many times as long. */
#define REST_FACTOR 10
#define REST_BYTES (1024u * 1024)
/* With a full disk it is tried again after this. */
#define RETRY_US 1000000

int state_config_read(struct state *s, struct error *err)
{
	struct disk *disk = s->config.disk;
	const char *file = path(s->config.paths, PATH_CONFIG_DATA);
	auto_free char *text = NULL;
	int64_t serial;
	size_t len;

	if (!disk->exists(disk, file))
		return 0;
	text = disk->read(disk, file, CONFIG_MAX, &len, err);
	if (text == NULL || config_image_load(s->image, text, len, err) < 0)
		return error_wrap(err, "Cannot use %s", file);
	s->origin =
		config_digest_judge(disk, s->config.paths, text, len, &serial);
	if (s->origin != CONFIG_DAMAGED)
		return 0;
	return error_set(err, ERR_CONFIG, NULL,
			 "%s is not what was written there under its serial "
			 "number, and nobody has written it since (a fault of "
			 "the disk?)",
			 file);
}

static WAITS int write_text(struct state *s, const char *text, size_t len,
			    struct error *err)
{
	struct disk *disk = s->config.disk;
	const struct paths *p = s->config.paths;
	int rc;

	task_leave(); /* the text is this task's alone, the rest is constant */
	rc = config_digest_announce(disk, p, text, len, err);
	if (rc == 0)
		rc = disk->write_atomic(disk, path(p, PATH_CONFIG_DATA), text,
					len, CONFIG_MODE, err);
	if (rc == 0 && config_digest_note(disk, p, text, len, err) < 0 &&
	    !error_is(err, ECODE_NOSPACE))
		rc = -1; /* without room the file just counts as newer */
	task_enter();
	return rc < 0 ? error_wrap(err, "Cannot write the configuration") : 0;
}

static void set_full(struct state *s, const struct error *err)
{
	const char *file = path(s->config.paths, PATH_CONFIG_DATA);
	auto_free char *mount = fs_mount_point(file);

	if (!s->full)
		log_error("%s", err->text);
	s->full = true;
	error_set(&s->why, ERR_SYSTEM, ECODE_NOSPACE,
		  "The file system %s is full: %s cannot be written, and "
		  "nothing was changed; make room there and try again",
		  mount, file);
}

/* -1: not now (the disk is full), or never again (s->closing). */
static WAITS int write_config(struct state *s)
{
	int64_t begin_us = clock_mono_us();
	auto_free char *text = NULL;
	struct error err;
	size_t len;

	s->dirty = false;
	s->covering = s->applied;
	text = config_image_text(s->image, &len);
	if (write_text(s, text, len, &err) == 0) {
		if (s->full)
			log_info("The configuration can be written again");
		s->full = false;
		s->covered = s->covering;
		if (len > REST_BYTES)
			s->next_us = clock_mono_us() +
				     REST_FACTOR * (clock_mono_us() - begin_us);
		return 0;
	}
	s->dirty = true;
	if (error_is(&err, ECODE_NOSPACE)) {
		set_full(s, &err);
		s->next_us = clock_mono_us() + RETRY_US;
		cond_signal(&s->changed);
		return -1;
	}
	s->closing = true;
	s->why = err;
	s->config.fatal(s->config.arg, &err);
	return -1;
}

static WAITS void config_task(void *arg)
{
	struct state *s = arg;

	while (s->dirty && !s->closing) {
		while (clock_mono_us() < s->next_us && !s->closing)
			cond_wait_until(&s->changed, s->next_us);
		if (s->closing || write_config(s) < 0)
			continue;
		cond_signal(&s->changed);
		if (!s->dirty && s->config.written != NULL)
			s->config.written(s->config.arg);
	}
	s->writing = false;
	cond_signal(&s->changed);
}

void state_config_changed(struct state *s)
{
	s->dirty = true;
	if (s->writing || s->closing)
		return;
	s->writing = true;
	task_spawn("config file", config_task, s);
}

/* With a full disk it is either waiting to try again, or trying. */
int state_config_write_out(struct state *s, struct error *err)
{
	while (s->writing && !(s->full && s->dirty))
		cond_wait(&s->changed);
	if (!s->dirty)
		return 0;
	*err = s->why;
	return -1;
}

int state_config_flush(struct state *s, struct error *err)
{
	s->closing = true;
	cond_signal(&s->changed);
	while (s->writing)
		cond_wait(&s->changed);
	if (!s->dirty || write_config(s) == 0)
		return 0;
	*err = s->why;
	return -1;
}
