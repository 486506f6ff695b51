/* SPDX-License-Identifier: BSD-2-Clause */
/* The status of a run, for `gnt-cluster watcher status`: what was done in this
 * run and the ones before ("actions", at most so many), and what was not done
 * in this run ("notes"). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/watcher/watcher_private.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/base/log.h"
#include "lib/json/json.h"

#define ACTIONS_MAX 100
/* One run of a big cluster may have a note for each instance. */
#define NOTES_MAX 1000
#define STATUS_BYTES_MAX (16 * 1024 * 1024)
#define STATUS_MODE 0640

struct watcher_report {
	char *file;
	json_t *data;
};

char *watcher_group_file(const struct paths *p, const char *uuid,
			 const char *what)
{
	return xprintf("%s/watcher.%s.%s", path(p, PATH_DATA_DIR), uuid, what);
}

struct watcher_report *watcher_report_create(const char *file)
{
	struct watcher_report *r = xalloc(sizeof(*r));
	struct error ignored;
	auto_json json_t *before =
		file == NULL ? NULL
			     : json_read_file(file, STATUS_BYTES_MAX, &ignored);
	const json_t *actions = json_get(before, "actions");

	r->file = file == NULL ? NULL : xstrdup(file);
	r->data = json_make(
		"{s:f, s:o, s:[]}", "begin", clock_seconds(), "actions",
		json_is_array(actions) ? json_ref(actions) : json_array(),
		"notes");
	if (json_is_array(json_get(before, "inconsistent")))
		json_object_set(r->data, "inconsistent",
				json_object_get(before, "inconsistent"));
	return r;
}

void watcher_report_destroy(struct watcher_report *r)
{
	if (r == NULL)
		return;
	json_decref(r->data);
	free(r->file);
	free(r);
}

void watcher_did(struct watcher_report *r, const char *fmt, ...)
{
	json_t *actions = json_object_get(r->data, "actions");
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	log_info("%s", text);
	str_repair_utf8(text);
	json_array_append_new(
		actions,
		json_make("{s:f, s:s}", "time", clock_seconds(), "text", text));
	while (json_array_size(actions) > ACTIONS_MAX)
		json_array_remove(actions, 0);
}

void watcher_did_not(struct watcher_report *r, const char *fmt, ...)
{
	json_t *notes = json_object_get(r->data, "notes");
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	log_warning("%s", text);
	str_repair_utf8(text);
	if (json_array_size(notes) < NOTES_MAX)
		json_array_append_new(notes, json_string(text));
}

void watcher_report_set(struct watcher_report *r, const char *key,
			json_t *value STEALS)
{
	json_object_set_new(r->data, key, value);
}

void watcher_report_end(struct watcher_report *r, int code)
{
	auto_free char *text = NULL;
	struct error err;

	watcher_report_set(r, "end", json_real(clock_seconds()));
	watcher_report_set(r, "exit_code", json_integer(code));
	if (r->file == NULL)
		return;
	text = json_text(r->data);
	if (fs_write_atomic(r->file, text, strlen(text), STATUS_MODE, &err) < 0)
		log_warning("%s, ignoring", err.text);
}

const json_t *watcher_report_data(const struct watcher_report *r)
{
	return r->data;
}

const json_t *watcher_report_list(const struct watcher_report *r,
				  const char *key)
{
	const json_t *value = json_get(r->data, key);

	return json_is_array(value) ? value : NULL;
}

int watcher_failure(struct watcher_report *r, const struct error *err)
{
	switch (err->kind) {
	case ERR_QUEUE_DRAINED:
		watcher_did_not(r, "The job queue is drained: nothing can be "
				   "done (gnt-cluster queue undrain)");
		return 0;
	case ERR_QUEUE_FULL:
		watcher_did_not(r, "The job queue is full: nothing can be "
				   "done (gnt-job autoarchive)");
		return 0;
	default:
		watcher_did_not(r, "%s", err->text);
		return 1;
	}
}
