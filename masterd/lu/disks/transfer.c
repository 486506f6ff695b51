/* SPDX-License-Identifier: BSD-2-Clause */
/* The target starts an import, which listens on a port; then the source starts
 * an export, which connects to it.  Both get the same random magic, by which
 * the stream is recognized.  Both are polled, less and less often up to a
 * second, until they end.  They continue without their node daemons, so one
 * that does not answer for a while does not end them. */
#include "masterd/lu/disks/transfer.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/aftermath.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"

#define CONNECT_TIMEOUT_S 60
/* Until the process on the node listens. */
#define LISTEN_TIMEOUT_US 20000000
/* Pauses between polls: short first, so that a short transfer is noticed at
 * once, then longer. */
#define POLL_MIN_MS 50
#define POLL_MAX_MS 1000
/* A node daemon that is started anew answers again within this time. */
#define SILENCE_MAX_US 60000000
#define MAGIC_BYTES 20

/* One of the two processes. */
struct side {
	const char *node, *verb; /* "receiving" */
	char *name;		 /* NULL: it was not started */
	bool connected, finished;
	json_t *status;
	int64_t silent_us; /* since when it does not answer; 0: it does */
};

struct run {
	struct lu *lu;
	const struct transfer *t;
	struct side import, export;
	struct progress progress;
	bool sparse;		  /* zeros are not sent */
	const struct side *brake; /* who keeps the limit; NULL: there is none */
	char magic[2 * MAGIC_BYTES + 1];
};

json_t *transfer_raw(const json_t *disk)
{
	return json_make("[s, [O]]", "raw", disk);
}

json_t *transfer_script(const json_t *disk, size_t index)
{
	return json_make("[s, [O, I]]", "script", disk, (json_int_t)index);
}

json_t *transfer_file(const char *path)
{
	return json_make("[s, [s]]", "file", path);
}

int transfer_check_tool(struct lu *lu, const char *compress, struct error *err)
{
	const json_t *tools =
		cluster_compression_tools(config_cluster(lu->m->config));

	if (strcmp(compress, "none") == 0 ||
	    json_array_has_str(tools, compress))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Compression tool not allowed, tools allowed are "
			 "those of the cluster (compression_tools), not '%s'",
			 compress);
}

static bool is_file(const json_t *end)
{
	return str_eq(json_string_value(json_array_get(end, 0)), "file");
}

/* What a side does with the stream: a file that is compressed goes and comes as
 * it is. */
static const char *compress_of(const struct transfer *t, const json_t *end)
{
	if (t->stored == NULL)
		return t->compress;
	return is_file(end) ? "none" : t->stored;
}

/* Ganeti's node daemon refuses what it does not know. */
static json_t *options(const struct run *r, const struct side *s,
		       const json_t *end)
{
	bool slow = s == r->brake;

	return json_make("{s:s, s:s, s:i, s:o*, s:o*}", "compress",
			 compress_of(r->t, end), "magic", r->magic,
			 "connect_timeout", CONNECT_TIMEOUT_S, "sparse",
			 r->sparse ? json_true() : NULL, "bandwidth_limit",
			 slow ? json_integer(r->t->bandwidth_mib) : NULL);
}

/* "disk0" */
static char *component(const struct run *r)
{
	return xprintf("disk%zu", r->t->index);
}

/* Whether to ask again later, after a call that failed. */
static bool may_answer_yet(const struct run *r, struct side *s,
			   const struct error *err)
{
	int64_t now_us = clock_mono_us();

	if (err->kind != ERR_RPC || noderpc_is_fenced(r->lu->m->rpc))
		return false;
	if (s->silent_us == 0)
		s->silent_us = now_us;
	return now_us - s->silent_us < SILENCE_MAX_US;
}

