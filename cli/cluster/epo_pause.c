/* SPDX-License-Identifier: BSD-2-Clause */
/* The note is {"until": the pause that we have set, "former": the one before or
 * null, "nodes": [names]}.  It is about the pause that there is as long as both
 * have the same end. */
#include "cli/cluster/epo_pause.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/cli_text.h"
#include "lib/base/clock.h"
#include "lib/base/fs.h"
#include "lib/json/json.h"
#include "lib/model/files/paths.h"

#define NOTE_MODE 0600
#define NOTE_BYTES_MAX (16 * 1024 * 1024)

/* Until when the watcher pauses, null: it does not; to be freed, NULL with
 * err. */
static json_t *pause_now(struct cli *cli, struct error *err)
{
	auto_json json_t *values =
		cli_call(cli, "QueryConfigValues",
			 json_make("[[s]]", "watcher_pause"), err);

	return values == NULL ? NULL : json_ref(json_array_get(values, 0));
}

static int set_pause(struct cli *cli, const json_t *until, struct error *err)
{
	auto_json json_t *answer =
		cli_call(cli, "SetWatcherPause", json_make("[O]", until), err);

	return answer == NULL ? -1 : 0;
}

/* The note about this pause, to be freed; NULL: there is none. */
static json_t *read_note(const struct paths *p, const json_t *pause)
{
	struct error ignored;
	auto_json json_t *note = json_read_file(path(p, PATH_EPO_PAUSE),
						NOTE_BYTES_MAX, &ignored);

	if (note == NULL || !json_is_integer(pause) ||
	    !json_same(json_get(note, "until"), pause) ||
	    json_object_get(note, "former") == NULL)
		return NULL;
	return steal(&note);
}

static int write_note(const struct paths *p, const json_t *note,
		      struct error *err)
{
	auto_free char *text = json_text(note);

	return fs_write_atomic(path(p, PATH_EPO_PAUSE), text, strlen(text),
			       NOTE_MODE, err);
}

/* The names of one list that are not in the other; to be freed. */
static json_t *without(const json_t *names, const json_t *others)
{
	json_t *left = json_array();

	for (size_t i = 0; i < json_array_size(names); i++) {
		json_t *name = json_array_get(names, i);

		if (!json_array_has_str(others, json_string_value(name)))
			json_array_append(left, name);
	}
	return left;
}

/* The note of a pause that begins, behind the one that there is. */
static json_t *next_note(const json_t *old, const json_t *pause,
			 const json_t *nodes, int64_t until)
{
	auto_json json_t *all = without(json_get(old, "nodes"), nodes);

	json_array_extend(all, json_unconst(nodes));
	return json_make("{s:I, s:O, s:O}", "until", (json_int_t)until,
			 "former",
			 old == NULL ? pause : json_object_get(old, "former"),
			 "nodes", all);
}

int epo_pause_begin(struct cli *cli, const json_t *nodes, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	int64_t until = (int64_t)clock_seconds() + EPO_PAUSE_S;
	auto_json json_t *pause = NULL, *old = NULL, *note = NULL;
	auto_free char *when = cli_ctime((double)until);

	if (p == NULL)
		return -1;
	pause = pause_now(cli, err);
	if (pause == NULL)
		return -1;
	old = read_note(p, pause);
	if (old == NULL && json_integer_value(pause) > until)
		return 0;
	note = next_note(old, pause, nodes, until);
	if (write_note(p, note, err) < 0 ||
	    set_pause(cli, json_get(note, "until"), err) < 0)
		return -1;
	printf("The watcher is paused until %s; gnt-cluster epo --on lets it "
	       "go on before\n",
	       when);
	return 0;
}

/* What is left of the pause before ours. */
static json_t *former(const json_t *note)
{
	json_t *until = json_object_get(note, "former");

	return json_number_value(until) > clock_seconds() ? json_incref(until)
							  : json_null();
}

int epo_pause_end(struct cli *cli, const json_t *nodes, struct error *err)
{
	const struct paths *p = cli_paths(cli, err);
	auto_json json_t *pause = NULL, *note = NULL, *left = NULL;
	auto_json json_t *before = NULL;

	if (p == NULL)
		return -1;
	pause = pause_now(cli, err);
	if (pause == NULL)
		return -1;
	note = read_note(p, pause);
	left = without(json_get(note, "nodes"), nodes);
	if (json_array_size(left) > 0) {
		json_object_set(note, "nodes", left);
		return write_note(p, note, err);
	}
	before = former(note);
	if (note != NULL && set_pause(cli, before, err) < 0)
		return -1;
	if (note != NULL && json_is_null(before))
		printf("The watcher goes on\n");
	return fs_remove(path(p, PATH_EPO_PAUSE), err);
}
