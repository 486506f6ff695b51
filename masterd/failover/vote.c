/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting functions take a predicate that selects the nodes which count: all
 * with a vote, or only master candidates.  A promise and a failover need a
 * majority of both.  A node with a half replaced queue may be left out of the
 * candidates heard. */
#include "masterd/failover/vote.h"

#include <inttypes.h>

#include "lib/base/str.h"
#include "lib/json/json.h"
#include "lib/model/files/queue_files.h"
#include "lib/model/files/term.h"

/* As many silent nodes are named in a sentence. */
#define NAMED_MAX 8

/* --- reading --- */

static int read_position(const json_t *state, const char *key,
			 struct vote_position *ret, struct error *err)
{
	const json_t *value = json_get(state, key);
	const json_t *term = json_array_get(value, 0);
	const json_t *number = json_array_get(value, 1);

	*ret = (struct vote_position){0};
	if (value == NULL || json_is_null(value))
		return 0;
	if (json_array_size(value) != 2 || !json_is_integer(term) ||
	    !json_is_integer(number) || json_integer_value(term) < 0 ||
	    json_integer_value(term) > (json_int_t)TERM_MAX ||
	    json_integer_value(number) < 0)
		return error_set(err, ERR_RPC, NULL,
				 "the answer to master_state has no usable "
				 "'%s'",
				 key);
	ret->term = (uint64_t)json_integer_value(term);
	ret->number = (uint64_t)json_integer_value(number);
	return 0;
}

static int read_number(const json_t *state, const char *key, uint64_t max,
		       uint64_t *ret, struct error *err)
{
	int64_t value = json_int(state, key, -1);

	if (value < 0 || (uint64_t)value > max)
		return error_set(err, ERR_RPC, NULL,
				 "the answer to master_state has no usable "
				 "'%s'",
				 key);
	*ret = (uint64_t)value;
	return 0;
}

int vote_read(struct vote_node *node, const json_t *state, struct error *err)
{
	node->answered = false;
	if (read_number(state, "term", TERM_MAX, &node->term, err) < 0 ||
	    read_number(state, "job_id", JOB_ID_MAX, &node->job_id, err) < 0 ||
	    read_position(state, "config", &node->config, err) < 0 ||
	    read_position(state, "queue", &node->queue, err) < 0 ||
	    read_position(state, "queue_had", &node->had, err) < 0)
		return -1;
	node->half = json_is_array(json_get(state, "queue")) &&
		     node->queue.term == 0 && node->queue.number == 0;
	node->had_known = json_is_array(json_get(state, "queue_had"));
	node->master = json_str(state, "master", "");
	node->promised = json_str(state, "promised", "");
	node->running = json_bool(state, "running", false);
	node->answered = true;
	return 0;
}

/* --- positions --- */

static int compare(const struct vote_position *a, const struct vote_position *b)
{
	if (a->term != b->term)
		return a->term < b->term ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return 0;
}

static bool has_whole_queue(const struct vote_node *node)
{
	return node->answered && !node->half;
}

/* Whether somebody has all that this copy had before it was begun anew. */
static bool is_superseded(const struct vote *v, const struct vote_node *node)
{
	for (size_t i = 0; i < v->n; i++)
		if (has_whole_queue(&v->nodes[i]) &&
		    compare(&v->nodes[i].queue, &node->had) >= 0)
			return node->had_known;
	return false;
}

/* --- counting --- */

size_t vote_majority(size_t n)
{
	return n / 2 + 1;
}

typedef bool counted_fn(const struct vote *v, const struct vote_node *node);

static bool any(const struct vote *v, const struct vote_node *node)
{
	return !node->ganetis && (!v->ignore_offline || !node->offline ||
				  node == &v->nodes[v->self]);
}

static bool candidate(const struct vote *v, const struct vote_node *node)
{
	(void)v;
	return node->candidate && !node->ganetis;
}

static bool without_vote(const struct vote *v, const struct vote_node *node)
{
	(void)v;
	return node->ganetis;
}

/* A copy that is being made anew stands for the one that it was, as long as
 * that is not the newest: then it is lost here. */
static bool lost_its_copy(const struct vote *v, const struct vote_node *node)
{
	return node->candidate && node->answered && node->half &&
	       !is_superseded(v, node);
}

/* Candidates whose word counts. */
static bool heard(const struct vote *v, const struct vote_node *node)
{
	return candidate(v, node) && !lost_its_copy(v, node);
}

static size_t count(const struct vote *v, counted_fn *of)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += of(v, &v->nodes[i]);
	return n;
}

static size_t count_silent(const struct vote *v, counted_fn *of)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += of(v, &v->nodes[i]) && !v->nodes[i].answered;
	return n;
}

