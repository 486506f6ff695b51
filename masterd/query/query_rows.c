/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a query: which of them pass the filter, which values they have,
 * and how they get into the answer.
 *
 * Each row costs steps (slices.h); between two rows others may run, and pieces
 * of a long answer are sent.  A row whose filter or job takes longer than a
 * slice is worked on beside the loop, with values of its own that nobody else
 * changes. */
#include <string.h>
#include <time.h>

#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/params/params.h"
#include "masterd/query/query_private.h"

/* A piece of an answer is about so long, in bytes. */
#define PIECE (64u * 1024)

/* The steps of a row: so many for each field, one for so many bytes of text,
 * and one for so many steps of the filter. */
#define FIELD_STEPS 2
#define STEP_BYTES 512
#define STEP_FILTER_STEPS 10

/* The most CPU time of a query with a filter. */
#define QUERY_CPU_S 20

/* --- cells --- */

struct query_cell query_maybe(const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return query_none(QUERY_UNAVAIL);
	return query_value(json_ref(value));
}

struct query_cell query_text(const char *text)
{
	return text == NULL ? query_none(QUERY_UNAVAIL)
			    : query_value(json_string(text));
}

struct query_cell query_get_member(const struct query *q, struct query_row *row,
				   const struct query_field *field)
{
	(void)q;
	return query_maybe(json_object_get(row->object, field->arg));
}

struct query_cell query_get_dict(const struct query *q, struct query_row *row,
				 const struct query_field *field)
{
	const json_t *value = json_get(row->object, field->arg);

	(void)q;
	return value == NULL ? query_value(json_object()) : query_maybe(value);
}

struct query_cell query_get_list(const struct query *q, struct query_row *row,
				 const struct query_field *field)
{
	const json_t *value = json_get(row->object, field->arg);

	(void)q;
	return value == NULL ? query_value(json_array()) : query_maybe(value);
}

json_t *query_filled_nd(const struct query *q, struct query_row *row)
{
	const json_t *object = row->object;
	bool is_group = q->class->kind == CONFIG_GROUP;
	const json_t *group = is_group
				      ? object
				      : config_get(q->m->config, CONFIG_GROUP,
						   node_group_or(object, NULL));

	if (row->cache == NULL)
		row->cache = params_fill_nd(config_cluster(q->m->config), group,
					    is_group ? NULL : object);
	return row->cache;
}

struct query_cell query_get_nd(const struct query *q, struct query_row *row,
			       const struct query_field *field)
{
	return query_maybe(
		json_object_get(query_filled_nd(q, row), field->arg));
}

struct query_cell query_get_ndparams(const struct query *q,
				     struct query_row *row,
				     const struct query_field *field)
{
	(void)field;
	return query_value(json_copy(query_filled_nd(q, row)));
}

json_t *query_names(const struct query *q, enum config_kind kind,
		    const struct strv *uuids)
{
	auto_strv struct strv names = {0};

	for (size_t i = 0; i < uuids->n; i++)
		strv_add(&names,
			 config_name(q->m->config, kind, uuids->items[i]));
	strv_sort_nice(&names);
	return json_from_strv(&names);
}

/* --- the filter --- */

/* The values that the filter reads of one row; each is fetched when it is first
 * needed. */
struct lookup {
	const struct query *q;
	struct query_row *row;
	bool with_live;
	bool complete; /* all is there: read nothing else any more */
	json_t **values;
	bool *taken;
};

static void take_value(struct lookup *l, size_t i)
{
	const char *name = filter_fields(l->q->filter)->items[i];
	const struct query_field *f = query_find_field(l->q->class, name);

	l->taken[i] = true;
	if (!f->live || l->with_live)
		l->values[i] = f->get(l->q, l->row, f).value;
}

static const json_t *filter_value(void *arg, const char *name)
{
	struct lookup *l = arg;
	const struct strv *read = filter_fields(l->q->filter);

	for (size_t i = 0; i < read->n; i++) {
		if (strcmp(read->items[i], name) != 0)
			continue;
		if (!l->taken[i] && !l->complete)
			take_value(l, i);
		return l->values[i];
	}
	return NULL;
}

static int evaluate(const struct query *q, struct lookup *l, struct error *err)
{
	return q->asks_nodes && !l->with_live
		       ? filter_may_match(q->filter, filter_value, l, err)
		       : filter_match(q->filter, filter_value, l, err);
}

