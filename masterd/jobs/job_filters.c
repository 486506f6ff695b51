/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules are compiled and sorted when they are loaded, not for each job.  A
 * job's opcodes are parsed only if a rule looks at them, and a number of steps
 * limits the work.  A reload frees the old rules once the queue knows of the
 * change. */
#include "masterd/jobs/job_filters.h"

#include <limits.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/config/config_objects.h"
#include "lib/model/filter/filter.h"
#include "queue/queue.h"

#define RATE_LIMIT_MAX 1000000

/* All rules together may take so many steps (lib/model/filter/filter.h) for one
 * job: about a millisecond. */
#define STEPS_MAX 20000

/* The longest rule, in bytes: it is in the configuration, and is evaluated for
 * each job. */
#define RULE_BYTES_MAX (64u * 1024)

enum predicate_kind { PREDICATE_JOBID, PREDICATE_OPCODE, PREDICATE_REASON };

static const char *const predicate_names[] = {
	[PREDICATE_JOBID] = "jobid",
	[PREDICATE_OPCODE] = "opcode",
	[PREDICATE_REASON] = "reason",
};

#define N_PREDICATES ARRAY_SIZE(predicate_names)

struct predicate {
	enum predicate_kind kind;
	struct filter *filter;
};

enum action { ACTION_ACCEPT, ACTION_CONTINUE, ACTION_GATE };

struct rule {
	enum action action;
	struct predicate *predicates;
	size_t n_predicates;
	struct queue_gate gate;
	char *uuid;
	char *why; /* of gate */
};

struct rules {
	struct rule *all;
	size_t n;
};

struct job_filters {
	struct rules rules;
	bool reloading;
	struct cond reloaded;
};

/* --- reading a rule --- */

/* The fields that expressions of this kind can use. */
static bool is_field(void *arg, const char *field, enum filter_kind *ret_kind)
{
	*ret_kind = FILTER_OTHER;
	switch (*(const enum predicate_kind *)arg) {
	case PREDICATE_JOBID:
		return strcmp(field, "id") == 0;
	case PREDICATE_REASON:
		return strcmp(field, "source") == 0 ||
		       strcmp(field, "reason") == 0 ||
		       strcmp(field, "timestamp") == 0;
	case PREDICATE_OPCODE:
		break;
	}
	return true; /* one for each opcode */
}

/* A copy of an expression with a number in the place of "watermark", and with
 * "=" by its other name. */
static json_t *resolved(const json_t *value, const json_t *watermark)
{
	const char *op = json_string_value(json_array_get(value, 0));
	json_t *list;

	if (!json_is_array(value))
		return json_ref(value);
	list = json_array();
	json_array_append_new(
		list, op != NULL && strcmp(op, "=") == 0
			      ? json_string("==")
			      : resolved(json_array_get(value, 0), NULL));
	for (size_t i = 1; i < json_array_size(value); i++) {
		json_t *part = json_array_get(value, i);
		const char *text = json_string_value(part);

		if (watermark != NULL && i > 1 && text != NULL &&
		    strcmp(text, "watermark") == 0)
			json_array_append(list, json_unconst(watermark));
		else
			json_array_append_new(list, resolved(part, watermark));
	}
	return list;
}

static int predicate_kind(const json_t *value, struct error *err)
{
	const char *name = json_string_value(json_array_get(value, 0));

	for (size_t i = 0; name != NULL && i < N_PREDICATES; i++)
		if (strcmp(name, predicate_names[i]) == 0 &&
		    json_array_size(value) == 2)
			return (int)i;
	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "A predicate is [name, expression] with the name "
			 "jobid, opcode or reason, not '%.100s'",
			 name == NULL ? "?" : name);
}

static int read_predicate(struct predicate *p, const json_t *value,
			  const json_t *watermark, struct error *err)
{
	int kind = predicate_kind(value, err);
	auto_json json_t *expression = NULL;

	if (kind < 0)
		return -1;
	p->kind = (enum predicate_kind)kind;
	expression = resolved(json_array_get(value, 1),
			      kind == PREDICATE_JOBID ? watermark : NULL);
	p->filter = filter_compile(expression, is_field, &p->kind, err);
	if (p->filter != NULL)
		return 0;
	error_as(err, ERR_PREREQ, ECODE_INVAL);
	return error_wrap(err, "Predicate %s", predicate_names[kind]);
}

static int wrong_action(const json_t *value, struct error *err)
{
	auto_free char *text = json_text(value);

	return error_set(err, ERR_PREREQ, ECODE_INVAL,
			 "The action is ACCEPT, PAUSE, REJECT, CONTINUE or "
			 "RATE_LIMIT with a number from 1 to %d, not %.100s",
			 RATE_LIMIT_MAX, text);
}

