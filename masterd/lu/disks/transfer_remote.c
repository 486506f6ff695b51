/* SPDX-License-Identifier: BSD-2-Clause */
/* The imports listen before anything is said of them; the exports try until the
 * time to connect is over. */
#include "masterd/lu/disks/transfer_remote.h"

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "masterd/lu/disks/transfer_side.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"

#define MAGIC_BYTES 20

struct run {
	struct lu *lu;
	const struct transfer_remote *t;
	struct transfer_side *sides;
	size_t n;
	struct progress progress;
};

static void run_init(struct run *r, struct lu *lu,
		     const struct transfer_remote *t, const char *verb)
{
	*r = (struct run){.lu = lu, .t = t, .n = json_array_size(t->ends)};
	r->sides = xalloc((r->n + 1) * sizeof(*r->sides));
	for (size_t i = 0; i < r->n; i++)
		r->sides[i] = (struct transfer_side){
			.lu = lu, .index = i, .node = t->node, .verb = verb};
}

static WAITS void run_done(struct run *r)
{
	for (size_t i = 0; i < r->n; i++)
		transfer_side_clean(&r->sides[i]);
	free(r->sides);
}

/* Ganeti's node daemon refuses what it does not know. */
static WAITS json_t *options(const struct run *r, const char *magic)
{
	const struct transfer_remote *t = r->t;
	auto_json json_t *node =
		json_ref(config_get(r->lu->m->config, CONFIG_NODE, t->node));
	bool slow = t->bandwidth_mib > 0 && node != NULL &&
		    !noderpc_is_ganetis(r->lu->m->rpc, node);

	return json_make("{s:s, s:s, s:s, s:s, s:I, s:o*}", "compress",
			 t->compress, "magic", magic, "key_name", t->key_name,
			 "ca_pem", t->peer, "connect_timeout",
			 (json_int_t)t->connect_timeout_s, "bandwidth_limit",
			 slow ? json_integer(t->bandwidth_mib) : NULL);
}

static WAITS int start_import(struct run *r, size_t i, const char *magic,
			      struct error *err)
{
	struct transfer_side *s = &r->sides[i];
	auto_free char *part = transfer_side_component(s);
	json_t *given = options(r, magic);

	return transfer_side_start(
		s,
		rpc_import_start(given, json_ref(r->t->inst), part,
				 json_ref(json_array_get(r->t->ends, i))),
		"import", err);
}

static WAITS int start_export(struct run *r, size_t i, const json_t *where,
			      struct error *err)
{
	struct transfer_side *s = &r->sides[i];
	const char *host = json_string_value(json_array_get(where, 0));
	int64_t port = json_integer_value(json_array_get(where, 1));
	const char *magic = json_string_value(json_array_get(where, 2));
	auto_free char *part = transfer_side_component(s);
	json_t *given = options(r, magic);

	lu_feedback(r->lu, "Sending disk/%zu to %s, port %jd", i, host,
		    (intmax_t)port);
	return transfer_side_start(
		s,
		rpc_export_start(given, host, port, json_ref(r->t->inst), part,
				 json_ref(json_array_get(r->t->ends, i))),
		"export", err);
}

/* The mean of all disks that are connected; only who sends knows sizes. */
static void tell_progress(struct run *r)
{
	double percent = 0;

	for (size_t i = 0; i < r->n; i++)
		percent += r->sides[i].finished
				   ? 100
				   : json_num(r->sides[i].status,
					      "progress_percent", 0);
	if (percent > 0)
		progress_tell(&r->progress, r->lu,
			      percent / (100 * (double)r->n));
}

/* One more question to each; whether all are through, or -1. */
static WAITS int follow_all(struct run *r, struct error *err)
{
	bool all = true;

	for (size_t i = 0; i < r->n; i++) {
		if (transfer_side_follow(&r->sides[i], err) < 0)
			return -1;
		all = all && r->sides[i].finished;
	}
	return all;
}

static WAITS int await_all(struct run *r, struct error *err)
{
	unsigned pause_ms = TRANSFER_POLL_MIN_MS;
	int rc = 0;

	progress_begin(&r->progress, "disk transfer");
	while (rc == 0) {
		if (transfer_side_pause(r->lu, &pause_ms, err) < 0)
			return -1;
		rc = follow_all(r, err);
		tell_progress(r);
	}
	return rc < 0 ? -1 : 0;
}

/* Where each disk is waited for, to be freed; NULL with err. */
static WAITS json_t *listen_all(struct run *r, struct error *err)
{
	auto_json json_t *where = json_array();

	for (size_t i = 0; i < r->n; i++) {
		char magic[2 * MAGIC_BYTES + 1];
		int64_t port;

		random_hex(magic, MAGIC_BYTES);
		if (start_import(r, i, magic, err) < 0)
			return NULL;
		port = transfer_side_await_port(&r->sides[i], err);
		if (port < 0)
			return NULL;
		json_array_append_new(
			where, json_make("[I, s]", (json_int_t)port, magic));
	}
	return steal(&where);
}

static void tell_outputs(const struct run *r)
{
	for (size_t i = 0; i < r->n && !r->lu->run->killed; i++)
		transfer_side_tell_output(&r->sides[i]);
}

int transfer_remote_receive(struct lu *lu, const struct transfer_remote *t,
			    void (*waiting)(struct lu *lu, const json_t *where,
					    void *arg),
			    void *arg, struct error *err)
{
	auto_json json_t *where = NULL;
	struct run r;
	int rc = -1;

	run_init(&r, lu, t, "receiving");
	where = listen_all(&r, err);
	if (where != NULL) {
		waiting(lu, where, arg);
		rc = await_all(&r, err);
	}
	if (rc < 0)
		tell_outputs(&r);
	run_done(&r);
	return rc;
}

int transfer_remote_send(struct lu *lu, const struct transfer_remote *t,
			 const json_t *where, struct error *err)
{
	struct run r;
	int rc = 0;

	run_init(&r, lu, t, "sending");
	for (size_t i = 0; rc == 0 && i < r.n; i++)
		rc = start_export(&r, i, json_array_get(where, i), err);
	if (rc == 0)
		rc = await_all(&r, err);
	if (rc < 0)
		tell_outputs(&r);
	run_done(&r);
	return rc;
}
