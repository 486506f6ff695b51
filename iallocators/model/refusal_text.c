/* SPDX-License-Identifier: BSD-2-Clause */
/* Most kinds have a format in sentences[], with the amounts that are needed and
 * available as its arguments.  Policies, tags and what must hold afterwards
 * have functions of their own. */
#include "iallocators/model/model.h"

/* The sentence; "%1$jd" is what is needed, "%2$jd" what there is. */
static const char *const sentences[REFUSAL_COUNT] = {
	[REFUSAL_OFFLINE] = "it is offline",
	[REFUSAL_DRAINED] = "it is drained",
	[REFUSAL_NOT_VM_CAPABLE] = "it cannot run instances",
	[REFUSAL_RESTRICTED] = "the request or --restrict-allocation-to leaves "
			       "it out",
	[REFUSAL_LEFT] = "it is to be left",
	[REFUSAL_MEMORY] = "%1$jd MiB of memory needed, %2$jd MiB free, and "
			   "some must stay free",
	[REFUSAL_RESERVED_MEMORY] = "%2$jd MiB of memory would stay free, and "
				    "more than %1$jd MiB must, for what fails "
				    "over from one other node",
	[REFUSAL_DISK] = "%1$jd MiB of disk needed, %2$jd MiB free, and some "
			 "must stay free",
	[REFUSAL_MIN_DISK] = "%2$jd MiB of disk would stay free, %1$jd MiB "
			     "must",
	[REFUSAL_SPINDLES] = "%1$jd spindles needed, %2$jd free",
	[REFUSAL_SPINDLE_USE] = "spindle use would be %1$jd, the policy's "
				"ratio allows %2$jd",
	[REFUSAL_CPU] = "%1$jd virtual CPUs would be in use, the policy's "
			"ratio allows %2$jd",
	[REFUSAL_TEMPLATE] = "instances of this disk template have no "
			     "secondary",
	[REFUSAL_MIGRATION] = "its migration tags allow no migration",
	[REFUSAL_NO_SECONDARY] = "the instance has no secondary",
};

static void describe_policy(const struct refusal *r, struct buf *out)
{
	if (r->need == r->have)
		buf_addf(out, "the policy's %s do not have the instance's",
			 r->what);
	else
		buf_addf(out, "%s is %jd, the policy wants at %s %jd", r->what,
			 (intmax_t)r->need,
			 r->need < r->have ? "least" : "most",
			 (intmax_t)r->have);
}

static void describe_tag(const struct cluster *c, const struct instance *inst,
			 const struct refusal *r, struct buf *out)
{
	const char *tag = "";

	for (size_t i = 0; i < inst->n_tags; i++) {
		const int *id = table_get(&c->symbols, inst->tags[i]);

		if (id != NULL && *id == r->need)
			tag = inst->tags[i];
	}
	buf_addf(out, "it has a primary instance with the exclusion tag %s",
		 tag);
}

/* What must hold afterwards, and would not. */
static void describe_after(const struct cluster *c, const struct refusal *r,
			   struct buf *out)
{
	const char *node =
		r->node == NO_INDEX ? "some node" : c->nodes[r->node].name;

	if (r->kind == REFUSAL_N1)
		buf_addf(out,
			 "afterwards %s could not be emptied onto the others",
			 node);
	else if (r->have == 0)
		buf_addf(out,
			 "max-node-failures %jd would not hold: %s has no room "
			 "for what would come to it",
			 (intmax_t)r->need, node);
	else
		buf_addf(out,
			 "max-node-failures %jd would not hold: without %s "
			 "there is no place for %jd of the instances",
			 (intmax_t)r->need, node, (intmax_t)r->have);
}

void refusal_describe(const struct cluster *c, const struct instance *inst,
		      const struct refusal *r, struct buf *out)
{
	if (r->step != NULL)
		buf_addf(out, "%s: ", r->step);
	if (r->kind == REFUSAL_POLICY)
		describe_policy(r, out);
	else if (r->kind == REFUSAL_TAGS)
		describe_tag(c, inst, r, out);
	else if (r->kind == REFUSAL_N1 || r->kind == REFUSAL_FAILURES)
		describe_after(c, r, out);
	else
		buf_addf(out, sentences[r->kind], (intmax_t)r->need,
			 (intmax_t)r->have);
	if (r->forthcoming)
		buf_adds(out, " (with what is only planned)");
}
