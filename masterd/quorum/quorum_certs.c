/* SPDX-License-Identifier: BSD-2-Clause */
/* The node daemon here lets in whom its ssconf file names.  The master sends
 * that file to all nodes, but it may end before it has; and then those that
 * shall agree on another master would not hear each other.  So each server adds
 * to the file whom its own part of the log lets in; to take somebody out is the
 * master's. */
#include <string.h>

#include "lib/base/log.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "masterd/quorum/quorum_private.h"

#define CERTS_KEY "master_candidates_certs"

static void add_lines_of_file(const struct quorum *q, struct strv *ret)
{
	auto_free char *text =
		ssconf_read_on(q->config.disk, q->config.paths, CERTS_KEY);
	char *rest = text, *line;

	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL)
		if (*line != '\0')
			strv_add_unique(ret, line);
}

/* "UUID=DIGEST" each, as in the file. */
static void add_lines_of_state(const struct quorum *q, struct strv *ret)
{
	const char *text = config_image_get(state_config(q->state), "cluster");
	struct error ignored;
	auto_json json_t *cluster =
		text == NULL ? NULL : json_parse(text, strlen(text), &ignored);
	const char *uuid;
	json_t *digest;

	if (cluster == NULL)
		return;
	json_object_foreach (json_unconst(cluster_candidate_certs(cluster)),
			     uuid, digest)
		strv_addf(ret, "%s=%s", uuid, json_string_value(digest));
}

/* The master's file may have come before what it was made of was applied here:
 * so what was added is taken out again when the state has it no longer. */
static bool merge(struct quorum *q, const struct strv *file,
		  const struct strv *state, struct strv *ret)
{
	auto_strv struct strv added = q->added_certs;
	bool changed = false;

	q->added_certs = (struct strv){0};
	for (size_t i = 0; i < file->n; i++)
		if (strv_has(&added, file->items[i]) &&
		    !strv_has(state, file->items[i]))
			changed = true;
		else
			strv_add(ret, file->items[i]);
	for (size_t i = 0; i < state->n; i++) {
		if (strv_has(file, state->items[i]) &&
		    !strv_has(&added, state->items[i]))
			continue;
		strv_add(&q->added_certs, state->items[i]);
		changed |= !strv_has(file, state->items[i]);
		strv_add_unique(ret, state->items[i]);
	}
	return changed;
}

static WAITS void let_in(struct quorum *q)
{
	auto_strv struct strv file = {0}, state = {0}, lines = {0};
	auto_json json_t *values = NULL;
	struct error err;
	int rc;

	add_lines_of_file(q, &file);
	add_lines_of_state(q, &state);
	/* While it names nobody, all are let in. */
	if (file.n == 0 || state.n == 0 || !merge(q, &file, &state, &lines))
		return;
	strv_sort(&lines);
	values = json_make("{s:o}", CERTS_KEY, json_from_strv(&lines));
	task_leave();
	rc = ssconf_write(q->config.disk, q->config.paths, values, &err);
	task_enter();
	if (rc < 0)
		log_warning("%s", err.text);
}

static WAITS void let_in_task(void *arg)
{
	struct quorum *q = arg;

	do {
		q->certs_stale = false;
		let_in(q);
	} while (q->certs_stale && !q->stopping);
	q->letting_in = false;
	cond_signal(&q->ended);
}

void quorum_let_in(struct quorum *q)
{
	q->certs_stale = true;
	if (q->letting_in || q->stopping || !q->started)
		return;
	q->letting_in = true;
	task_spawn("certificates", let_in_task, q);
}
