/* SPDX-License-Identifier: BSD-2-Clause */
/* gnt-cluster verify: one job for the configuration and one for each group. The
 * checks are in verify_config.c and verify_group.c; here the jobs are
 * submitted, and their reports written. */
#include "masterd/lu/verify/cluster_verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"

/* --- reporting --- */

static const struct {
	const char *code, *kind;
} codes[] = {
#define CODE(code, kind) {#code, #kind},
#include "lib/model/verify_codes.def"
#undef CODE
};
#include "masterd/quorum/quorum.h"

#define SETTLE_MS 10000u

static const char *kind_of(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].code, code) == 0)
			return codes[i].kind;
	return "cluster";
}

/* Programs parse both forms, so they equal Ganeti's exactly. */
struct finding {
	bool error;
	const char *code, *kind, *name;
};

static void report(struct verify *v, const struct finding *f, const char *fmt,
		   va_list ap) __attribute__((format(printf, 3, 0)));
static void report(struct verify *v, const struct finding *f, const char *fmt,
		   va_list ap)
{
	bool counts =
		f->error && !json_array_has_str(v->ignore_errors, f->code);
	const char *type = counts ? "ERROR" : "WARNING";
	auto_free char *text = NULL;

	text = xvprintf(fmt, ap);
	if (v->error_codes)
		lu_feedback(v->lu, "  - %s:%s:%s:%s:%s", type, f->code, f->kind,
			    f->name == NULL ? "None" : f->name, text);
	else
		lu_feedback(v->lu, "  - %s: %s %s: %s", type, f->kind,
			    f->name == NULL ? "" : f->name, text);
	v->bad |= counts;
}

void verify_error(struct verify *v, const char *code, const char *name,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(v, &(struct finding){true, code, kind_of(code), name}, fmt, ap);
	va_end(ap);
}

void verify_group_error(struct verify *v, const char *code, const char *name,
			const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(v, &(struct finding){true, code, "group", name}, fmt, ap);
	va_end(ap);
}

void verify_warning(struct verify *v, const char *code, const char *name,
		    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(v, &(struct finding){false, code, kind_of(code), name}, fmt, ap);
	va_end(ap);
}

void verify_if(struct verify *v, bool is_bad, const char *code,
	       const char *name, const char *fmt, ...)
{
	va_list ap;

	if (!is_bad && !v->simulate)
		return;
	va_start(ap, fmt);
	report(v, &(struct finding){true, code, kind_of(code), name}, fmt, ap);
	va_end(ap);
}

void verify_warn_if(struct verify *v, bool is_bad, const char *code,
		    const char *name, const char *fmt, ...)
{
	va_list ap;

	if (!is_bad && !v->simulate)
		return;
	va_start(ap, fmt);
	report(v, &(struct finding){false, code, kind_of(code), name}, fmt, ap);
	va_end(ap);
}

void verify_hint(struct verify *v, const char *kind, const char *name,
		 const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	lu_feedback(v->lu, "  - WARNING: %s %s: %s", kind,
		    name == NULL ? "" : name, text);
}

void verify_note(struct verify *v, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvprintf(fmt, ap);
	va_end(ap);
	lu_feedback(v->lu, "  - NOTICE: %s", text);
}

/* --- OP_CLUSTER_VERIFY: start the jobs --- */

static json_t *verify_op(const struct op_cluster_verify *op, const char *id)
{
	return json_make("{s:s, s:b, s:b, s:b, s:O?}", "OP_ID", id,
			 "debug_simulate_errors", op->debug_simulate_errors,
			 "error_codes", op->error_codes, "verbose", op->verbose,
			 "ignore_errors", op->ignore_errors);
}

static json_t *group_job(const struct op_cluster_verify *op,
			 const char *group_name, int64_t depends_on)
{
	json_t *job = verify_op(op, "OP_CLUSTER_VERIFY_GROUP");

	json_set_str(job, "group_name", group_name);
	json_object_set_new(job, "skip_checks",
			    op->skip_checks == NULL
				    ? json_array()
				    : json_copy(json_unconst(op->skip_checks)));
	json_set_bool(job, "verify_clutter", op->verify_clutter);
	if (depends_on != 0)
		json_object_set_new(
			job, "depends",
			json_make("[[I, []]]", (json_int_t)depends_on));
	return json_make("[o]", job);
}

static WAITS json_t *verify_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify *op = lu->op;
	auto_strv struct strv groups = {0};
	json_t *jobs = json_array();
	bool whole = op->group_name == NULL;

	/* A candidate that is just being taken in has not all files yet. */
	if (lu->m->quorum != NULL)
		quorum_settle(lu->m->quorum, SETTLE_MS);
	if (whole) {
		config_sorted(lu->m->config, CONFIG_GROUP, &groups);
		json_array_append_new(
			jobs,
			json_make("[o]",
				  verify_op(op, "OP_CLUSTER_VERIFY_CONFIG")));
	} else {
		const json_t *group = lu_group(lu, op->group_name, err);

		if (group == NULL) {
			json_decref(jobs);
			return NULL;
		}
		strv_add(&groups, group_uuid(group));
	}
	/* Relative: so many jobs before this one of the same call. */
	for (size_t i = 0; i < groups.n; i++)
		json_array_append_new(
			jobs, group_job(op,
					config_name(lu->m->config, CONFIG_GROUP,
						    groups.items[i]),
					whole ? -(int64_t)(i + 1) : 0));
	return lu_submit_jobs(lu, jobs, NULL, err);
}

const struct lu_class lu_cluster_verify = {
	.op = &op_class_cluster_verify,
	.size = sizeof(struct lu),
	.exec = verify_exec,
};

/* --- OP_CLUSTER_VERIFY_DISKS: a job for each group --- */

static int verify_disks_expand(struct lu *lu, struct error *err)
{
	(void)err;
	lu_want_all(lu, LOCK_NODEGROUP, false);
	return 0;
}

static void add_disks_job(const char *group_name, json_t *jobs)
{
	json_t *job = op_new(&op_class_group_verify_disks);

	json_set_str(job, "group_name", group_name);
	json_array_append_new(jobs, json_make("[o]", job));
}

static WAITS json_t *verify_disks_exec(struct lu *lu, struct error *err)
{
	const struct op_cluster_verify_disks *op = lu->op;
	auto_json json_t *jobs = json_array();
	auto_strv struct strv groups = {0};

	if (op->group_name != NULL) {
		const json_t *group = lu_group(lu, op->group_name, err);

		if (group == NULL)
			return NULL;
		strv_add(&groups, group_uuid(group));
	} else {
		config_sorted(lu->m->config, CONFIG_GROUP, &groups);
	}
	for (size_t i = 0; i < groups.n; i++)
		add_disks_job(config_name(lu->m->config, CONFIG_GROUP,
					  groups.items[i]),
			      jobs);
	return lu_submit_jobs(lu, steal(&jobs), NULL, err);
}

const struct lu_class lu_cluster_verify_disks = {
	.op = &op_class_cluster_verify_disks,
	.size = sizeof(struct lu),
	.expand = verify_disks_expand,
	.exec = verify_disks_exec,
};
