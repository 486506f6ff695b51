/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon counts of its own work, for /metrics. */
#ifndef RAPI_FIGURES_STATS_H
#define RAPI_FIGURES_STATS_H

#include <stdint.h>

#include "lib/base/str.h"

#define STATS_CLASSES 5 /* of statuses: 1xx to 5xx */
#define STATS_STEPS 10	/* of the time that a request took */

struct stats {
	uint64_t answers[STATS_CLASSES];
	uint64_t took[STATS_STEPS]; /* within stats_step(i) and no less */
	uint64_t longer;
	double seconds; /* in sum */
	uint64_t running, streams;
};

/* Count an answer. */
void stats_add(struct stats *s, int status, double seconds);

/* Append them in Prometheus's form. */
void stats_write(const struct stats *s, struct buf *text);

#endif
