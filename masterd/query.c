/* SPDX-License-Identifier: BSD-2-Clause */
/* The way of every query: find the fields, compile the filter, take the rows,
 * ask the nodes if a field needs it, filter again, pack.  What an object has is
 * in query_<kind>.c. */
#include "masterd/query.h"

#include <assert.h>
#include <string.h>

#include "lib/json/json.h"
#include "masterd/query_private.h"

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

static const struct query_class *find_class(const char *what, struct error *err)
{
	static const char *const by_opcode[] = {"cluster", "os", "extstorage"};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (str_eq(classes[i]->what, what))
			return classes[i];
	for (size_t i = 0; i < sizeof(by_opcode) / sizeof(by_opcode[0]); i++)
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

static const struct query_field *find_field(const struct query_class *class,
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
	const struct query_field *f = find_field(class, name);

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

static int take_fields(const json_t *fields, struct strv *ret,
		       struct error *err)
{
	if (!json_is_array(fields))
		return error_set(err, ERR_REQUEST, NULL,
				 "The fields of a query must be a list");
	json_to_strv(fields, ret);
	if (ret->n != json_array_size(fields))
		return error_set(err, ERR_REQUEST, NULL,
				 "The fields of a query must be strings");
	return 0;
}

json_t *query_fields(const char *what, const json_t *fields, bool own,
		     struct error *err)
{
	const struct query_class *class = find_class(what, err);
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
	} else if (take_fields(fields, &names, err) < 0) {
		return NULL;
	}
	return json_make("{s:o}", "fields", definitions(class, &names));
}

/* --- cells --- */

struct query_cell query_maybe(const json_t *value)
{
	if (value == NULL || json_is_null(value))
		return query_none(QUERY_UNAVAIL);
	return query_value(json_incref((json_t *)value));
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

/* --- rows --- */

/* What the filter asks of one row.  One value lives at a time. */
struct lookup {
	const struct query *q;
	struct query_row *row;
	bool with_live;
	json_t *value;
};

static const json_t *filter_value(void *arg, const char *name)
{
	struct lookup *l = arg;
	const struct query_field *f = find_field(l->q->class, name);
	struct query_cell cell;

	if (f->live && !l->with_live)
		return NULL;
	json_decref(l->value);
	cell = f->get(l->q, l->row, f);
	l->value = cell.value;
	return l->value;
}

static int row_matches(const struct query *q, struct query_row *row,
		       bool with_live, struct error *err)
{
	struct lookup lookup = {.q = q, .row = row, .with_live = with_live};
	int rc;

	if (q->names_only)
		return 1;
	rc = q->asks_nodes && !with_live
		     ? filter_may_match(q->filter, filter_value, &lookup, err)
		     : filter_match(q->filter, filter_value, &lookup, err);
	json_decref(lookup.value);
	return rc;
}

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

/* Rows have mostly the same as the one before them, so they share it: making
 * and freeing cells is most of what a long list costs. */
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

static void emit(struct query *q, struct query_row *row)
{
	json_t *cells = json_array();

	for (size_t i = 0; i < q->wanted.n; i++) {
		const struct query_field *f = q->fields[i];
		struct query_cell cell = f == NULL ? query_none(QUERY_UNKNOWN)
						   : f->get(q, row, f);

		json_array_append_new(cells, pack(&q->last[i], cell));
	}
	json_array_append_new(q->data, cells);
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

int query_row_passes(struct query *q, const struct query_row *given)
{
	struct query_row row = *given;
	int rc;

	row.cache = NULL;
	rc = row_matches(q, &row, false, q->err);
	json_decref(row.cache);
	return rc;
}

int query_add_row(struct query *q, const struct query_row *given)
{
	struct query_row row = *given;
	int rc;

	row.cache = NULL;
	rc = row_matches(q, &row, false, q->err);
	if (rc > 0 && q->asks_nodes)
		keep(q, &row);
	else if (rc > 0)
		emit(q, &row);
	json_decref(row.cache);
	return rc < 0 ? -1 : 0;
}

static int add_named(struct query *q, enum config_kind kind, const char *name,
		     struct error *err)
{
	const json_t *object = config_expect(q->m->config, kind, name, err);

	if (object == NULL)
		return -1;
	return query_add_row(q,
			     &(struct query_row){.object = (json_t *)object});
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

bool query_wants(const struct query *q, const char *field)
{
	return strv_has(&q->wanted, field) ||
	       (!q->names_only && strv_has(filter_fields(q->filter), field));
}

/* --- the query --- */

static bool known_field(void *arg, const char *name, enum filter_kind *ret_kind)
{
	const struct query_class *class = arg;
	const struct query_field *f = find_field(class, name);

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
		if (find_field(q->class, read->items[i])->live)
			return true;
	return false;
}

/* Take the request apart; names gets the names of a filter that is only a
 * list. */
static int query_init(struct query *q, const char *what, const json_t *fields,
		      const json_t *qfilter, struct strv *names,
		      struct error *err)
{
	q->err = err;
	q->class = find_class(what, err);
	if (q->class == NULL || take_fields(fields, &q->wanted, err) < 0)
		return -1;
	q->filter = filter_compile(qfilter, known_field, (void *)q->class, err);
	if (q->filter == NULL)
		return -1;
	q->fields =
		xcalloc(q->wanted.n + 1, sizeof(const struct query_field *));
	for (size_t i = 0; i < q->wanted.n; i++)
		q->fields[i] = find_field(q->class, q->wanted.items[i]);
	q->last = xcalloc(q->wanted.n + 1, sizeof(*q->last));
	filter_names(qfilter, q->class->name_field, names);
	q->names_only = names->n > 0;
	q->asks_nodes = q->class->collect != NULL && needs_live(q);
	q->data = json_array();
	return 0;
}

static void query_done(struct query *q)
{
	if (q->live != NULL)
		q->class->live_done(q);
	for (size_t i = 0; i < q->n_rows; i++) {
		json_decref(q->rows[i].object);
		json_decref(q->rows[i].cache);
	}
	for (size_t i = 0; q->last != NULL && i < q->wanted.n; i++)
		json_decref(q->last[i]);
	free(q->last);
	free(q->rows);
	free(q->fields);
	filter_free(q->filter);
	strv_done(&q->wanted);
	json_decref(q->data);
}

/* The rows that were kept, now with what the nodes say. */
static int emit_live(struct query *q, struct error *err)
{
	for (size_t i = 0; i < q->n_rows; i++) {
		int rc = row_matches(q, &q->rows[i], true, err);

		if (rc < 0)
			return -1;
		if (rc > 0)
			emit(q, &q->rows[i]);
	}
	return 0;
}

static int find_rows(struct query *q, const struct strv *names,
		     struct error *err)
{
	return q->class->rows != NULL
		       ? q->class->rows(q, names, err)
		       : query_config_rows(q, q->class->kind, names, err);
}

static json_t *run(struct query *q, const struct strv *names, struct error *err)
{
	q->all_rows = names->n == 0;
	if (find_rows(q, names->n > 0 ? names : NULL, err) < 0)
		return NULL;
	if (q->asks_nodes) {
		q->class->collect(q);
		if (emit_live(q, err) < 0)
			return NULL;
	}
	return json_make("{s:o, s:O}", "fields",
			 definitions(q->class, &q->wanted), "data", q->data);
}

json_t *query_run(struct master *m, const char *what, const json_t *fields,
		  const json_t *qfilter, struct error *err)
{
	struct query q = {.m = m};
	auto_strv struct strv names = {0};
	json_t *result = NULL;

	if (query_init(&q, what, fields, qfilter, &names, err) == 0)
		result = run(&q, &names, err);
	query_done(&q);
	return result;
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

/* --- the old calls --- */

/* ["|", ["==", field, name], ...] */
static json_t *names_filter(const json_t *names, const char *field)
{
	json_t *filter = json_make("[s]", "|");

	for (size_t i = 0; i < json_array_size(names); i++)
		json_array_append_new(filter,
				      json_make("[s, s, O]", "==", field,
						json_array_get(names, i)));
	return filter;
}

/* Nodes are found by name or UUID, unknown ones are no error. */
static json_t *old_filter(const char *what, const json_t *names,
			  const char *field)
{
	if (json_array_size(names) == 0)
		return json_null();
	if (strcmp(what, "node") != 0)
		return names_filter(names, field);
	return json_make("[s, o, o]", "|", names_filter(names, "name"),
			 names_filter(names, "uuid"));
}

static int check_old(const struct query_class *class, const json_t *names,
		     const json_t *fields, struct error *err)
{
	auto_strv struct strv wanted = {0}, unknown = {0};
	auto_free char *list = NULL;

	bool may_be_null = strcmp(class->what, "job") == 0 ||
			   strcmp(class->what, "filter") == 0;

	if (!json_is_array(names) && !(may_be_null && json_is_null(names)))
		return error_set(err, ERR_REQUEST, NULL,
				 "The names of a query must be a list");
	if (take_fields(fields, &wanted, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted.n; i++)
		if (find_field(class, wanted.items[i]) == NULL)
			strv_add(&unknown, wanted.items[i]);
	if (unknown.n == 0)
		return 0;
	list = strv_join(&unknown, ", ");
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "Unknown output fields selected: %s", list);
}

/* Strip [status, value] to value. */
static json_t *plain_values(const json_t *data)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(data); i++) {
		const json_t *cells = json_array_get(data, i);
		json_t *row = json_array();

		for (size_t j = 0; j < json_array_size(cells); j++)
			json_array_append(
				row,
				json_array_get(json_array_get(cells, j), 1));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *query_old(struct master *m, const char *what, const json_t *names,
		  const json_t *fields, struct error *err)
{
	const struct query_class *class = find_class(what, err);
	auto_json json_t *qfilter = NULL, *result = NULL;

	if (class == NULL || check_old(class, names, fields, err) < 0)
		return NULL;
	qfilter = old_filter(what, names, class->name_field);
	result = query_run(m, what, fields, qfilter, err);
	return result == NULL ? NULL : plain_values(json_get(result, "data"));
}

bool query_old_needs_wait(struct master *m, const char *what,
			  const json_t *names, const json_t *fields)
{
	struct error ignored;
	const struct query_class *class = find_class(what, &ignored);
	auto_json json_t *qfilter = NULL;

	if (class == NULL || check_old(class, names, fields, &ignored) < 0)
		return false;
	qfilter = old_filter(what, names, class->name_field);
	return query_needs_wait(m, what, fields, qfilter);
}