/* Fetch all values here, then evaluate the filter beside the loop. */
static WAITS int evaluate_beside(struct query *q, struct lookup *l,
				 struct error *err)
{
	int rc;

	for (size_t i = 0; i < filter_fields(q->filter)->n; i++)
		take_value(l, i);
	l->complete = true;
	slice_rest(&q->work);
	task_leave(); /* nobody else uses the values and the filter */
	rc = evaluate(q, l, err);
	task_enter();
	return rc;
}

static bool goes_beside(const struct query *q, const struct query_row *row)
{
	return q->heavy && !row->own && task_self() != NULL;
}

WAITS int query_row_matches(struct query *q, struct query_row *row,
			    bool with_live, struct error *err)
{
	size_t n = filter_fields(q->filter)->n;
	struct lookup l = {.q = q, .row = row, .with_live = with_live};
	int rc;

	if (q->names_only || filter_document(q->filter) == NULL)
		return 1;
	l.values = xcalloc(n + 1, sizeof(*l.values));
	l.taken = xcalloc(n + 1, sizeof(*l.taken));
	rc = goes_beside(q, row) ? evaluate_beside(q, &l, err)
				 : evaluate(q, &l, err);
	for (size_t i = 0; i < n; i++)
		json_decref(l.values[i]);
	free(l.values);
	free(l.taken);
	return rc;
}

/* --- rows as values --- */

/* Whether the packed cell [status, value] is this one; lists and objects are
 * not compared. */
static bool same_cell(const json_t *packed, int status, const json_t *value)
{
	const json_t *other = json_array_get(packed, 1);

	return packed != NULL &&
	       json_integer_value(json_array_get(packed, 0)) == status &&
	       !json_is_array(value) && !json_is_object(value) &&
	       json_equal(value, other);
}

/* Most rows have cells equal to those of the row before them, so they share
 * them: making and freeing cells is most of the cost of a long list. */
static json_t *pack(json_t **last, struct query_cell cell)
{
	auto_json json_t *value = cell.value == NULL ? json_null() : cell.value;
	json_t *packed;

	if (same_cell(*last, (int)cell.status, value))
		return json_incref(*last);
	packed = json_array();
	json_array_append_new(packed, json_integer(cell.status));
	json_array_append(packed, value);
	json_decref(*last);
	*last = json_incref(packed);
	return packed;
}

static struct query_cell cell_of(struct query *q, struct query_row *row,
				 size_t i)
{
	const struct query_field *f = q->fields[i];

	return f == NULL ? query_none(QUERY_UNKNOWN) : f->get(q, row, f);
}

static void emit_values(struct query *q, struct query_row *row)
{
	json_t *cells = json_array();

	for (size_t i = 0; i < q->wanted.n; i++)
		json_array_append_new(cells,
				      pack(&q->last[i], cell_of(q, row, i)));
	json_array_append_new(q->data, cells);
}

/* --- rows as text --- */

static void write_cell(struct query *q, struct query_row *row, size_t i)
{
	struct query_cell cell = cell_of(q, row, i);
	auto_json json_t *value = cell.value;
	struct buf *text = q->text;

	if (!q->plain)
		buf_addf(text, "[%d,", (int)cell.status);
	if (value == NULL)
		buf_adds(text, "null");
	else
		json_write(text, value);
	if (!q->plain)
		buf_addc(text, ']');
}

/* A field that was asked for twice is made once. */
static void emit_text(struct query *q, struct query_row *row)
{
	struct buf *text = q->text;

	buf_adds(text, q->row_before ? ",[" : "[");
	q->row_before = true;
	for (size_t i = 0; i < q->wanted.n; i++) {
		struct query_span *span = &q->spans[i];

		if (i > 0)
			buf_addc(text, ',');
		if (span->same < i) {
			auto_free char *copy =
				xmemdup(text->data + q->spans[span->same].begin,
					q->spans[span->same].len);

			buf_add(text, copy, q->spans[span->same].len);
			continue;
		}
		span->begin = text->len;
		write_cell(q, row, i);
		span->len = text->len - span->begin;
	}
	buf_addc(text, ']');
}

static void emit(struct query *q, struct query_row *row)
{
	if (q->text != NULL)
		emit_text(q, row);
	else
		emit_values(q, row);
}

