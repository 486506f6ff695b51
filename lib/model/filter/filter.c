/* SPDX-License-Identifier: BSD-2-Clause */
/* Compile and evaluate the query language.
 *
 * Evaluation knows three values: true, false, and unknown; the last stands for
 * a field whose data may still come.  A row passes unless it is false; so a
 * filter can run before live data is there and drops only rows that no data
 * could save.  Once no more data comes, a comparison with a field without data
 * is true.
 *
 * Each operator that is evaluated counts as a step, and so does each step of a
 * regular expression (filter_regex.h); the number of steps is limited. */
#include "lib/model/filter/filter.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/json/json.h"
#include "lib/model/filter/filter_regex.h"

/* More than the number of fields of any kind of object. */
#define FIELDS_MAX 1000

/* Two operators for each of as many names as there may be jobs. */
#define OPERATORS_MAX 250000

enum tri { NO, YES, UNKNOWN };

struct node {
	const struct filter_op *op;
	char *field;
	enum filter_kind kind;
	const json_t *value; /* borrowed from the filter's document */
	struct regex *regex;
	struct node *children;
	size_t n_children;
};

struct filter {
	json_t *document;
	struct node root;
	bool passes_all;
	struct strv fields;
	struct regexes *regexes;
	size_t n_nodes, n_regexes;
	uint64_t steps, steps_max;
};

struct compiler {
	struct filter *f;
	bool (*known)(void *arg, const char *field, enum filter_kind *ret_kind);
	void *arg;
};

struct evaluation {
	struct filter *f;
	const json_t *(*get)(void *arg, const char *field);
	void *arg;
	struct error *err;
	bool later; /* fields without data may still get it */
	bool failed;
};

struct filter_op {
	const char *name;
	/* Check and take the operands, which begin at items[1]. */
	int (*compile)(struct compiler *c, const json_t *items, struct node *n,
		       struct error *err);
	enum tri (*eval)(const struct node *n, struct evaluation *e);
};

/* --- compile --- */

static int compile_node(struct compiler *c, const json_t *value, struct node *n,
			struct error *err);

static int expect_size(const json_t *items, size_t n, struct error *err)
{
	if (json_array_size(items) == n)
		return 0;
	return error_set(err, ERR_REQUEST, NULL,
			 "The filter operator '%s' takes %zu operands, not %zu",
			 json_string_value(json_array_get(items, 0)), n - 1,
			 json_array_size(items) - 1);
}

static int compile_children(struct compiler *c, const json_t *items,
			    struct node *n, struct error *err)
{
	size_t count = json_is_null(items) ? 0 : json_array_size(items) - 1;

	n->children = xcalloc(count + 1, sizeof(*n->children));
	for (; n->n_children < count; n->n_children++)
		if (compile_node(c, json_array_get(items, n->n_children + 1),
				 &n->children[n->n_children], err) < 0) {
			n->n_children++; /* to be freed as well */
			return -1;
		}
	return 0;
}

static int compile_not(struct compiler *c, const json_t *items, struct node *n,
		       struct error *err)
{
	if (expect_size(items, 2, err) < 0)
		return -1;
	return compile_children(c, items, n, err);
}

static int take_field(struct compiler *c, const json_t *items, struct node *n,
		      struct error *err)
{
	const char *field = json_string_value(json_array_get(items, 1));

	if (field == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "The filter operator '%s' needs the name of a "
				 "field",
				 json_string_value(json_array_get(items, 0)));
	if (!c->known(c->arg, field, &n->kind))
		return error_set(err, ERR_PARAMETER, NULL,
				 "Can't find field named '%.200s'", field);
	n->field = xstrdup(field);
	strv_add_unique(&c->f->fields, field);
	if (c->f->fields.n > FIELDS_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A filter reads at most %d fields",
				 FIELDS_MAX);
	return 0;
}

static int compile_truth(struct compiler *c, const json_t *items,
			 struct node *n, struct error *err)
{
	if (expect_size(items, 2, err) < 0)
		return -1;
	return take_field(c, items, n, err);
}

static bool is_whole(const json_t *value)
{
	return json_is_integer(value) ||
	       (json_is_real(value) &&
		trunc(json_real_value(value)) == json_real_value(value));
}

