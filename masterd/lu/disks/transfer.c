/* SPDX-License-Identifier: BSD-2-Clause */
/* The target starts an import, which listens on a port; then the source starts
 * an export, which connects to it.  Both get the same random magic, by which
 * the stream is recognized.  Both are polled (transfer_side.h) until they
 * end. */
#include "masterd/lu/disks/transfer.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "masterd/lu/disks/transfer_side.h"
#include "masterd/lu/frame/progress.h"
#include "masterd/lu/parts/lu_instance.h"

#define CONNECT_TIMEOUT_S 60
#define MAGIC_BYTES 20
/* Until the side that knows the reason of a failure has said it. */
#define EXPLAIN_TRIES 10
#define EXPLAIN_PAUSE_MS 200

struct run {
	struct lu *lu;
	const struct transfer *t;
	struct transfer_side import, export;
	struct progress progress;
	bool sparse; /* zeros are not sent */
	/* who keeps the limit; NULL: there is none */
	const struct transfer_side *brake;
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

json_t *transfer_ends(const json_t *inst, const json_t *disks)
{
	bool script = *inst_os(inst) != '\0';
	json_t *ends = json_array();

	for (size_t i = 0; i < json_array_size(disks); i++) {
		const json_t *disk = json_array_get(disks, i);

		json_array_append_new(ends, script ? transfer_script(disk, i)
						   : transfer_raw(disk));
	}
	return ends;
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
static json_t *options(const struct run *r, const struct transfer_side *s,
		       const json_t *end)
{
	bool slow = s == r->brake;

	return json_make("{s:s, s:s, s:i, s:o*, s:o*}", "compress",
			 compress_of(r->t, end), "magic", r->magic,
			 "connect_timeout", CONNECT_TIMEOUT_S, "sparse",
			 r->sparse ? json_true() : NULL, "bandwidth_limit",
			 slow ? json_integer(r->t->bandwidth_mib) : NULL);
}

static WAITS int start_import(struct run *r, struct error *err)
{
	struct transfer_side *s = &r->import;
	auto_free char *part = transfer_side_component(s);

	return transfer_side_start(s,
				   rpc_import_start(options(r, s, r->t->to),
						    json_ref(r->t->inst), part,
						    json_ref(r->t->to)),
				   "import", err);
}

static WAITS int start_export(struct run *r, int64_t port, struct error *err)
{
	const json_t *target =
		config_get(r->lu->m->config, CONFIG_NODE, r->import.node);
	struct transfer_side *s = &r->export;
	auto_free char *part = transfer_side_component(s);

	return transfer_side_start(s,
				   rpc_export_start(options(r, s, r->t->from),
						    node_secondary_ip(target),
						    port, json_ref(r->t->inst),
						    part, json_ref(r->t->from)),
				   "export", err);
}

static void tell_progress(struct run *r)
{
	double percent = json_num(r->export.status, "progress_percent", 0);

	if (r->export.connected && percent > 0)
		progress_tell(&r->progress, r->lu, percent / 100);
}

/* A side has failed.  If it has only lost the other one, that one may know why,
 * perhaps in a moment. */
static WAITS int explain(struct run *r, const struct transfer_side *failed,
			 struct transfer_side *other, struct error *err)
{
	struct error theirs;
	int rc = transfer_side_look(other, &theirs); /* for its output */

	if (!transfer_side_lost_peer(failed))
		return -1;
	for (int i = 0; i < EXPLAIN_TRIES && rc == 0 && !other->finished &&
			!r->lu->run->killed;
	     i++) {
		task_sleep(EXPLAIN_PAUSE_MS);
		rc = transfer_side_look(other, &theirs);
	}
	if (rc < 0 && !transfer_side_lost_peer(other))
		*err = theirs;
	return -1;
}

static WAITS int wait_end(struct run *r, struct error *err)
{
	unsigned pause_ms = TRANSFER_POLL_MIN_MS;

	while (!r->import.finished || !r->export.finished) {
		if (transfer_side_pause(r->lu, &pause_ms, err) < 0)
			return -1;
		if (transfer_side_follow(&r->import, err) < 0)
			return explain(r, &r->import, &r->export, err);
		if (transfer_side_follow(&r->export, err) < 0)
			return explain(r, &r->export, &r->import, err);
		tell_progress(r);
	}
	return 0;
}

static WAITS int bring(struct run *r, struct error *err)
{
	int64_t port;

	if (start_import(r, err) < 0)
		return -1;
	port = transfer_side_await_port(&r->import, err);
	if (port < 0)
		return -1;
	lu_feedback(r->lu, "disk/%zu is now listening, starting export",
		    r->t->index);
	if (start_export(r, port, err) < 0)
		return -1;
	progress_begin(&r->progress, "disk transfer");
	return wait_end(r, err);
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
		.import = {.lu = lu,
			   .index = t->index,
			   .node = t->target,
			   .verb = "receiving"},
		.export = {.lu = lu,
			   .index = t->index,
			   .node = t->source,
			   .verb = "sending"},
	};
	int rc;

	random_hex(r.magic, MAGIC_BYTES);
	r.sparse = can_be_sparse(lu, t);
	find_brake(&r);
	lu_feedback(lu, "Exporting disk/%zu from %s to %s", t->index,
		    lu_node_name(lu, t->source), lu_node_name(lu, t->target));
	rc = bring(&r, err);
	if (rc < 0 && !lu->run->killed) {
		transfer_side_tell_output(&r.import);
		transfer_side_tell_output(&r.export);
	}
	transfer_side_clean(&r.import);
	transfer_side_clean(&r.export);
	return rc;
}
