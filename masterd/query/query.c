/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of every query: find the fields, compile the filter, take the rows,
 * ask the nodes if a field needs it, filter again, pack.  What an object has is
 * in query_<kind>.c, rows are in query_rows.c. */
#include "masterd/query/query.h"

#include <assert.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/json/json.h"
#include "masterd/query/query_private.h"

static const struct query_class *const classes[] = {
	&query_class_node,    &query_class_instance, &query_class_group,
	&query_class_network, &query_class_job,	     &query_class_lock,
	&query_class_filter,  &query_class_export,
};

static const char *const kind_names[] = {
	[KIND_UNKNOWN] = "unknown",	[KIND_TEXT] = "text",
	[KIND_BOOL] = "bool",		[KIND_NUMBER] = "number",
	[KIND_FLOAT] = "float",		[KIND_UNIT] = "unit",
	[KIND_TIMESTAMP] = "timestamp", [KIND_OTHER] = "other",
};

/* A filter that may need more steps for one row than this runs beside the loop.
 * A few regular expressions stay below it. */
#define HEAVY_STEPS 100000

/* A query for at most so many names is answered at once. */
#define SHORT_NAMES 16
#define SHORT_FIELDS 64

const struct query_class *query_find_class(const char *what, struct error *err)
{
	static const char *const by_opcode[] = {"cluster", "os", "extstorage"};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (str_eq(classes[i]->what, what))
			return classes[i];
	for (size_t i = 0; i < ARRAY_SIZE(by_opcode); i++)
		if (str_eq(by_opcode[i], what)) {
			error_set(err, ERR_SYSTEM, NULL,
				  "Query of '%s' is not supported here: submit "
				  "the opcode OP_QUERY",
				  what);
			return NULL;
		}
	error_set(err, ERR_REQUEST, NULL, "There is no kind '%.100s' to query",
		  what == NULL ? "" : what);
	return NULL;
}

static const struct query_field *all_fields(const struct query_class *class,
					    size_t *ret_n)
{
	if (class->make_fields != NULL)
		return class->make_fields(ret_n);
	*ret_n = class->n_fields;
	return class->fields;
}

