/* SPDX-License-Identifier: BSD-2-Clause */
/* The node daemon here lets in whom its ssconf file names.  The master sends
 * that file to all nodes, but it may end before it has; and then those that
 * shall agree on another master would not hear each other.  So each server
 * writes down, beside its part of the log, whom that lets in; the node daemon
 * serves these as well (noded/core/peers.c).
 *
 * A node that was away while others became candidates does not know those.  It
 * gets their list from one that has more of the log, and keeps it until its own
 * part is as new: the file begins with the log and the index that it is of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/config/ssconf.h"
#include "masterd/quorum/quorum_private.h"

#define FILE_MODE 0600
/* When a full disk is tried again. */
#define FULL_US 10000000
#define ASK_MS 1000u
/* For a write of the own list that is under way; not for a disk that is full.
 */
#define WRITE_US 1000000

/* What a list is of; no digest has this form. */
#define HEAD "# %016" PRIx64 " %" PRIu64 "\n"

/* Whom the configuration here lets in: {uuid: digest}, to be freed. */
static json_t *own_digests(const struct quorum *q)
{
	const char *text = config_image_get(state_config(q->state), "cluster");
	struct error ignored;
	auto_json json_t *cluster =
		text == NULL ? NULL : json_parse(text, strlen(text), &ignored);

	return cluster == NULL ? json_object()
			       : json_ref(cluster_candidate_certs(cluster));
}

static uint64_t own_index(const struct quorum *q)
{
	struct consensus_status status;

	consensus_status(q->log, &status);
	return status.applied;
}

static WAITS int write_list(const struct quorum *q, const json_t *digests,
			    uint64_t index)
{
	struct disk *disk = q->config.disk;
	const char *file = path(q->config.paths, PATH_CONSENSUS_CERTS);
	auto_buf struct buf b = {0};
	struct error err;
	const char *uuid;
	json_t *digest;
	int rc;

	buf_addf(&b, HEAD, q->me.cluster, index);
	json_object_foreach (json_unconst(digests), uuid, digest)
		buf_addf(&b, "%s=%s\n", uuid, json_string_value(digest));
	task_leave();
	rc = disk->write_atomic(disk, file, b.data, b.len, FILE_MODE, &err);
	task_enter();
	if (rc < 0)
		log_warning("%s", err.text);
	return rc;
}

/* Whether the list there is of a newer part of this log than the own one. */
static WAITS bool is_newer(const struct quorum *q)
{
	struct disk *disk = q->config.disk;
	const char *file = path(q->config.paths, PATH_CONSENSUS_CERTS);
	auto_free char *text = NULL;
	struct error ignored;
	char *end = NULL;
	uint64_t cluster;

	task_leave();
	if (disk->exists(disk, file))
		text = disk->read(disk, file, SSCONF_READ_MAX, NULL, &ignored);
	task_enter();
	if (text == NULL || !str_starts(text, "# "))
		return false;
	cluster = strtoull(text + 2, &end, 16);
	return cluster == q->me.cluster && q->log != NULL &&
	       strtoull(end, NULL, 10) > own_index(q);
}

static WAITS int let_in(const struct quorum *q)
{
	auto_json json_t *digests = own_digests(q);

	if (q->log == NULL || json_object_size(digests) == 0 || is_newer(q))
		return 0;
	return q->log == NULL ? 0 : write_list(q, digests, own_index(q));
}

static WAITS void wait_for_room(struct quorum *q)
{
	int64_t until_us = clock_mono_us() + FULL_US;

	while (!q->stopping && cond_wait_until(&q->kick, until_us))
		;
}

/* A full disk has room again some time. */
static WAITS void let_in_task(void *arg)
{
	struct quorum *q = arg;

	do {
		q->certs_stale = false;
		if (let_in(q) == 0)
			continue;
		q->certs_stale = true;
		wait_for_room(q);
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

json_t *quorum_tell_certs(const struct quorum *q)
{
	auto_json json_t *digests = own_digests(q);

	return json_make("{s:I, s:O}", "applied",
			 q->log == NULL ? (json_int_t)0
					: (json_int_t)own_index(q),
			 "certs", digests);
}

static bool is_list(const json_t *digests)
{
	const char *uuid;
	json_t *digest;

	json_object_foreach (json_unconst(digests), uuid, digest)
		if (!uuid_valid(uuid) || !json_is_string(digest) ||
		    strpbrk(json_string_value(digest), "\n=") != NULL)
			return false;
	return json_object_size(digests) > 0;
}

WAITS void quorum_learn_certs(struct quorum *q, const json_t *node)
{
	struct error err;
	auto_json json_t *answer = quorum_give_order(
		q, node, json_make("[s]", "certificates"), ASK_MS, &err);
	const json_t *digests = json_get(answer, "certs");
	int64_t index = json_int(answer, "applied", 0);
	int64_t until_us = clock_mono_us() + WRITE_US;

	while (q->letting_in && cond_wait_until(&q->ended, until_us))
		;
	if (answer == NULL || q->letting_in || q->stopping || q->log == NULL ||
	    !is_list(digests) || index <= (int64_t)own_index(q))
		return;
	q->letting_in = true;
	if (write_list(q, digests, (uint64_t)index) == 0)
		log_info("The node daemon here serves the master candidates "
			 "that node %s knows",
			 node_name(node));
	q->letting_in = false;
	cond_signal(&q->ended);
	if (q->certs_stale)
		quorum_let_in(q);
}
