/* SPDX-License-Identifier: BSD-2-Clause */
/* Two functions make a condition from a filter f.  holds(f): where the
 * condition is false, f is false for the job and its evaluation is no error.
 * fails(f): where the condition is false, f is true for the job and its
 * evaluation is no error.  NULL is the condition that excludes no job; it is
 * always correct, so it is used for everything that is not understood, and the
 * filter itself decides.
 *
 * An evaluation that is an error (a list compared with a number) must stay one.
 * So after an operand that may be an error, the other operands of an "and" must
 * exclude nobody: the filter would not have evaluated them. */
#include "queue/history/history_filter.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter.h"
#include "queue/history/history_row.h"

#define NOBODY "0"

enum column_type { NUMBER, TIME, CHOICE, LIST };

static const struct column {
	const char *field, *name;
	enum column_type type;
} columns[] = {
	{"id", "id", NUMBER},
	{"priority", "priority", NUMBER},
	{"received_ts", "received", TIME},
	{"start_ts", "start", TIME},
	{"end_ts", "end", TIME},
	{"status", "status", CHOICE},
	{"archived", "archived", CHOICE},
};

struct translation {
	bool find; /* for an index; else for a check */
	bool weak; /* no index finds what matches */
};

static char *holds(struct translation *t, const json_t *f);
static char *fails(struct translation *t, const json_t *f);
static bool may_fail(const json_t *f);

static const char *op_of(const json_t *f)
{
	return json_string_value(json_array_get(f, 0));
}

static bool is_op(const json_t *f, const char *op)
{
	return str_eq(op_of(f), op);
}

static struct column column_of(const json_t *f)
{
	const char *field = json_string_value(json_array_get(f, 1));

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (str_eq(columns[i].field, field))
			return columns[i];
	return (struct column){.field = field, .type = LIST};
}

/* The unary plus keeps SQLite from using an index. */
static char *name_of(const struct translation *t, const struct column *c)
{
	return xprintf("%sjob.%s", t->find ? "" : "+", c->name);
}

/* --- fields with few values: evaluate the filter for each value --- */

static const json_t *only_value(void *arg, const char *field)
{
	(void)field;
	return arg;
}

static bool any_field(void *arg, const char *field, enum filter_kind *ret_kind)
{
	(void)arg;
	(void)field;
	*ret_kind = FILTER_OTHER;
	return true;
}

/* What f gives for a value: 1, 0, or -1 for an error. */
static int says(const json_t *f, json_t *value STEALS)
{
	auto_json json_t *own = value;
	struct error ignored;
	struct filter *filter = filter_compile(f, any_field, NULL, &ignored);
	int rc;

	if (filter == NULL)
		return -1;
	rc = filter_match(filter, only_value, own, &ignored);
	filter_free(filter);
	return rc;
}

static json_t *choice(const struct column *c, int i)
{
	return strcmp(c->field, "archived") == 0
		       ? json_true()
		       : json_string(job_state_name((enum job_state)i));
}

static int n_choices(const struct column *c)
{
	return strcmp(c->field, "archived") == 0 ? 1 : JOB_ERROR + 1;
}

static bool choice_may_fail(const json_t *f, const struct column *c)
{
	for (int i = 0; i < n_choices(c); i++)
		if (says(f, choice(c, i)) < 0)
			return true;
	return false;
}

/* The values for which f gives yes (1) or no (0). */
static char *choices(struct translation *t, const json_t *f,
		     const struct column *c, int answer)
{
	auto_free char *name = name_of(t, c);
	auto_buf struct buf list = {0};
	int n = 0;

	if (choice_may_fail(f, c))
		return NULL;
	for (int i = 0; i < n_choices(c); i++)
		if (says(f, choice(c, i)) == answer)
			buf_addf(&list, "%s%d", n++ > 0 ? "," : "", i);
	if (n == n_choices(c))
		return NULL;
	return n == 0 ? xstrdup(NOBODY)
		      : xprintf("%s IN (%s)", name, list.data);
}

/* --- numbers --- */