static int compile_compare(struct compiler *c, const json_t *items,
			   struct node *n, struct error *err)
{
	if (expect_size(items, 3, err) < 0 || take_field(c, items, n, err) < 0)
		return -1;
	n->value = json_array_get(items, 2);
	if (!json_is_string(n->value) && !is_whole(n->value))
		return error_set(
			err, ERR_REQUEST, NULL,
			"A filter compares '%.200s' with a string or a "
			"whole number only",
			n->field);
	return 0;
}

static int compile_regex(struct compiler *c, const json_t *items,
			 struct node *n, struct error *err)
{
	if (compile_compare(c, items, n, err) < 0)
		return -1;
	n->regex = regex_compile(c->f->regexes, n->value, err);
	c->f->n_regexes++;
	return n->regex == NULL ? -1 : 0;
}

/* --- evaluate --- */

static enum tri without_data(const struct evaluation *e)
{
	return e->later ? UNKNOWN : YES;
}

static enum tri too_much_work(struct evaluation *e)
{
	error_set(e->err, ERR_PARAMETER, NULL,
		  "The filter takes too much work; ask for less at a time");
	e->failed = true;
	return UNKNOWN;
}

static enum tri eval_node(const struct node *n, struct evaluation *e)
{
	if (e->failed)
		return UNKNOWN;
	if (++e->f->steps > e->f->steps_max)
		return too_much_work(e);
	return n->op->eval(n, e);
}

static enum tri eval_and(const struct node *n, struct evaluation *e)
{
	enum tri all = YES;

	for (size_t i = 0; i < n->n_children && all != NO; i++) {
		enum tri one = eval_node(&n->children[i], e);

		if (one != YES)
			all = one;
	}
	return all;
}

static enum tri eval_or(const struct node *n, struct evaluation *e)
{
	enum tri any = NO;

	for (size_t i = 0; i < n->n_children && any != YES; i++) {
		enum tri one = eval_node(&n->children[i], e);

		if (one != NO)
			any = one;
	}
	return any;
}

static enum tri negate(enum tri value)
{
	return value == UNKNOWN ? UNKNOWN : value == YES ? NO : YES;
}

static enum tri eval_not(const struct node *n, struct evaluation *e)
{
	return negate(eval_node(&n->children[0], e));
}

static enum tri misfit(const struct node *n, struct evaluation *e,
		       const char *what)
{
	/* Not a list: Ganeti has no message of its own for this case. */
	error_set(e->err,
		  strcmp(n->op->name, "=[]") == 0 ? ERR_SYSTEM : ERR_PARAMETER,
		  NULL,
		  "The filter operator '%s' cannot be used on the field "
		  "'%.200s': %s",
		  n->op->name, n->field, what);
	e->failed = true;
	return UNKNOWN;
}

static enum tri eval_truth(const struct node *n, struct evaluation *e)
{
	const json_t *have = e->get(e->arg, n->field);

	if (have == NULL)
		return without_data(e);
	if (json_is_boolean(have))
		return json_is_true(have) ? YES : NO;
	if (json_is_null(have))
		return NO;
	return misfit(n, e, "it is not a boolean");
}

/* A time as [seconds, microseconds], as a number of seconds. */
static double timestamp(const json_t *have)
{
	return json_number_value(json_array_get(have, 0)) +
	       json_number_value(json_array_get(have, 1)) / 1e6;
}

/* Compare what the object has with the filter's value: *ret <0, 0, >0. */
static enum tri compare(const struct node *n, struct evaluation *e,
			const json_t *have, double *ret)
{
	if (json_is_null(have))
		return NO;
	if (json_is_string(have) && json_is_string(n->value)) {
		*ret = strcmp(json_string_value(have),
			      json_string_value(n->value));
		return YES;
	}
	if (n->kind == FILTER_TIMESTAMP && json_is_array(have) &&
	    json_is_number(n->value)) {
		*ret = timestamp(have) - json_number_value(n->value);
		return YES;
	}
	if (json_is_number(have) && json_is_number(n->value)) {
		*ret = json_number_value(have) - json_number_value(n->value);
		return YES;
	}
	return misfit(n, e,
		      json_is_string(n->value)
			      ? "its values cannot be compared with a string"
			      : "its values cannot be compared with a number");
}

