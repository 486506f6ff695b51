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

/* Whether some of them are not in the file. */
static bool add_lines_of_state(const struct quorum *q, struct strv *ret)
{
	const char *text = config_image_get(state_config(q->state), "cluster");
	size_t before = ret->n;
	struct error ignored;
	auto_json json_t *cluster =
		text == NULL ? NULL : json_parse(text, strlen(text), &ignored);
	const char *uuid;
	json_t *digest;

	if (cluster == NULL)
		return false;
	json_object_foreach (json_unconst(cluster_candidate_certs(cluster)),
			     uuid, digest) {
		auto_free char *line =
			xprintf("%s=%s", uuid, json_string_value(digest));

		strv_add_unique(ret, line);
	}
	return ret->n > before;
}

static void let_in(const struct quorum *q)
{
	auto_strv struct strv lines = {0};
	auto_json json_t *values = NULL;
	struct error err;

	add_lines_of_file(q, &lines);
	/* While it names nobody, all are let in. */
	if (lines.n == 0 || !add_lines_of_state(q, &lines))
		return;
	strv_sort(&lines);
	values = json_make("{s:o}", CERTS_KEY, json_from_strv(&lines));
	if (ssconf_write(q->config.disk, q->config.paths, values, &err) < 0)
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