/* "PAUSE", or ["RATE_LIMIT", 3]. */
static int read_action(struct rule *r, const json_t *value, struct error *err)
{
	const char *name = json_string_value(value);
	const json_t *limit = json_array_get(value, 1);

	r->action = ACTION_GATE;
	if (str_eq(json_string_value(json_array_get(value, 0)), "RATE_LIMIT") &&
	    json_array_size(value) == 2 && json_integer_value(limit) > 0 &&
	    json_integer_value(limit) <= RATE_LIMIT_MAX)
		r->gate.limit = (unsigned)json_integer_value(limit);
	else if (str_eq(name, "ACCEPT"))
		r->action = ACTION_ACCEPT;
	else if (str_eq(name, "CONTINUE"))
		r->action = ACTION_CONTINUE;
	else if (str_eq(name, "REJECT"))
		r->gate.reject = true;
	else if (!str_eq(name, "PAUSE"))
		return wrong_action(value, err);
	return 0;
}

static void rule_done(struct rule *r)
{
	for (size_t i = 0; i < r->n_predicates; i++)
		filter_free(r->predicates[i].filter);
	free(r->predicates);
	free(r->uuid);
	free(r->why);
	queue_gate_done(&r->gate);
}

/* The error of a job that the rule rejects, with the reason given when the rule
 * was made; to be freed. */
static char *why_of(const json_t *object, const char *uuid)
{
	const json_t *trail = job_filter_reason_trail(object), *step;
	size_t i;

	json_array_foreach (trail, i, step) {
		const char *reason = json_string_value(json_array_get(step, 1));

		if (!str_empty(reason))
			return xprintf("Rejected by the filter rule %s: %s",
				       uuid, reason);
	}
	return xprintf("Rejected by the filter rule %s (gnt-filter info)",
		       uuid);
}

static int rule_read(struct rule *r, const json_t *object, struct error *err)
{
	const json_t *predicates = job_filter_predicates(object);
	const json_t *watermark = job_filter_watermark_value(object);
	size_t n = json_array_size(predicates);

	if (read_action(r, job_filter_action(object), err) < 0)
		return -1;
	r->uuid = xstrdup(job_filter_uuid(object));
	r->gate.name = r->uuid;
	r->why = why_of(object, r->uuid);
	r->gate.why = r->why;
	r->predicates = xcalloc(n + 1, sizeof(*r->predicates));
	for (size_t i = 0; i < n; i++) {
		r->n_predicates = i + 1;
		if (read_predicate(&r->predicates[i],
				   json_array_get(predicates, i), watermark,
				   err) < 0)
			return -1;
	}
	return 0;
}

/* --- does a rule apply to a job? --- */

/* A job; its opcodes are parsed when the first rule looks at them. */
struct candidate {
	const struct job *job;
	json_t *id;
	json_t *ops;   /* list, or NULL */
	uint64_t left; /* steps that all rules together may still take */
};

static const json_t *opcodes(struct candidate *c)
{
	struct error err;

	if (c->ops != NULL)
		return c->ops;
	c->ops = json_array();
	for (size_t i = 0; i < c->job->n_ops; i++) {
		const char *text = c->job->ops[i].input;

		json_array_append_new(c->ops,
				      json_parse(text, strlen(text), &err));
	}
	return c->ops;
}

/* A member that the opcode does not have is null, which equals nothing. */
static const json_t *member(void *arg, const char *field)
{
	const json_t *value = json_object_get(arg, field);
	static json_t *none;

	if (none == NULL)
		none = json_null();
	return value == NULL ? none : value;
}

static const json_t *trail_member(void *arg, const char *field)
{
	size_t i = strcmp(field, "source") == 0	  ? 0
		   : strcmp(field, "reason") == 0 ? 1
						  : 2;

	return json_array_get(arg, i);
}

static const json_t *id_of(void *arg, const char *field)
{
	(void)field;
	return ((const struct candidate *)arg)->id;
}

/* Values that cannot be compared do not match, and neither does an evaluation
 * that takes too many steps. */
static bool matches(const struct predicate *p,
		    const json_t *(*get)(void *arg, const char *field),
		    const void *arg)
{
	struct error err;

	return filter_may_match(p->filter, get, mem_unconst(arg), &err) == 1;
}

static bool trail_holds(const struct predicate *p, const json_t *op)
{
	const json_t *trail = json_get(op, "reason");

	for (size_t i = 0; i < json_array_size(trail); i++)
		if (matches(p, trail_member, json_array_get(trail, i)))
			return true;
	return false;
}

static bool holds_now(const struct predicate *p, struct candidate *c)
{
	const json_t *ops;

	if (p->kind == PREDICATE_JOBID)
		return matches(p, id_of, c);
	ops = opcodes(c);
	for (size_t i = 0; i < json_array_size(ops); i++) {
		const json_t *op = json_array_get(ops, i);

		if (p->kind == PREDICATE_OPCODE ? matches(p, member, op)
						: trail_holds(p, op))
			return true;
	}
	return false;
}

static bool holds(const struct predicate *p, struct candidate *c)
{
	uint64_t before = filter_steps(p->filter), done;
	bool rc;

	if (c->left == 0)
		return false;
	filter_limit(p->filter, c->left);
	rc = holds_now(p, c);
	done = filter_steps(p->filter) - before;
	c->left = done < c->left ? c->left - done : 0;
	return rc;
}