/* Whether the text is the name, or its beginning up to a dot. */
static bool same_host(const char *have, const char *asked)
{
	size_t len = strlen(asked);

	return strncmp(have, asked, len) == 0 &&
	       (have[len] == '\0' || (len > 0 && have[len] == '.'));
}

static enum tri eval_equal(const struct node *n, struct evaluation *e)
{
	const json_t *have = e->get(e->arg, n->field);
	double order = 1;
	enum tri comparable;

	if (have == NULL)
		return without_data(e);
	if (n->kind == FILTER_HOSTNAME && json_is_string(n->value) &&
	    json_is_string(have))
		return same_host(json_string_value(have),
				 json_string_value(n->value))
			       ? YES
			       : NO;
	comparable = compare(n, e, have, &order);
	return comparable != YES ? comparable : order == 0 ? YES : NO;
}

static enum tri eval_unequal(const struct node *n, struct evaluation *e)
{
	return negate(eval_equal(n, e));
}

static enum tri eval_order(const struct node *n, struct evaluation *e)
{
	const json_t *have = e->get(e->arg, n->field);
	double order = 0;
	enum tri comparable;
	bool holds;

	if (have == NULL)
		return without_data(e);
	comparable = compare(n, e, have, &order);
	if (comparable != YES)
		return comparable;
	holds = n->op->name[0] == '<' ? order < 0 : order > 0;
	if (n->op->name[1] == '=')
		holds = holds || order == 0;
	return holds ? YES : NO;
}

static enum tri eval_regex(const struct node *n, struct evaluation *e)
{
	const json_t *have = e->get(e->arg, n->field);
	int rc;

	if (have == NULL)
		return without_data(e);
	if (json_is_null(have))
		return NO;
	if (!json_is_string(have))
		return misfit(n, e, "its values are not strings");
	rc = regex_match(e->f->regexes, n->regex, have,
			 e->f->steps_max - e->f->steps, &e->f->steps);
	if (rc < 0 && e->f->steps >= e->f->steps_max)
		return too_much_work(e);
	if (rc < 0)
		return misfit(n, e,
			      "the regular expression takes too much work");
	return rc > 0 ? YES : NO;
}

static enum tri eval_contains(const struct node *n, struct evaluation *e)
{
	const json_t *have = e->get(e->arg, n->field);

	if (have == NULL)
		return without_data(e);
	if (json_is_null(have))
		return NO;
	if (!json_is_array(have))
		return misfit(n, e, "its values are not lists");
	for (size_t i = 0; i < json_array_size(have); i++)
		if (json_is_string(json_array_get(have, i)) !=
		    json_is_string(n->value))
			return misfit(n, e, "its members are of another type");
	for (size_t i = 0; i < json_array_size(have); i++)
		if (json_same(json_array_get(have, i), n->value))
			return YES;
	return NO;
}

static const struct filter_op operators[] = {
	{"&", compile_children, eval_and},
	{"|", compile_children, eval_or},
	{"!", compile_not, eval_not},
	{"?", compile_truth, eval_truth},
	{"==", compile_compare, eval_equal},
	{"=", compile_compare, eval_equal},
	{"!=", compile_compare, eval_unequal},
	{"<", compile_compare, eval_order},
	{"<=", compile_compare, eval_order},
	{">", compile_compare, eval_order},
	{">=", compile_compare, eval_order},
	{"=~", compile_regex, eval_regex},
	{"=[]", compile_compare, eval_contains},
};

static const struct filter_op *find_operator(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (strcmp(operators[i].name, name) == 0)
			return &operators[i];
	return NULL;
}

static int compile_node(struct compiler *c, const json_t *value, struct node *n,
			struct error *err)
{
	const char *name = json_string_value(json_array_get(value, 0));

	if (json_is_null(value))
		name = "&"; /* of nothing */
	if (name == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "A filter is a list that begins with an "
				 "operator");
	if (++c->f->n_nodes > OPERATORS_MAX)
		return error_set(err, ERR_REQUEST, NULL,
				 "A filter has at most %d operators",
				 OPERATORS_MAX);
	n->op = find_operator(name);
	if (n->op == NULL)
		return error_set(err, ERR_REQUEST, NULL,
				 "Unknown filter operand '%.100s'", name);
	return n->op->compile(c, value, n, err);
}

/* A list on the command line may have as many names, each an operator. */
#define SMALL_MAX 64