/* How many say that this one is master. */
static size_t count_naming(const struct vote *v, const char *master)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += any(v, &v->nodes[i]) && v->nodes[i].answered &&
		     str_eq(v->nodes[i].master, master);
	return n;
}

static size_t count_promised(const struct vote *v, counted_fn *of,
			     const char *master, uint64_t term)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		n += of(v, &v->nodes[i]) && v->nodes[i].answered &&
		     v->nodes[i].term == term &&
		     str_eq(v->nodes[i].promised, master);
	return n;
}

/* Add "; no answer from node2, node3", or nothing. */
static void name_them(struct buf *text, const struct vote *v, counted_fn *of,
		      bool answered, const char *what)
{
	const char *separator = what;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (!of(v, &v->nodes[i]) || v->nodes[i].answered != answered ||
		    n++ >= NAMED_MAX)
			continue;
		buf_addf(text, "%s%s", separator, v->nodes[i].name);
		separator = ", ";
	}
	if (n > NAMED_MAX)
		buf_addf(text, " and %zu more", n - NAMED_MAX);
}

/* Who of them is missing, or nothing; to be freed. */
static char *tell_silent(const struct vote *v, counted_fn *of)
{
	struct buf text = {0};

	buf_adds(&text, "");
	name_them(&text, v, of, false, "; no answer from ");
	name_them(&text, v, without_vote, false,
		  "; Ganeti's node daemon, which has no vote, runs on ");
	if (of == candidate)
		name_them(&text, v, lost_its_copy, true,
			  "; newer than what is there, and half replaced: the "
			  "job queue of ");
	return buf_steal(&text);
}

/* --- decisions --- */

/* The other node that most nodes name, NULL if none is named. */
static const struct vote_node *most_named(const struct vote *v, size_t *ret_n)
{
	const struct vote_node *found = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < v->n; i++) {
		size_t n = i == v->self ? 0 : count_naming(v, v->nodes[i].name);

		if (n <= *ret_n)
			continue;
		*ret_n = n;
		found = &v->nodes[i];
	}
	return found;
}

static enum vote_outcome start_lost(const struct vote *v, size_t ours,
				    size_t needed, struct error *err)
{
	const char *name = v->nodes[v->self].name;
	auto_free char *silent = tell_silent(v, any);
	const struct vote_node *other;
	size_t n;

	other = most_named(v, &n);
	if (other != NULL && n >= needed)
		error_set(err, ERR_PREREQ, ECODE_FENCED,
			  "%s is not the master: %zu of %zu nodes say that it "
			  "is %s",
			  name, n, count(v, any), other->name);
	else if (other != NULL)
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "Only %zu of %zu nodes say that %s is the master, "
			  "%zu are needed; %zu say that it is %s%s",
			  ours, count(v, any), name, needed, n, other->name,
			  silent);
	else
		error_set(err, ERR_PREREQ, ECODE_STATE,
			  "Only %zu of %zu nodes say that %s is the master, "
			  "%zu are needed%s. Start their node daemons; if no "
			  "other master can be running, --no-voting does "
			  "without them",
			  ours, count(v, any), name, needed, silent);
	return VOTE_LOST;
}

enum vote_outcome vote_for_start(const struct vote *v, struct error *err)
{
	size_t needed = vote_majority(count(v, any));
	size_t ours = count_naming(v, v->nodes[v->self].name);

	if (ours >= needed)
		return VOTE_WON;
	start_lost(v, ours, needed, err);
	return ours + count_silent(v, any) >= needed ? VOTE_OPEN : VOTE_LOST;
}

static int check_answers(const struct vote *v, counted_fn *of, const char *what,
			 const char *why, struct error *err)
{
	counted_fn *which = of == candidate ? heard : of;
	size_t all = count(v, of);
	size_t answered = count(v, which) - count_silent(v, which);
	auto_free char *silent = tell_silent(v, of);

	if (answered >= vote_majority(all))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Only %zu of %zu %s answer, %zu are needed%s. %s",
			 answered, all, what, vote_majority(all), silent, why);
}

enum vote_outcome vote_for_failover(const struct vote *v, struct error *err)
{
	static const char alone[] =
		"Start their node daemons; if no other master can be running, "
		"--no-voting does without them";
	static const char stale[] =
		"They may have newer data than the others, which would be "
		"lost. Start their node daemons; if they are lost for good, "
		"--no-voting goes on with what this node has";

	if (check_answers(v, any, "nodes", alone, err) < 0 ||
	    check_answers(v, candidate, "master candidates", stale, err) < 0)
		return VOTE_LOST;
	return VOTE_WON;
}

uint64_t vote_highest_term(const struct vote *v)
{
	uint64_t term = 0;

	for (size_t i = 0; i < v->n; i++)
		if (v->nodes[i].answered && v->nodes[i].term > term)
			term = v->nodes[i].term;
	return term;
}

