/* SPDX-License-Identifier: BSD-2-Clause */
/* What was collected for --explain, as text and as JSON. */
#include "iallocators/model/hformat.h"
#include "iallocators/place/explain.h"
#include "lib/base/mem.h"

/* --- what both have --- */

static void add_nodes(struct buf *b, const struct cluster *c,
		      const struct solution *s)
{
	buf_adds(b, c->nodes[s->primary].name);
	if (s->secondary != NO_INDEX)
		buf_addf(b, "/%s", c->nodes[s->secondary].name);
}

static const char *candidate_verdict(const struct explain_candidate *k)
{
	if (k->taken)
		return "taken";
	return k->refused ? refusal_names[k->why] : "possible";
}

/* --- text --- */

static void text_lost(struct buf *b, const struct lost *lost)
{
	buf_adds(b, "loses ");
	for (int i = 0; i < lost->n; i++)
		buf_addf(b, "%s%jd", i == 0 ? "" : ",",
			 (intmax_t)lost->counts[i]);
	buf_addf(b, " standard instances, %jd MiB of disk left",
		 (intmax_t)lost->free_disk);
}

static void text_best(struct buf *b, const struct cluster *c,
		      const struct explain_group *g)
{
	int rank = 0;

	if (g->n_best == 0)
		return;
	buf_addf(b, "    the best of %jd possible %s:\n", (intmax_t)g->possible,
		 g->by_pairs ? "pairs (primary/secondary)" : "nodes");
	for (size_t i = 0; i < g->n_best; i++) {
		const struct explain_candidate *k = &g->best[i];

		if (k->refused)
			buf_adds(b, "        -. ");
		else
			buf_addf(b, "      %3d. ", ++rank);
		add_nodes(b, c, &k->place);
		buf_adds(b, "  ");
		if (k->place.dedicated)
			text_lost(b, &k->place.lost);
		else
			hf_fixed(b, k->place.score, 8);
		buf_addf(b, "  %s\n", candidate_verdict(k));
	}
}

static void text_tally(struct buf *b, const struct explain_tally *t,
		       enum explain_role role, enum refusal_kind kind)
{
	if (role == ROLE_NODE)
		buf_addf(b, "    no candidates, %s: %jd\n", refusal_names[kind],
			 (intmax_t)t->count);
	else
		buf_addf(b, "    refused as %s, %s: %jd\n",
			 explain_role_names[role], refusal_names[kind],
			 (intmax_t)t->count);
	for (size_t i = 0; i < t->names.n; i++)
		buf_addf(b, "      %s%s%s\n", t->names.items[i],
			 *t->names.items[i] == '\0' ? "" : ": ",
			 t->texts.items[i]);
	if (t->count > (int64_t)t->names.n)
		buf_addf(b, "      and %jd more\n",
			 (intmax_t)t->count - (intmax_t)t->names.n);
}

static void text_group(struct buf *b, const struct cluster *c,
		       const struct explain_group *g)
{
	const struct group *group = &c->groups[g->group];

	buf_addf(b, "  Group %s (%s)%s%s: %s\n", group->name,
		 alloc_policy_names[group->alloc_policy],
		 g->purpose == NULL ? "" : ", ",
		 g->purpose == NULL ? "" : g->purpose, g->verdict);
	if (g->message != NULL)
		buf_addf(b, "    %s\n", g->message);
	text_best(b, c, g);
	for (int r = 0; r < ROLE_COUNT; r++)
		for (int k = 0; k < REFUSAL_COUNT; k++)
			if (g->tallies[r][k].count > 0)
				text_tally(b, &g->tallies[r][k],
					   (enum explain_role)r,
					   (enum refusal_kind)k);
}

void explain_text(const struct explain *e, struct buf *out)
{
	for (size_t i = 0; i < e->n_subjects; i++) {
		const struct explain_subject *s = &e->subjects[i];

		buf_addf(out, "Instance %s (%s)\n", s->name, s->wish);
		for (size_t g = 0; g < s->n_groups; g++)
			text_group(out, e->c, &s->groups[g]);
		if (s->n_groups == 0)
			buf_addf(out, "  not placed: %s\n", s->info);
	}
}

/* --- JSON --- */

static void json_key(struct buf *b, const char *key)
{
	char last = b->data[b->len - 1];

	if (last != '{')
		buf_addc(b, ',');
	hf_json_string(b, key);
	buf_addc(b, ':');
}

