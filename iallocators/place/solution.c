/* SPDX-License-Identifier: BSD-2-Clause */
/* Ordinary placement compares scores; dedicated placement compares the counts
 * of lost allocations, the first that differs decides. */
#include "iallocators/place/solution.h"

#include "iallocators/model/hformat.h"

void solution_offer(struct solution *s, int primary, int secondary,
		    double score)
{
	if (s->found && !(score <= s->score))
		return;
	s->found = true;
	s->primary = primary;
	s->secondary = secondary;
	s->score = score;
}

bool solution_wins(const struct solution *a, const struct solution *b)
{
	if (!b->found)
		return true;
	if (!a->dedicated)
		return a->score <= b->score;
	for (int i = 0; i < a->lost.n && i < b->lost.n; i++)
		if (a->lost.counts[i] != b->lost.counts[i])
			return a->lost.counts[i] < b->lost.counts[i];
	if (a->lost.n != b->lost.n)
		return a->lost.n < b->lost.n;
	return a->lost.free_disk <= b->lost.free_disk;
}

static void describe_fails(const struct solution *s, struct buf *out)
{
	bool first = true;

	for (int i = 1; i < FAIL_COUNT; i++) {
		if (s->fails[i] == 0)
			continue;
		buf_addf(out, "%s%s: %jd", first ? "" : ", ", fail_names[i],
			 (intmax_t)s->fails[i]);
		first = false;
	}
}

static int64_t total_fails(const struct solution *s)
{
	int64_t total = 0;

	for (int i = 1; i < FAIL_COUNT; i++)
		total += s->fails[i];
	return total;
}

static void describe_metric(const struct solution *s, struct buf *out)
{
	if (!s->dedicated) {
		hf_fixed(out, s->score, 8);
		return;
	}
	buf_adds(out, "([");
	for (int i = 0; i < s->lost.n; i++)
		buf_addf(out, "%s%jd", i == 0 ? "" : ",",
			 (intmax_t)s->lost.counts[i]);
	buf_addf(out, "],%jd)", (intmax_t)s->lost.free_disk);
}

void solution_describe(const struct cluster *c, const struct solution *s,
		       struct buf *out)
{
	if (!s->found) {
		buf_adds(out, "No valid allocation solutions, failure "
			      "reasons: ");
		if (total_fails(s) == 0)
			buf_adds(out, "unknown reasons");
		describe_fails(s, out);
		if (s->unsurvived > 0)
			buf_addf(out,
				 " (max-node-failures would not hold: %jd)",
				 (intmax_t)s->unsurvived);
		return;
	}
	buf_adds(out, "score: ");
	describe_metric(s, out);
	buf_addf(out, ", successes %jd, failures %jd (", (intmax_t)s->successes,
		 (intmax_t)total_fails(s));
	describe_fails(s, out);
	buf_addf(out, ") for node(s) %s", c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX)
		buf_addf(out, "/%s", c->nodes[s->secondary].name);
}

void solution_json(const struct cluster *c, const struct solution *s,
		   struct buf *out)
{
	buf_addc(out, '[');
	hf_json_string(out, c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX) {
		buf_addc(out, ',');
		hf_json_string(out, c->nodes[s->secondary].name);
	}
	buf_addc(out, ']');
}
