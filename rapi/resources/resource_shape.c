/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of what is asked for: ?filter= in the query language of the commands,
 * ?fields=, ?sort=, and pages by ?limit= and ?after=.
 *
 * A page goes on behind a name, so it is right also when objects come and go
 * between two pages: nothing is sent twice, and what stays is sent.  A list in
 * another order than that of names therefore has one page.
 *
 * The history may have a million jobs.  For a page by ids the master is asked
 * for these alone. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter.h"
#include "rapi/frame/request.h"
#include "rapi/frame/resource.h"
#include "rapi/frame/route.h"

#define LIMIT_MAX 100000

/* Ids of jobs, so many at once at least, so many times as many where there were
 * none; and the highest that a filter compares exactly. */
#define PART_MIN 1000
#define PART_GROWS 4
#define ID_MAX (INT64_C(1) << 53)

static const char *const ours[] = {"filter", "fields", "sort", "limit",
				   "after"};

bool resource_is_shaped(const struct request *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		if (args_get(&q->args, ours[i]) != NULL)
			return true;
	return false;
}

/* What is asked for. */
struct shape {
	const char *sort, *after; /* fields of the rows; NULL: none */
	bool down;
	int64_t limit;
	json_t *fields;	 /* that the answer has */
	json_t *columns; /* that are asked: these, the name, the order's */
	json_t *qfilter;
};

static void shape_done(struct shape *s)
{
	json_decref(s->fields);
	json_decref(s->columns);
	json_decref(s->qfilter);
}

#define auto_shape __attribute__((cleanup(shape_done), unused))

static json_t *fields_of(const struct request *q, bool bulk)
{
	const char *text = args_get(&q->args, "fields");
	const char *const *all = q->route->kind->fields;
	json_t *list;

	if (text != NULL)
		return request_words(text);
	if (!bulk)
		return json_make("[s]", q->route->kind->name_field);
	list = json_array();
	for (; *all != NULL; all++)
		json_array_append_new(list, json_string(*all));
	return list;
}

static void add_column(json_t *columns, const char *name)
{
	if (!json_array_has_str(columns, name))
		json_array_append_new(columns, json_string(name));
}

static int read_order(const struct request *q, struct shape *s,
		      struct error *err)
{
	const struct resource_kind *kind = q->route->kind;

	s->sort = args_get(&q->args, "sort");
	s->after = args_get(&q->args, "after");
	s->down = s->sort != NULL && *s->sort == '-';
	if (s->down)
		s->sort++;
	if (args_int(&q->args, "limit", kind->page > 0 ? kind->page : LIMIT_MAX,
		     &s->limit, err) < 0)
		return -1;
	if (s->limit < 1 || s->limit > LIMIT_MAX)
		return error_set(err, ERR_PREREQ, ECODE_INVAL,
				 "limit is a number from 1 to %d", LIMIT_MAX);
	if (s->sort == NULL || s->after == NULL)
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "after goes by names, and not with sort");
}

static int read_shape(const struct request *q, bool bulk, struct shape *ret,
		      struct error *err)
{
	const struct resource_kind *kind = q->route->kind;
	const char *filter = args_get(&q->args, "filter");

	if (read_order(q, ret, err) < 0)
		return -1;
	if (filter != NULL) {
		ret->qfilter = filter_from_text(filter, err);
		if (ret->qfilter == NULL)
			return error_wrap_as(err, ERR_PREREQ, "filter");
	}
	if (kind->narrow != NULL && kind->narrow(q, &ret->qfilter, err) < 0)
		return -1;
	ret->fields = fields_of(q, bulk);
	ret->columns = json_copy(ret->fields);
	add_column(ret->columns, kind->name_field);
	if (kind->always != NULL)
		add_column(ret->columns, kind->always);
	if (ret->sort != NULL)
		add_column(ret->columns, ret->sort);
	return 0;
}

static int check_columns(const json_t *answer, struct error *err)
{
	const json_t *fields = json_object_get(answer, "fields");

	for (size_t i = 0; i < json_array_size(fields); i++) {
		const json_t *field = json_array_get(fields, i);

		if (str_eq(json_str(field, "kind", NULL), "unknown"))
			return error_set(err, ERR_PREREQ, ECODE_INVAL,
					 "There is no field '%.100s'",
					 json_str(field, "name", "?"));
	}
	return 0;
}

/* --- rows --- */