static void json_text(struct buf *b, const char *key, const char *value)
{
	json_key(b, key);
	hf_json_string(b, value);
}

static void json_number(struct buf *b, const char *key, int64_t value)
{
	json_key(b, key);
	buf_addf(b, "%jd", (intmax_t)value);
}

/* Before an element of a list. */
static void json_next(struct buf *b)
{
	if (b->data[b->len - 1] != '[')
		buf_addc(b, ',');
}

/* The score, or null where it is no number. */
static void json_score(struct buf *b, double score)
{
	json_key(b, "score");
	if (score - score == 0)
		hf_fixed(b, score, 8);
	else
		buf_adds(b, "null");
}

static void json_candidate(struct buf *b, const struct cluster *c,
			   const struct explain_candidate *k, int rank)
{
	const struct lost *lost = &k->place.lost;

	json_next(b);
	buf_addc(b, '{');
	if (!k->refused)
		json_number(b, "rank", rank);
	json_key(b, "nodes");
	solution_json(c, &k->place, b);
	if (k->place.dedicated) {
		json_key(b, "lost");
		buf_addc(b, '[');
		for (int i = 0; i < lost->n; i++)
			buf_addf(b, "%s%jd", i == 0 ? "" : ",",
				 (intmax_t)lost->counts[i]);
		buf_addc(b, ']');
		json_number(b, "free_disk", lost->free_disk);
	} else {
		json_score(b, k->place.score);
	}
	json_text(b, "verdict", candidate_verdict(k));
	buf_addc(b, '}');
}

static void json_tally(struct buf *b, const struct explain_tally *t,
		       enum explain_role role, enum refusal_kind kind)
{
	json_next(b);
	buf_addc(b, '{');
	json_text(b, "as", explain_role_names[role]);
	json_text(b, "reason", refusal_names[kind]);
	json_number(b, "count", t->count);
	json_key(b, "first");
	buf_addc(b, '[');
	for (size_t i = 0; i < t->names.n; i++) {
		json_next(b);
		buf_addc(b, '[');
		hf_json_string(b, t->names.items[i]);
		buf_addc(b, ',');
		hf_json_string(b, t->texts.items[i]);
		buf_addc(b, ']');
	}
	buf_adds(b, "]}");
}

static void json_group(struct buf *b, const struct cluster *c,
		       const struct explain_group *g)
{
	const struct group *group = &c->groups[g->group];
	int rank = 0;

	json_next(b);
	buf_addc(b, '{');
	json_text(b, "name", group->name);
	json_text(b, "alloc_policy", alloc_policy_names[group->alloc_policy]);
	if (g->purpose != NULL)
		json_text(b, "purpose", g->purpose);
	json_text(b, "verdict", g->verdict);
	if (g->message != NULL)
		json_text(b, "message", g->message);
	json_number(b, "possible", g->possible);
	json_key(b, "best");
	buf_addc(b, '[');
	for (size_t i = 0; i < g->n_best; i++) {
		rank += !g->best[i].refused;
		json_candidate(b, c, &g->best[i], rank);
	}
	buf_addc(b, ']');
	json_key(b, "refused");
	buf_addc(b, '[');
	for (int r = 0; r < ROLE_COUNT; r++)
		for (int k = 0; k < REFUSAL_COUNT; k++)
			if (g->tallies[r][k].count > 0)
				json_tally(b, &g->tallies[r][k],
					   (enum explain_role)r,
					   (enum refusal_kind)k);
	buf_adds(b, "]}");
}

void explain_json(const struct explain *e, struct buf *out)
{
	auto_buf struct buf text = {0};

	explain_text(e, &text);
	buf_adds(out, "{");
	json_number(out, "limit", e->limit);
	json_key(out, "instances");
	buf_addc(out, '[');
	for (size_t i = 0; i < e->n_subjects; i++) {
		const struct explain_subject *s = &e->subjects[i];

		json_next(out);
		buf_addc(out, '{');
		json_text(out, "name", s->name);
		json_text(out, "wish", s->wish);
		json_key(out, "placed");
		buf_adds(out, s->placed ? "true" : "false");
		json_text(out, "info", s->info);
		json_key(out, "groups");
		buf_addc(out, '[');
		for (size_t g = 0; g < s->n_groups; g++)
			json_group(out, e->c, &s->groups[g]);
		buf_adds(out, "]}");
	}
	buf_addc(out, ']');
	json_text(out, "text", text.len > 0 ? text.data : "");
	buf_addc(out, '}');
}