static bool applies(const struct rule *r, struct candidate *c)
{
	for (size_t i = 0; i < r->n_predicates; i++)
		if (!holds(&r->predicates[i], c))
			return false;
	return true;
}

struct queue_gate *job_filters_gate(struct job_filters *f, const struct job *j)
{
	struct candidate c = {.job = j, .left = STEPS_MAX};
	struct rule *found = NULL;

	if (f->rules.n == 0)
		return NULL;
	c.id = json_integer((json_int_t)j->id);
	for (size_t i = 0; i < f->rules.n && found == NULL; i++)
		if (applies(&f->rules.all[i], &c))
			found = &f->rules.all[i];
	json_decref(c.id);
	json_decref(c.ops);
	return found == NULL || found->action == ACTION_ACCEPT ? NULL
							       : &found->gate;
}

/* --- all rules --- */

/* The order in which rules are tried, for qsort() of json_t *. */
static int compare(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	static const char *const keys[] = {"priority", "watermark"};

	for (size_t i = 0; i < 2; i++) {
		int64_t p = json_int(x, keys[i], 0),
			q = json_int(y, keys[i], 0);

		if (p != q)
			return p < q ? -1 : 1;
	}
	return strcmp(job_filter_uuid(x), job_filter_uuid(y));
}

/* Rules that only say CONTINUE have no effect and are left out. */
static void add_rule(struct rules *rules, const json_t *object)
{
	struct rule *r = &rules->all[rules->n];
	struct error err;

	if (rule_read(r, object, &err) < 0)
		log_error("Job filter %s is left out: %s",
			  job_filter_uuid_or(object, "?"), err.text);
	else if (r->action != ACTION_CONTINUE) {
		rules->n++;
		return;
	}
	rule_done(r);
	*r = (struct rule){0};
}

static struct rules rules_read(const json_t *all)
{
	size_t n = 0, max = json_object_size(all);
	auto_free json_t **sorted = xcalloc(max + 1, sizeof(json_t *));
	struct rules rules = {.all = xcalloc(max + 1, sizeof(struct rule))};
	const char *uuid;
	json_t *object;

	json_object_foreach (json_unconst(all), uuid, object)
		sorted[n++] = object;
	qsort(sorted, n, sizeof(json_t *), compare);
	for (size_t i = 0; i < n; i++)
		add_rule(&rules, sorted[i]);
	return rules;
}

static void rules_done(struct rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		rule_done(&rules->all[i]);
	free(rules->all);
}

struct job_filters *job_filters_create(const json_t *rules)
{
	struct job_filters *f = xalloc(sizeof(*f));

	f->rules = rules_read(rules);
	cond_init(&f->reloaded);
	return f;
}

void job_filters_destroy(struct job_filters *f)
{
	if (f == NULL)
		return;
	rules_done(&f->rules);
	free(f);
}

void job_filters_reload(struct job_filters *f, const json_t *rules,
			struct queue *q)
{
	auto_json json_t *held = json_ref(rules);
	struct rules old;

	while (f->reloading)
		cond_wait(&f->reloaded);
	f->reloading = true;
	old = f->rules;
	f->rules = rules_read(held);
	queue_gates_changed(q);
	rules_done(&old);
	f->reloading = false;
	cond_signal(&f->reloaded);
}

/* --- a new rule --- */

/* This daemon adds itself to the reason trail of a rule, as Ganeti does. */
static json_t *extended_trail(const json_t *reason)
{
	json_t *trail =
		json_is_array(reason) ? json_deep_copy(reason) : json_array();

	json_array_append_new(trail,
			      json_make("[s, s, I]", "luxid", "",
					(json_int_t)(clock_wall_us() * 1000)));
	return trail;
}

json_t *job_filters_make(const char *uuid, int64_t watermark, int64_t priority,
			 const json_t *predicates, const json_t *action,
			 const json_t *reason, struct error *err)
{
	auto_json json_t *object = NULL;
	struct rule rule = {0};
	int rc;

	if (priority < 0 || !json_is_array(predicates)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  priority < 0 ? "The priority of a filter is not "
					 "negative"
				       : "The predicates of a filter are a "
					 "list");
		return NULL;
	}
	if (json_is_longer(predicates, RULE_BYTES_MAX) ||
	    json_is_longer(reason, RULE_BYTES_MAX)) {
		error_set(err, ERR_PREREQ, ECODE_INVAL,
			  "The predicates and the reason of a filter take at "
			  "most %u KiB",
			  RULE_BYTES_MAX / 1024);
		return NULL;
	}
	object = json_make("{s:s, s:I, s:I, s:o, s:O, s:o}", "uuid", uuid,
			   "watermark", (json_int_t)watermark, "priority",
			   (json_int_t)priority, "predicates",
			   resolved(predicates, NULL), "action", action,
			   "reason_trail", extended_trail(reason));
	rc = rule_read(&rule, object, err);
	rule_done(&rule);
	return rc < 0 ? NULL : steal(&object);
}