const struct vote_node *vote_rival(const struct vote *v)
{
	const struct vote_node *self = &v->nodes[v->self];
	uint64_t term = vote_highest_term(v);

	for (size_t i = 0; i < v->n; i++) {
		const struct vote_node *node = &v->nodes[i];

		if (node != self && node->answered && node->running &&
		    !str_eq(node->name, self->master) &&
		    count_promised(v, any, node->name, term) >=
			    vote_majority(count(v, any)))
			return node;
	}
	return NULL;
}

/* Who has promised somebody else the term, or a higher one. */
static const struct vote_node *find_refusal(const struct vote *v, uint64_t term)
{
	const char *name = v->nodes[v->self].name;

	for (size_t i = 0; i < v->n; i++)
		if (v->nodes[i].answered && v->nodes[i].term >= term &&
		    !str_eq(v->nodes[i].promised, name))
			return &v->nodes[i];
	return NULL;
}

static int check_promises(const struct vote *v, counted_fn *of,
			  const char *what, uint64_t term, struct error *err)
{
	const char *name = v->nodes[v->self].name;
	size_t all = count(v, of);
	size_t given =
		count_promised(v, of == candidate ? heard : of, name, term);
	auto_free char *silent = tell_silent(v, of);

	if (given >= vote_majority(all))
		return 0;
	return error_set(err, ERR_PREREQ, ECODE_STATE,
			 "Only %zu of %zu %s promised to follow %s (term "
			 "%" PRIu64 "), %zu are needed%s",
			 given, all, what, name, term, vote_majority(all),
			 silent);
}

enum vote_outcome vote_for_term(const struct vote *v, uint64_t term,
				struct error *err)
{
	const struct vote_node *refusal = find_refusal(v, term);

	if (refusal != NULL && refusal->term > term) {
		error_set(err, ERR_PREREQ, ECODE_FENCED,
			  "%s has promised term %" PRIu64 " to %s: that is "
			  "the master now, or is about to be",
			  refusal->name, refusal->term, refusal->promised);
		return VOTE_LOST;
	}
	if (check_promises(v, any, "nodes", term, err) < 0 ||
	    check_promises(v, candidate, "master candidates", term, err) < 0) {
		if (refusal != NULL)
			error_wrap(err, "%s has promised it to %s",
				   refusal->name, refusal->promised);
		return VOTE_LOST;
	}
	return VOTE_WON;
}

/* --- who has newer data --- */

/* What is half made is no queue at all.  The position comes before ids: a
 * former master may have higher ones that nobody was ever told.  They decide
 * where there are no positions. */
static int compare_queue(const struct vote_node *a, const struct vote_node *b)
{
	int order = compare(&a->queue, &b->queue);

	if (a->half || b->half)
		return (int)b->half - (int)a->half;
	if (order != 0 || a->job_id == b->job_id)
		return order;
	return a->job_id < b->job_id ? -1 : 1;
}

static int compare_config(const struct vote_node *a, const struct vote_node *b)
{
	return compare(&a->config, &b->config);
}

static const struct vote_node *newest(const struct vote *v,
				      int (*order)(const struct vote_node *a,
						   const struct vote_node *b))
{
	const struct vote_node *self = &v->nodes[v->self], *found = self;

	for (size_t i = 0; i < v->n; i++)
		if (v->nodes[i].answered && order(&v->nodes[i], found) > 0)
			found = &v->nodes[i];
	return found == self ? NULL : found;
}

const struct vote_node *vote_newer_config(const struct vote *v)
{
	return newest(v, compare_config);
}

const struct vote_node *vote_newer_queue(const struct vote *v)
{
	return newest(v, compare_queue);
}

char *vote_tell_config(const struct vote *v, const struct vote_node *newer)
{
	const struct vote_position *own = &v->nodes[v->self].config;

	return xprintf("%s has a newer configuration (serial number %" PRIu64
		       " of term %" PRIu64 ") than %s (%" PRIu64
		       " of term %" PRIu64 ")",
		       newer->name, newer->config.number, newer->config.term,
		       v->nodes[v->self].name, own->number, own->term);
}

char *vote_tell_queue(const struct vote *v, const struct vote_node *newer)
{
	const struct vote_node *own = &v->nodes[v->self];

	return xprintf("%s has a newer job queue (change %" PRIu64
		       " of term %" PRIu64 ", last job %" PRIu64
		       ") than %s (%" PRIu64 " of term %" PRIu64
		       ", last job %" PRIu64 ")",
		       newer->name, newer->queue.number, newer->queue.term,
		       newer->job_id, own->name, own->queue.number,
		       own->queue.term, own->job_id);
}