/* A row as it is put in order. */
struct line {
	const json_t *key, *name, *row;
};

static size_t column(const json_t *columns, const char *name)
{
	size_t i = 0;

	while (i < json_array_size(columns) &&
	       !str_eq(json_string_value(json_array_get(columns, i)), name))
		i++;
	return i;
}

/* Without data: NULL. */
static const json_t *cell(const json_t *row, size_t i)
{
	const json_t *value = json_array_get(json_array_get(row, i), 1);

	return json_is_null(value) ? NULL : value;
}

/* Numbers before texts, and what there is before what there is not. */
static int compare(const json_t *a, const json_t *b)
{
	double x, y;

	if (a == NULL || b == NULL)
		return (a == NULL) - (b == NULL);
	if (json_is_string(a) && json_is_string(b))
		return str_nice_cmp(json_string_value(a), json_string_value(b));
	if (json_is_string(a) || json_is_string(b))
		return json_is_string(a) ? 1 : -1;
	x = json_is_true(a) ? 1 : json_number_value(a);
	y = json_is_true(b) ? 1 : json_number_value(b);
	return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b, void *shape)
{
	const struct line *x = a, *y = b;
	const struct shape *s = shape;
	int order = compare(x->key, y->key);

	if (order == 0)
		return compare(x->name, y->name);
	return s->down ? -order : order;
}

static struct line *put_in_order(const struct request *q, const struct shape *s,
				 const json_t *rows)
{
	size_t name = column(s->columns, q->route->kind->name_field);
	size_t key = s->sort == NULL ? name : column(s->columns, s->sort);
	size_t n = json_array_size(rows);
	struct line *lines = xcalloc(n + 1, sizeof(*lines));

	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);

		lines[i] = (struct line){.key = cell(row, key),
					 .name = cell(row, name),
					 .row = row};
	}
	qsort_r(lines, n, sizeof(*lines), by_key, mem_unconst(s));
	return lines;
}

static bool is_behind(const struct line *line, const char *after)
{
	auto_json json_t *name = NULL;
	int64_t number;

	if (after == NULL)
		return true;
	name = json_is_integer(line->name) && str_to_int64(after, &number)
		       ? json_integer(number)
		       : json_string(after);
	return compare(line->name, name) > 0;
}

static json_t *object_of(const struct shape *s, const json_t *row)
{
	json_t *object = json_object();

	for (size_t i = 0; i < json_array_size(s->fields); i++)
		json_object_set_new(
			object, json_string_value(json_array_get(s->fields, i)),
			json_ref(cell(row, i)) ?: json_null());
	return object;
}

/* --- pages --- */

static void add_encoded(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		if (strchr("-._~", *text) != NULL ||
		    (*text >= '0' && *text <= '9') ||
		    (*text >= 'A' && *text <= 'Z') ||
		    (*text >= 'a' && *text <= 'z'))
			buf_addc(b, *text);
		else
			buf_addf(b, "%%%02X", (unsigned char)*text);
}

/* The same request with another place to go on. */
static void add_next(struct request *q, const json_t *last)
{
	auto_free char *number =
		xprintf("%jd", (intmax_t)json_integer_value(last));
	size_t path = strcspn(q->target, "?");
	char mark = '?';

	buf_addf(&q->headers, "Link: <%.*s", (int)path, q->target);
	for (size_t i = 0; i < q->args.names.n; i++) {
		if (strcmp(q->args.names.items[i], "after") == 0)
			continue;
		buf_addc(&q->headers, mark);
		add_encoded(&q->headers, q->args.names.items[i]);
		buf_addc(&q->headers, '=');
		add_encoded(&q->headers, q->args.values.items[i]);
		mark = '&';
	}
	buf_addf(&q->headers, "%cafter=", mark);
	add_encoded(&q->headers,
		    json_is_string(last) ? json_string_value(last) : number);
	buf_adds(&q->headers, ">; rel=\"next\"\n");
}

static json_t *page_of(struct request *q, const struct shape *s,
		       const json_t *rows)
{
	auto_free struct line *lines = put_in_order(q, s, rows);
	size_t n = json_array_size(rows), i = 0;
	json_t *list = json_array();

	while (i < n && !is_behind(&lines[i], s->after))
		i++;
	for (; i < n && json_array_size(list) < (size_t)s->limit; i++)
		json_array_append_new(list, object_of(s, lines[i].row));
	if (i < n && i > 0 && s->sort == NULL)
		add_next(q, lines[i - 1].name);
	return list;
}

