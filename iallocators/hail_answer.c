/* SPDX-License-Identifier: BSD-2-Clause */
#include "iallocators/hail_answer.h"

#include "iallocators/answer.h"

static struct place_options place_options(const struct hail_options *o,
					  const struct request *r)
{
	struct place_options place = {
		.capacity_checks = !o->no_capacity_checks,
		.ignore_soft_errors = o->ignore_soft_errors,
		.has_restriction = o->has_restriction,
		.restriction = o->restriction,
		.n_restriction = o->n_restriction,
	};

	if (r->has_restriction && !o->has_restriction) {
		place.has_restriction = true;
		place.restriction = r->restriction;
		place.n_restriction = r->n_restriction;
	}
	return place;
}

static int answer_in(struct cluster *c, char *text, size_t len,
		     const struct hail_options *o, struct buf *out,
		     struct buf *warnings, struct error *err)
{
	const struct request_options options = {
		.load = {.max_cpu_ratio = -1},
		.static_kvm_node_memory =
			o->has_kvm_memory ? o->kvm_memory : KVM_NODE_MEMORY,
	};
	struct place_options place;
	struct request request = {0};
	const struct jval *top =
		jtext_parse(&c->arena, len > 0 ? text : NULL, len, err);

	if (top == NULL)
		return error_wrap(err, "Parsing input IAllocator message");
	if (request_read(c, top, &options, &request, err) < 0)
		return -1;
	cluster_check(c, warnings);
	place = place_options(o, &request);
	return answer(c, &request, &place, out, err);
}

int hail_answer(char *text, size_t len, const struct hail_options *o,
		struct buf *out, struct buf *warnings, struct error *err)
{
	struct cluster c = {0};
	int rc = answer_in(&c, text, len, o, out, warnings, err);

	cluster_done(&c);
	return rc;
}