/* Ask how far one side is.  -1 when it failed. */
static WAITS int look(struct run *r, struct side *s, struct error *err)
{
	auto_json json_t *answer =
		lu_call(r->lu, s->node,
			rpc_impexp_status(json_make("[s]", s->name)), err);
	const json_t *status = json_array_get(answer, 0);
	int64_t exit_status;

	if (answer == NULL)
		return may_answer_yet(r, s, err) ? 0 : -1;
	s->silent_us = 0;
	json_decref(s->status);
	s->status = json_ref(status);
	exit_status = json_int(status, "exit_status", -1);
	s->connected = json_bool(status, "connected", false);
	s->finished = exit_status == 0;
	if (exit_status <= 0)
		return 0;
	return error_set(err, ERR_EXEC, NULL,
			 "disk/%zu failed %s data on %s: %s", r->t->index,
			 s->verb, lu_node_name(r->lu, s->node),
			 json_str(status, "error_message", "unknown error"));
}

/* What the programs of a side said, when it failed. */
static void tell_output(struct run *r, const struct side *s)
{
	const json_t *lines = json_get(s->status, "recent_output");

	if (json_int(s->status, "exit_status", 0) <= 0)
		return;
	for (size_t i = 0; i < json_array_size(lines); i++)
		lu_feedback(r->lu, "%s: %s", lu_node_name(r->lu, s->node),
			    json_string_value(json_array_get(lines, i)));
}

static WAITS int start_import(struct run *r, struct error *err)
{
	auto_free char *part = component(r);
	struct side *s = &r->import;

	s->name = aftermath_start(r->lu, s->node,
				  rpc_import_start(options(r, s, r->t->to),
						   json_ref(r->t->inst), part,
						   json_ref(r->t->to)),
				  rpc_impexp_cleanup, err);
	return s->name == NULL ? error_wrap(err, "Failed to start import on %s",
					    lu_node_name(r->lu, s->node))
			       : 0;
}

/* The port on which the importing side listens, or -1. */
static WAITS int64_t wait_listening(struct run *r, struct error *err)
{
	int64_t deadline_us = clock_mono_us() + LISTEN_TIMEOUT_US;
	unsigned pause_ms = POLL_MIN_MS;

	for (;;) {
		int64_t port;

		if (look(r, &r->import, err) < 0)
			return -1;
		port = json_int(r->import.status, "listen_port", 0);
		if (port > 0)
			return port;
		if (r->import.silent_us == 0 && clock_mono_us() > deadline_us)
			return error_set(err, ERR_EXEC, NULL,
					 "disk/%zu: the import on %s does not "
					 "listen",
					 r->t->index,
					 lu_node_name(r->lu, r->import.node));
		task_sleep(pause_ms);
		if (lu_check_killed(r->lu, err) < 0)
			return -1;
		pause_ms =
			pause_ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : pause_ms * 2;
	}
}

static WAITS int start_export(struct run *r, int64_t port, struct error *err)
{
	const json_t *target =
		config_get(r->lu->m->config, CONFIG_NODE, r->import.node);
	auto_free char *part = component(r);
	struct side *s = &r->export;

	s->name = aftermath_start(r->lu, s->node,
				  rpc_export_start(options(r, s, r->t->from),
						   node_secondary_ip(target),
						   port, json_ref(r->t->inst),
						   part, json_ref(r->t->from)),
				  rpc_impexp_cleanup, err);
	return s->name == NULL ? error_wrap(err, "Failed to start export on %s",
					    lu_node_name(r->lu, s->node))
			       : 0;
}

static void tell_progress(struct run *r)
{
	double percent = json_num(r->export.status, "progress_percent", 0);

	if (r->export.connected && percent > 0)
		progress_tell(&r->progress, r->lu, percent / 100);
}

/* One side, once more; says when it is through. */
static WAITS int follow(struct run *r, struct side *s, struct error *err)
{
	if (s->finished)
		return 0;
	if (look(r, s, err) < 0)
		return -1;
	if (s->finished)
		lu_feedback(r->lu, "disk/%zu finished %s data", r->t->index,
			    s->verb);
	return 0;
}

static WAITS int wait_end(struct run *r, struct error *err)
{
	unsigned pause_ms = POLL_MIN_MS;

	while (!r->import.finished || !r->export.finished) {
		struct error other;

		task_sleep(pause_ms);
		if (lu_check_killed(r->lu, err) < 0)
			return -1;
		pause_ms =
			pause_ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : pause_ms * 2;
		if (follow(r, &r->import, err) < 0) {
			look(r, &r->export, &other); /* for its output */
			return -1;
		}
		if (follow(r, &r->export, err) < 0) {
			look(r, &r->import, &other);
			return -1;
		}
		tell_progress(r);
	}
	return 0;
}

