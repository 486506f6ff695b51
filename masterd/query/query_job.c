/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries of jobs.  Live jobs come from memory.  Archived ones, when asked for
 * by id or with the field "archived", come from the index of the history or
 * from their files.
 *
 * The queue goes on while an answer is made: jobs may change between two rows,
 * and each row is what its job was when the row was made. */
#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "masterd/query/query_private.h"
#include "queue/jobs/job.h"
#include "queue/queue.h"

static struct query_cell get_id(const struct query *q, struct query_row *row,
				const struct query_field *field)
{
	(void)q;
	(void)field;
	return query_value(json_integer((json_int_t)row->id));
}

/* A time that has not come, and any field of a job that does not exist, has the
 * status "not meaningful". */
static struct query_cell get_job(const struct query *q, struct query_row *row,
				 const struct query_field *field)
{
	auto_json json_t *value = NULL;

	(void)q;
	if (row->data == NULL)
		return query_none(QUERY_UNAVAIL);
	value = job_field(row->data, field->name);
	return query_maybe(value);
}

/* clang-format off */
#define JOB(name, title, kind, doc) {name, title, kind, doc, get_job}
#define JOB_OWN(name, title, doc) \
	{name, title, KIND_OTHER, doc, get_job, .own = true}
#define JOB_TIME(name, title, doc) \
	{name, title, KIND_OTHER, doc, get_job, NULL, 0, false, \
	 FILTER_TIMESTAMP}

static const struct query_field fields[] = {
	{"id", "ID", KIND_NUMBER, "Id of the job", get_id},
	JOB("status", "Status", KIND_TEXT, "Status of the job"),
	JOB("priority", "Priority", KIND_NUMBER,
	    "Priority, from -20 (first) to 19"),
	JOB("archived", "Archived", KIND_BOOL, "Whether it is archived"),
	JOB("ops", "OpCodes", KIND_OTHER, "Its opcodes"),
	JOB("opresult", "OpCode_result", KIND_OTHER, "Results of the opcodes"),
	JOB("opstatus", "OpCode_status", KIND_OTHER,
	    "Status of each opcode"),
	JOB("oplog", "OpCode_log", KIND_OTHER, "Log of each opcode"),
	JOB("opstart", "OpCode_start", KIND_OTHER,
	    "When each opcode was started, before it had its locks"),
	JOB("opexec", "OpCode_exec", KIND_OTHER,
	    "When each opcode began its work, with its locks"),
	JOB("opend", "OpCode_end", KIND_OTHER, "When each opcode ended"),
	JOB("oppriority", "OpCode_prio", KIND_OTHER,
	    "Priority of each opcode"),
	JOB_OWN("opid", "OpId", "The kinds of its opcodes"),
	JOB_OWN("objects", "Objects",
	    "Instances, nodes, groups and networks that its opcodes name"),
	JOB_OWN("user", "User",
	    "Who asked for it: sources of the reason trail"),
	JOB_OWN("reason", "Reason",
	    "Why: texts of the reason trail"),
	JOB("summary", "Summary", KIND_OTHER, "Each opcode in a word"),
	JOB_TIME("received_ts", "Received",
		 "When the job was received: seconds, microseconds"),
	JOB_TIME("start_ts", "Start",
		 "When the job was started: seconds, microseconds"),
	JOB_TIME("end_ts", "End",
		 "When the job ended: seconds, microseconds"),
};
/* clang-format on */

/* A job with more text takes too long for the loop. */
#define BIG_JOB (64u * 1024)

static bool is_big(const struct job *job)
{
	size_t bytes = 0;

	for (size_t i = 0; i < job->n_ops && bytes <= BIG_JOB; i++) {
		const struct job_op *op = &job->ops[i];

		bytes += strlen(op->input) + op->log.len +
			 (op->result == NULL ? 0 : strlen(op->result));
	}
	return bytes > BIG_JOB;
}

/* A row for a live job (or for none).  The job is copied if the work on it may
 * take long. */
static WAITS int add_job(struct query *q, const struct job *job, uint64_t id)
{
	struct query_row row = {.data = job, .id = id};
	struct job *copy;
	int rc;

	if (job == NULL || task_self() == NULL || !(q->heavy || is_big(job)))
		return query_add_row(q, &row);
	copy = job_copy(job);
	row.data = copy;
	row.own = true;
	rc = query_add_row(q, &row);
	job_free(copy);
	return rc;
}

/* A row for a job that only this query has; it is freed. */
static WAITS int add_own_job(struct query *q, const struct job *job,
			     uint64_t id)
{
	return query_add_row(
		q, &(struct query_row){
			   .data = job,
			   .id = id,
			   .own = job != NULL && (q->heavy || is_big(job)),
		   });
}

/* --- jobs by id --- */

static bool take_id(const char *name, uint64_t *ret_id)
{
	int64_t id;

	if (!str_to_int64(name, &id) || id < 0)
		return false;
	*ret_id = (uint64_t)id;
	return true;
}

/* Whether the job is known without reading the disk. */
static bool is_at_hand(const struct query *q, uint64_t id)
{
	return id == 0 || id > queue_last_id(q->m->queue) ||
	       queue_job(q->m->queue, id) != NULL;
}

/* Whether the job is known, and the work on it is short. */
static bool is_quick(const struct query *q, uint64_t id)
{
	const struct job *job = queue_job(q->m->queue, id);

	return is_at_hand(q, id) && (job == NULL || !is_big(job));
}