/* --- asking --- */

/* To the master a filter that is nothing but names asks for these objects, and
 * one that is not there is an error.  In a list it is left out. */
static json_t *only_condition(const json_t *qfilter)
{
	return qfilter == NULL ? json_null()
			       : json_make("[s, O]", "&", qfilter);
}

/* Append the rows of this filter (NULL: all). */
static int ask(struct request *q, const struct shape *s, const json_t *qfilter,
	       json_t *rows, struct error *err)
{
	auto_json json_t *answer =
		request_call(q, "Query",
			     json_make("[s, O, o]", q->route->kind->what,
				       s->columns, only_condition(qfilter)),
			     err);

	if (answer == NULL || check_columns(answer, err) < 0)
		return -1;
	json_array_extend(rows, json_object_get(answer, "data"));
	return 0;
}

/* Those with an id above low, and at most high. */
static int ask_between(struct request *q, const struct shape *s, int64_t low,
		       int64_t high, json_t *rows, struct error *err)
{
	auto_json json_t *both =
		json_make("[s, [s, s, I], [s, s, I]]", "&", ">", "id",
			  (json_int_t)low, "<=", "id", (json_int_t)high);

	if (s->qfilter != NULL)
		json_array_append(both, s->qfilter);
	return ask(q, s, both, rows, err);
}

/* The highest id of those that are not archived; 0: all are. */
static int newest_id(struct request *q, int64_t *ret, struct error *err)
{
	auto_json json_t *answer =
		request_call(q, "Query",
			     json_make("[s, [s], n]", q->route->kind->what,
				       q->route->kind->name_field),
			     err);
	const json_t *row;
	size_t i;

	if (answer == NULL)
		return -1;
	*ret = 0;
	json_array_foreach (json_object_get(answer, "data"), i, row)
		if (json_integer_value(cell(row, 0)) > *ret)
			*ret = json_integer_value(cell(row, 0));
	return 0;
}

/* A part of all ids, above low and at most high, and how long the next one is.
 * What is behind the newest job that is known to be there is one part. */
struct part {
	int64_t low, high, length, newest;
};

static void begin_parts(struct part *p, const struct shape *s)
{
	p->length = s->limit > PART_MIN ? s->limit + 1 : PART_MIN;
	p->low = ID_MAX;
	p->high = 0;
	if (s->after != NULL)
		str_to_int64(s->after, &p->high);
}

static void part_above(struct part *p)
{
	p->low = p->high;
	p->high =
		p->high < p->newest - p->length ? p->high + p->length : ID_MAX;
}

static void part_below(struct part *p)
{
	int64_t from = p->low < p->newest ? p->low : p->newest;

	p->high = p->low;
	p->low = from > p->length ? from - p->length : 0;
}

/* What a page needs, and one more, of very many: from its end of the ids on, in
 * parts that get longer where there is nothing. */
static int ask_in_parts(struct request *q, const struct shape *s, json_t *rows,
			struct error *err)
{
	struct part p;
	size_t before;

	if (newest_id(q, &p.newest, err) < 0)
		return -1;
	begin_parts(&p, s);
	do {
		before = json_array_size(rows);
		if (s->down)
			part_below(&p);
		else
			part_above(&p);
		if (ask_between(q, s, p.low, p.high, rows, err) < 0)
			return -1;
		if (json_array_size(rows) == before)
			p.length *= PART_GROWS;
	} while (json_array_size(rows) <= (size_t)s->limit &&
		 (s->down ? p.low > 0 : p.high < ID_MAX));
	return 0;
}

static bool goes_by_id(const struct request *q, const struct shape *s)
{
	const struct resource_kind *kind = q->route->kind;

	return kind->page > 0 &&
	       (s->sort == NULL || strcmp(s->sort, kind->name_field) == 0);
}

json_t *resource_shaped_list(struct request *q, bool bulk, struct error *err)
{
	auto_shape struct shape s = {0};
	auto_json json_t *rows = json_array();
	int rc;

	if (read_shape(q, bulk, &s, err) < 0 ||
	    request_check_fields(q, s.columns, s.qfilter, err) < 0)
		return NULL;
	rc = goes_by_id(q, &s) ? ask_in_parts(q, &s, rows, err)
			       : ask(q, &s, s.qfilter, rows, err);
	return rc < 0 ? NULL : page_of(q, &s, rows);
}
