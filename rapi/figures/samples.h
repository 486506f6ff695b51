/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of the last day, in memory: series of numbers, one for each step of
 * time.  May be used from any thread. */
#ifndef RAPI_FIGURES_SAMPLES_H
#define RAPI_FIGURES_SAMPLES_H

#include <jansson.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* A day of minutes. */
#define SAMPLES_STEP_S 60
#define SAMPLES_KEPT 1440
/* Each takes 6 KB; further ones, of the nodes of a large cluster, are left
 * out. */
#define SAMPLES_SERIES_MAX 1000

struct samples {
	pthread_mutex_t lock;
	int64_t step_s;
	int64_t oldest; /* the first step that there was */
	int64_t newest; /* the latest step: seconds since 1970 / step_s */
	struct samples_series *series;
	size_t n;
};

/* Nothing is known yet. */
void samples_init(struct samples *s, int64_t step_s);
void samples_done(struct samples *s);

/* Begin the step of this moment, in seconds since 1970; what is not added to it
 * is unknown. */
void samples_begin(struct samples *s, int64_t time);

/* A figure of the present step. */
void samples_add(struct samples *s, const char *name, double value);

/* {"step", "names"}; to be freed. */
json_t *samples_names(struct samples *s);

/* {"step", "begin", "samples": {name: [value or null, ...]}} of the names (a
 * list; unknown ones are left out) from the moment `since` on; to be freed. */
json_t *samples_get(struct samples *s, const json_t *names, int64_t since);

#endif