static WAITS int add_archived(struct query *q, uint64_t id)
{
	struct error ignored; /* one that cannot be read does not exist */
	struct job *job = queue_archived(q->m->queue, id, &ignored);
	int rc = add_own_job(q, job, id);

	job_free(job);
	return rc;
}

static WAITS int add_by_id(struct query *q, const char *name, struct error *err)
{
	uint64_t id;

	if (!take_id(name, &id))
		return error_set(err, ERR_SYSTEM, NULL,
				 "'%.100s' is not the id of a job", name);
	if (!is_at_hand(q, id))
		return add_archived(q, id);
	return add_job(q, queue_job(q->m->queue, id), id);
}

/* --- all jobs --- */

/* In order of their ids, live and archived ones together. */
struct job_rows {
	struct query *q;
	uint64_t last; /* the job that was looked at last */
	int rc;
};

static WAITS bool on_job(const struct job *j, struct job_rows *rows)
{
	rows->last = j->id;
	rows->rc = add_job(rows->q, j, j->id);
	return rows->rc == 0;
}

/* Rows for the next live jobs, up to the one before id. */
static WAITS bool live_below(struct job_rows *rows, uint64_t id)
{
	const struct job *j = queue_next(rows->q->m->queue, rows->last);

	while (j != NULL && j->id < id && on_job(j, rows))
		j = queue_next(rows->q->m->queue, rows->last);
	return rows->rc == 0;
}

/* A row for a job that was live when we found it; it may be archived by now. */
static WAITS bool in_turn(const struct job *j, struct job_rows *rows)
{
	if (j->id <= rows->last)
		return true;
	if (!live_below(rows, j->id))
		return false;
	rows->last = j->id;
	rows->rc = add_own_job(rows->q, j, j->id);
	return rows->rc == 0;
}

static WAITS bool on_archived(struct job *j STEALS, void *arg)
{
	bool more = in_turn(j, arg);

	job_free(j);
	return more;
}

/* --- archived jobs: by the index, or else from their files --- */

/* The files of archived jobs, when the index cannot answer. */
static const char *const in_files[] = {"ops", "opresult", "oplog"};

static bool wants_file(const struct query *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(in_files); i++)
		if (query_wants(q, in_files[i]))
			return true;
	return false;
}

static bool filter_wants_file(const struct query *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(in_files); i++)
		if (strv_has(filter_fields(q->filter), in_files[i]))
			return true;
	return false;
}

static WAITS bool on_indexed(const struct job *brief, void *arg)
{
	struct job_rows *rows = arg;
	struct query *q = rows->q;
	struct query_row row = {.data = brief, .id = brief->id};
	struct error ignored; /* one that cannot be read does not exist */
	int passes = 1;
	struct job *j;

	if (!wants_file(q))
		return in_turn(brief, rows);
	if (!filter_wants_file(q))
		passes = query_row_passes(q, &row);
	if (passes <= 0) {
		rows->rc = passes;
		return passes == 0;
	}
	j = queue_archived(q->m->queue, brief->id, &ignored);
	return j == NULL || on_archived(j, rows);
}

static WAITS int archived_jobs(struct job_rows *rows, struct error *err)
{
	struct query *q = rows->q;

	if (queue_each_indexed(q->m->queue, filter_document(q->filter),
			       on_indexed, rows) != 0)
		return 0;
	/* The index may have failed in the middle: continue with the files
	 * behind the last job. */
	return queue_each_archived(q->m->queue, on_archived, rows, err);
}

static WAITS int all_jobs(struct query *q, struct error *err)
{
	struct job_rows rows = {.q = q};

	if (query_wants(q, "archived") && archived_jobs(&rows, err) < 0)
		return -1;
	if (rows.rc != 0)
		return rows.rc;
	if (rows.last == 0 && query_jobs_keep(q))
		return query_jobs_kept(q, add_job);
	live_below(&rows, UINT64_MAX);
	return rows.rc;
}

/* Longer lists of ids are sorted beside the loop. */
#define MANY_NAMES 1000

static void each_once(const struct strv *names, struct strv *ret)
{
	struct table seen = {0};

	for (size_t i = 0; i < names->n; i++)
		if (table_put(&seen, names->items[i], ret) == NULL)
			strv_add(ret, names->items[i]);
	table_done(&seen, NULL);
}

static WAITS int job_rows(struct query *q, const struct strv *names,
			  struct error *err)
{
	auto_strv struct strv ids = {0};

	if (names == NULL)
		return all_jobs(q, err);
	if (task_self() != NULL && names->n > MANY_NAMES) {
		task_leave(); /* nobody else uses the two lists */
		each_once(names, &ids);
		task_enter();
	} else {
		each_once(names, &ids);
	}
	for (size_t i = 0; i < ids.n; i++)
		if (add_by_id(q, ids.items[i], err) < 0)
			return -1;
	return 0;
}

static bool job_rows_wait(const struct query *q, const struct strv *names)
{
	uint64_t id;

	if (names == NULL)
		return query_wants(q, "archived");
	for (size_t i = 0; i < names->n; i++)
		if (take_id(names->items[i], &id) && !is_quick(q, id))
			return true;
	return false;
}

const struct query_class query_class_job = {
	.what = "job",
	.title = "Job",
	.name_field = "id",
	QUERY_TABLE(fields),
	.rows = job_rows,
	.rows_wait = job_rows_wait,
};
