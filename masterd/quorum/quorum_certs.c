/* SPDX-License-Identifier: BSD-2-Clause */
/* The node daemon here lets in whom its ssconf file names.  The master sends
 * that file to all nodes, but it may end before it has; and then those that
 * shall agree on another master would not hear each other.  So each server
 * writes down, beside its part of the log, whom that lets in; the node daemon
 * serves these as well (noded/core/peers.c). */
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/quorum/quorum_private.h"

#define FILE_MODE 0600

/* A digest in each line. */
static void add_digests(const struct quorum *q, struct buf *ret)
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
		buf_addf(ret, "%s=%s\n", uuid, json_string_value(digest));
}

static WAITS void let_in(const struct quorum *q)
{
	struct disk *disk = q->config.disk;
	const char *file = path(q->config.paths, PATH_CONSENSUS_CERTS);
	auto_buf struct buf b = {0};
	struct error err;
	int rc;

	add_digests(q, &b);
	if (q->log == NULL || b.len == 0)
		return;
	task_leave();
	rc = disk->write_atomic(disk, file, b.data, b.len, FILE_MODE, &err);
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
