/* SPDX-License-Identifier: BSD-2-Clause */
/* For each metric one pass over the nodes carries a running sum for each tie.
 * Sums that become equal are merged, with a union-find over the ties.
 * Deviations take one more pass for each different mean, for the squares. */
#include "iallocators/place/ties.h"

#include <math.h>
#include <string.h>

#include "iallocators/model/change.h"
#include "lib/base/mem.h"

/* So few are computed one by one. */
#define FEW 3

/* Running sums, ascending; an addition keeps their order, so that only
 * neighbours can become equal. */
struct sums {
	double *value;
	int *id; /* of each: of all that have become it */
	int n;
	int *parent;	/* by id */
	double *result; /* by id */
};

/* One metric of all states. */
struct column {
	double *old;  /* by position */
	double *new;  /* by tie */
	double *part; /* by tie: what it is in the score, without weight */
};

struct work {
	const struct score_sheet *sheet;
	const struct tie *ties;
	int n_ties;
	int *at; /* position of each tie */
	struct column columns[METRIC_COUNT];
	double *sum, *var;
	int *group; /* ties with equal means */
	double *mean;
	struct sums sums;
};

static int find(struct sums *s, int id)
{
	while (s->parent[id] != id) {
		s->parent[id] = s->parent[s->parent[id]];
		id = s->parent[id];
	}
	return id;
}

/* What has become equal is one. */
static void merge(struct sums *s)
{
	int n = 1;

	for (int i = 1; i < s->n; i++) {
		if (s->value[i] == s->value[n - 1]) {
			s->parent[s->id[i]] = s->id[n - 1];
			continue;
		}
		s->value[n] = s->value[i];
		s->id[n++] = s->id[i];
	}
	s->n = n;
}

static void insert(struct sums *s, int id, double value)
{
	int at = s->n;

	s->parent[id] = id;
	while (at > 0 && s->value[at - 1] > value)
		at--;
	if (at > 0 && s->value[at - 1] == value) {
		s->parent[id] = s->id[at - 1];
		return;
	}
	memmove(&s->value[at + 1], &s->value[at],
		(size_t)(s->n - at) * sizeof(*s->value));
	memmove(&s->id[at + 1], &s->id[at],
		(size_t)(s->n - at) * sizeof(*s->id));
	s->value[at] = value;
	s->id[at] = id;
	s->n++;
}

static void add(struct sums *s, double x)
{
	for (int i = 0; i < s->n; i++)
		s->value[i] += x;
	if (s->n > 1)
		merge(s);
}

/* The sums of the ties of a group. */
static void finish(struct work *w, int group, double *ret)
{
	struct sums *s = &w->sums;

	for (int i = 0; i < s->n; i++)
		s->result[s->id[i]] = s->value[i];
	for (int i = 0; i < w->n_ties; i++)
		if (w->group[i] == group)
			ret[i] = s->result[find(s, i)];
}

static double square(double x, double mean)
{
	double d = x - mean;

	return d * d;
}

/* Sum up for each tie of the group the values themselves, or (mean given) the
 * squares of what they are off it. */
static void sum_group(struct work *w, const struct column *col, int group,
		      const double *mean, double *ret)
{
	double base = 0;
	int j = 0;

	w->sums.n = 0;
	for (int i = 0; i < w->sheet->online; i++) {
		double x = mean ? square(col->old[i], *mean) : col->old[i];

		add(&w->sums, x);
		for (; j < w->n_ties && w->at[j] <= i; j++) {
			double y = col->new[j];

			if (w->group[j] == group)
				insert(&w->sums, j,
				       base + (mean ? square(y, *mean) : y));
		}
		base += x;
	}
	finish(w, group, ret);
}

/* Number the different means; how many. */
static int group_means(struct work *w)
{
	int n = 0;

	for (int i = 0; i < w->n_ties; i++) {
		double mean = w->sum[i] / w->sheet->online;
		int g = 0;

		while (g < n && w->mean[g] != mean)
			g++;
		w->mean[g] = mean;
		n += g == n;
		w->group[i] = g;
	}
	return n;
}

