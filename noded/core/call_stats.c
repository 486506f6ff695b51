/* SPDX-License-Identifier: BSD-2-Clause */
/* An entry for each procedure that was called, in the order of their first
 * calls. */
#include "noded/core/call_stats.h"

#include "lib/base/array.h"

static struct call_stat *find(struct call_stats *s, const char *procedure)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->all[i].procedure, procedure))
			return &s->all[i];
	if (s->n == CALL_STATS_MAX)
		return NULL;
	s->all[s->n].procedure = procedure;
	return &s->all[s->n++];
}

void call_stats_add(struct call_stats *s, const char *procedure, bool failed,
		    int64_t took_us)
{
	struct call_stat *e = find(s, procedure);

	if (e == NULL)
		return;
	e->calls++;
	e->failed += failed;
	e->seconds += (double)took_us / 1e6;
}

static double calls_of(const struct call_stat *e)
{
	return (double)e->calls;
}

static double failed_of(const struct call_stat *e)
{
	return (double)e->failed;
}

static double seconds_of(const struct call_stat *e)
{
	return e->seconds;
}

void call_stats_write(const struct call_stats *s, struct buf *text)
{
	static const struct {
		const char *name, *help;
		double (*value)(const struct call_stat *e);
	} metrics[] = {
		{"gantry_node_calls_total", "Calls of masters", calls_of},
		{"gantry_node_calls_failed_total", "Those that failed",
		 failed_of},
		{"gantry_node_calls_seconds_total", "How long they took in all",
		 seconds_of},
	};

	for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
		buf_addf(text, "# HELP %s %s\n# TYPE %s counter\n",
			 metrics[m].name, metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < s->n; i++)
			buf_addf(text, "%s{procedure=\"%s\"} %.15g\n",
				 metrics[m].name, s->all[i].procedure,
				 metrics[m].value(&s->all[i]));
	}
}
