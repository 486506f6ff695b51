/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring for each series: step i is at i modulo SAMPLES_KEPT. */
#include "rapi/figures/samples.h"

#include <math.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"

struct samples_series {
	char *name;
	float *values; /* SAMPLES_KEPT; NAN: unknown */
};

void samples_init(struct samples *s, int64_t step_s)
{
	*s = (struct samples){.step_s = step_s};
	pthread_mutex_init(&s->lock, NULL);
	s->series = xcalloc(SAMPLES_SERIES_MAX, sizeof(*s->series));
}

void samples_done(struct samples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->series[i].name);
		free(s->series[i].values);
	}
	free(s->series);
	pthread_mutex_destroy(&s->lock);
}

static float *at(const struct samples_series *series, int64_t step)
{
	return &series->values[step % SAMPLES_KEPT];
}

/* Steps that were left out are unknown. */
static void forget(struct samples *s, int64_t from, int64_t to)
{
	if (to - from >= SAMPLES_KEPT)
		from = to - SAMPLES_KEPT + 1;
	for (size_t i = 0; i < s->n; i++)
		for (int64_t step = from; step <= to; step++)
			*at(&s->series[i], step) = NAN;
}

void samples_begin(struct samples *s, int64_t time)
{
	int64_t step = time / s->step_s;

	pthread_mutex_lock(&s->lock);
	/* A clock that was set back goes on where it was. */
	if (s->oldest == 0)
		s->oldest = step;
	if (step > s->newest) {
		forget(s, s->newest + 1, step);
		s->newest = step;
	}
	pthread_mutex_unlock(&s->lock);
}

static struct samples_series *find(struct samples *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->series[i].name, name) == 0)
			return &s->series[i];
	return NULL;
}

static struct samples_series *add(struct samples *s, const char *name)
{
	struct samples_series *series = &s->series[s->n];

	if (s->n == SAMPLES_SERIES_MAX)
		return NULL;
	s->n++;
	series->name = xstrdup(name);
	series->values = xcalloc(SAMPLES_KEPT, sizeof(*series->values));
	for (size_t i = 0; i < SAMPLES_KEPT; i++)
		series->values[i] = NAN;
	return series;
}

void samples_add(struct samples *s, const char *name, double value)
{
	struct samples_series *series;

	pthread_mutex_lock(&s->lock);
	series = find(s, name);
	if (series == NULL)
		series = add(s, name);
	if (series != NULL)
		*at(series, s->newest) = (float)value;
	pthread_mutex_unlock(&s->lock);
}

json_t *samples_names(struct samples *s)
{
	json_t *names = json_array();

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(names, json_string(s->series[i].name));
	pthread_mutex_unlock(&s->lock);
	return json_make("{s:I, s:o}", "step", (json_int_t)s->step_s, "names",
			 names);
}

static json_t *values_of(const struct samples *s,
			 const struct samples_series *series, int64_t from)
{
	json_t *list = json_array();

	for (int64_t step = from; step <= s->newest; step++) {
		float value = *at(series, step);

		json_array_append_new(list, isnan(value)
						    ? json_null()
						    : json_real((double)value));
	}
	return list;
}

json_t *samples_get(struct samples *s, const json_t *names, int64_t since)
{
	json_t *all = json_object(), *name;
	int64_t from;
	size_t i;

	pthread_mutex_lock(&s->lock);
	from = since / s->step_s;
	if (from <= s->newest - SAMPLES_KEPT)
		from = s->newest - SAMPLES_KEPT + 1;
	if (from < s->oldest)
		from = s->oldest;
	json_array_foreach (names, i, name) {
		const struct samples_series *series =
			find(s, json_string_value(name));

		if (series != NULL)
			json_object_set_new(all, series->name,
					    values_of(s, series, from));
	}
	pthread_mutex_unlock(&s->lock);
	return json_make("{s:I, s:I, s:o}", "step", (json_int_t)s->step_s,
			 "begin", (json_int_t)(from * s->step_s), "samples",
			 all);
}