static const char *opposite(const char *op)
{
	static const char *const pairs[][2] = {
		{"<", ">="}, {"<=", ">"},  {">", "<="}, {">=", "<"},
		{"=", "!="}, {"==", "!="}, {"!=", "="},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (strcmp(pairs[i][0], op) == 0)
			return pairs[i][1];
	return NULL;
}

static char *compare_number(struct translation *t, const struct column *c,
			    const char *op, double value)
{
	auto_free char *name = name_of(t, c);

	if (strcmp(op, "!=") == 0)
		t->weak = true;
	return xprintf("%s %s %.17g", name, op, value);
}

/* A time in the filter is a rounded number of seconds; so the bounds are a
 * little wider.  A job without that time (0) passes every filter. */
static char *compare_time(struct translation *t, const struct column *c,
			  const char *op, double seconds)
{
	auto_free char *name = name_of(t, c);
	double value = seconds * 1e6, margin = 2 + fabs(value) * 4e-15;

	switch (op[0]) {
	case '<':
		return xprintf("(%s <= %.17g OR %s = 0)", name, value + margin,
			       name);
	case '>':
		return xprintf("(%s >= %.17g OR %s = 0)", name, value - margin,
			       name);
	case '=':
		return xprintf("(%s BETWEEN %.17g AND %.17g OR %s = 0)", name,
			       value - margin, value + margin, name);
	default:
		return NULL;
	}
}

static char *compare(struct translation *t, const json_t *f,
		     const struct column *c, bool negated)
{
	const char *op = negated ? opposite(op_of(f)) : op_of(f);
	const json_t *value = json_array_get(f, 2);

	if (op == NULL || opposite(op) == NULL || !json_is_number(value))
		return NULL;
	return c->type == TIME
		       ? compare_time(t, c, op, json_number_value(value))
		       : compare_number(t, c, op, json_number_value(value));
}

/* --- texts in lists --- */

static char *contains(struct translation *t, const json_t *f,
		      const struct column *c, bool negated)
{
	int kind = history_kind_of(c->field);
	const char *text = json_string_value(json_array_get(f, 2));
	char *quoted, *sql;

	if (!is_op(f, "=[]") || kind == 0 || text == NULL)
		return NULL;
	quoted = sqlite3_mprintf("%Q", text);
	if (negated)
		t->weak = true;
	sql = t->find && !negated
		      ? xprintf("job.id IN (SELECT word.job FROM word WHERE "
				"kind = %d AND text = (SELECT id FROM text "
				"WHERE text = %s))",
				kind, quoted)
		      : xprintf("%sEXISTS (SELECT 1 FROM word WHERE kind = %d "
				"AND text = (SELECT id FROM text WHERE text = "
				"%s) AND word.job = job.id)",
				negated ? "NOT " : "", kind, quoted);
	sqlite3_free(quoted);
	return sql;
}

/* --- one comparison --- */

static bool leaf_may_fail(const json_t *f)
{
	struct column c = column_of(f);

	if (c.type == CHOICE)
		return choice_may_fail(f, &c);
	if (c.type == LIST) /* other lists: an error */
		return !is_op(f, "=[]") || history_kind_of(c.field) == 0 ||
		       !json_is_string(json_array_get(f, 2));
	if (is_op(f, "?"))
		return c.type == TIME;
	return opposite(op_of(f)) == NULL ||
	       !json_is_number(json_array_get(f, 2));
}

static char *leaf(struct translation *t, const json_t *f, bool negated)
{
	struct column c = column_of(f);

	if (c.field == NULL)
		return NULL;
	if (c.type == CHOICE)
		return choices(t, f, &c, negated ? 0 : 1);
	if (c.type == LIST)
		return contains(t, f, &c, negated);
	return compare(t, f, &c, negated);
}

/* --- and, or, not --- */

typedef char *translate_fn(struct translation *t, const json_t *f);

/* NULL as soon as one operand excludes nobody. */
static char *any_of(struct translation *t, const json_t *f, translate_fn *fn)
{
	auto_buf struct buf sql = {0};

	for (size_t i = 1; i < json_array_size(f); i++) {
		auto_free char *one = fn(t, json_array_get(f, i));

		if (one == NULL)
			return NULL;
		buf_addf(&sql, "%s(%s)", i > 1 ? " OR " : "", one);
	}
	return sql.len == 0 ? xstrdup(NOBODY) : buf_steal(&sql);
}

/* The operands that exclude somebody, up to the first that may be an error. */
static char *all_of(struct translation *t, const json_t *f, translate_fn *fn)
{
	auto_buf struct buf sql = {0};

	for (size_t i = 1; i < json_array_size(f); i++) {
		const json_t *child = json_array_get(f, i);
		auto_free char *one = fn(t, child);

		if (one != NULL)
			buf_addf(&sql, "%s(%s)", sql.len > 0 ? " AND " : "",
				 one);
		if (may_fail(child))
			break;
	}
	return sql.len == 0 ? NULL : buf_steal(&sql);
}

static bool is_compound(const json_t *f)
{
	return is_op(f, "&") || is_op(f, "|") || is_op(f, "!");
}

static bool may_fail(const json_t *f)
{
	if (!is_compound(f))
		return leaf_may_fail(f);
	for (size_t i = 1; i < json_array_size(f); i++)
		if (may_fail(json_array_get(f, i)))
			return true;
	return false;
}

static char *holds(struct translation *t, const json_t *f)
{
	if (is_op(f, "&"))
		return all_of(t, f, holds);
	if (is_op(f, "|"))
		return any_of(t, f, holds);
	if (is_op(f, "!"))
		return fails(t, json_array_get(f, 1));
	return leaf(t, f, false);
}

static char *fails(struct translation *t, const json_t *f)
{
	if (is_op(f, "&"))
		return any_of(t, f, fails);
	if (is_op(f, "|"))
		return all_of(t, f, fails);
	if (is_op(f, "!"))
		return holds(t, json_array_get(f, 1));
	return leaf(t, f, true);
}

/* --- the whole --- */

static void add(struct history_conditions *c, const json_t *f)
{
	struct translation find = {.find = true}, check = {0};
	auto_free char *found = holds(&find, f);
	auto_free char *checked = holds(&check, f);

	if (checked == NULL)
		return;
	strv_add(&c->find, find.weak ? "" : found);
	strv_add(&c->check, checked);
}

void history_conditions(const json_t *qfilter, struct history_conditions *ret)
{
	*ret = (struct history_conditions){0};
	if (!json_is_array(qfilter))
		return;
	if (!is_op(qfilter, "&")) {
		add(ret, qfilter);
		return;
	}
	for (size_t i = 1; i < json_array_size(qfilter); i++) {
		add(ret, json_array_get(qfilter, i));
		if (may_fail(json_array_get(qfilter, i)))
			return;
	}
}

void history_conditions_done(struct history_conditions *c)
{
	strv_done(&c->find);
	strv_done(&c->check);
}