static bool is_small(const json_t *value, size_t *left)
{
	const char *name = json_string_value(json_array_get(value, 0));

	if (!json_is_array(value))
		return true;
	if (*left == 0 || (name != NULL && strcmp(name, "=~") == 0) ||
	    json_array_size(value) > SMALL_MAX)
		return false;
	--*left;
	for (size_t i = 1; i < json_array_size(value); i++)
		if (!is_small(json_array_get(value, i), left))
			return false;
	return true;
}

bool filter_is_small(const json_t *value)
{
	size_t left = SMALL_MAX;

	return is_small(value, &left);
}

struct filter *filter_compile(const json_t *value,
			      bool (*known)(void *arg, const char *field,
					    enum filter_kind *ret_kind),
			      void *arg, struct error *err)
{
	struct filter *f = xalloc(sizeof(*f));
	struct compiler c = {.f = f, .known = known, .arg = arg};

	f->steps_max = UINT64_MAX;
	f->passes_all = value == NULL || json_is_null(value);
	if (f->passes_all)
		return f;
	f->document = json_ref(value);
	f->regexes = regexes_create();
	if (compile_node(&c, value, &f->root, err) < 0) {
		filter_free(f);
		return NULL;
	}
	return f;
}

static void node_done(struct node *n)
{
	for (size_t i = 0; i < n->n_children; i++)
		node_done(&n->children[i]);
	free(n->children);
	free(n->field);
	regex_free(n->regex);
}

void filter_free(struct filter *f)
{
	if (f == NULL)
		return;
	node_done(&f->root);
	strv_done(&f->fields);
	regexes_destroy(f->regexes);
	json_decref(f->document);
	free(f);
}

const json_t *filter_document(const struct filter *f)
{
	return f->document;
}

const struct strv *filter_fields(const struct filter *f)
{
	return &f->fields;
}

void filter_limit(struct filter *f, uint64_t steps)
{
	f->steps_max =
		steps > UINT64_MAX - f->steps ? UINT64_MAX : f->steps + steps;
}

uint64_t filter_steps(const struct filter *f)
{
	return f->steps;
}

uint64_t filter_row_steps_max(const struct filter *f)
{
	return f->n_nodes + f->n_regexes * (uint64_t)(REGEX_STEPS + 2);
}

static int match(struct filter *f, struct evaluation *e)
{
	enum tri result;

	if (f->passes_all)
		return 1;
	result = eval_node(&f->root, e);
	if (e->failed)
		return -1;
	return result == NO ? 0 : 1;
}

int filter_match(struct filter *f,
		 const json_t *(*get)(void *arg, const char *field), void *arg,
		 struct error *err)
{
	return match(f, &(struct evaluation){
				.f = f, .get = get, .arg = arg, .err = err});
}

int filter_may_match(struct filter *f,
		     const json_t *(*get)(void *arg, const char *field),
		     void *arg, struct error *err)
{
	return match(f, &(struct evaluation){.f = f,
					     .get = get,
					     .arg = arg,
					     .err = err,
					     .later = true});
}

static bool add_name(const json_t *value, const char *field, struct strv *names)
{
	const json_t *asked = json_array_get(value, 2);
	const char *op = json_string_value(json_array_get(value, 0));

	if (op == NULL || json_array_size(value) != 3 ||
	    (strcmp(op, "==") != 0 && strcmp(op, "=") != 0) ||
	    !str_eq(json_string_value(json_array_get(value, 1)), field))
		return false;
	if (json_is_string(asked))
		strv_add(names, json_string_value(asked));
	else if (json_is_integer(asked) && strcmp(field, "id") == 0)
		strv_addf(names, "%lld", (long long)json_integer_value(asked));
	else
		return false; /* a number is not a name */
	return true;
}

static bool add_names(const json_t *value, const char *field,
		      struct strv *names)
{
	if (!str_eq(json_string_value(json_array_get(value, 0)), "|"))
		return add_name(value, field, names);
	for (size_t i = 1; i < json_array_size(value); i++)
		if (!add_names(json_array_get(value, i), field, names))
			return false;
	return true;
}

bool filter_names(const json_t *value, const char *field, struct strv *ret)
{
	auto_strv struct strv names = {0};

	if (!add_names(value, field, &names))
		return false;
	for (size_t i = 0; i < names.n; i++)
		strv_add(ret, names.items[i]);
	return true;
}
