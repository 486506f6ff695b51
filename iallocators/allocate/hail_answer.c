/* SPDX-License-Identifier: BSD-2-Clause */
/* The order is: parse the text, read its cluster, complete that, read the
 * question, answer.  If the caller has another cluster to load, the question is
 * read again for that cluster and answered there. */
#include "iallocators/allocate/hail_answer.h"

#include <stdio.h>
#include <string.h>

#include "iallocators/allocate/answer.h"
#include "iallocators/input/protocol1.h"
#include "iallocators/model/tags.h"
#include "iallocators/place/explain.h"

#define AS_THE_POLICY_SAYS (-1)

void hail_output_done(struct hail_output *out)
{
	buf_done(&out->answer);
	buf_done(&out->warnings);
	buf_done(&out->explanation);
}

static struct place_options place_options(const struct hail_options *o,
					  const struct request *r)
{
	struct place_options place = {
		.capacity_checks = !o->no_capacity_checks,
		.ignore_soft_errors = o->ignore_soft_errors,
		.dedicated_per_group = o->dedicated_per_group,
		.has_restriction = o->has_restriction,
		.restriction = o->restriction,
		.n_restriction = o->n_restriction,
		.max_node_failures = o->has_max_node_failures
					     ? o->max_node_failures
					     : AS_THE_POLICY_SAYS,
	};

	answer_restrict(&place, &r->restriction);
	return place;
}

static int show(const struct hail_options *o, struct cluster *c, bool after,
		struct error *err)
{
	const struct hail_caller *caller = o->caller;

	return caller == NULL || caller->show == NULL
		       ? 0
		       : caller->show(caller->arg, c, after, err);
}

/* Put one more member at the end of an answer; value is JSON. */
static void add_member(struct buf *answer, const char *key, const char *value)
{
	answer->len -= strlen("}\n");
	buf_addf(answer, ",\"%s\":", key);
	buf_adds(answer, value);
	buf_adds(answer, "}\n");
}

static int find(const struct hail_options *o, struct cluster *c,
		const struct request *request,
		const struct place_options *place, struct hail_output *out,
		struct error *err)
{
	auto_buf struct buf explanation = {0};
	__attribute__((cleanup(hail_result_done))) struct hail_result result = {
		.success = false};

	if (answer(c, request, place, &result, err) < 0)
		return -1;
	hail_result_text(&result, o->protocol1 ? "nodes" : "result",
			 &out->answer);
	if (o->explain == EXPLAIN_TEXT)
		explain_text(place->explain, &out->explanation);
	if (o->explain != EXPLAIN_JSON)
		return 0;
	explain_json(place->explain, &explanation);
	add_member(&out->answer, "explanation", explanation.data);
	return 0;
}

static int reply(const struct hail_options *o, struct cluster *c,
		 const struct request *request, struct hail_output *out,
		 struct error *err)
{
	struct place_options place = place_options(o, request);
	struct explain e = {.limit = o->explain_limit > 0 ? o->explain_limit
							  : EXPLAIN_LIMIT};
	int rc;

	if (o->explain != EXPLAIN_NOT)
		place.explain = &e;
	if (show(o, c, false, err) < 0)
		return -1;
	rc = find(o, c, request, &place, out, err);
	explain_done(&e);
	if (rc < 0)
		return -1;
	return show(o, c, true, err);
}

/* The question about another cluster; what tags of new instances mean is up to
 * the tags of the cluster in the request. */
static int ask_other(struct cluster *other, const struct cluster *c,
		     const struct load_options *load, const struct jval *top,
		     struct request *ret, struct error *err)
{
	const char *const *tags = other->tags;
	size_t n_tags = other->n_tags;
	int rc;

	other->tags = c->tags;
	other->n_tags = c->n_tags;
	tags_read(other, load);
	rc = request_ask(other, jtext_get(top, "request"), load, ret, err);
	other->tags = tags;
	other->n_tags = n_tags;
	tags_read(other, load);
	return rc;
}

/* The same question about the cluster that the caller reads. */
static int answer_elsewhere(const struct hail_options *o,
			    const struct cluster *c,
			    const struct load_options *load,
			    const struct jval *top, struct hail_output *out,
			    struct error *err)
{
	struct cluster other = {0};
	struct request request = {0};
	int rc;

	/* The warnings about this input are printed before those about the
	 * other one. */
	if (out->warnings.len > 0)
		fputs(out->warnings.data, stderr);
	out->warnings.len = 0;
	rc = o->caller->load(o->caller->arg, &other, err);
	if (rc == 0)
		rc = ask_other(&other, c, load, top, &request, err);
	if (rc == 0)
		rc = reply(o, &other, &request, out, err);
	cluster_done(&other);
	return rc;
}

/* All that follows from what the request says, and from its nodes' reports. */
static int finish(struct cluster *c, const struct hail_options *o,
		  const struct load_options *load, struct error *err)
{
	if (o->caller != NULL && o->caller->finish != NULL)
		return o->caller->finish(o->caller->arg, c, err);
	cluster_finish(c, load);
	return 0;
}

int hail_place(struct cluster *c, const struct jval *question,
	       const struct hail_options *o, struct hail_result *ret,
	       struct buf *ret_warnings, struct error *err)
{
	const struct load_options load = {.max_cpu_ratio = -1};
	struct request request = {0};
	struct place_options place;

	cluster_finish(c, &load);
	if (request_ask(c, question, &load, &request, err) < 0)
		return -1;
	cluster_check(c, ret_warnings);
	place = place_options(o, &request);
	return answer(c, &request, &place, ret, err);
}

static int answer_in(struct cluster *c, char *text, size_t len,
		     const struct hail_options *o, struct hail_output *out,
		     struct error *err)
{
	const struct load_options load = {.max_cpu_ratio = -1};
	struct request request = {0};
	const struct jval *top =
		jtext_parse(&c->arena, len > 0 ? text : NULL, len, err);

	if (top == NULL)
		return error_wrap(err, "Parsing input IAllocator message");
	if (o->protocol1)
		top = protocol1_request(&c->arena, top, err);
	if (top == NULL)
		return -1;
	if (request_load(c, top,
			 o->has_kvm_memory ? o->kvm_memory : KVM_NODE_MEMORY,
			 err) < 0 ||
	    finish(c, o, &load, err) < 0 ||
	    request_ask(c, jtext_get(top, "request"), &load, &request, err) < 0)
		return -1;
	cluster_check(c, &out->warnings);
	if (o->caller != NULL && o->caller->load != NULL)
		return answer_elsewhere(o, c, &load, top, out, err);
	return reply(o, c, &request, out, err);
}

int hail_answer(char *text, size_t len, const struct hail_options *o,
		struct hail_output *out, struct error *err)
{
	struct cluster c = {0};
	int rc = answer_in(&c, text, len, o, out, err);

	cluster_done(&c);
	return rc;
}
