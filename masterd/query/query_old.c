/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls from before Query, one for each kind of object: queries whose rows
 * have bare values. */
#include <string.h>

#include "lib/json/json.h"
#include "masterd/query/query_private.h"

/* A list with at most so many names is made into a filter without leaving the
 * loop. */
#define SHORT_LIST 64

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
	if (json_array_size(names) > QUERY_NAMES_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A query is for at most %d names",
				 QUERY_NAMES_MAX);
	if (query_take_fields(fields, &wanted, err) < 0)
		return -1;
	for (size_t i = 0; i < wanted.n; i++)
		if (query_find_field(class, wanted.items[i]) == NULL)
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
	const struct query_class *class = query_find_class(what, err);
	auto_json json_t *qfilter = NULL, *result = NULL;

	if (class == NULL || check_old(class, names, fields, err) < 0)
		return NULL;
	qfilter = old_filter(what, names, class->name_field);
	result = query_run(m, what, fields, qfilter, err);
	return result == NULL ? NULL : plain_values(json_get(result, "data"));
}

/* Many names are made into a filter beside the loop: nobody else has them. */
static WAITS json_t *filter_for(const char *what, const json_t *names,
				const char *field)
{
	json_t *qfilter;

	if (task_self() == NULL || json_array_size(names) <= SHORT_LIST)
		return old_filter(what, names, field);
	task_leave();
	qfilter = old_filter(what, names, field);
	task_enter();
	return qfilter;
}

int query_write_old(struct master *m, const char *what, const json_t *names,
		    const json_t *fields, struct query_out *out,
		    struct buf *text, struct error *err)
{
	const struct query_class *class = query_find_class(what, err);
	struct query q = {.m = m, .out = out, .text = text, .plain = true};
	json_t *qfilter;
	int rc;

	if (class == NULL || check_old(class, names, fields, err) < 0)
		return -1;
	qfilter = filter_for(what, names, class->name_field);
	rc = query_write_rows(&q, what, fields, qfilter, err);
	if (task_self() != NULL && json_array_size(names) > SHORT_LIST) {
		task_leave();
		json_decref(qfilter);
		task_enter();
	} else {
		json_decref(qfilter);
	}
	return rc;
}

bool query_old_is_short(struct master *m, const char *what, const json_t *names,
			const json_t *fields)
{
	struct error ignored;
	const struct query_class *class = query_find_class(what, &ignored);
	auto_json json_t *qfilter = NULL;

	if (class == NULL || json_array_size(fields) > SHORT_LIST ||
	    json_array_size(names) > SHORT_LIST)
		return class == NULL;
	if (check_old(class, names, fields, &ignored) < 0)
		return true;
	qfilter = old_filter(what, names, class->name_field);
	return query_is_short(m, what, fields, qfilter);
}