const struct query_field *query_find_field(const struct query_class *class,
					   const char *name)
{
	size_t n;
	const struct query_field *fields = all_fields(class, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

/* --- definitions of fields --- */

static json_t *definition(const struct query_class *class, const char *name)
{
	const struct query_field *f = query_find_field(class, name);

	if (f == NULL)
		return json_make("{s:s, s:s, s:s, s:o}", "name", name, "title",
				 name, "kind", kind_names[KIND_UNKNOWN], "doc",
				 json_sprintf("Unknown field '%s'", name));
	return json_make("{s:s, s:s, s:s, s:s}", "name", f->name, "title",
			 f->title, "kind", kind_names[f->kind], "doc", f->doc);
}

static json_t *definitions(const struct query_class *class,
			   const struct strv *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->n; i++)
		json_array_append_new(list, definition(class, names->items[i]));
	return list;
}

int query_take_fields(const json_t *fields, struct strv *ret, struct error *err)
{
	if (!json_is_array(fields))
		return error_set(err, ERR_REQUEST, NULL,
				 "The fields of a query must be a list");
	if (json_array_size(fields) > QUERY_FIELDS_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A query has at most %d fields",
				 QUERY_FIELDS_MAX);
	json_to_strv(fields, ret);
	if (ret->n != json_array_size(fields))
		return error_set(err, ERR_REQUEST, NULL,
				 "The fields of a query must be strings");
	return 0;
}

json_t *query_fields(const char *what, const json_t *fields, bool own,
		     struct error *err)
{
	const struct query_class *class = query_find_class(what, err);
	auto_strv struct strv names = {0};

	if (class == NULL)
		return NULL;
	if (json_array_size(fields) == 0) {
		size_t n;
		const struct query_field *all = all_fields(class, &n);

		for (size_t i = 0; i < n; i++)
			if (own || !all[i].own)
				strv_add_unique(&names, all[i].name);
		strv_sort_nice(&names);
	} else if (query_take_fields(fields, &names, err) < 0) {
		return NULL;
	}
	return json_make("{s:o}", "fields", definitions(class, &names));
}

/* --- what is wanted --- */

bool query_wants(const struct query *q, const char *field)
{
	return strv_has(&q->wanted, field) ||
	       (!q->names_only && strv_has(filter_fields(q->filter), field));
}

/* --- the query --- */

static bool known_field(void *arg, const char *name, enum filter_kind *ret_kind)
{
	const struct query_class *class = arg;
	const struct query_field *f = query_find_field(class, name);

	if (f != NULL)
		*ret_kind = f->filter_kind;
	return f != NULL;
}

static bool needs_live(const struct query *q)
{
	const struct strv *read = filter_fields(q->filter);

	for (size_t i = 0; i < q->wanted.n; i++)
		if (q->fields[i] != NULL && q->fields[i]->live)
			return true;
	for (size_t i = 0; !q->names_only && i < read->n; i++)
		if (query_find_field(q->class, read->items[i])->live)
			return true;
	return false;
}

/* A field that was asked for twice is at the place of its first column. */
static void find_fields(struct query *q)
{
	struct table first = {0};

	q->fields =
		xcalloc(q->wanted.n + 1, sizeof(const struct query_field *));
	q->last = xcalloc(q->wanted.n + 1, sizeof(*q->last));
	q->spans = xcalloc(q->wanted.n + 1, sizeof(*q->spans));
	for (size_t i = 0; i < q->wanted.n; i++) {
		const char *name = q->wanted.items[i];
		struct query_span *span = &q->spans[i], *before;

		q->fields[i] = query_find_field(q->class, name);
		before = table_get(&first, name);
		span->same = before == NULL ? i : before->same;
		if (before == NULL)
			table_put(&first, name, span);
	}
	table_done(&first, NULL);
}

/* *names gets the names if the filter is only a list of names. */
static int compile(struct query *q, const json_t *qfilter, struct strv *names,
		   struct error *err)
{
	q->filter = filter_compile(qfilter, known_field, mem_unconst(q->class),
				   err);
	if (q->filter == NULL)
		return -1;
	filter_names(qfilter, q->class->name_field, names);
	if (names->n > QUERY_NAMES_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A query is for at most %d names",
				 QUERY_NAMES_MAX);
	return 0;
}

/* A filter that is not small is compiled beside the loop: the fields of the
 * class exist by now, and nobody else uses the document. */
static WAITS int compile_filter(struct query *q, const json_t *qfilter,
				struct strv *names, struct error *err)
{
	size_t n;
	int rc;

	if (task_self() == NULL || filter_is_small(qfilter))
		return compile(q, qfilter, names, err);
	all_fields(q->class, &n);
	task_leave();
	rc = compile(q, qfilter, names, err);
	task_enter();
	return rc;
}

/* Take the request apart. */
static WAITS int query_init(struct query *q, const char *what,
			    const json_t *fields, const json_t *qfilter,
			    struct strv *names, struct error *err)
{
	q->err = err;
	q->class = query_find_class(what, err);
	if (q->class == NULL || query_take_fields(fields, &q->wanted, err) < 0)
		return -1;
	find_fields(q);
	slice_begin(&q->work, q->m->slices);
	query_clock_start(q);
	if (compile_filter(q, qfilter, names, err) < 0)
		return -1;
	filter_limit(q->filter, FILTER_STEPS_MAX);
	q->heavy = filter_row_steps_max(q->filter) > HEAVY_STEPS;
	q->names_only = names->n > 0;
	q->asks_nodes = q->class->collect != NULL && needs_live(q);
	q->data = json_array();
	return 0;
}

static void free_parts(struct query *q)
{
	for (size_t i = 0; q->last != NULL && i < q->wanted.n; i++)
		json_decref(q->last[i]);
	free(q->last);
	free(q->spans);
	free(q->fields);
	filter_free(q->filter);
	strv_done(&q->wanted);
	json_decref(q->data);
}

static WAITS void query_done(struct query *q)
{
	if (q->work.slices != NULL)
		slice_rest(&q->work);
	if (q->live != NULL)
		q->class->live_done(q);
	for (size_t i = 0; i < q->n_rows; i++) {
		json_decref(q->rows[i].object);
		json_decref(q->rows[i].cache);
	}
	free(q->rows);
	if (!q->heavy || task_self() == NULL) {
		free_parts(q);
		return;
	}
	task_leave(); /* nobody else uses any of it */
	free_parts(q);
	task_enter();
}

/* The rows that were kept, now evaluated with the answers of the nodes. */
static WAITS int emit_live(struct query *q, struct error *err)
{
	for (size_t i = 0; i < q->n_rows; i++) {
		int rc = query_row_matches(q, &q->rows[i], true, err);

		if (rc < 0 || (rc > 0 && query_emit(q, &q->rows[i]) < 0))
			return -1;
	}
	return 0;
}

static WAITS int find_rows(struct query *q, const struct strv *names,
			   struct error *err)
{
	return q->class->rows != NULL
		       ? q->class->rows(q, names, err)
		       : query_config_rows(q, q->class->kind, names, err);
}

void query_ask(struct query *q)
{
	slice_rest(&q->work);
	slices_ask(q->m->slices, QUERY_ASKS_MAX);
}

void query_asked(struct query *q)
{
	slices_asked(q->m->slices);
}

/* Make the rows, in q->data or as text. */
static WAITS int run(struct query *q, const struct strv *names,
		     struct error *err)
{
	q->all_rows = names->n == 0;
	if (find_rows(q, names->n > 0 ? names : NULL, err) < 0)
		return -1;
	if (!q->asks_nodes)
		return 0;
	query_ask(q);
	q->class->collect(q);
	query_asked(q);
	return emit_live(q, err);
}

json_t *query_run(struct master *m, const char *what, const json_t *fields,
		  const json_t *qfilter, struct error *err)
{
	struct query q = {.m = m};
	auto_strv struct strv names = {0};
	json_t *result = NULL;

	if (query_init(&q, what, fields, qfilter, &names, err) == 0 &&
	    run(&q, &names, err) == 0)
		result = json_make("{s:o, s:O}", "fields",
				   definitions(q.class, &q.wanted), "data",
				   q.data);
	query_done(&q);
	return result;
}

static void write_definitions(const struct query *q)
{
	auto_json json_t *list = definitions(q->class, &q->wanted);

	buf_adds(q->text, "{\"fields\":");
	json_write(q->text, list);
	buf_adds(q->text, ",\"data\":");
}

int query_write_rows(struct query *q, const char *what, const json_t *fields,
		     const json_t *qfilter, struct error *err)
{
	auto_strv struct strv names = {0};
	int rc = query_init(q, what, fields, qfilter, &names, err);

	if (rc == 0) {
		if (!q->plain)
			write_definitions(q);
		buf_addc(q->text, '[');
		rc = run(q, &names, err);
		buf_adds(q->text, q->plain ? "]" : "]}");
	}
	query_done(q);
	return rc;
}

int query_write(struct master *m, const char *what, const json_t *fields,
		const json_t *qfilter, struct query_out *out, struct buf *text,
		struct error *err)
{
	struct query q = {.m = m, .out = out, .text = text};

	return query_write_rows(&q, what, fields, qfilter, err);
}

bool query_needs_wait(struct master *m, const char *what, const json_t *fields,
		      const json_t *qfilter)
{
	struct query q = {.m = m};
	auto_strv struct strv names = {0};
	struct error ignored;
	bool waits = false;

	if (query_init(&q, what, fields, qfilter, &names, &ignored) == 0)
		waits = q.asks_nodes ||
			(q.class->rows_wait != NULL &&
			 q.class->rows_wait(&q, names.n > 0 ? &names : NULL));
	query_done(&q);
	return waits;
}

bool query_is_short(struct master *m, const char *what, const json_t *fields,
		    const json_t *qfilter)
{
	struct error ignored;
	const struct query_class *class = query_find_class(what, &ignored);
	auto_strv struct strv names = {0};

	if (class == NULL) /* refused at once */
		return true;
	if (json_array_size(fields) > SHORT_FIELDS || !filter_is_small(qfilter))
		return false;
	filter_names(qfilter, class->name_field, &names);
	return names.n > 0 && names.n <= SHORT_NAMES &&
	       !query_needs_wait(m, what, fields, qfilter);
}