static void keep(struct query *q, const struct query_row *row)
{
	if (q->n_rows == q->cap_rows) {
		q->cap_rows = q->cap_rows == 0 ? 16 : q->cap_rows * 2;
		q->rows = xrealloc(q->rows, q->cap_rows * sizeof(*q->rows));
	}
	q->rows[q->n_rows] = *row;
	json_incref(row->object);
	q->rows[q->n_rows++].cache = NULL;
}

/* --- between rows --- */

static int64_t cpu_us(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void query_clock_start(struct query *q)
{
	q->cpu_us = cpu_us();
}

/* At the end of a slice: is the answer still wanted, and within its limits? */
static int check_going(struct query *q)
{
	if (q->out != NULL && q->out->gone(q->out))
		return error_set(q->err, ERR_SYSTEM, NULL,
				 "The client has gone");
	if (filter_document(q->filter) != NULL && !q->names_only &&
	    task_self() != NULL &&
	    cpu_us() - q->cpu_us > QUERY_CPU_S * INT64_C(1000000))
		return error_set(q->err, ERR_PARAMETER, NULL,
				 "The query has taken %d seconds of a "
				 "processor; ask for less at a time",
				 QUERY_CPU_S);
	return 0;
}

int query_flush(struct query *q)
{
	if (q->out == NULL || q->holds_back || q->text->len < PIECE)
		return 0;
	slice_rest(&q->work);
	q->out->sent = true;
	if (q->out->piece(q->out, q->text) == 0)
		return 0;
	return error_set(q->err, ERR_SYSTEM, NULL, "The client has gone");
}

/* A row is done, of so many bytes: others may run, a piece may go out. */
static WAITS int count(struct query *q, size_t bytes)
{
	uint64_t filter = filter_steps(q->filter);
	uint64_t steps = 1 + q->wanted.n * FIELD_STEPS + bytes / STEP_BYTES +
			 (filter - q->filter_steps) / STEP_FILTER_STEPS;

	q->filter_steps = filter;
	if (slice_steps(&q->work, steps) && check_going(q) < 0)
		return -1;
	return query_flush(q);
}

/* --- adding rows --- */

int query_row_passes(struct query *q, const struct query_row *given)
{
	struct query_row row = *given;
	int rc;

	row.cache = NULL;
	rc = query_row_matches(q, &row, false, q->err);
	json_decref(row.cache);
	return rc;
}

int query_emit(struct query *q, struct query_row *row)
{
	size_t before = q->text == NULL ? 0 : q->text->len;

	emit(q, row);
	return count(q, q->text == NULL ? 0 : q->text->len - before);
}

static WAITS int take(struct query *q, struct query_row *row)
{
	int rc = query_row_matches(q, row, false, q->err);

	if (rc > 0 && q->asks_nodes)
		keep(q, row);
	else if (rc > 0)
		emit(q, row);
	return rc;
}

/* A row with data of its own can be worked on beside the loop. */
static WAITS int take_beside(struct query *q, struct query_row *row)
{
	int rc;

	slice_rest(&q->work);
	task_leave();
	rc = take(q, row);
	task_enter();
	return rc;
}

int query_add_row(struct query *q, const struct query_row *given)
{
	struct query_row row = *given;
	size_t before = q->text == NULL ? 0 : q->text->len;
	int rc;

	row.cache = NULL;
	json_incref(row.object); /* it may be replaced in a wait */
	rc = row.own && task_self() != NULL ? take_beside(q, &row)
					    : take(q, &row);
	json_decref(row.cache);
	json_decref(row.object);
	if (rc < 0)
		return -1;
	return count(q, q->text == NULL ? 0 : q->text->len - before);
}

static WAITS int add_named(struct query *q, enum config_kind kind,
			   const char *name, struct error *err)
{
	const json_t *object = config_expect(q->m->config, kind, name, err);

	if (object == NULL)
		return -1;
	return query_add_row(
		q, &(struct query_row){.object = json_unconst(object)});
}

int query_config_rows(struct query *q, enum config_kind kind,
		      const struct strv *names, struct error *err)
{
	auto_json json_t *objects = NULL;
	json_t *object;
	size_t i;

	if (names != NULL) {
		for (i = 0; i < names->n; i++)
			if (add_named(q, kind, names->items[i], err) < 0)
				return -1;
		return 0;
	}
	objects = config_sorted_objects(q->m->config, kind);
	json_array_foreach (objects, i, object)
		if (query_add_row(q, &(struct query_row){.object = object}) < 0)
			return -1;
	return 0;
}