static WAITS int bring(struct run *r, struct error *err)
{
	int64_t port;

	if (start_import(r, err) < 0)
		return -1;
	port = wait_listening(r, err);
	if (port < 0)
		return -1;
	lu_feedback(r->lu, "disk/%zu is now listening, starting export",
		    r->t->index);
	if (start_export(r, port, err) < 0)
		return -1;
	progress_begin(&r->progress, "disk transfer");
	return wait_end(r, err);
}

/* The processes of a side end, and what it has open is free. */
static WAITS void end_side(struct run *r, struct side *s)
{
	while (!r->lu->run->killed) {
		struct error err;
		auto_json json_t *done = lu_call(
			r->lu, s->node, rpc_impexp_cleanup(s->name), &err);

		if (done != NULL || r->lu->run->killed)
			return; /* the call is over, or on its way */
		if (!may_answer_yet(r, s, &err)) {
			lu_warn(r->lu, "Cannot clean up after disk/%zu: %s",
				r->t->index, err.text);
			return;
		}
		task_sleep(POLL_MAX_MS);
	}
	aftermath_call(r->lu->m, s->node, rpc_impexp_cleanup(s->name));
}

static WAITS void clean_side(struct run *r, struct side *s)
{
	if (s->name == NULL)
		return;
	end_side(r, s);
	free(s->name);
	json_decref(s->status);
}

/* Both ends are the disk itself or a file, and no scripts. */
static bool has_plain_ends(const struct transfer *t)
{
	const json_t *ends[] = {t->from, t->to};

	for (size_t i = 0; i < 2; i++)
		if (str_eq(json_string_value(json_array_get(ends[i], 0)),
			   "script"))
			return false;
	return true;
}

static WAITS bool is_ours(struct lu *lu, const char *uuid)
{
	auto_json json_t *node =
		json_ref(config_get(lu->m->config, CONFIG_NODE, uuid));

	return node != NULL && !noderpc_is_ganetis(lu->m->rpc, node);
}

/* Who sends keeps the limit, or who receives, where only that is of ours. */
static WAITS void find_brake(struct run *r)
{
	if (r->t->bandwidth_mib == 0)
		return;
	if (is_ours(r->lu, r->export.node))
		r->brake = &r->export;
	else if (is_ours(r->lu, r->import.node))
		r->brake = &r->import;
	else
		lu_warn(r->lu,
			"disk/%zu: neither %s nor %s can keep a bandwidth "
			"limit, ignoring it",
			r->t->index, lu_node_name(r->lu, r->export.node),
			lu_node_name(r->lu, r->import.node));
}

/* Nodes of Ganeti's take all bytes as they are. */
static WAITS bool can_be_sparse(struct lu *lu, const struct transfer *t)
{
	const char *const nodes[] = {t->source, t->target};

	if (!has_plain_ends(t) || t->stored != NULL)
		return false;
	return is_ours(lu, nodes[0]) && is_ours(lu, nodes[1]);
}

int transfer_run(struct lu *lu, const struct transfer *t, struct error *err)
{
	struct run r = {
		.lu = lu,
		.t = t,
		.import = {.node = t->target, .verb = "receiving"},
		.export = {.node = t->source, .verb = "sending"},
	};
	int rc;

	random_hex(r.magic, MAGIC_BYTES);
	r.sparse = can_be_sparse(lu, t);
	find_brake(&r);
	lu_feedback(lu, "Exporting disk/%zu from %s to %s", t->index,
		    lu_node_name(lu, t->source), lu_node_name(lu, t->target));
	rc = bring(&r, err);
	if (rc < 0 && !lu->run->killed) {
		tell_output(&r, &r.import);
		tell_output(&r, &r.export);
	}
	clean_side(&r, &r.import);
	clean_side(&r, &r.export);
	return rc;
}
