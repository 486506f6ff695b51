/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of Prometheus counts in each bucket what took at most so long;
 * kept is each request in one bucket, and summed up when somebody looks. */
#include "rapi/figures/stats.h"

#include <inttypes.h>

static const double steps[STATS_STEPS] = {0.001, 0.0025, 0.005, 0.01, 0.025,
					  0.1,	 0.5,	 1,	10,   60};

void stats_add(struct stats *s, int status, double seconds)
{
	int class = status / 100 - 1;
	size_t i = 0;

	if (class >= 0 && class < STATS_CLASSES)
		s->answers[class]++;
	s->seconds += seconds;
	while (i < STATS_STEPS && seconds > steps[i])
		i++;
	if (i < STATS_STEPS)
		s->took[i]++;
	else
		s->longer++;
}

static void write_histogram(const struct stats *s, struct buf *text)
{
	const char *const name = "gantry_rapi_request_seconds";
	uint64_t sum = 0;

	buf_addf(text,
		 "# HELP %s How long requests took\n"
		 "# TYPE %s histogram\n",
		 name, name);
	for (size_t i = 0; i < STATS_STEPS; i++) {
		sum += s->took[i];
		buf_addf(text, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
			 steps[i], sum);
	}
	sum += s->longer;
	buf_addf(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
	buf_addf(text, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name, s->seconds,
		 name, sum);
}

void stats_write(const struct stats *s, struct buf *text)
{
	buf_adds(text, "# HELP gantry_rapi_requests_total Requests by the "
		       "class of their status\n"
		       "# TYPE gantry_rapi_requests_total counter\n");
	for (int i = 0; i < STATS_CLASSES; i++)
		buf_addf(text,
			 "gantry_rapi_requests_total{class=\"%dxx\"} %" PRIu64
			 "\n",
			 i + 1, s->answers[i]);
	buf_addf(text,
		 "# HELP gantry_rapi_requests_running Requests that run now\n"
		 "# TYPE gantry_rapi_requests_running gauge\n"
		 "gantry_rapi_requests_running %" PRIu64 "\n"
		 "# HELP gantry_rapi_streams Clients that follow something\n"
		 "# TYPE gantry_rapi_streams gauge\n"
		 "gantry_rapi_streams %" PRIu64 "\n",
		 s->running, s->streams);
	write_histogram(s, text);
}