static void compute(struct work *w, enum metric m)
{
	struct column *col = &w->columns[m];
	int groups;

	memset(w->group, 0, (size_t)w->n_ties * sizeof(*w->group));
	sum_group(w, col, 0, NULL, w->sum);
	if (metrics[m].kind != METRIC_DEVIATION) {
		memcpy(col->part, w->sum,
		       (size_t)w->n_ties * sizeof(*col->part));
		return;
	}
	groups = group_means(w);
	for (int g = 0; g < groups; g++)
		sum_group(w, col, g, &w->mean[g], w->var);
	for (int i = 0; i < w->n_ties; i++)
		col->part[i] = sqrt(w->var[i] / w->sheet->online);
}

/* Take the values of a metric; false, and nothing is taken, if they are the
 * same in all states. */
static bool take_column(struct work *w, enum metric m)
{
	struct column *col = &w->columns[m];
	size_t n_ties = (size_t)w->n_ties, n = (size_t)w->sheet->online;
	bool differs = false;

	for (int i = 0; i < w->n_ties && !differs; i++)
		differs = w->ties[i].values[m] != w->sheet->values[w->at[i]][m];
	if (!differs)
		return false;
	col->old = xcalloc(n + 2 * n_ties, sizeof(double));
	col->new = &col->old[n];
	col->part = &col->new[n_ties];
	for (size_t i = 0; i < n; i++)
		col->old[i] = w->sheet->values[i][m];
	for (int i = 0; i < w->n_ties; i++)
		col->new[i] = w->ties[i].values[m];
	return true;
}

/* An earlier metric with the same values: often there is one. */
static const struct column *same_column(const struct work *w, enum metric m)
{
	size_t n = (size_t)(w->sheet->online + w->n_ties) * sizeof(double);

	for (enum metric e = 0; e < m; e++)
		if (w->columns[e].old != NULL &&
		    metrics[e].kind == metrics[m].kind &&
		    memcmp(w->columns[e].old, w->columns[m].old, n) == 0)
			return &w->columns[e];
	return NULL;
}

static void work_init(struct work *w, const struct score_sheet *sheet,
		      const struct tie *ties, int n_ties)
{
	size_t n = (size_t)n_ties + 1;

	*w = (struct work){
		.sheet = sheet,
		.ties = ties,
		.n_ties = n_ties,
		.at = xcalloc(n, sizeof(int)),
		.sum = xcalloc(n, sizeof(double)),
		.var = xcalloc(n, sizeof(double)),
		.group = xcalloc(n, sizeof(int)),
		.mean = xcalloc(n, sizeof(double)),
		.sums = {.value = xcalloc(n, sizeof(double)),
			 .id = xcalloc(n, sizeof(int)),
			 .parent = xcalloc(n, sizeof(int)),
			 .result = xcalloc(n, sizeof(double))},
	};
	for (int i = 0; i < n_ties; i++)
		w->at[i] = sheet->position[ties[i].node];
}

static void work_done(struct work *w)
{
	for (int m = 0; m < METRIC_COUNT; m++)
		free(w->columns[m].old);
	free(w->at);
	free(w->sum);
	free(w->var);
	free(w->group);
	free(w->mean);
	free(w->sums.value);
	free(w->sums.id);
	free(w->sums.parent);
	free(w->sums.result);
}

static void one_by_one(struct score_sheet *sheet, const struct tie *ties, int n,
		       double *ret)
{
	for (int i = 0; i < n; i++) {
		struct stats stats;

		score_sheet_with(sheet, ties[i].node, ties[i].values, &stats);
		ret[i] = score_total(&stats);
	}
}

void ties_scores(struct score_sheet *sheet, const struct tie *ties, int n,
		 double *ret)
{
	double base[METRIC_COUNT];
	struct stats stats;
	struct work w;

	if (n <= FEW) {
		one_by_one(sheet, ties, n, ret);
		return;
	}
	score_sheet_stats(sheet, change_mark(sheet->c), &stats);
	score_metrics(&stats, base);
	memset(ret, 0, (size_t)n * sizeof(*ret));
	work_init(&w, sheet, ties, n);
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		bool differs = take_column(&w, m);
		const struct column *same = differs ? same_column(&w, m) : NULL;

		if (same != NULL)
			memcpy(w.columns[m].part, same->part,
			       (size_t)n * sizeof(double));
		else if (differs)
			compute(&w, m);
		for (int i = 0; i < n; i++)
			ret[i] += metrics[m].weight *
				  (differs ? w.columns[m].part[i] : base[m]);
	}
	work_done(&w);
}
